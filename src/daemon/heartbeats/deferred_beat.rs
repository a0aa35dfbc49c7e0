//! Beats that wait for an answer.

use super::{Heartbeats, ScheduledHeartbeat};
use jiff::Timestamp;
use murmur_core::id::{AgentId, SessionId};
use murmur_core::permit::request::RequestId;
use murmur_core::schedule::NEVER_RAN;
use std::path::PathBuf;

/// A beat that ended unfinished: one of its calls waits for an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeferredBeat {
    /// The request.
    pub id: RequestId,
    /// The agent's id, which the resumed beat keeps.
    pub agent: AgentId,
    /// The session to resume; `None` if the backend did not say.
    pub session: Option<SessionId>,
    /// Where it ran.
    pub workspace: PathBuf,
    /// The name of a named heartbeat.
    pub name: Option<String>,
    /// Whether it has been answered.
    pub is_answered: bool,
    /// Whether a person answered it, who wants it to continue now.
    pub by_person: bool,
}

impl Heartbeats {
    /// Sets the beats that wait for an answer or to be resumed. Their heartbeats are not due meanwhile: another run
    /// would send the same request again.
    pub fn set_deferred(&mut self, deferred: Vec<DeferredBeat>) {
        self.deferred = deferred;
    }

    /// A beat that can be resumed now.
    pub(super) fn resumable(&self, now: Timestamp) -> Option<(usize, DeferredBeat)> {
        self.deferred.iter().filter(|deferred| self.is_to_resume(deferred)).find_map(|deferred| {
            let index = self.index_of(&deferred.workspace, deferred.name.as_deref())?;
            let entry = &self.entries[index];
            let may = entry.resumes(deferred).is_some_and(|at| at <= now) && !self.is_taken(entry);
            may.then(|| (index, deferred.clone()))
        })
    }

    fn is_to_resume(&self, deferred: &DeferredBeat) -> bool {
        let mut running = self.running.all().iter().filter_map(|running| running.resumes.as_ref());
        deferred.is_answered && !running.any(|id| *id == deferred.id)
    }

    /// The request that the last beat of `entry` waits for.
    #[must_use]
    pub fn waits_for(&self, entry: &ScheduledHeartbeat) -> Option<&RequestId> {
        self.deferred.iter().find(|deferred| entry.is_of(deferred)).map(|deferred| &deferred.id)
    }

    pub(super) fn is_deferred(&self, entry: &ScheduledHeartbeat) -> bool {
        self.waits_for(entry).is_some()
    }

    /// When to retry a beat that could not be resumed at once.
    pub(super) fn resumes_at(&self) -> Option<Timestamp> {
        let waiting = self.deferred.iter().filter(|deferred| self.is_to_resume(deferred));
        let later = waiting.filter_map(|deferred| {
            let entry = &self.entries[self.index_of(&deferred.workspace, deferred.name.as_deref())?];
            entry.resumes(deferred).filter(|at| *at > NEVER_RAN && !self.is_taken(entry))
        });
        later.min()
    }
}

impl ScheduledHeartbeat {
    /// When to resume `deferred`: within active hours, unless a person answered.
    fn resumes(&self, deferred: &DeferredBeat) -> Option<Timestamp> {
        Some(self.resumes_from()?.max(self.opens.filter(|_| !deferred.by_person).unwrap_or(NEVER_RAN)))
    }
}
