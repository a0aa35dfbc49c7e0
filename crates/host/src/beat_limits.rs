//! Limits of a beat: its time, which is paused while a person is asked, its turns, and how long to wait after its
//! turn is over. Pure: the time is an argument, by a clock that stands still while the computer sleeps.

use super::watchdogs::WatchdogTimeouts;
use std::time::Duration;
use tokio::time::Instant;

/// The limits of a beat.
#[derive(Debug, Clone, Copy)]
pub struct BeatLimits {
    /// The time limit, without time spent waiting for people.
    pub time: Duration,
    /// The turn limit.
    pub turns: Turns,
    /// How long to wait after a turn in case the agent starts another one.
    pub background_wait: Duration,
    /// When it seems to hang.
    pub watchdogs: WatchdogTimeouts,
}

/// The turn limit of a beat, counted in messages of its agent.
#[derive(Debug, Clone, Copy)]
pub struct Turns {
    /// The limit.
    pub most: u64,
    /// Whether the heartbeat or its workspace sets it. A beat that has answered doesn't fail because of the default
    /// limit.
    pub is_set: bool,
}

/// A time limit that can be paused.
#[derive(Debug)]
pub(super) struct TimeLimit {
    left: Duration,
    /// Since when it has been running or paused.
    since: Instant,
    is_paused: bool,
    /// The total time paused.
    waited: Duration,
}

impl TimeLimit {
    /// Starts at `now` with `limit` left.
    pub(super) fn new(limit: Duration, now: Instant) -> Self {
        Self { left: limit, since: now, is_paused: false, waited: Duration::ZERO }
    }

    /// Pauses it at `now`, or resumes it.
    pub(super) fn set_paused(&mut self, is_paused: bool, now: Instant) {
        if is_paused == self.is_paused {
            return;
        }
        let passed = now.saturating_duration_since(self.since);
        match self.is_paused {
            true => self.waited += passed,
            false => self.left = self.left.saturating_sub(passed),
        }
        (self.since, self.is_paused) = (now, is_paused);
    }

    /// When it runs out; `None` while paused.
    pub(super) fn ends_at(&self) -> Option<Instant> {
        (!self.is_paused).then(|| self.since + self.left)
    }

    /// The total time paused.
    pub(super) fn waited(&self) -> Duration {
        self.waited
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_paused_while_waiting_for_a_person() {
        let begun = Instant::now();
        let at = |seconds| begun + Duration::from_secs(seconds);
        let mut time_limit = TimeLimit::new(Duration::from_secs(60), begun);
        assert_eq!(time_limit.ends_at(), Some(at(60)));
        time_limit.set_paused(true, at(10));
        time_limit.set_paused(true, at(20));
        assert_eq!(time_limit.ends_at(), None);
        time_limit.set_paused(false, at(1000));
        time_limit.set_paused(false, at(1010));
        assert_eq!(time_limit.ends_at(), Some(at(1050)));
        time_limit.set_paused(true, at(1040));
        time_limit.set_paused(false, at(1041));
        assert_eq!(time_limit.ends_at(), Some(at(1051)));
        assert_eq!(time_limit.waited(), Duration::from_secs(991));
    }
}
