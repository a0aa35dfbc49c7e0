//! Recent history: a heartbeat's last outcomes and cost, and how active an agent was.

use crate::rows::{LogLine, Outcome};
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use std::collections::VecDeque;

/// How many outcomes a strip shows.
pub(crate) const STRIP: usize = 30;

/// How many stretches of time an agent's activity shows.
pub(crate) const STRETCHES: usize = 12;

/// The length of a stretch, in seconds.
const STRETCH: i64 = 10;

/// The last outcomes and the cost of a heartbeat.
#[derive(Debug, Default)]
pub(crate) struct History {
    pub(crate) strip: VecDeque<Outcome>,
    day: Option<Date>,
    cost: f64,
}

impl History {
    pub(crate) fn add(&mut self, line: &LogLine, zone: &TimeZone) {
        if line.label.is_some() {
            return;
        }
        if self.strip.len() == STRIP {
            self.strip.pop_front();
        }
        self.strip.push_back(line.outcome);
        let day = line.at.to_zoned(zone.clone()).date();
        if self.day.is_none_or(|known| known < day) {
            (self.day, self.cost) = (Some(day), 0.0);
        }
        if self.day == Some(day) {
            self.cost += line.cost.unwrap_or_default();
        }
    }

    /// The cost of `day`.
    pub(crate) fn cost(&self, day: Date) -> f64 {
        if self.day == Some(day) { self.cost } else { 0.0 }
    }
}

/// How much an agent did lately.
#[derive(Debug, Default)]
pub(crate) struct Activity {
    counts: [u16; STRETCHES],
    /// The newest stretch, counted from 1970.
    newest: i64,
}

impl Activity {
    pub(crate) fn add(&mut self, at: Timestamp) {
        let stretch = at.as_second() / STRETCH;
        self.counts = self.until(stretch);
        self.newest = self.newest.max(stretch);
        let last = &mut self.counts[STRETCHES - 1];
        *last = last.saturating_add(1);
    }

    /// The counts of the stretches up to the one of `now`.
    pub(crate) fn levels(&self, now: Timestamp) -> [u16; STRETCHES] {
        self.until(now.as_second() / STRETCH)
    }

    fn until(&self, stretch: i64) -> [u16; STRETCHES] {
        let passed = usize::try_from(stretch - self.newest).unwrap_or_default().min(STRETCHES);
        let mut counts = [0; STRETCHES];
        counts[..STRETCHES - passed].copy_from_slice(&self.counts[passed..]);
        counts
    }
}
