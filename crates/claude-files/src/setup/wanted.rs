//! The entries to install: an event and its group each.

use super::SetupError;
use super::ours::{is_ours, is_written_by_setup};
use super::tree::{Event, Settings};
use murmur_agent::settings::{HookProgram, PULSE_EVENTS};
use serde_json::Value;
use std::path::Path;

/// Groups with one hook each, in the order they are written.
#[derive(Debug, Clone, PartialEq)]
pub struct Wanted(pub(super) Vec<(String, Value)>);

impl Wanted {
    /// The hooks that write pulses, as in murmur's own sessions. Returns [`SetupError::Renamed`] if they could not be
    /// recognized later.
    pub fn of(hook: &HookProgram) -> Result<Self, SetupError> {
        let group = |(event, is_about_tool): &(&str, bool)| {
            let group = hook.pulse_group(event, *is_about_tool)?;
            let command = group.pointer("/hooks/0/command").and_then(Value::as_str).unwrap_or_default();
            if !is_ours(command) {
                return Err(SetupError::Renamed { command: command.to_owned() });
            }
            Ok((String::from(*event), group))
        };
        Ok(Self(PULSE_EVENTS.iter().map(group).collect::<Result<_, _>>()?))
    }

    /// The entries that setup wrote to `settings`, of any version and path; `None` if they were edited.
    pub(super) fn found_in(settings: &Settings<'_>) -> Option<Self> {
        let ours = settings.events().filter(|event| event.has_ours());
        let group = |event: &Event<'_>| {
            let mut groups = event.groups.iter().filter(|group| group.has_ours());
            let (group, None) = (groups.next()?, groups.next()) else { return None };
            let value: Value = serde_json::from_str(group.text).ok()?;
            is_as_written(&value).then(|| (event.name.clone().into_owned(), value))
        };
        ours.map(group).collect::<Option<Vec<_>>>().map(Self)
    }

    /// The names of the events.
    #[must_use]
    pub fn events(&self) -> Vec<&str> {
        self.0.iter().map(|(event, _)| event.as_str()).collect()
    }

    /// Whether `command` is exactly as setup writes it, with the program's absolute path.
    #[must_use]
    pub fn is_written_by_setup(command: &str) -> bool {
        is_written_by_setup(command)
    }

    /// murmur's command for `event` in the settings `source`.
    #[must_use]
    pub fn command(source: &str, path: &Path, event: &str) -> Option<String> {
        let settings = Settings::read(source, path, &[]).ok()?;
        let event = settings.events().find(|found| found.name == event)?;
        let mut hooks = event
            .groups
            .iter()
            .filter(|group| group.matches_all())
            .flat_map(|group| group.hooks.iter().flatten());
        let value = hooks.find(|hook| hook.is_ours)?.value()?;
        Some(value.get("command")?.as_str()?.to_owned())
    }
}

/// Whether `group` is as setup writes it, except for the timeout.
fn is_as_written(group: &Value) -> bool {
    let keys = |value: &Value, known: &[&str]| {
        value.as_object().is_some_and(|members| members.keys().all(|key| known.contains(&key.as_str())))
    };
    let [hook] = group.pointer("/hooks").and_then(Value::as_array).map_or(&[][..], Vec::as_slice) else {
        return false;
    };
    keys(group, &["matcher", "hooks"])
        && group.get("matcher").is_none_or(|matcher| matcher == "*")
        && keys(hook, &["type", "command", "timeout"])
        && hook.get("type").is_some_and(|kind| kind == "command")
        && hook.get("command").and_then(Value::as_str).is_some_and(is_written_by_setup)
}
