//! Failures in a row of a heartbeat: when to retry, and when to run less often. Pure.
//!
//! [`after`] processes the end of a beat, and [`slowed_until`] is when a heartbeat that keeps failing runs next.

use crate::config::on_failure::{Breaker, OnFailure, Retry};
use crate::config::timing::Schedule;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

#[cfg(test)]
mod tests;

/// The longest time between two runs of a heartbeat that keeps failing.
const MAX_GAP: SignedDuration = SignedDuration::from_hours(24);

/// The time that doubles for a heartbeat that only file changes start.
const TRIGGER_GAP: SignedDuration = SignedDuration::from_mins(5);

/// Whether the API's answer to a failed call shows that a retry may help: it was overloaded, had an error, took too
/// long or could not be reached. `None` means that there was no answer.
#[must_use]
pub fn is_retryable(status: Option<u64>) -> bool {
    status.is_none_or(|status| matches!(status, 408 | 429 | 500..=599))
}

/// How many beats in a row must be replaced to be reported.
pub const MANY_REPLACED: u32 = 3;

/// The failures of a heartbeat since its last success.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Streak {
    /// How many.
    pub failures: u32,
    /// How many of the last ones were retried.
    #[serde(default)]
    pub retries: u32,
    /// When the last one started, or they were reset.
    pub started_at: Timestamp,
    /// When to retry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_at: Option<Timestamp>,
    /// Whether it was reported that the heartbeat runs less often.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reported: bool,
    /// How many of its last beats in a row were ended for the next one.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub replaced: u32,
}

impl Streak {
    /// No failures since then.
    #[must_use]
    pub fn none(since: Timestamp) -> Self {
        Self { failures: 0, retries: 0, started_at: since, retry_at: None, reported: false, replaced: 0 }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// How a beat ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BeatEnd {
    /// It did its work, or waits for an answer.
    Success,
    /// It failed, and whether a retry may help.
    Failure {
        /// Whether the API was overloaded or unreachable.
        retryable: bool,
    },
    /// It was ended for the next one.
    Replaced,
    /// Neither: it was stopped or skipped, or a usage limit ended it.
    Neither,
}

/// The streak after a beat with this end and these times; `None` if there is none.
#[must_use]
pub fn after(
    before: Option<&Streak>,
    options: &OnFailure,
    end: BeatEnd,
    (started_at, ended_at): (Timestamp, Timestamp),
) -> Option<Streak> {
    let retryable = match end {
        BeatEnd::Success => return None,
        BeatEnd::Neither => {
            return before.map(|streak| Streak { retries: 0, retry_at: None, ..streak.clone() });
        }
        BeatEnd::Replaced => {
            let streak = before.cloned().unwrap_or_else(|| Streak::none(started_at));
            let replaced = streak.replaced.saturating_add(1);
            return Some(Streak { retries: 0, retry_at: None, replaced, ..streak });
        }
        BeatEnd::Failure { retryable } => retryable,
    };
    let (failures, retries, reported) =
        before.map_or((0, 0, false), |streak| (streak.failures, streak.retries, streak.reported));
    let failures = failures.saturating_add(1);
    let may_retry = retryable && doublings(failures, options.breaker.value) == 0;
    let retry = options.retry.map(|retry| retry.value).filter(|retry| may_retry && retries < retry.max.get());
    let retry_at = retry.and_then(|retry| ended_at.checked_add(backoff(retry, retries)).ok());
    let retries = if retry_at.is_some() { retries + 1 } else { 0 };
    Some(Streak { failures, retries, started_at, retry_at, reported, replaced: 0 })
}

/// How long to wait for a retry after `retries` others.
fn backoff(retry: Retry, retries: u32) -> SignedDuration {
    doubled(retry.backoff.signed(), retries).min(retry.max_backoff.signed())
}

/// How often the time between runs has doubled.
fn doublings(failures: u32, breaker: Breaker) -> u32 {
    match breaker {
        Breaker::After(allowed) => (failures.saturating_add(1)).saturating_sub(allowed.get()),
        Breaker::Off => 0,
    }
}

fn doubled(span: SignedDuration, times: u32) -> SignedDuration {
    // More often than this, any span is longer than every limit.
    span.saturating_mul(1 << times.min(30))
}

/// Whether a heartbeat keeps failing, so that a person should know.
#[must_use]
pub fn keeps_failing(streak: &Streak, breaker: Breaker) -> bool {
    doublings(streak.failures, breaker) > 0
}

/// When a heartbeat that keeps failing may run next; `None` if only its `schedule` and its trigger decide. A schedule
/// of at most one run a day stays as it is; `is_triggered` is whether changes of files start it too.
#[must_use]
pub fn slowed_until(
    streak: &Streak,
    breaker: Breaker,
    schedule: Option<&Schedule>,
    is_triggered: bool,
) -> Option<Timestamp> {
    let doublings = doublings(streak.failures, breaker);
    let after = |gap| {
        let spread = doubled(gap, doublings).min(MAX_GAP);
        (spread > gap).then_some(spread)
    };
    if let Some(schedule) = schedule {
        let gap = schedule.shortest_gap();
        match (after(gap), schedule) {
            (Some(spread), Schedule::Every(_)) => return streak.started_at.checked_add(spread).ok(),
            // A beat starts a bit later than its time.
            (Some(spread), Schedule::Cron(cron)) => {
                return cron.next_after(streak.started_at.checked_add(spread - gap / 2).ok()?);
            }
            (None, _) => {}
        }
    }
    let spread = after(TRIGGER_GAP).filter(|_| is_triggered)?;
    streak.started_at.checked_add(spread).ok()
}
