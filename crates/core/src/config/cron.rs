//! A cron expression in a time zone, and when it fires next.
//!
//! Takes five fields and a zone, returns instants. Must not know which schedules are due.

mod pattern;
#[cfg(test)]
mod tests;
mod walk;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use sys::error::Hinted;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use pattern::Pattern;

/// How many runs to examine to find the shortest gap.
const RUNS: usize = 200;

/// The days of 28 years, after which weekdays and leap years repeat.
const WEEKDAYS_AND_LEAP_YEARS: SignedDuration = SignedDuration::from_hours(10_227 * 24);

/// Five cron fields in a time zone. Cheap to clone: heartbeats with the same expression share it.
///
/// An expression with specific hours runs once for every wall time that it names: at the end of the gap if the clock
/// skips that time, at the first occurrence if the clock repeats it. An expression whose hour field covers every hour
/// keeps its rhythm in real time: it skips what the clock skips and repeats what the clock repeats.
#[derive(Debug, Clone)]
pub struct Cron {
    pattern: Arc<Pattern>,
    zone: TimeZone,
}

/// Why an expression or its zone is not valid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CronError {
    /// The text is neither five valid fields nor a nickname.
    #[error("{text:?} is not a cron expression ({reason})")]
    Syntax {
        /// The text.
        text: Box<str>,
        /// The parser's reason.
        reason: Box<str>,
    },
    /// The expression names no existing day.
    #[error("{text:?} never fires")]
    Never {
        /// The text.
        text: Box<str>,
    },
    /// The time zone is unknown.
    #[error("time zone {zone:?} is unknown")]
    Zone {
        /// The zone's name.
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
    /// Parses an expression for a zone.
    pub fn new(text: &str, zone: TimeZone) -> Result<Self, CronError> {
        Ok(Self { pattern: Arc::new(Pattern::parse(text)?), zone })
    }

    /// The first instant after `after` at which it fires; `None` if the calendar ends before.
    #[must_use]
    pub fn next_after(&self, after: Timestamp) -> Option<Timestamp> {
        walk::next_after(&self.pattern, &self.zone, after)
    }

    /// The shortest time between two of its runs, ignoring clock changes. Calculated once per expression.
    #[must_use]
    pub fn shortest_gap(&self) -> SignedDuration {
        *self.pattern.shortest_gap.get_or_init(|| {
            // Looking at some runs is enough: all days have the same times, and weekdays and leap years repeat.
            let mut runs = std::iter::successors(Some(Timestamp::UNIX_EPOCH), |run| {
                walk::next_after(&self.pattern, &TimeZone::UTC, *run)
            });
            let Some(mut before) = runs.nth(1) else { return SignedDuration::MAX };
            let end = before + WEEKDAYS_AND_LEAP_YEARS;
            let mut shortest = SignedDuration::MAX;
            for run in runs.take(RUNS) {
                shortest = shortest.min(run.duration_since(before));
                before = run;
                if run > end {
                    break;
                }
            }
            shortest
        })
    }

    /// The expression as written.
    #[must_use]
    pub fn expression(&self) -> &str {
        self.pattern.text()
    }

    /// The zone's IANA name, if it has one.
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

/// Parses cron expressions, caching each, with a default zone.
#[derive(Debug)]
pub struct Crons {
    zone: TimeZone,
    known: Mutex<HashMap<Box<str>, Arc<Pattern>>>,
}

impl Crons {
    /// Creates a parser with the default zone `zone`: the system's, in production.
    #[must_use]
    pub fn new(zone: TimeZone) -> Self {
        Self { zone, known: Mutex::default() }
    }

    /// The default zone.
    #[must_use]
    pub fn zone(&self) -> &TimeZone {
        &self.zone
    }

    fn known(&self) -> MutexGuard<'_, HashMap<Box<str>, Arc<Pattern>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Parses an expression in the zone called `zone`, or in the default zone.
    pub fn get(&self, text: &str, zone: Option<&str>) -> Result<Cron, CronError> {
        let zone = zone.map_or_else(|| Ok(self.zone.clone()), zone_of)?;
        let known = self.known().get(text).cloned();
        let pattern = match known {
            Some(pattern) => pattern,
            None => {
                let pattern = Arc::new(Pattern::parse(text)?);
                self.known().insert(text.into(), Arc::clone(&pattern));
                pattern
            }
        };
        Ok(Cron { pattern, zone })
    }
}

/// Returns the zone with an IANA name.
pub fn zone_of(name: &str) -> Result<TimeZone, CronError> {
    sys::clock::named_zone(name).ok_or_else(|| CronError::Zone { zone: super::checked::short(name).into() })
}
