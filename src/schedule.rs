//! When a heartbeat runs next. Pure: a schedule, the last run and the time come in as arguments.
//!
//! Two steps, because only the first depends on the time: [`anchor`] says from when to count, [`next_run`] counts. An
//! anchor is made when a heartbeat is read, when it has run, and when the clock jumped, and is kept between; made
//! anew each tick it would move along with a clock that was set back, and an interval would never end.

#[cfg(test)]
mod tests;

use jiff::{SignedDuration, Timestamp};

pub use crate::config::timing::Schedule;

/// A heartbeat that never ran is due since this time, which is always past.
pub const SINCE_EVER: Timestamp = Timestamp::UNIX_EPOCH;

/// How far ahead of the clock a last run may lie and still keep a cron time from firing again.
const BELIEVED: SignedDuration = SignedDuration::from_hours(24);

/// From when the schedule counts; none for a heartbeat that never ran.
///
/// A last run that lies in the future is the trace of a clock that was set back. An interval then counts from now. Cron
/// counts from that last run, so that a wall time which comes a second time does not fire again, but only where it
/// is at most 24 hours ahead, so that it is not silent for long.
#[must_use]
pub fn anchor(schedule: &Schedule, last_run: Option<Timestamp>, now: Timestamp) -> Option<Timestamp> {
    let last = last_run?;
    let ahead = last.duration_since(now);
    let believed = match schedule {
        Schedule::Every(_) => SignedDuration::ZERO,
        Schedule::Cron(_) => BELIEVED,
    };
    Some(if ahead > believed { now } else { last })
}

/// When it runs next: the first time after the anchor, which may be long past, as missed times collapse into one.
/// [`SINCE_EVER`] without an anchor; none where the calendar ends before.
#[must_use]
pub fn next_run(schedule: &Schedule, anchor: Option<Timestamp>) -> Option<Timestamp> {
    let Some(anchor) = anchor else { return Some(SINCE_EVER) };
    match schedule {
        Schedule::Every(interval) => anchor.checked_add(interval.signed()).ok(),
        Schedule::Cron(cron) => cron.next_after(anchor),
    }
}

/// Whether it is to run now.
#[must_use]
pub fn is_due(schedule: &Schedule, anchor: Option<Timestamp>, now: Timestamp) -> bool {
    next_run(schedule, anchor).is_some_and(|next| next <= now)
}
