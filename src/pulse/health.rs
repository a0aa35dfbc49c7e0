//! How an agent is, by its pulse: pure.

use super::State;
use crate::config::quiet::Quiet;
use serde::Serialize;
use std::time::Duration;

/// How an agent is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Health {
    /// It did something not long ago.
    Active,
    /// It waits for a message, which may take as long as it will.
    Idle,
    /// It is at work, and has been quiet for a while.
    Stale,
    /// For a long while.
    Warning,
    /// For so long that it will hardly go on by itself.
    Stuck,
    /// It waits for a person's word. No pulse says so: whoever knows of its request does.
    Waiting,
    /// Its session has ended.
    Exited,
    /// Its process is gone, and its session was not ended.
    Dead,
}

impl Health {
    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
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

    /// The health of one that has been quiet for `age` in `state`; `is_alive` says whether its process is there, `None`
    /// that nobody knows.
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
            // Whether one that nobody can ask waits or hangs is not known.
            age if age < stuck || state == State::Unknown => Self::Warning,
            _ => Self::Stuck,
        }
    }

    /// How long after an age of `age` the health changes by itself; `None` if it does not.
    #[must_use]
    pub fn changes_in(age: Duration, quiet: &Quiet) -> Option<Duration> {
        quiet.steps().into_iter().find(|step| *step > age).map(|step| step - age)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(state: State, is_alive: Option<bool>, minutes: u64) -> &'static str {
        Health::of(state, is_alive, Duration::from_secs(60 * minutes), &Quiet::default()).word()
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
    fn one_that_waits_for_its_user_is_never_stuck_and_one_that_is_gone_says_so() {
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
