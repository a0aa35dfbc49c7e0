//! Keys about a heartbeat's schedule besides `interval` and `cron`: as written in one file, and resolved.
//!
//! A HEARTBEAT.md can only make runs rarer than config.json does.

use super::limit::{Notices, Source, Sourced};
use schemars::JsonSchema;

/// The keys in one file. `None` means unset.
#[derive(Debug, Clone, Default, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScheduleKeys {
    /// Whether the daemon starts its heartbeats. `murmur beat` does in any case.
    #[schemars(default = "enabled")]
    pub enabled: Option<bool>,
}

fn enabled() -> bool {
    true
}

/// The resolved options of a heartbeat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScheduleOptions {
    /// Whether the daemon starts it.
    pub enabled: Sourced<bool>,
}

impl Default for ScheduleOptions {
    fn default() -> Self {
        Self { enabled: Sourced::default(true) }
    }
}

impl ScheduleKeys {
    /// The keys, or `None` if none is set, which is by far the most common.
    pub(super) fn boxed(self) -> Option<Box<Self>> {
        (self != Self::default()).then(|| Box::new(self))
    }
}

impl ScheduleOptions {
    /// Combines config.json's keys with a HEARTBEAT.md's; `None` if neither sets any.
    pub(super) fn of(
        user: Option<&ScheduleKeys>,
        front: Option<&ScheduleKeys>,
        notices: &mut Notices,
    ) -> Option<Box<Self>> {
        let none = ScheduleKeys::default();
        let (user, front) = match (user, front) {
            (None, None) => return None,
            (user, front) => (user.unwrap_or(&none), front.unwrap_or(&none)),
        };
        Some(Box::new(Self { enabled: notices.enabled(user.enabled, front.enabled) }))
    }
}

impl Notices {
    /// Disabled if either file says so.
    fn enabled(&mut self, user: Option<bool>, front: Option<bool>) -> Sourced<bool> {
        match (user, front) {
            (Some(false), front) => {
                if front == Some(true) {
                    self.add(
                        "enabled: true in HEARTBEAT.md has no effect; config.json sets false".to_owned(),
                    );
                }
                Sourced { value: false, source: Source::ConfigJson }
            }
            (_, Some(false)) => Sourced { value: false, source: Source::Heartbeat },
            (Some(true), _) => Sourced { value: true, source: Source::ConfigJson },
            (None, Some(true)) => Sourced { value: true, source: Source::Heartbeat },
            (None, None) => Sourced::default(true),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn either_file_disables_a_heartbeat() {
        let keys = |enabled| ScheduleKeys { enabled };
        for (user, front, expected, source, notices) in [
            (None, Some(false), false, Source::Heartbeat, 0),
            (Some(true), Some(false), false, Source::Heartbeat, 0),
            (Some(false), Some(true), false, Source::ConfigJson, 1),
            (Some(false), None, false, Source::ConfigJson, 0),
            (Some(true), Some(true), true, Source::ConfigJson, 0),
            (None, Some(true), true, Source::Heartbeat, 0),
        ] {
            let mut told = Notices::default();
            let options = ScheduleOptions::of(Some(&keys(user)), Some(&keys(front)), &mut told).unwrap();
            assert_eq!(options.enabled, Sourced { value: expected, source }, "{user:?} {front:?}");
            assert_eq!(told.lines().len(), notices, "{told:?}");
        }
        assert_eq!(ScheduleOptions::of(None, None, &mut Notices::default()), None);
    }
}
