//! How long an agent may be quiet before it counts as stale or stuck: config.toml's table `quiet`.

use super::interval::Interval;
use std::time::Duration;

/// The lengths of silence of a working agent and what they mean (spec 2, the consumers' thresholds).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quiet {
    /// The agent is stale; before that it is active.
    pub stale: Interval,
    /// The agent is worth a look.
    pub warning: Interval,
    /// The agent is stuck.
    pub stuck: Interval,
}

impl Default for Quiet {
    fn default() -> Self {
        let minutes = |minutes: u32| Interval::from_secs(60 * minutes).unwrap_or(Interval::MAX);
        Self { stale: minutes(5), warning: minutes(15), stuck: minutes(30) }
    }
}

impl Quiet {
    /// Whether each threshold is longer than the one before.
    #[must_use]
    pub fn is_ordered(&self) -> bool {
        self.stale < self.warning && self.warning < self.stuck
    }

    /// The thresholds, from short to long.
    #[must_use]
    pub fn steps(&self) -> [Duration; 3] {
        [self.stale, self.warning, self.stuck].map(|step| Duration::from_secs(step.as_secs().into()))
    }
}
