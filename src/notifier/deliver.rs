//! Deliveries: a batch of events becomes a message, which a thread sends.

use super::{Input, Notifier};
use ::notify::channel::{self, SendError, Sent};
use ::notify::event::Request;
use ::notify::log::LogEntry;
use ::notify::message::{Action, Message};
use ::notify::outbox::{self, Batch};
use ::notify::tokens::{self, Issued};
use jiff::Timestamp;
use murmur_core::config::notify::{Destination, EventKind};
use murmur_core::permit::question::QuestionSet;
use sys::clock;

/// How many answers to a question have a button, besides the one that denies it.
const CHOICES: usize = 4;

/// The end of a delivery.
pub(super) struct Delivery {
    batch: Batch,
    title: String,
    /// The hash of the message's token.
    token: Option<String>,
    result: Result<Sent, SendError>,
}

impl Notifier {
    /// The message for `batch`, with buttons if the channel takes answers, and the hash of its token.
    pub(super) fn message(&mut self, batch: &Batch) -> (Message, Option<String>) {
        let mut message = Message::new(batch.events.clone(), &self.zone);
        let Some(channel) = self.notify.channels.get(&batch.channel) else { return (message, None) };
        let request = match batch.events.as_slice() {
            [event] if event.kind == EventKind::Waiting => event.request.as_ref(),
            _ => None,
        };
        if let Some(request) = request.filter(|_| channel.takes_answers()) {
            let is_shown = |message: &Message| channel::shows_all(&channel.destination, message);
            if let Destination::Telegram { .. } = channel.destination {
                let length = message.body.len();
                message.body.push_str(&how_to_reply(request));
                if !is_shown(&message) {
                    message.body.truncate(length);
                }
            }
            let is_shown = is_shown(&message);
            match issue(&batch.channel, request, is_shown) {
                Ok((token, issued)) => {
                    let most = most_choices(&channel.destination);
                    message.actions = actions(request, &token, &issued, most);
                    let hash = issued.hash.clone();
                    self.state.tokens.push(issued);
                    return (message, Some(hash));
                }
                Err(error) => self.complain(&format!("cannot make a token: {error}")),
            }
        }
        (message, None)
    }

    /// Sends `message`, which has the token with the hash `token`, on a thread of its own.
    pub(super) fn deliver(&self, batch: Batch, message: Message, token: Option<String>, now: Timestamp) {
        let Some(channel) = self.notify.channels.get(&batch.channel).cloned() else { return };
        let (settings, threads) = (self.settings.clone(), self.threads.clone());
        std::thread::spawn(move || {
            let result = channel::send(&channel.destination, &message, &settings, now);
            let delivery = Delivery { batch, title: message.title, token, result };
            let _ended = threads.blocking_send(Input::Delivered(delivery));
        });
    }

    pub(super) fn delivered(&mut self, delivery: Delivery) {
        let Delivery { batch, title, token, result } = delivery;
        self.busy.remove(&batch.channel);
        let now = clock::now();
        let request = batch.events.first().and_then(|event| event.request_id()).cloned();
        let line = LogEntry { channel: batch.channel.clone(), what: title, request, ..LogEntry::default() };
        let noted = match result {
            Ok(Sent { message }) => {
                let issued = self.state.tokens.iter_mut().find(|issued| Some(&issued.hash) == token.as_ref());
                if let Some(issued) = issued {
                    issued.message = message;
                }
                outbox::delivered(&mut self.state, &batch, now);
                Some(("delivered", None))
            }
            Err(SendError { failure, is_final }) => {
                let error = failure.line();
                let known = self.state.channels.get(&batch.channel).and_then(|channel| channel.error.clone());
                outbox::failed(&mut self.state, &batch, error.clone(), is_final, now);
                // The same error is noted once.
                let is_new = is_final || known.as_deref() != Some(&error);
                is_new.then_some((if is_final { "dropped" } else { "failed" }, Some(error)))
            }
        };
        // What is noted isn't sent again after a restart.
        self.save();
        if let Some((result, error)) = noted {
            self.note_line(LogEntry { result: result.to_owned(), error, ..line });
        }
    }
}

/// A new token for `request`, and what is kept of it. A request that isn't shown as a whole, or that the guard doubts,
/// can only be denied.
fn issue(channel: &str, request: &Request, is_shown: bool) -> std::io::Result<(String, Issued)> {
    let token = tokens::make()?;
    let issued = Issued {
        hash: tokens::hash(token.as_bytes()),
        channel: channel.to_owned(),
        request: request.id.clone(),
        input: tokens::hash(request.input.to_string().as_bytes()),
        may_allow: is_shown && request.doubt.is_none(),
        is_question: request.is_question,
        choices: request.choices(),
        expires_at: request.expires_at.as_deref().and_then(|at| at.parse().ok()),
        message: None,
    };
    Ok((token, issued))
}

/// A line that says how a reply answers questions; empty for a call, which has buttons.
fn how_to_reply(request: &Request) -> String {
    let asked = QuestionSet::parse(&request.input).ok().filter(|_| request.is_question);
    let Some(asked) = asked else { return String::new() };
    let several = asked.questions().iter().any(|question| question.multi_select);
    let several = if several { "; where several apply, write them with commas" } else { "" };
    match asked.questions().len() {
        1 => format!("\nOr reply with the answer, or deny{several}"),
        count => format!("\nOr reply with {count} lines, one for each answer, or deny{several}"),
    }
}

fn most_choices(destination: &Destination) -> usize {
    match destination {
        Destination::Ntfy { .. } => channel::NTFY_BUTTONS - 1,
        _ => CHOICES,
    }
}

fn actions(request: &Request, token: &str, issued: &Issued, most: usize) -> Vec<Action> {
    let action = |label: &str, word: &str| Action {
        label: label.chars().take(40).collect(),
        answer: format!("{word} {token}"),
    };
    if request.is_question {
        let most = if issued.may_allow { most } else { 0 };
        let choices = issued.choices.iter().take(most).enumerate();
        let choices = choices.map(|(at, label)| action(&sys::text::visible(label), &(at + 1).to_string()));
        return choices.chain([action("Deny", "deny")]).collect();
    }
    let allow = issued.may_allow.then(|| action("Allow", "allow"));
    allow.into_iter().chain([action("Deny", "deny")]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use murmur_core::permit::request::RequestId;
    use serde_json::json;

    #[test]
    fn a_question_can_be_denied_by_a_button_too() {
        let options: Vec<_> = ["A", "B", "C"].iter().map(|label| json!({ "label": label })).collect();
        let request = Request {
            id: RequestId::parse("7ggs733k").unwrap(),
            is_question: true,
            tool: "AskUserQuestion".to_owned(),
            input: json!({ "questions": [{ "question": "Which?", "options": options }] }),
            cwd: String::new(),
            doubt: None,
            expires_at: None,
        };
        let (token, issued) = issue("phone", &request, true).unwrap();
        let labels = |most| -> Vec<String> {
            actions(&request, &token, &issued, most).into_iter().map(|action| action.label).collect()
        };
        assert_eq!(labels(CHOICES), ["A", "B", "C", "Deny"]);
        assert_eq!(labels(channel::NTFY_BUTTONS - 1), ["A", "B", "Deny"]);
        let deny = actions(&request, &token, &issued, 0).remove(0);
        assert!(tokens::parse_button(&deny.answer).is_some_and(|(reply, _)| issued.check(&reply).is_ok()));
    }
}
