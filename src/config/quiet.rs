//! How long an agent may be quiet before that says something: config.toml's table `quiet`.

use super::interval::Interval;
use std::time::Duration;

/// From which length of silence on an agent at work is what (spec 2, the consumers' thresholds).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quiet {
    /// Stale; before it the agent is active.
    pub stale: Interval,
    /// Worth a look.
    pub warning: Interval,
    /// Stuck.
    pub stuck: Interval,
}

impl Default for Quiet {
    fn default() -> Self {
        let minutes = |minutes: u32| Interval::from_secs(60 * minutes).unwrap_or(Interval::MAX);
        Self { stale: minutes(5), warning: minutes(15), stuck: minutes(30) }
    }
}

impl Quiet {
    /// Whether each is longer than the one before it.
    #[must_use]
    pub fn is_ordered(&self) -> bool {
        self.stale < self.warning && self.warning < self.stuck
    }

    /// Them all, from short to long.
    #[must_use]
    pub fn steps(&self) -> [Duration; 3] {
        [self.stale, self.warning, self.stuck].map(|step| Duration::from_secs(step.as_secs().into()))
    }
}
