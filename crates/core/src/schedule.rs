//! When a heartbeat runs next. Pure: takes the schedule, the last run and the current time.
//!
//! [`anchor`] picks the time to count from and is the only step that depends on the clock; [`next_run`] counts from it.
//! Compute the anchor when a heartbeat is read, when it has run and when the clock jumps, and keep it in between:
//! recomputed on every tick, it would follow a clock that was set back, and an interval would never elapse.

#[cfg(test)]
mod tests;
pub mod timely;

use jiff::{SignedDuration, Timestamp};

pub use crate::config::timing::Schedule;

/// The due time of a heartbeat that has never run; always in the past.
pub const NEVER_RAN: Timestamp = Timestamp::UNIX_EPOCH;

/// How far in the future a last run may lie and still count as the anchor of a cron schedule.
const MAX_LAST_RUN_AHEAD: SignedDuration = SignedDuration::from_hours(24);

/// Returns the time to count from, or `None` if the heartbeat has never run.
///
/// A last run in the future means that the clock was set back. Intervals then count from now. Cron schedules count
/// from that last run, so that a repeated wall time does not fire twice, unless it is more than 24 hours ahead, which
/// would silence the heartbeat for too long.
#[must_use]
pub fn anchor(schedule: &Schedule, last_run: Option<Timestamp>, now: Timestamp) -> Option<Timestamp> {
    let last = last_run?;
    let ahead = last.duration_since(now);
    let max_ahead = match schedule {
        Schedule::Every(_) => SignedDuration::ZERO,
        Schedule::Cron(_) => MAX_LAST_RUN_AHEAD,
    };
    Some(if ahead > max_ahead { now } else { last })
}

/// Returns the first run after the anchor. It may be long past: missed runs collapse into one.
///
/// Returns [`NEVER_RAN`] without an anchor, and `None` if the calendar ends before the next run.
#[must_use]
pub fn next_run(schedule: &Schedule, anchor: Option<Timestamp>) -> Option<Timestamp> {
    let Some(anchor) = anchor else { return Some(NEVER_RAN) };
    match schedule {
        Schedule::Every(interval) => anchor.checked_add(interval.signed()).ok(),
        Schedule::Cron(cron) => cron.next_after(anchor),
    }
}

/// Whether the heartbeat is due.
#[must_use]
pub fn is_due(schedule: &Schedule, anchor: Option<Timestamp>, now: Timestamp) -> bool {
    next_run(schedule, anchor).is_some_and(|next| next <= now)
}
