//! Answers from a person's channels: who may answer, with which token, and what the daemon says to it.

use super::news::DaemonError;
use super::{Input, MAX_WHAT, Notifier, connect};
use crate::daemon::broker::RequestRow;
use crate::daemon::client;
use ::notify::channel;
use ::notify::listen::{self, ChannelAnswer, Report};
use ::notify::log::LogEntry;
use ::notify::tokens::{self, Issued, Refusal, Reply};
use murmur_core::config::notify::Destination;
use murmur_core::permit::question::{Question, QuestionSet};
use murmur_core::permit::request::{ANSWERED, RequestId};
use serde_json::{Map, Value, json};
use sys::clock;
use sys::error::Hinted;
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
                    threads.blocking_send(Input::Report(name.clone(), report)).is_ok()
                });
            });
        }
    }

    pub(super) async fn on_report(&mut self, channel: &str, report: Report) {
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
        let found = self.find(channel, answer);
        let (reply, issued) = match found {
            Some(Ok(found)) => found,
            Some(Err(refusal)) => return self.refused(channel, answer, None, &refusal.into()),
            // The message is not an answer.
            None => return,
        };
        let answered = match self.prepare(channel, &reply, &issued).await {
            Ok(prepared) => {
                // Recorded as used before the daemon gets the answer.
                tokens::use_up(&mut self.state.tokens, &issued.request);
                self.save();
                self.answer(prepared).await
            }
            Err(error) => Err(error),
        };
        match answered {
            Ok(what) => {
                let line = LogEntry {
                    channel: channel.to_owned(),
                    result: "accepted".to_owned(),
                    what,
                    request: Some(issued.request.clone()),
                    sender: answer.sender.map(|sender| sender.to_string()),
                    ..LogEntry::default()
                };
                self.note_line(line);
                self.acknowledge(channel, answer, confirmation(&reply));
            }
            Err(error) => self.refused(channel, answer, Some(issued.request), &error),
        }
    }

    /// The reply and its token; `None` if `answer` isn't meant as one.
    fn find(&self, channel: &str, answer: &ChannelAnswer) -> Option<Result<(Reply, Issued), Refusal>> {
        let destination = &self.notify.channels.get(channel)?.destination;
        let button = tokens::parse_button(&answer.text);
        if let Destination::Telegram { chat, senders, .. } = destination {
            // People may talk in the chat.
            button.as_ref().map(|_| ()).or(answer.reply_to.map(|_| ()))?;
            if !answer.sender.is_some_and(|sender| senders.contains(&sender)) {
                return Some(Err(Refusal::Sender));
            }
            if answer.chat != Some(*chat) {
                return Some(Err(Refusal::Chat));
            }
        }
        let now = clock::now();
        let known = &self.state.tokens;
        let found = match (button, answer.reply_to) {
            (Some((reply, token)), _) => {
                let hash = tokens::hash(token.as_bytes());
                tokens::find(known, channel, now, |issued| issued.hash == hash).map(|issued| (reply, issued))
            }
            (None, Some(message)) => {
                let is_it = |issued: &Issued| issued.channel == channel && issued.message == Some(message);
                match tokens::find(known, channel, now, is_it) {
                    Ok(issued) => Ok((tokens::parse_text(&answer.text, issued.is_question), issued)),
                    Err(Refusal::Unknown) => Err(Refusal::NoRequest),
                    Err(refusal) => Err(refusal),
                }
            }
            (None, None) => Err(Refusal::Unknown),
        };
        Some(found.and_then(|(reply, issued)| issued.check(&reply).map(|()| (reply, issued.clone()))))
    }

    /// The answer to the request, if it is still the one that was shown.
    async fn prepare(&self, channel: &str, reply: &Reply, issued: &Issued) -> Result<Prepared, AnswerError> {
        let rows = self.requests().await?;
        let row = rows.into_iter().find(|row| row.id == issued.request && row.state != ANSWERED);
        let Some(row) = row else { return Err(AnswerError::Closed) };
        if tokens::hash(row.input.to_string().as_bytes()) != issued.input {
            return Err(AnswerError::Changed);
        }
        let mut response = json!({ "id": issued.request, "channel": channel, "inputSha256": issued.input });
        let (answered, text) = match reply {
            Reply::Allow => (json!({ "decision": "allow" }), None),
            Reply::Deny(reason) => (json!({ "decision": "deny", "reason": reason }), reason.clone()),
            Reply::Choice(number) => match issued.choices.get(number.saturating_sub(1)) {
                Some(label) => (json!({ "answers": { "q1": number } }), Some(label.clone())),
                None => return Err(Refusal::NoAnswer.into()),
            },
            Reply::Text(text) => {
                let (answers, text) = typed(&row.input, text)?;
                (json!({ "answers": answers }), Some(text))
            }
        };
        if let (Some(response), Some(answered)) = (response.as_object_mut(), answered.as_object()) {
            response.extend(answered.clone());
        }
        Ok(Prepared { response, what: answered_words(reply, text.as_deref(), &row) })
    }

    /// Gives the answer, and returns what it is for `murmur notify log`.
    async fn answer(&self, prepared: Prepared) -> Result<String, AnswerError> {
        let mut daemon = connect(&self.dir).await.ok_or(DaemonError::Unreachable)?;
        let answering =
            daemon.answer_as::<Value>("permission.respond", prepared.response, client::ANSWER_TIMEOUT);
        answering.await.map_err(DaemonError::from)?;
        Ok(prepared.what)
    }

    fn refused(&self, channel: &str, answer: &ChannelAnswer, request: Option<RequestId>, why: &AnswerError) {
        self.note_line(LogEntry {
            channel: channel.to_owned(),
            result: "refused".to_owned(),
            what: "answer".to_owned(),
            request,
            sender: answer.sender.map(|sender| sender.to_string()),
            error: Some(why.to_string()),
            ..LogEntry::default()
        });
        // Senders who aren't listed, and other chats, get no reply.
        if !matches!(why, AnswerError::Refused(Refusal::Sender | Refusal::Chat)) {
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
            self.complain(&format!("cannot start a thread: {error}"));
        }
    }
}

/// An answer that is ready to be given.
struct Prepared {
    /// For the daemon.
    response: Value,
    /// For `murmur notify log`.
    what: String,
}

/// The answers that a person typed to all questions in `input`, one on each line, and the same for the log.
fn typed(input: &Value, text: &str) -> Result<(Map<String, Value>, String), AnswerError> {
    let asked = QuestionSet::parse(input).map_err(|error| AnswerError::Typed(error.failure().line()))?;
    let count = asked.questions().len();
    let lines: Vec<String> = match count {
        1 => vec![text.trim().to_owned()],
        _ => text.lines().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect(),
    };
    if lines.len() != count {
        let given = lines.len();
        return Err(AnswerError::Typed(format!(
            "there are {count} questions; write one line for each, not {given}"
        )));
    }
    // Whoever wants to allow a call hasn't read the question.
    let is_offered = asked.questions().iter().any(|question| is_label(question, text));
    if text.trim().eq_ignore_ascii_case("allow") && !is_offered {
        return Err(Refusal::NoAnswer.into());
    }
    let answers = asked.typed(&lines).map_err(|error| AnswerError::Typed(error.failure().line()))?;
    let labels = asked.answers(&Value::Object(answers.clone()));
    let mut labels = labels.map_err(|error| AnswerError::Typed(error.failure().line()))?;
    let labels: Vec<String> =
        asked.questions().iter().filter_map(|question| labels.remove(&question.question)).collect();
    Ok((answers, labels.join("; ")))
}

fn is_label(question: &Question, text: &str) -> bool {
    question.options.iter().any(|choice| choice.label.trim().eq_ignore_ascii_case(text.trim()))
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
    #[error("{0}")]
    Typed(String),
    #[error(transparent)]
    Daemon(#[from] DaemonError),
}

impl From<Refusal> for AnswerError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// What was answered, for `murmur notify log`.
fn answered_words(reply: &Reply, text: Option<&str>, row: &RequestRow) -> String {
    let word = match reply {
        Reply::Allow => "allowed",
        Reply::Deny(_) => "denied",
        Reply::Choice(_) | Reply::Text(_) => "answered",
    };
    let text = text.map(|text| format!(": {text}")).unwrap_or_default();
    let line = format!("{word} {} for {}{text}", row.tool, row.agent);
    line.chars().take(MAX_WHAT).collect()
}

fn confirmation(reply: &Reply) -> &'static str {
    match reply {
        Reply::Allow => "Allowed.",
        Reply::Deny(_) => "Denied.",
        Reply::Choice(_) | Reply::Text(_) => "Answered.",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_says_what_was_answered_in_words() {
        let id = RequestId::parse("7ggs733k").unwrap();
        let row = |tool: &str| RequestRow {
            id: id.clone(),
            kind: crate::daemon::broker::RequestKind::Permission,
            agent: "site-1".to_owned(),
            workspace: "/w".into(),
            heartbeat: None,
            defers: false,
            tool: tool.to_owned(),
            input: json!({}),
            cwd: "/w".into(),
            doubt: None,
            state: "waiting".to_owned(),
            asked_at: String::new(),
            expires_at: None,
        };
        let all = [
            (Reply::Allow, None, "Bash"),
            (Reply::Deny(None), None, "Bash"),
            (Reply::Deny(Some("too risky".to_owned())), Some("too risky"), "Bash"),
            (Reply::Choice(2), Some("Blue"), "AskUserQuestion"),
            (Reply::Text("the green one".to_owned()), Some("the green one"), "AskUserQuestion"),
        ];
        let lines: Vec<String> =
            all.iter().map(|(reply, text, tool)| answered_words(reply, *text, &row(tool))).collect();
        insta::assert_snapshot!(lines.join("\n"), @"
        allowed Bash for site-1
        denied Bash for site-1
        denied Bash for site-1: too risky
        answered AskUserQuestion for site-1: Blue
        answered AskUserQuestion for site-1: the green one
        ");
    }

    #[test]
    fn questions_are_answered_with_one_line_each() {
        let option = |label: &str| json!({ "label": label });
        let letters =
            json!({ "question": "Which?", "options": [option("A"), option("B"), option("C"), option("D")] });
        let checks =
            json!({ "question": "What?", "multiSelect": true, "options": [option("Lint"), option("Test")] });
        let free = json!({ "question": "Why?" });
        let answer_text = |questions: &[&Value], text: &str| {
            let answered = typed(&json!({ "questions": questions }), text);
            answered.map_or_else(|error| error.to_string(), |(_, text)| text)
        };
        for (text, expected) in [
            ("b", "B"),
            ("4", "D"),
            ("none of these", "none of these"),
            ("Allow", "this is not an answer to the request"),
            ("=Allow", "Allow"),
        ] {
            assert_eq!(answer_text(&[&letters], text), expected, "{text}");
        }
        assert!(answer_text(&[&letters], "7").starts_with("q1 cannot be answered with \"7\""));
        assert_eq!(answer_text(&[&checks], "lint, 2"), "Lint, Test");
        assert_eq!(answer_text(&[&free], "because\nof this"), "because\nof this");
        assert_eq!(answer_text(&[&letters, &checks, &free], "c\n\n2\nbecause"), "C; Test; because");
        assert_eq!(
            answer_text(&[&letters, &checks], "c"),
            "there are 2 questions; write one line for each, not 1"
        );
    }
}
