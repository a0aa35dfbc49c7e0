//! The entries that are to be there: an event and its group each.

use super::SetupError;
use super::ours::is_ours;
use super::tree::{Event, Settings};
use crate::agent::settings::{HookProgram, PULSE_EVENTS};
use serde_json::Value;
use std::path::Path;

/// Groups with one hook each, in the order in which they are written.
#[derive(Debug, Clone, PartialEq)]
pub struct Wanted(pub(super) Vec<(String, Value)>);

impl Wanted {
    /// The hooks by which the sessions of people write pulses: those that murmur's own sessions have.
    ///
    /// # Errors
    /// [`SetupError::NotText`], and [`SetupError::Renamed`] where the hook could not be told from others' afterwards.
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

    /// What setup wrote into `settings`, of whatever version and path, as far as nobody has changed it since.
    pub(super) fn found_in(settings: &Settings<'_>) -> Option<Self> {
        let ours = settings.events().filter(|event| event.has_ours());
        let group = |event: &Event<'_>| {
            let mut groups = event.groups.iter().filter(|group| group.has_ours());
            let (group, None) = (groups.next()?, groups.next()) else { return None };
            let [_] = group.hooks.as_deref()? else { return None };
            Some((event.name.clone().into_owned(), serde_json::from_str(group.text).ok()?))
        };
        ours.map(group).collect::<Option<Vec<_>>>().map(Self)
    }

    /// The names of the events.
    #[must_use]
    pub fn events(&self) -> Vec<&str> {
        self.0.iter().map(|(event, _)| event.as_str()).collect()
    }

    /// The command that is run for `event` by the settings in `source`, which is murmur's.
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
