//! The lines: questions, answers, events (spec 3, Message Format).

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;
use sys::error::Failure;
use sys::failure;

/// A question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// What is asked.
    pub msg_type: String,
    /// Comes back in the answer.
    pub id: String,
    /// What goes with the question.
    #[serde(default)]
    pub payload: Value,
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Response {
    /// The question's.
    pub msg_type: String,
    /// The question's.
    pub id: String,
    /// Whether `payload` or `error` says more.
    pub success: bool,
    /// What was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<Value>,
    /// Why there is no answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What to do about it, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// What.
    pub event_type: String,
    /// To which agent; empty where it is none's.
    pub agent_id: String,
    /// Its number within its stream, from 0 on. Of [`GAP`] and [`LAGGED`], that of the event that is missing first.
    pub offset: u64,
    /// What there is to say of it.
    pub payload: Value,
}

/// The event that stands for events that are not there any more: `from` and `to`, the first behind them.
pub const GAP: &str = "gap";

/// The event by which a client learns that it read too slowly and gets no more: `next`, where to attach again.
pub const LAGGED: &str = "lagged";

/// A line from a server: an answer or an event.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum Line {
    /// An answer.
    Response(Response),
    /// An event.
    Event(Event),
}

impl Response {
    /// The answer to a question of `msg_type` and `id`.
    #[must_use]
    pub fn new(msg_type: String, id: String, answer: Result<Value, Failure>) -> Self {
        match answer {
            Ok(payload) => {
                Self { msg_type, id, success: true, payload: Some(payload), error: None, hint: None }
            }
            Err(failure) => {
                let (error, hint) = (Some(failure.to_string()), failure.to_do().map(str::to_owned));
                Self { msg_type, id, success: false, payload: None, error, hint }
            }
        }
    }

    /// Why there is no answer.
    #[must_use]
    pub fn failure(&self) -> Failure {
        let failure = Failure::new(self.error.clone().unwrap_or_default());
        failure.or_hint(self.hint.clone())
    }

    /// The line, with its newline.
    #[must_use]
    pub fn line(&self) -> Vec<u8> {
        line(self)
    }
}

/// `value` as a line, with its newline.
pub(super) fn line(value: &impl Serialize) -> Vec<u8> {
    let mut text = Vec::new();
    write(&mut text, value);
    text
}

fn write(out: &mut Vec<u8>, value: &impl Serialize) {
    let start = out.len();
    // Nothing that is written here can be no JSON.
    if serde_json::to_writer(&mut *out, value).is_err() {
        out.truncate(start);
    }
    out.push(b'\n');
}

/// An event's line, with its newline.
#[must_use]
pub fn event_line(event_type: &str, agent_id: &str, offset: u64, payload: &impl Serialize) -> Vec<u8> {
    let mut text = Vec::with_capacity(128);
    write_event(&mut text, event_type, agent_id, offset, payload);
    text
}

/// Appends an event's line, with its newline, to `out`.
pub fn write_event(
    out: &mut Vec<u8>,
    event_type: &str,
    agent_id: &str,
    offset: u64,
    payload: &impl Serialize,
) {
    #[derive(Serialize)]
    struct Borrowed<'a, P> {
        event_type: &'a str,
        agent_id: &'a str,
        offset: u64,
        payload: &'a P,
    }
    write(out, &Borrowed { event_type, agent_id, offset, payload });
}

/// What is said to a question that nobody knows.
#[must_use]
pub fn unknown(msg_type: &str, known: &[&str]) -> Failure {
    struct List<'a>(&'a [&'a str]);
    impl fmt::Display for List<'_> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            match self.0 {
                [] => Ok(()),
                [only] => f.write_str(only),
                [most @ .., last] => write!(f, "{} and {last}", most.join(", ")),
            }
        }
    }
    failure!("unknown msg_type {msg_type:?}"; "known are {}", List(known))
}
