//! When a heartbeat with `jitter`, `activeHours`, `except`, `catchUp` or `startDeadline` runs. Pure.
//!
//! [`planned`] is when it runs next, from the anchor alone. [`decide`] decides what to do with a run whose time has
//! come: the daemon may see it late. A heartbeat without these keys runs as [`next_run`] says.

use super::{NEVER_RAN, next_run};
use crate::config::heartbeat::HeartbeatId;
use crate::config::interval::Interval;
use crate::config::schedule_options::{CatchUp, ScheduleOptions};
use crate::config::timing::Schedule;
use jiff::{SignedDuration, Timestamp};

#[cfg(test)]
mod tests;

/// How late the daemon may see a run that does not count as missed.
const GRACE: SignedDuration = SignedDuration::from_secs(60);

/// How many runs to look at for one within active hours. Each is on another day or in another span of one.
const MAX_RUNS: usize = 1000;

/// What happens to a run whose time has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartDecision {
    /// It starts as soon as it can.
    Start,
    /// It must not start before this time; `None` if it never may.
    Wait(Option<Timestamp>),
    /// It starts at this time, so that not everything that was missed starts at once.
    Later(Timestamp),
    /// It is left out. The next one counts from here.
    Skip(Timestamp),
}

/// A heartbeat's delay: less than `jitter`, and always the same for an id. It applies to all times of a cron
/// expression. An interval isn't lengthened: the delay only applies to runs that many heartbeats would start at the
/// same time, which are first runs, missed ones, and those at the start of active hours.
#[must_use]
pub fn offset(jitter: Interval, id: &HeartbeatId) -> SignedDuration {
    // FNV-1a, with the mixer of SplitMix64. It must never change: every heartbeat would run at another time.
    let mut hash = id.as_str().bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^= hash >> 31;
    let millis = u128::from(jitter.as_secs()) * 1000;
    // Less than the jitter, which fits.
    let offset = (u128::from(hash) * millis) >> 64;
    SignedDuration::from_millis(i64::try_from(offset).unwrap_or_default())
}

/// Returns the next run after the anchor, like [`next_run`]. An interval that ends outside active hours waits for them;
/// a time of a cron expression outside them is left out.
#[must_use]
pub fn planned(
    schedule: &Schedule,
    options: &ScheduleOptions,
    id: &HeartbeatId,
    anchor: Option<Timestamp>,
) -> Option<Timestamp> {
    let offset = offset_of(options, id);
    let Some(anchor) = anchor else { return Some(NEVER_RAN) };
    match schedule {
        Schedule::Every(_) => opening(options, offset, next_run(schedule, Some(anchor))?),
        Schedule::Cron(cron) => {
            let mut after = anchor.checked_sub(offset).ok()?;
            for _ in 0..MAX_RUNS {
                let time = cron.next_after(after)?;
                let opens = options.from(time)?;
                if opens == time {
                    // Jitter does not move a run out of active hours.
                    let later = time.checked_add(offset).ok();
                    let run = later.filter(|later| options.from(*later) == Some(*later)).unwrap_or(time);
                    if run > anchor {
                        return Some(run);
                    }
                }
                // The very start of active hours may be a time of the expression.
                after = time.max(opens.checked_sub(SignedDuration::from_nanos(1)).ok()?);
            }
            None
        }
    }
}

/// Decides on a run that was `due` at this time. `is_first` is whether the daemon sees it for the first time.
#[must_use]
pub fn decide(
    schedule: &Schedule,
    options: &ScheduleOptions,
    id: &HeartbeatId,
    (due, is_first): (Timestamp, bool),
    now: Timestamp,
) -> StartDecision {
    let late = now.duration_since(due);
    if due > NEVER_RAN {
        let is_later = |most| late > most && !is_due_since(schedule, options, id, most, now);
        let missed = match options.catch_up.map(|catch_up| catch_up.value) {
            None | Some(CatchUp::Once) => false,
            Some(CatchUp::Skip) => is_later(GRACE),
            Some(CatchUp::Within(most)) => is_later(most.signed()),
        };
        let too_late = options.start_deadline.is_some_and(|most| is_later(most.value.signed()));
        if is_first && missed || too_late {
            return StartDecision::Skip(skipped(schedule, due, now));
        }
    }
    let offset = offset_of(options, id);
    let is_missed = due == NEVER_RAN || late > GRACE;
    match opening(options, offset, now) {
        Some(at) if at > now => StartDecision::Wait(Some(at)),
        None => StartDecision::Wait(None),
        Some(_) if is_first && is_missed && matches!(schedule, Schedule::Every(_)) && !offset.is_zero() => {
            // Jitter does not move a run out of active hours.
            let later = now.checked_add(offset).ok().filter(|later| options.from(*later) == Some(*later));
            later.map_or(StartDecision::Start, StartDecision::Later)
        }
        Some(_) => StartDecision::Start,
    }
}

/// The first moment at or after `at` at which a run may start that isn't scheduled, such as a retry.
#[must_use]
pub fn opens(options: &ScheduleOptions, id: &HeartbeatId, at: Timestamp) -> Option<Timestamp> {
    opening(options, offset_of(options, id), at)
}

/// Whether a cron expression has had a time at most `most` ago: of several that were missed, the last one counts. An
/// interval counts from the last run, so it has missed only one.
fn is_due_since(
    schedule: &Schedule,
    options: &ScheduleOptions,
    id: &HeartbeatId,
    most: SignedDuration,
    now: Timestamp,
) -> bool {
    let before = now.checked_sub(most + SignedDuration::from_nanos(1)).ok();
    let run = before.and_then(|before| planned(schedule, options, id, Some(before)));
    matches!(schedule, Schedule::Cron(_)) && run.is_some_and(|run| run <= now)
}

/// Returns what the next run counts from if the one that was `due` is left out: an interval keeps its rhythm.
#[must_use]
pub fn skipped(schedule: &Schedule, due: Timestamp, now: Timestamp) -> Timestamp {
    match schedule {
        Schedule::Every(interval) => {
            let period = interval.signed().as_nanos().max(1);
            let passed = now.duration_since(due).as_nanos().max(0);
            let since = SignedDuration::from_nanos(i64::try_from(passed % period).unwrap_or_default());
            now.checked_sub(since).unwrap_or(now)
        }
        Schedule::Cron(_) => now,
    }
}

fn offset_of(options: &ScheduleOptions, id: &HeartbeatId) -> SignedDuration {
    options.jitter.map_or(SignedDuration::ZERO, |jitter| offset(jitter.value, id))
}

/// The first moment at or after `at` at which the heartbeat may start. Not all start at the first moment of active
/// hours.
fn opening(options: &ScheduleOptions, offset: SignedDuration, at: Timestamp) -> Option<Timestamp> {
    let opens = options.from(at)?;
    if opens == at {
        return Some(at);
    }
    let later = opens.checked_add(offset).ok().filter(|later| options.from(*later) == Some(*later));
    Some(later.unwrap_or(opens))
}
