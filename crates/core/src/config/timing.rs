//! A heartbeat's schedule: an interval, or a cron expression.

use jiff::SignedDuration;
use std::fmt;
use sys::error::Hinted;

use super::cron::{Cron, CronError, Crons};
use super::interval::Interval;

/// When a heartbeat runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Schedule {
    /// This long after the last run.
    Every(Interval),
    /// At the times of a cron expression.
    Cron(Cron),
}

/// Shown as `every 1h30m` or `cron 0 9 * * 1-5 Europe/Berlin`.
impl fmt::Display for Schedule {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Every(interval) => write!(out, "every {interval}"),
            Self::Cron(cron) => write!(out, "cron {cron}"),
        }
    }
}

/// Why the keys `interval`, `cron` and `tz` don't form a schedule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScheduleError {
    /// There are two schedules.
    #[error("both \"interval\" and \"cron\" are given")]
    Both,
    /// There is a zone without a cron expression.
    #[error("\"tz\" is given without \"cron\"")]
    ZoneAlone,
    /// The expression or its zone is not valid.
    #[error(transparent)]
    Cron(#[from] CronError),
}

impl Hinted for ScheduleError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Both => "remove one of them".to_owned(),
            Self::ZoneAlone => "remove it, or write \"cron\" instead of \"interval\"".to_owned(),
            Self::Cron(error) => return error.hint(),
        })
    }
}

impl ScheduleError {
    /// The key that the error is about.
    #[must_use]
    pub fn key(&self) -> &'static str {
        match self {
            Self::Both | Self::Cron(CronError::Syntax { .. } | CronError::Never { .. }) => "cron",
            Self::ZoneAlone | Self::Cron(CronError::Zone { .. }) => "tz",
        }
    }
}

impl Schedule {
    /// The shortest time between two runs.
    #[must_use]
    pub fn shortest_gap(&self) -> SignedDuration {
        match self {
            Self::Every(interval) => interval.signed(),
            Self::Cron(cron) => cron.shortest_gap(),
        }
    }

    /// Builds the schedule from its three keys; `None` if neither `interval` nor `cron` is given.
    pub fn from_keys(
        interval: Option<Interval>,
        cron: Option<&str>,
        tz: Option<&str>,
        crons: &Crons,
    ) -> Result<Option<Self>, ScheduleError> {
        match (interval, cron, tz) {
            (Some(_), Some(_), _) => Err(ScheduleError::Both),
            (_, None, Some(_)) => Err(ScheduleError::ZoneAlone),
            (None, Some(cron), tz) => Ok(Some(Self::Cron(crons.get(cron, tz)?))),
            (Some(interval), None, None) => Ok(Some(Self::Every(interval))),
            (None, None, None) => Ok(None),
        }
    }
}
