//! The agent's calls that wait for a person: they pause its time limit, and unanswered ones are recorded.

use super::Host;
use crate::event::{MurmurEvent, Progress};
use crate::protocol::Wait;
use crate::unrecorded::Unrecorded;
use murmur_store::journal::decisions::Unanswered;
use std::time::Duration;
use tokio::sync::oneshot;

impl<S: FnMut(Progress<'_>, Duration)> Host<'_, S> {
    /// Starts waiting for a person until `until` resolves. Notifies `reply` once the time limit is
    /// paused.
    pub(super) fn wait(&mut self, mut wait: Wait, until: oneshot::Receiver<()>, reply: oneshot::Sender<()>) {
        if let Some(call) = &mut wait.call {
            // An agent may send many requests with long inputs.
            call.shorten_input();
            self.audit.asks(&call.tool_use_id);
        }
        self.hooks += 1;
        let (hook, at) = (self.hooks, self.begun.elapsed());
        (self.sink)(Progress::Waiting(&wait), at);
        let tool = wait.call.as_ref().map(|call| call.tool.clone()).unwrap_or_default();
        self.capture.own(MurmurEvent::Waiting { request: wait.request.clone(), tool });
        self.activity.waits(hook, wait, at);
        self.waiting.spawn(async move {
            let _hung_up = until.await;
            hook
        });
        self.count_time();
        let _gone = reply.send(());
    }

    /// Reports what would be lost if this process were killed now.
    pub(super) fn report_unrecorded(&mut self) {
        let (undecided, unknown) = (self.audit.undecided_calls(), self.capture.unknown());
        let version = self.activity.version.clone();
        let unrecorded = Unrecorded { undecided: undecided.clone(), unknown: unknown.clone(), version };
        (self.sink)(Progress::Unrecorded(&unrecorded), self.begun.elapsed());
    }

    /// Ends the wait of the hook with this number.
    pub(super) fn waited(&mut self, hook: u64) {
        if let Some(request) = self.activity.stop_waiting(hook, self.stopped.is_some()) {
            (self.sink)(Progress::Waited(&request), self.begun.elapsed());
            self.capture.own(MurmurEvent::Waited { request });
        }
        self.count_time();
    }

    /// Requests without an answer or a recorded decision when the agent ended, at `at`.
    pub(super) fn unanswered(&mut self, at: Duration) -> Vec<Unanswered> {
        let mut unanswered = self.activity.unanswered(at);
        // An agent may only ask in its own name.
        unanswered.retain(|one| one.request.agent == self.spec.info.agent_id.as_str());
        unanswered.retain(|one| !self.audit.is_decided(&one.request.tool_use_id));
        unanswered
    }
}
