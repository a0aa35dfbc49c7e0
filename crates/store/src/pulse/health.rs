//! An agent's health, from its pulse. Pure.

use super::State;
use murmur_core::config::quiet::Quiet;
use serde::Serialize;
use std::time::Duration;

/// An agent's health.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Health {
    /// It did something recently.
    Active,
    /// It has been waiting for a message for a while.
    Idle,
    /// It is working but has been quiet for a while.
    Stale,
    /// It is working but has been quiet for a long while.
    Warning,
    /// It has been quiet for so long that it needs help.
    Stuck,
    /// It waits for a person. Not known from the pulse, but from its request.
    Waiting,
    /// Its session has ended.
    Exited,
    /// Its process died before its session ended.
    Dead,
}

impl Health {
    /// The name of the health.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Idle => "idle",
            Self::Stale => "stale",
            Self::Warning => "warning",
            Self::Stuck => "stuck",
            Self::Waiting => "waiting",
            Self::Exited => "exited",
            Self::Dead => "dead",
        }
    }

    /// The health of an agent that has been quiet for `age` in `state`; `is_alive` is `None` if unknown.
    #[must_use]
    pub fn of(state: State, is_alive: Option<bool>, age: Duration, quiet: &Quiet) -> Self {
        if state == State::Exited {
            return Self::Exited;
        }
        if is_alive == Some(false) {
            return Self::Dead;
        }
        let [stale, warning, stuck] = quiet.steps();
        let is_waiting = matches!(state, State::Idle | State::Starting);
        match age {
            age if age < stale => Self::Active,
            _ if is_waiting => Self::Idle,
            age if age < warning => Self::Stale,
            // In an unknown state it may be waiting rather than stuck.
            age if age < stuck || state == State::Unknown => Self::Warning,
            _ => Self::Stuck,
        }
    }

    /// When, after `age`, the health changes by itself; `None` if it does not.
    #[must_use]
    pub fn changes_in(age: Duration, quiet: &Quiet) -> Option<Duration> {
        quiet.steps().into_iter().find(|step| *step > age).map(|step| step - age)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(state: State, is_alive: Option<bool>, minutes: u64) -> &'static str {
        Health::of(state, is_alive, Duration::from_secs(60 * minutes), &Quiet::default()).as_str()
    }

    #[test]
    fn a_quiet_agent_is_active_then_stale_then_a_warning_then_stuck() {
        let table =
            [(0, "active"), (4, "active"), (5, "stale"), (14, "stale"), (15, "warning"), (29, "warning")];
        for (minutes, expected) in table.into_iter().chain([(30, "stuck"), (1_000_000, "stuck")]) {
            assert_eq!(of(State::Running, Some(true), minutes), expected, "{minutes}");
            assert_eq!(of(State::Running, None, minutes), expected, "{minutes}");
        }
    }

    #[test]
    fn a_waiting_agent_is_never_stuck_and_an_ended_one_is_exited_or_dead() {
        assert_eq!(of(State::Idle, Some(true), 1), "active");
        assert_eq!(of(State::Idle, Some(true), 600), "idle");
        assert_eq!(of(State::Starting, None, 600), "idle");
        assert_eq!(of(State::Unknown, Some(true), 600), "warning");
        assert_eq!(of(State::Idle, Some(false), 1), "dead");
        assert_eq!(of(State::Running, Some(false), 600), "dead");
        assert_eq!(of(State::Exited, Some(false), 1), "exited");
    }

    #[test]
    fn the_next_change_is_at_the_next_threshold() {
        let quiet = Quiet::default();
        let minutes = |minutes: u64| Duration::from_secs(60 * minutes);
        assert_eq!(Health::changes_in(minutes(1), &quiet), Some(minutes(4)));
        assert_eq!(Health::changes_in(minutes(5), &quiet), Some(minutes(10)));
        assert_eq!(Health::changes_in(minutes(30), &quiet), None);
    }
}
