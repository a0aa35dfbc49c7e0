//! What the daemon keeps of a beat's line in the journal.

use jiff::Timestamp;
use murmur_core::failures::BeatEnd;
use murmur_core::id::BeatId;
use murmur_core::outcome::{EarlyEnd, OutcomeKind};
use murmur_core::permit::request::RequestId;
use murmur_store::journal::entry::JournalEntry;
use std::path::PathBuf;

/// The parts of a beat's journal line on which decisions depend.
#[derive(Debug)]
pub struct BeatSummary {
    /// The beat; `None` if another program wrote the line.
    pub beat: Option<BeatId>,
    /// The workspace.
    pub workspace: PathBuf,
    /// The name of a named heartbeat.
    pub name: Option<String>,
    /// When it started.
    pub started: Option<Timestamp>,
    /// When it ended.
    pub ended: Option<Timestamp>,
    /// How it ended.
    pub end: BeatEnd,
    /// Its agent.
    pub agent: String,
    /// The request whose answer it was resumed with.
    pub resumes: Option<RequestId>,
}

impl BeatSummary {
    /// Copies what is needed of `entry`.
    #[must_use]
    pub fn of(entry: &JournalEntry) -> Self {
        Self {
            beat: entry.beat.clone(),
            workspace: (&entry.workspace).into(),
            name: entry.heartbeat.clone(),
            started: entry.started(),
            ended: entry.ended(),
            end: end_of(entry),
            agent: entry.agent.clone(),
            resumes: entry.resumes.clone(),
        }
    }
}

fn end_of(entry: &JournalEntry) -> BeatEnd {
    use OutcomeKind::{Attention, Error, Limited, Ok, Skipped};
    match entry.outcome {
        Ok | Attention => BeatEnd::Success,
        Error if entry.early_end == Some(EarlyEnd::Replaced) => BeatEnd::Replaced,
        Error if !entry.is_stopped() => BeatEnd::Failure { retryable: entry.retryable },
        // Without a hold, nothing else would make its heartbeat wait.
        Limited if entry.limit.as_ref().is_some_and(|limit| limit.hold_until.is_none()) => {
            BeatEnd::Failure { retryable: false }
        }
        Error | Limited | Skipped => BeatEnd::Neither,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use murmur_core::usage_limit::Account;
    use murmur_store::limits::LimitReached;

    #[test]
    fn only_failures_count_towards_the_breaker() {
        let end = |outcome, early_end| {
            let entry = JournalEntry::new(String::new(), String::new(), outcome, 0);
            end_of(&JournalEntry { early_end, ..entry })
        };
        let failure = BeatEnd::Failure { retryable: false };
        let limit = |hold_until| LimitReached {
            account: Account::default(),
            window: "five_hour".to_owned(),
            resets_at: None,
            hold_until,
        };
        for (hold_until, expected) in [(Some(String::new()), BeatEnd::Neither), (None, failure)] {
            let entry = JournalEntry::new(String::new(), String::new(), OutcomeKind::Limited, 0);
            assert_eq!(end_of(&JournalEntry { limit: Some(limit(hold_until)), ..entry }), expected);
        }
        for (outcome, early_end, expected) in [
            (OutcomeKind::Ok, None, BeatEnd::Success),
            (OutcomeKind::Error, None, failure),
            (OutcomeKind::Error, Some(EarlyEnd::TimedOut), failure),
            (OutcomeKind::Error, Some(EarlyEnd::Stopped), BeatEnd::Neither),
            (OutcomeKind::Error, Some(EarlyEnd::Replaced), BeatEnd::Replaced),
            (OutcomeKind::Skipped, None, BeatEnd::Neither),
        ] {
            assert_eq!(end(outcome, early_end), expected, "{outcome} {early_end:?}");
        }
    }
}
