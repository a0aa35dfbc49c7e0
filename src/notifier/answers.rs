//! Answers from a person's channels: who may answer, with which token, and what the daemon says to it.

use super::news::DaemonError;
use super::{Input, LONGEST, Notifier, complain, connect};
use crate::daemon::broker::Row;
use crate::daemon::client;
use ::notify::channel;
use ::notify::listen::{self, ChannelAnswer, Report};
use ::notify::log::LogEntry;
use ::notify::tokens::{self, Issued, Refusal, Reply};
use murmur_core::config::notify::Destination;
use murmur_core::permit::request::ANSWERED;
use serde_json::{Value, json};
use sys::clock;
use thiserror::Error;

impl Notifier {
    /// Starts a listener for each channel that takes answers.
    pub(super) fn listen(&self) {
        for (name, channel) in &self.notify.channels {
            if !channel.takes_answers() {
                continue;
            }
            let read = self.state.channels.get(name).and_then(|channel| channel.read.clone());
            let (name, destination) = (name.clone(), channel.destination.clone());
            let (settings, threads) = (self.settings.clone(), self.threads.clone());
            let since = clock::now().as_second();
            std::thread::spawn(move || {
                listen::run(&destination, &settings, read, since, |report| {
                    threads.blocking_send(Input::Heard(name.clone(), report)).is_ok()
                });
            });
        }
    }

    pub(super) async fn heard(&mut self, channel: &str, report: Report) {
        match report {
            Report::Failed(error) => {
                let error = error.failure.line();
                let known = self.state.channels.entry(channel.to_owned()).or_default();
                if known.error.as_deref() != Some(&error) {
                    known.error = Some(error.clone());
                    self.note(channel, "failed", "listening for answers", Some(&error));
                }
            }
            Report::Incoming(incoming) => {
                self.state.channels.entry(channel.to_owned()).or_default().read = Some(incoming.read);
                if let Some(answer) = incoming.answer {
                    self.on_answer(channel, &answer).await;
                }
                self.save();
            }
        }
    }

    async fn on_answer(&mut self, channel: &str, answer: &ChannelAnswer) {
        let found = self.redeem(channel, answer);
        let (reply, issued) = match found {
            Some(Ok(found)) => found,
            Some(Err(refusal)) => return self.refused(channel, answer, None, &refusal.into()),
            // The message is not an answer.
            None => return,
        };
        // Recorded as used before the daemon gets the answer.
        self.save();
        match self.answer(channel, &reply, &issued).await {
            Ok(row) => {
                let line = LogEntry {
                    channel: channel.to_owned(),
                    result: "accepted".to_owned(),
                    what: answered(&reply, &issued, &row),
                    request: Some(issued.request.clone()),
                    sender: answer.sender.map(|sender| sender.to_string()),
                    ..LogEntry::default()
                };
                self.note_line(line);
                self.acknowledge(channel, answer, said(&reply));
            }
            Err(error) => self.refused(channel, answer, Some(issued.request), &error),
        }
    }

    /// The reply and its token; `None` if `answer` isn't meant as one.
    fn redeem(&mut self, channel: &str, answer: &ChannelAnswer) -> Option<Result<(Reply, Issued), Refusal>> {
        let destination = &self.notify.channels.get(channel)?.destination;
        let button = tokens::parse_button(&answer.text);
        if let Destination::Telegram { senders, .. } = destination {
            // People may talk in the chat.
            button.as_ref().map(|_| ()).or(answer.reply_to.map(|_| ()))?;
            if !answer.sender.is_some_and(|sender| senders.contains(&sender)) {
                return Some(Err(Refusal::Sender));
            }
        }
        let now = clock::now();
        let known = &mut self.state.tokens;
        Some(match (button, answer.reply_to) {
            (Some((reply, token)), _) => {
                let hash = tokens::hash(token.as_bytes());
                tokens::redeem(known, channel, &reply, now, |issued| issued.hash == hash)
                    .map(|issued| (reply, issued))
            }
            (None, Some(message)) => {
                let reply = tokens::parse_text(&answer.text);
                let is_it = |issued: &Issued| issued.channel == channel && issued.message == Some(message);
                tokens::redeem(known, channel, &reply, now, is_it).map(|issued| (reply, issued))
            }
            (None, None) => Err(Refusal::Unknown),
        })
    }

    /// Answers the request, if it is still the one that was shown, and returns it.
    async fn answer(&self, channel: &str, reply: &Reply, issued: &Issued) -> Result<Row, AnswerError> {
        let rows = self.requests().await?;
        let row = rows.into_iter().find(|row| row.id.as_str() == issued.request && row.state != ANSWERED);
        let Some(row) = row else { return Err(AnswerError::Closed) };
        if tokens::hash(row.input.to_string().as_bytes()) != issued.input {
            return Err(AnswerError::Changed);
        }
        let mut response = json!({ "id": issued.request, "channel": channel, "inputSha256": issued.input });
        let answered = match reply {
            Reply::Allow => json!({ "decision": "allow" }),
            Reply::Deny(reason) => json!({ "decision": "deny", "reason": reason }),
            Reply::Choice(number) => match issued.choices.get(number.saturating_sub(1)) {
                Some(label) => json!({ "answers": { "q1": label } }),
                None => return Err(Refusal::NoAnswer.into()),
            },
            Reply::Text(text) => json!({ "answers": { "q1": { "other": text } } }),
        };
        if let (Some(response), Some(answered)) = (response.as_object_mut(), answered.as_object()) {
            response.extend(answered.clone());
        }
        let mut daemon = connect(&self.dir).await.ok_or(DaemonError::Unreachable)?;
        let answering = daemon.answer_as::<Value>("permission.respond", response, client::PATIENCE);
        answering.await.map_err(DaemonError::from)?;
        Ok(row)
    }

    fn refused(&self, channel: &str, answer: &ChannelAnswer, request: Option<String>, why: &AnswerError) {
        self.note_line(LogEntry {
            channel: channel.to_owned(),
            result: "refused".to_owned(),
            what: "answer".to_owned(),
            request,
            sender: answer.sender.map(|sender| sender.to_string()),
            error: Some(why.to_string()),
            ..LogEntry::default()
        });
        // Senders who aren't listed get no reply.
        if !matches!(why, AnswerError::Refused(Refusal::Sender)) {
            self.acknowledge(channel, answer, &format!("Not accepted: {why}"));
        }
    }

    fn acknowledge(&self, channel: &str, answer: &ChannelAnswer, text: &str) {
        let Some(channel) = self.notify.channels.get(channel).cloned() else { return };
        let (settings, text, button) = (self.settings.clone(), text.to_owned(), answer.button.clone());
        let spawned = std::thread::Builder::new().spawn(move || {
            channel::acknowledge(&channel.destination, &settings, button.as_deref(), &text);
        });
        if let Err(error) = spawned {
            complain(&format!("cannot start a thread: {error}"));
        }
    }
}

/// Why an answer didn't reach its request.
#[derive(Debug, Error)]
enum AnswerError {
    #[error("{}", .0.text())]
    Refused(Refusal),
    #[error("the request is no longer open")]
    Closed,
    #[error("the call is not the one that was shown")]
    Changed,
    #[error(transparent)]
    Daemon(#[from] DaemonError),
}

impl From<Refusal> for AnswerError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// What was answered, for `murmur notify log`.
fn answered(reply: &Reply, issued: &Issued, row: &Row) -> String {
    let choice = |number: &usize| issued.choices.get(number.saturating_sub(1)).map(String::as_str);
    let (word, text) = match reply {
        Reply::Allow => ("allowed", None),
        Reply::Deny(reason) => ("denied", reason.as_deref()),
        Reply::Choice(number) => ("answered", choice(number)),
        Reply::Text(text) => ("answered", Some(text.as_str())),
    };
    let text = text.map(|text| format!(": {text}")).unwrap_or_default();
    let line = format!("{word} {} for {}{text}", row.tool, row.agent);
    line.chars().take(LONGEST).collect()
}

fn said(reply: &Reply) -> &'static str {
    match reply {
        Reply::Allow => "Allowed.",
        Reply::Deny(_) => "Denied.",
        Reply::Choice(_) | Reply::Text(_) => "Answered.",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use murmur_core::permit::request::RequestId;

    #[test]
    fn the_log_says_what_was_answered_in_words() {
        let id = RequestId::parse("7ggs733k").unwrap();
        let row = |tool: &str| Row {
            id: id.clone(),
            kind: crate::daemon::broker::RequestKind::Permission,
            agent: "site-1".to_owned(),
            workspace: "/w".into(),
            tool: tool.to_owned(),
            input: json!({}),
            cwd: "/w".into(),
            doubt: None,
            state: "waiting".to_owned(),
            asked_at: String::new(),
            expires_at: None,
        };
        let issued = Issued {
            hash: String::new(),
            channel: "tg".to_owned(),
            request: id.to_string(),
            input: String::new(),
            may_allow: true,
            choices: vec!["Red".to_owned(), "Blue".to_owned()],
            expires_at: None,
            message: None,
        };
        let all = [
            (Reply::Allow, "Bash"),
            (Reply::Deny(None), "Bash"),
            (Reply::Deny(Some("too risky".to_owned())), "Bash"),
            (Reply::Choice(2), "AskUserQuestion"),
            (Reply::Text("the green one".to_owned()), "AskUserQuestion"),
        ];
        let lines: Vec<String> =
            all.iter().map(|(reply, tool)| answered(reply, &issued, &row(tool))).collect();
        insta::assert_snapshot!(lines.join("\n"), @"
        allowed Bash for site-1
        denied Bash for site-1
        denied Bash for site-1: too risky
        answered AskUserQuestion for site-1: Blue
        answered AskUserQuestion for site-1: the green one
        ");
    }
}
