//! Usage limits that the agent reported: whether one stopped the beat, and what to record for other beats.

use super::Job;
use jiff::Timestamp;
use murmur_core::config::heartbeat::HeartbeatId;
use murmur_outcome::OutcomeKind;
use murmur_store::journal::entry::JournalEntry;
use murmur_store::limits::{self, LimitReached, Reports, StoppedBeat};
use sys::clock::rfc3339;
use sys::paths::DataDir;

/// A limit that is reached.
pub(super) struct Reached {
    /// The summary of a beat that it stopped.
    pub(super) summary: String,
    journal: LimitReached,
}

/// The limit that is reached, according to what the agent reported last.
pub(super) fn reached(job: &Job, reports: &Reports, now: Timestamp) -> Option<Reached> {
    let (limit, hold) = (reports.rejected()?, reports.hold(&job.account, now)?);
    let journal = LimitReached {
        account: job.account.clone(),
        window: limit.window.clone(),
        resets_at: limit.resets_at.and_then(|at| Timestamp::from_second(at).ok()).map(rfc3339),
        hold_until: hold.as_ref().ok().map(|hold| rfc3339(hold.until)),
    };
    Some(Reached { summary: limits::summary(limit, &hold), journal })
}

/// Completes the journal line of a beat, and records what its agent reported.
pub(super) fn record(
    dir: &DataDir,
    job: &Job,
    reports: &Reports,
    reached: Option<Reached>,
    entry: &mut JournalEntry,
    started_at: Timestamp,
) {
    let mut stopped = None;
    if let (OutcomeKind::Limited, Some(reached)) = (entry.outcome, reached) {
        // Without a hold, the schedule decides when the heartbeat runs again.
        let session = entry.session_id.clone().filter(|_| reached.journal.hold_until.is_some());
        stopped = session.map(|session| StoppedBeat { started_at, session });
        entry.limit = Some(reached.journal);
    }
    let id = HeartbeatId::new(&job.workspace, job.name.as_deref());
    // Best effort: without it, the next beat finds the limit again.
    let _best_effort = limits::record(dir, &job.account, reports, &id, stopped, sys::clock::now());
}
