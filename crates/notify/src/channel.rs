//! Sends a message through a channel. Blocks, for at most [`LIMIT`].

mod chat;
mod email;
mod ntfy;
mod program;
mod telegram;
mod webhook;

use crate::http::Call;
use crate::message::{Action, Message};
use jiff::Timestamp;
use murmur_core::config::notify::{Address, Destination, Token};
use murmur_core::config::settings::Secret;
use std::path::Path;
use std::time::Duration;
use sys::error::{Failure, Hinted};

pub use crate::http::SendError;
pub(crate) use ntfy::headers as ntfy_headers;
pub(crate) use telegram::method as telegram_method;

/// How long one delivery may take.
pub const LIMIT: Duration = Duration::from_secs(20);

/// What was sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sent {
    /// The message's id, as the channel counts.
    pub message: Option<i64>,
}

/// Whether a channel shows all of a message's events.
#[must_use]
pub fn shows_all(destination: &Destination, message: &Message) -> bool {
    let shows_body = match destination {
        Destination::Ntfy { .. } => message.cut(ntfy::MAX_TEXT).1,
        Destination::Telegram { .. } => message.cut(telegram::MAX_TEXT).1,
        _ => true,
    };
    shows_body && message.is_whole
}

/// Sends `message`. Relative paths of files with secrets are relative to `folder`, which has config.toml.
pub fn send(
    destination: &Destination,
    message: &Message,
    folder: &Path,
    now: Timestamp,
) -> Result<Sent, SendError> {
    match destination {
        Destination::Command { argv } => program::command(argv, message),
        Destination::Desktop => program::desktop(message),
        Destination::Email { to, sendmail } => email::send(to, sendmail, message),
        Destination::Webhook { url, format, secret } => {
            let secret = reveal(secret.as_ref(), folder)?;
            webhook::send(url, *format, secret.as_ref(), message, now)
        }
        Destination::Ntfy { server, topic, token, answers } => {
            let token = reveal(token.as_ref(), folder)?;
            ntfy::send(server, topic, token.as_ref(), answers.as_deref(), message)
        }
        Destination::Telegram { server, token, chat, .. } => match reveal(Some(token), folder)? {
            Some(token) => telegram::send(server, &token, *chat, message),
            None => Ok(Sent::default()),
        },
    }
}

/// Tells a person whether an answer was accepted. Best effort.
pub fn acknowledge(destination: &Destination, folder: &Path, callback: Option<&str>, text: &str) {
    let secret = |token: Option<&Token>| reveal(token, folder).ok().flatten();
    // The answer counts all the same, and is in notifications.jsonl.
    let _best_effort = match destination {
        Destination::Telegram { server, token, chat, .. } => secret(Some(token))
            .map(|token| telegram::acknowledge(server, &token, *chat, callback, text).map(drop)),
        Destination::Ntfy { server, topic, token, .. } => {
            Some(ntfy::acknowledge(server, topic, secret(token.as_ref()).as_ref(), text).map(drop))
        }
        _ => None,
    };
}

/// Calls the monitor at `address` with `suffix` after its path, the beat as its run, and `text`. Tries three times.
pub fn ping(address: &Address, suffix: &str, beat: Option<&str>, text: &str) -> Result<(), SendError> {
    let (path, query) = address.reveal().split_once('?').unwrap_or((address.reveal(), ""));
    let run = beat.map(|beat| format!("rid={beat}"));
    let query: Vec<&str> =
        [query, run.as_deref().unwrap_or_default()].into_iter().filter(|part| !part.is_empty()).collect();
    let mark = if query.is_empty() { "" } else { "?" };
    let url = format!("{}{suffix}{mark}{}", path.trim_end_matches('/'), query.join("&"));
    let body = text.chars().take(2000).collect::<String>().into_bytes();
    let body = Some(("text/plain; charset=utf-8", body));
    let call = Call { url, host: address.host(), body, headers: Vec::new(), limit: LIMIT };
    let mut result = crate::http::send(&call);
    for wait in [2, 10] {
        if result.as_ref().err().is_none_or(|error| error.is_final) {
            break;
        }
        // A timer: nothing unparks this thread.
        std::thread::park_timeout(Duration::from_secs(wait));
        result = crate::http::send(&call);
    }
    result.map(drop)
}

/// The secret itself.
pub(crate) fn reveal(token: Option<&Token>, folder: &Path) -> Result<Option<Secret>, Failure> {
    token.map(|token| token.reveal(folder)).transpose().map_err(|error| error.failure())
}

/// How many buttons ntfy shows at most.
pub const NTFY_BUTTONS: usize = 3;

/// The buttons' texts and answers.
fn buttons(message: &Message) -> impl Iterator<Item = &Action> {
    message.actions.iter()
}

#[cfg(test)]
mod tests;
