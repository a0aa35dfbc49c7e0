//! The lines of the protocol: requests, responses and events (spec 3, Message Format).

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};
use std::fmt;
use sys::error::Failure;
use sys::failure;

/// A request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// The type of the request.
    pub msg_type: String,
    /// Repeated in the response.
    pub id: String,
    /// Arguments of the request.
    #[serde(default)]
    pub payload: Value,
}

/// A result, serialized once: `status` of a thousand heartbeats is asked for while they run.
pub type Payload = Box<RawValue>;

/// Serializes the result of a request.
pub fn payload(value: &impl Serialize) -> Result<Payload, Failure> {
    to_raw_value(value).map_err(|error| error.to_string().into())
}

/// A response, as a client reads it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Response {
    /// The request's type.
    pub msg_type: String,
    /// The request's id.
    pub id: String,
    /// Whether the request succeeded: then there is a `payload`, otherwise an `error`.
    pub success: bool,
    /// The result.
    #[serde(default)]
    pub payload: Option<Value>,
    /// Why the request failed.
    #[serde(default)]
    pub error: Option<String>,
    /// What to do about it, if known.
    #[serde(default)]
    pub hint: Option<String>,
}

/// An event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// The type of the event.
    pub event_type: String,
    /// The agent; empty if the event is not about one.
    pub agent_id: String,
    /// Its number in its stream, from 0. For [`GAP`] and [`LAGGED`], the number of the first missing event.
    pub offset: u64,
    /// Details of the event.
    pub payload: Value,
}

/// Replaces events that are no longer available: from `from` up to, but not including, `to`.
pub const GAP: &str = "gap";

/// Tells a client that it read too slowly and is detached; `next` is where to attach again.
pub const LAGGED: &str = "lagged";

/// A line from a server.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum ServerMessage {
    /// An answer.
    Response(Response),
    /// An event.
    Event(Event),
}

impl Response {
    /// The error of a failed request.
    #[must_use]
    pub fn failure(&self) -> Failure {
        let failure = Failure::new(self.error.clone().unwrap_or_default());
        failure.or_hint(self.hint.clone())
    }
}

/// The response to the request with this `msg_type` and `id`, as a line with its newline.
#[must_use]
pub fn response_line(msg_type: &str, id: &str, result: Result<&RawValue, &Failure>) -> Vec<u8> {
    #[derive(Serialize)]
    struct Borrowed<'a> {
        msg_type: &'a str,
        id: &'a str,
        success: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        payload: Option<&'a RawValue>,
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        hint: Option<&'a str>,
    }
    let failure = result.err();
    line(&Borrowed {
        msg_type,
        id,
        success: failure.is_none(),
        payload: result.ok(),
        error: failure.map(ToString::to_string),
        hint: failure.and_then(Failure::to_do),
    })
}

/// `value` as a line with its newline.
pub(super) fn line(value: &impl Serialize) -> Vec<u8> {
    let mut text = Vec::new();
    write(&mut text, value);
    text
}

fn write(out: &mut Vec<u8>, value: &impl Serialize) {
    let start = out.len();
    // All types written here serialize to JSON.
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

/// The error for an unknown request type.
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
    failure!("unknown msg_type {msg_type:?}"; "use one of: {}", List(known))
}
