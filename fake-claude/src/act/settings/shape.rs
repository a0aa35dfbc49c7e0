//! Validates settings like Claude Code does. A single error invalidates the whole source.

use std::time::Duration;

use serde_json::{Map, Value};

use super::Hook;
use crate::act::version::Version;

/// The default `timeout` of a hook, in seconds.
const DEFAULT_TIMEOUT: f64 = 600.0;
/// An upper bound that still fits into a duration.
const MAX_TIMEOUT: f64 = 1e9;

/// Whether these settings are valid.
pub(super) fn is_valid(source: &Map<String, Value>, version: &Version) -> bool {
    let off = source.get("disableAllHooks").is_none_or(Value::is_boolean);
    let env = source.get("env").is_none_or(Value::is_object);
    let hooks = match source.get("hooks") {
        None => true,
        Some(Value::Object(events)) => events.values().all(|entries| are_entries(entries, version)),
        Some(_) => false,
    };
    off && env && hooks
}

fn are_entries(entries: &Value, version: &Version) -> bool {
    let is_entry = |entry: &Value| {
        let matcher = entry.get("matcher").is_none_or(Value::is_string);
        let hooks = entry.get("hooks").and_then(Value::as_array);
        matcher && hooks.is_some_and(|hooks| hooks.iter().all(|hook| is_hook(hook, version)))
    };
    entries.as_array().is_some_and(|entries| entries.iter().all(is_entry))
}

fn is_hook(hook: &Value, version: &Version) -> bool {
    let timeout =
        hook.get("timeout").is_none_or(|timeout| timeout.as_f64().is_some_and(|seconds| seconds > 0.0));
    let on_failure = match hook.get("onFailure") {
        Some(word) if version.is_new() => word == "block" || word == "allow",
        _ => true,
    };
    let command = hook["type"] != "command" || hook["command"].is_string();
    hook["type"].is_string() && timeout && on_failure && command
}

/// Parses a hook that runs a command; `None` for other hooks.
pub(super) fn command(hook: &Value) -> Option<Hook> {
    let command = hook["command"].as_str().filter(|_| hook["type"] == "command")?;
    let seconds = hook["timeout"].as_f64().unwrap_or(DEFAULT_TIMEOUT).min(MAX_TIMEOUT);
    Some(Hook {
        command: command.to_owned(),
        timeout: Duration::try_from_secs_f64(seconds).unwrap_or_default(),
        blocks_on_failure: hook["onFailure"] == "block",
    })
}
