//! A cron expression in a time zone, and the instant after another at which it fires.
//!
//! In come five fields and a zone, out go instants. Which schedule is due is not decided here.

mod pattern;
#[cfg(test)]
mod tests;
mod walk;

use crate::error::Hinted;
use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use pattern::Pattern;

/// How many runs are looked at to tell how often an expression runs.
const RUNS: usize = 200;

/// Five cron fields in a time zone. Cheap to clone: heartbeats with the same expression share it.
///
/// An expression that names its hours runs once for every wall time it names: at the end of the gap where the
/// clock skips that time, at its first passing where the clock repeats it. One whose hour field covers every
/// hour keeps its rhythm in real time: it skips what the clock skips and repeats what the clock repeats.
#[derive(Debug, Clone)]
pub struct Cron {
    pattern: Arc<Pattern>,
    zone: TimeZone,
}

/// Why an expression with its zone is no schedule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CronError {
    /// It is not five fields that make sense, nor a nickname.
    #[error("{text:?} is not a cron expression ({reason})")]
    Syntax {
        /// What was found.
        text: Box<str>,
        /// What the parser says.
        reason: Box<str>,
    },
    /// There is no such day.
    #[error("{text:?} never fires")]
    Never {
        /// What was found.
        text: Box<str>,
    },
    /// The time zone is unknown.
    #[error("time zone {zone:?} is unknown")]
    Zone {
        /// What was found.
        zone: Box<str>,
    },
}

impl Hinted for CronError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Syntax { .. } => "write five fields, minute hour day month weekday, such as \"*/15 9-17 * * MON-FRI\", or @hourly, @daily, @weekly, @monthly, @yearly".to_owned(),
            Self::Never { .. } => "write a day that exists".to_owned(),
            Self::Zone { .. } => "write an IANA name such as \"Europe/Berlin\" or \"UTC\"".to_owned(),
        })
    }
}

impl Cron {
    /// The expression in a zone.
    ///
    /// # Errors
    /// When it is no expression or can never fire.
    pub fn new(text: &str, zone: TimeZone) -> Result<Self, CronError> {
        Ok(Self { pattern: Arc::new(Pattern::parse(text)?), zone })
    }

    /// The first instant later than `after` at which it fires; none where the calendar ends before.
    #[must_use]
    pub fn next_after(&self, after: Timestamp) -> Option<Timestamp> {
        walk::next_after(&self.pattern, &self.zone, after)
    }

    /// The shortest time between two of its runs, by a clock that is never set.
    #[must_use]
    pub fn shortest_gap(&self) -> SignedDuration {
        // A day has the same times whichever it is, and what is rare comes in the first year or never.
        let mut runs = std::iter::successors(Some(Timestamp::UNIX_EPOCH), |run| {
            walk::next_after(&self.pattern, &TimeZone::UTC, *run)
        });
        let Some(mut before) = runs.nth(1) else { return SignedDuration::MAX };
        let mut shortest = SignedDuration::MAX;
        for run in runs.take(RUNS) {
            shortest = shortest.min(run.duration_since(before));
            before = run;
        }
        shortest
    }

    /// The expression as it was written.
    #[must_use]
    pub fn expression(&self) -> &str {
        self.pattern.text()
    }

    /// The zone's IANA name, where it has one.
    #[must_use]
    pub fn zone_name(&self) -> Option<&str> {
        self.zone.iana_name()
    }
}

impl PartialEq for Cron {
    fn eq(&self, other: &Self) -> bool {
        self.expression() == other.expression() && self.zone == other.zone
    }
}

impl Eq for Cron {}

impl fmt::Display for Cron {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.expression())?;
        self.zone_name().map_or(Ok(()), |zone| write!(out, " {zone}"))
    }
}

/// Reads cron expressions, each of them once, with a zone for those that name none.
#[derive(Debug)]
pub struct Crons {
    zone: TimeZone,
    known: RefCell<HashMap<Box<str>, Arc<Pattern>>>,
}

impl Crons {
    /// A reader whose default zone is `zone`: the system's, in production.
    #[must_use]
    pub fn new(zone: TimeZone) -> Self {
        Self { zone, known: RefCell::default() }
    }

    /// The expression in the zone named, or in the default zone.
    ///
    /// # Errors
    /// When it is no expression, can never fire, or the zone is unknown.
    pub fn get(&self, text: &str, zone: Option<&str>) -> Result<Cron, CronError> {
        let zone = zone.map_or_else(|| Ok(self.zone.clone()), zone_of)?;
        let known = self.known.borrow().get(text).cloned();
        let pattern = match known {
            Some(pattern) => pattern,
            None => {
                let pattern = Arc::new(Pattern::parse(text)?);
                self.known.borrow_mut().insert(text.into(), Arc::clone(&pattern));
                pattern
            }
        };
        Ok(Cron { pattern, zone })
    }
}

/// The zone of an IANA name.
///
/// # Errors
/// When there is none of that name.
pub fn zone_of(name: &str) -> Result<TimeZone, CronError> {
    TimeZone::get(name).map_err(|_| CronError::Zone { zone: name.into() })
}
