//! How long a beat may go on: its time, which stands still while a person is waited for, the turns it may take, and how
//! long it is let be when its turn is over. Pure: the time is an argument.

use std::time::Duration;
use tokio::time::Instant;

/// The limits of a beat.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// How long it may run, without what it waits for people.
    pub time: Duration,
    /// How many turns it may take in all.
    pub turns: Turns,
    /// How long it may stay when a turn is over, in case that it begins another one.
    pub background_wait: Duration,
}

/// How many turns a beat may take, which are messages of its agent.
#[derive(Debug, Clone, Copy)]
pub struct Turns {
    /// The most.
    pub most: u64,
    /// Whether the heartbeat or its workspace says so. Otherwise it's the default, and a beat that has answered doesn't
    /// fail by it.
    pub is_set: bool,
}

/// Time that runs out, but not while it stands still.
#[derive(Debug)]
pub(super) struct Allowance {
    left: Duration,
    /// Since when it has been running or standing still.
    since: Instant,
    is_still: bool,
    /// How long it has stood still.
    waited: Duration,
}

impl Allowance {
    /// `limit`, running from `now` on.
    pub(super) fn new(limit: Duration, now: Instant) -> Self {
        Self { left: limit, since: now, is_still: false, waited: Duration::ZERO }
    }

    /// Has it stand still from `now` on, or run again.
    pub(super) fn stand_still(&mut self, is_still: bool, now: Instant) {
        if is_still == self.is_still {
            return;
        }
        let passed = now.saturating_duration_since(self.since);
        match self.is_still {
            true => self.waited += passed,
            false => self.left = self.left.saturating_sub(passed),
        }
        (self.since, self.is_still) = (now, is_still);
    }

    /// When it is over, if it runs.
    pub(super) fn ends_at(&self) -> Option<Instant> {
        (!self.is_still).then(|| self.since + self.left)
    }

    /// How long it has stood still in all.
    pub(super) fn waited(&self) -> Duration {
        self.waited
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_stands_still_while_a_person_is_waited_for() {
        let begun = Instant::now();
        let at = |seconds| begun + Duration::from_secs(seconds);
        let mut allowance = Allowance::new(Duration::from_secs(60), begun);
        assert_eq!(allowance.ends_at(), Some(at(60)));
        allowance.stand_still(true, at(10));
        allowance.stand_still(true, at(20));
        assert_eq!(allowance.ends_at(), None);
        allowance.stand_still(false, at(1000));
        allowance.stand_still(false, at(1010));
        assert_eq!(allowance.ends_at(), Some(at(1050)));
        allowance.stand_still(true, at(1040));
        allowance.stand_still(false, at(1041));
        assert_eq!(allowance.ends_at(), Some(at(1051)));
        assert_eq!(allowance.waited(), Duration::from_secs(991));
    }
}
