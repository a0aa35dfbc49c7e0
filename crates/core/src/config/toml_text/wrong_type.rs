//! A value of the wrong type: which key has it, and what is accepted there. The value itself is not shown: it may be a secret.

use super::mistakes::{Entry, entries};
use crate::config::active_hours::ActiveHours;
use crate::config::approval::{Approval, Checker, Choice, Questions};
use crate::config::size::Size;
use std::borrow::Cow;
use sys::error::Failure;
use sys::failure;

/// Where the value is, and what is wrong with it; `None` if the parser's `message` about byte `start` is about something else.
pub(super) fn described(text: &str, start: usize, message: &str) -> Option<(usize, Failure)> {
    let says = [
        "invalid type",
        "invalid value",
        "invalid length",
        "did not match any",
        "wanted ",
        "$__toml_private",
    ];
    let entries = entries(text);
    if entries.is_empty() || !says.iter().any(|said| message.contains(said)) {
        return None;
    }
    let own = entries.iter().find(|entry| (entry.value..entry.range.end).contains(&start));
    // The parser loses the position in tables with a `type`.
    let Some(entry) = own.or_else(|| in_table(&entries, text, start, message)) else {
        return Some((start, failure!("a value of this table has the wrong type"; "correct it")));
    };
    let at = if own.is_some() { start } else { entry.value };
    let (key, kind) = (entry.key(text)?, kind(&text[at..]));
    let accepted = accepted(key, message);
    Some((
        at,
        if at == entry.value {
            failure!("{key:?} can't be {kind}"; "{accepted}")
        } else {
            failure!("{key:?} can't contain {kind}"; "{accepted}")
        },
    ))
}

/// The only entry of the table with its header at `start` that has the value in the message.
fn in_table<'a>(entries: &'a [Entry], text: &str, start: usize, message: &str) -> Option<&'a Entry> {
    let table = entries.iter().position(|entry| entry.is_header() && entry.range.contains(&start))?;
    let found = message.split_once(": ")?.1.split(", expected").next()?;
    let literal =
        found.split_once(['`', '"']).map_or("", |(_, literal)| literal.trim_end_matches(['`', '"']));
    let has_found = |entry: &&Entry| {
        let value = text.get(entry.value..entry.range.end).unwrap_or_default();
        let word = match kind(value) {
            "a list" => "sequence",
            "a table" => "map",
            "a boolean" => "boolean",
            "a string" => "string",
            _ => "",
        };
        let is_same = word == "sequence" || word == "map" || value.trim_matches(['"', '\'']) == literal;
        entry.table == Some(table) && found.starts_with(word) && is_same
    };
    let mut with_it = entries.iter().filter(has_found);
    with_it.next().filter(|_| with_it.next().is_none())
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
