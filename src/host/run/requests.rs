//! The agent's calls that wait for a person: its time stands still meanwhile, and those that nobody answered are recorded.

use super::Host;
use crate::host::event::{Own, Progress};
use crate::host::process::Unanswered;
use crate::host::protocol::Wait;
use std::time::Duration;
use tokio::sync::oneshot;

impl<S: FnMut(Progress<'_>, Duration)> Host<'_, S> {
    /// A hook waits for a person until `until` resolves.
    pub(super) fn wait(&mut self, mut wait: Wait, until: oneshot::Receiver<()>) {
        if let Some(call) = &mut wait.call {
            // An agent may ask often, and at length.
            call.shorten_input();
        }
        self.hooks += 1;
        let (hook, at) = (self.hooks, self.begun.elapsed());
        (self.sink)(Progress::Waiting(&wait), at);
        let tool = wait.call.as_ref().map(|call| call.tool.clone()).unwrap_or_default();
        self.keep.own(Own::Waiting { request: wait.request.clone(), tool });
        self.watched.waits(hook, wait, at);
        self.waiting.spawn(async move {
            let _hung_up = until.await;
            hook
        });
        self.count_time();
    }

    /// The hook with this number does not wait any more.
    pub(super) fn waited(&mut self, hook: u64) {
        if let Some(request) = self.watched.waits_no_more(hook, self.stopped.is_some()) {
            (self.sink)(Progress::Waited(&request), self.begun.elapsed());
            self.keep.own(Own::Waited { request });
        }
        self.count_time();
    }

    /// The requests that nobody answered before the agent ended, at `at`, and that nobody recorded.
    pub(super) fn unanswered(&mut self, at: Duration) -> Vec<Unanswered> {
        let mut unanswered = self.watched.unanswered(at);
        // An agent asks in its own name alone.
        unanswered.retain(|one| one.request.agent == self.spec.card.agent_id.as_str());
        if let Some(audit) = &mut self.audit {
            unanswered.retain(|one| !audit.is_decided(&one.request.tool_use_id));
        }
        unanswered
    }
}
