//! A value of the wrong type: which key has it, and what is accepted there. The value itself is not shown: it may be a
//! secret.

use super::mistakes::entries;
use crate::config::active_hours::ActiveHours;
use crate::config::approval::{Approval, Checker, Choice, Questions};
use crate::config::size::Size;
use std::borrow::Cow;
use sys::error::Failure;
use sys::failure;

/// Where the value is, and what is wrong with it; `None` if the parser's `message` about byte `start` is about
/// something else.
pub(super) fn described(text: &str, start: usize, message: &str) -> Option<(usize, Failure)> {
    let phrases = [
        "invalid type",
        "invalid value",
        "invalid length",
        "did not match any",
        "wanted ",
        "$__toml_private",
    ];
    let entries = entries(text);
    if entries.is_empty() || !phrases.iter().any(|phrase| message.contains(phrase)) {
        return None;
    }
    let entry = entries.iter().find(|entry| (entry.value..entry.range.end).contains(&start))?;
    let (key, kind) = (entry.key(text)?, kind(&text[start..]));
    let accepted = accepted(key, message);
    Some((
        start,
        if start == entry.value {
            failure!("{key:?} cannot be {kind}"; "{accepted}")
        } else {
            failure!("{key:?} cannot contain {kind}"; "{accepted}")
        },
    ))
}

/// What kind of value a text begins with.
fn kind(value: &str) -> &'static str {
    let word = value.split([',', ']', '}', '\n', '#', ' ']).next().unwrap_or_default();
    match value.chars().next() {
        Some('[') => "a list",
        Some('{') => "a table",
        Some('"' | '\'') => "a string",
        Some('t' | 'f') => "a boolean",
        _ if word.contains(':') || word.len() > 4 && word.get(4..5) == Some("-") => "a date or time",
        _ => "a number",
    }
}

/// What is accepted for a key, for hints.
fn accepted(key: &str, message: &str) -> Cow<'static, str> {
    let expected = message.rsplit_once("expected ").map_or("a string", |(_, expected)| expected);
    match key.rsplit('.').next().unwrap_or(key) {
        "permissions-checker" => Checker::ACCEPTED.into(),
        "approval" => Approval::ACCEPTED.into(),
        "questions" => Questions::ACCEPTED.into(),
        "action" => "write \"allow\", \"deny\" or \"pass\"".into(),
        "provider" => "write \"anthropic\" or \"openai\"".into(),
        "type" => "write \"command\", \"desktop\", \"webhook\", \"ntfy\", \"telegram\" or \"email\"".into(),
        "format" => "write \"json\", \"slack\", \"discord\" or \"teams\"".into(),
        "approval-wait" | "approval-expiry" | "stale" | "warning" | "stuck" | "keep" | "keep-failed"
        | "cooldown" => "write a time span, such as \"30m\" or \"1h30m\"".into(),
        "max" | "max-per-run" => Size::ACCEPTED.into(),
        "agent" => "write \"claude\", \"codex\" or a name such as \"acp:opencode\"".into(),
        "quiet-hours" => ActiveHours::ACCEPTED.into(),
        "digest" => "write hours and minutes, such as \"08:00\"".into(),
        "when" => "write a list of events, such as [\"attention\", \"error\"]".into(),
        "senders" => "write a list of numbers".into(),
        _ if expected.starts_with("a table") => format!("write {expected}").into(),
        _ if expected.starts_with(['i', 'u']) => "write a whole number".into(),
        _ if expected == "a map" => "write it as a table".into(),
        _ if expected == "a sequence" => "write a list of strings".into(),
        _ => "write a string in quotes".into(),
    }
}
