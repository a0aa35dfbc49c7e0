//! Whether a failed run is worth a retry: the API was overloaded, unreachable or silent, and the agent gave up or ran
//! out of time.

use super::gave_up;
use crate::run::{LastActivity, Run, RunEnd};
use murmur_core::config::watchdogs::Watchdog;
use murmur_core::failures::is_retryable;

/// A call of the API that failed: its HTTP status, if there was an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FailedCall(pub Option<u64>);

/// Whether `run`, whose outcome is an error, is worth a retry. `failed` is the last call of the API, if that failed.
#[must_use]
pub fn is_worth_a_retry(run: &Run, failed: Option<FailedCall>) -> bool {
    if run.survivors > 0 {
        return false;
    }
    match &run.ending {
        RunEnd::TimedOut { doing: LastActivity::Retries { status, .. }, .. }
        | RunEnd::Hung { doing: LastActivity::Retries { status, .. }, .. } => is_retryable(*status),
        RunEnd::Hung { watchdog, .. } => *watchdog == Watchdog::IdleTimeout,
        ending => {
            gave_up(ending, &run.results) && failed.is_some_and(|FailedCall(status)| is_retryable(status))
        }
    }
}
