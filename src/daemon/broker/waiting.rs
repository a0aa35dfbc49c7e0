//! What waits for a person.

use super::requests::{OpenRequest, OpenState};
use super::{AnswerTo, Broker};
use murmur_core::id::BeatId;
use murmur_core::permit::request::{Approver, RequestId};
use std::collections::{BTreeSet, HashMap};

impl Broker {
    /// How many requests wait for a person.
    #[must_use]
    pub fn waiting(&self) -> usize {
        let unanswered = |id: &RequestId| {
            self.requests.unanswered(id).is_ok_and(|request| request.whom == Approver::Person)
        };
        self.requests.all().into_iter().filter(|(id, _)| unanswered(id)).count()
    }

    /// The agents that wait for a person.
    #[must_use]
    pub fn agents(&self) -> BTreeSet<String> {
        let all = self.requests.all().into_iter().map(|(_, open)| open);
        let waiting = all.filter(|open| !open.is_answered() && open.request.whom == Approver::Person);
        waiting.map(|open| open.request.agent.clone()).collect()
    }

    /// The requests for which running beats wait; of several, the oldest.
    #[must_use]
    pub fn waiting_beats(&self) -> HashMap<BeatId, RequestId> {
        let mut beats = HashMap::new();
        for (id, open) in self.requests.all() {
            if let Some(beat) = running_beat(open) {
                beats.entry(beat.clone()).or_insert_with(|| id.clone());
            }
        }
        beats
    }
}

/// The beat whose agent waits for a person to answer this request.
fn running_beat(open: &OpenRequest<AnswerTo>) -> Option<&BeatId> {
    let is_waiting = matches!(open.state, OpenState::Waiting { .. }) && open.request.whom == Approver::Person;
    open.request.beat.as_ref().filter(|_| is_waiting).map(|beat| &beat.beat)
}
