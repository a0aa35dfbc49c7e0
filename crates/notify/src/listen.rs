//! Waits for answers from a channel, on a thread of its own. Opens no port: it asks the channel's server.
//!
//! Lines are read with `read_until`, which a thread that may block can use, rather than `sys::lines::LineBuffer`.

use crate::channel::{reveal, telegram_method};
use crate::http::{Call, SendError, open};
use murmur_core::config::notify::{Address, Destination};
use murmur_core::config::settings::Secret;
use serde::Deserialize;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::time::Duration;
use sys::failure;

/// How long Telegram's server may wait for an update.
const POLL: Duration = Duration::from_secs(50);
/// How long one connection to an ntfy server is used: a dead one is noticed only then.
const STREAM: Duration = Duration::from_secs(300);
/// The longest line of an ntfy server, in bytes.
const MAX_LINE: u64 = 64 << 10;
/// The first and the longest wait after a failure.
const WAITS: (Duration, Duration) = (Duration::from_secs(2), Duration::from_secs(300));

/// What came from a channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Incoming {
    /// The channel's position from which to continue reading.
    pub read: String,
    /// The answer, if it may be one.
    pub answer: Option<ChannelAnswer>,
}

/// Something that may be an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelAnswer {
    /// What was sent.
    pub text: String,
    /// Who sent it, if the channel says so.
    pub sender: Option<i64>,
    /// The Telegram chat that it was written in: ids of messages are only unique within one.
    pub chat: Option<i64>,
    /// The message that it replies to.
    pub reply_to: Option<i64>,
    /// Telegram's id of a pressed button.
    pub button: Option<String>,
}

/// What a listener reports.
#[derive(Debug)]
pub enum Report {
    /// Something came.
    Incoming(Incoming),
    /// It failed, and retries.
    Failed(SendError),
}

/// Listens until `report` returns false. `read` is where to go on; without it, only new answers count, from `since` on
/// (Unix time in seconds).
pub fn run(
    destination: &Destination,
    folder: &Path,
    read: Option<String>,
    since: i64,
    mut report: impl FnMut(Report) -> bool,
) {
    let (mut read, mut wait) = (read, WAITS.0);
    let mut goes_on = true;
    while goes_on {
        let from = read.clone();
        let mut take = |incoming: Incoming| {
            read = Some(incoming.read.clone());
            goes_on = report(Report::Incoming(incoming));
            goes_on
        };
        let result = match destination {
            Destination::Telegram { server, token, .. } => reveal(Some(token), folder)
                .map_err(SendError::from)
                .and_then(|token| telegram(server, &token.unwrap_or_default(), from.as_deref(), &mut take)),
            Destination::Ntfy { server, token, answers: Some(topic), .. } => {
                reveal(token.as_ref(), folder).map_err(SendError::from).and_then(|token| {
                    let from = from.unwrap_or_else(|| since.to_string());
                    ntfy(server, topic, token.as_ref(), &from, &mut take)
                })
            }
            _ => return,
        };
        match result {
            Ok(()) => wait = WAITS.0,
            Err(error) => {
                goes_on = goes_on && report(Report::Failed(error));
                if goes_on {
                    // A timer: nothing unparks this thread.
                    std::thread::park_timeout(wait);
                    wait = (wait * 2).min(WAITS.1);
                }
            }
        }
    }
}

/// One call of `getUpdates`.
fn telegram(
    server: &Address,
    token: &Secret,
    read: Option<&str>,
    take: &mut impl FnMut(Incoming) -> bool,
) -> Result<(), SendError> {
    let offset: Option<i64> = read.and_then(|read| read.parse().ok());
    // Without an offset, skip what was sent before murmur listened.
    let body = match offset {
        Some(offset) => json!({
            "offset": offset, "timeout": POLL.as_secs(), "allowed_updates": ["message", "callback_query"],
        }),
        None => json!({ "offset": -1, "timeout": 0, "allowed_updates": ["message", "callback_query"] }),
    };
    let result = telegram_method(server, token, "getUpdates", &body, POLL + Duration::from_secs(20))?;
    let updates = result.as_array().cloned().unwrap_or_default();
    if offset.is_none() && updates.is_empty() {
        take(Incoming { read: "0".to_owned(), answer: None });
    }
    for update in updates {
        let id = update.get("update_id").and_then(Value::as_i64).unwrap_or_default();
        let answer = if offset.is_some() { telegram_answer(&update) } else { None };
        if !take(Incoming { read: (id.saturating_add(1)).to_string(), answer }) {
            break;
        }
    }
    Ok(())
}

fn telegram_answer(update: &Value) -> Option<ChannelAnswer> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    if let Some(pressed) = update.get("callback_query") {
        return Some(ChannelAnswer {
            text: text(pressed.get("data")?)?,
            sender: pressed.pointer("/from/id").and_then(Value::as_i64),
            chat: pressed.pointer("/message/chat/id").and_then(Value::as_i64),
            reply_to: None,
            button: text(pressed.get("id")?),
        });
    }
    let message = update.get("message")?;
    Some(ChannelAnswer {
        text: text(message.get("text")?)?,
        sender: message.pointer("/from/id").and_then(Value::as_i64),
        chat: message.pointer("/chat/id").and_then(Value::as_i64),
        reply_to: message.pointer("/reply_to_message/message_id").and_then(Value::as_i64),
        button: None,
    })
}

/// A line of an ntfy server's stream.
#[derive(Deserialize)]
struct NtfyLine {
    id: String,
    event: String,
    #[serde(default)]
    message: String,
}

/// Reads a topic's stream until it ends.
fn ntfy(
    server: &Address,
    topic: &str,
    token: Option<&Secret>,
    since: &str,
    take: &mut impl FnMut(Incoming) -> bool,
) -> Result<(), SendError> {
    let is_plain = since.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let since = if is_plain { since } else { "all" };
    let url = format!("{}/{topic}/json?since={since}", server.reveal().trim_end_matches('/'));
    let headers = crate::channel::ntfy_headers(token);
    let call = Call { url, host: server.host(), body: None, headers, limit: STREAM };
    let mut response = open(&call)?;
    let mut lines = BufReader::new(response.body_mut().as_reader());
    loop {
        let mut line = Vec::new();
        let length = lines.by_ref().take(MAX_LINE).read_until(b'\n', &mut line);
        let Ok(length) = length else {
            // The connection's time is up, or it broke.
            return Ok(());
        };
        if length == 0 {
            return Err(failure!("{} closed the connection", server.host()).into());
        }
        let Ok(line) = serde_json::from_slice::<NtfyLine>(&line) else { continue };
        if line.event != "message" {
            continue;
        }
        let answer =
            ChannelAnswer { text: line.message, sender: None, chat: None, reply_to: None, button: None };
        if !take(Incoming { read: line.id, answer: Some(answer) }) {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests;
