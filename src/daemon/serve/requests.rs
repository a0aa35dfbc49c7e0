//! Requests for approval: reports and expires them, and resumes the beats that waited for an answer.

use super::Runner;
use crate::daemon::broker::{Broker, BrokerCommand, BrokerEvent};
use crate::daemon::state::Event;
use murmur_core::permit::request::RequestId;
use murmur_store::journal::read::Backward;
use std::io;
use sys::paths::{DataDir, User};

/// Returns the broker with the requests that an earlier daemon deferred. An answer is used up once the journal has the
/// beat that was resumed with it.
pub(super) fn load_broker(dir: &DataDir, user: &User) -> Broker {
    let journal = std::cell::OnceCell::new();
    Broker::load(dir, user.home.clone(), |id| {
        // Read only if an answer was waiting, which is rare.
        let text = journal.get_or_init(|| resuming_lines(dir).unwrap_or_default());
        memchr::memmem::find(text, format!("\"resumes\":\"{id}\"").as_bytes()).is_some()
    })
}

/// The lines of all beats that were resumed with an answer.
fn resuming_lines(dir: &DataDir) -> io::Result<Vec<u8>> {
    let mut lines = Backward::open(&dir.journal())?.containing("\"resumes\":\"");
    let mut text = Vec::new();
    while let Some(line) = lines.next_line()? {
        text.extend(line);
    }
    Ok(text)
}

impl<L: FnMut(&str)> Runner<L> {
    /// Reports the broker's changes, and returns the beats that wait for an answer now.
    pub(super) fn report_requests(&mut self) -> Event {
        for event in self.broker.take_events() {
            match &event {
                BrokerEvent::Error(failure) => (self.log)(&failure.line()),
                _ => self.events.request(&event),
            }
        }
        self.sources.stuck_monitor.set_waiting(self.broker.agents());
        Event::Deferred(self.broker.beats())
    }

    /// Keeps calls of manual beats in unregistered workspaces from being deferred: nothing would resume them.
    pub(super) fn prevent_unresumable_defer(&self, command: &mut BrokerCommand) {
        let BrokerCommand::TimedOut { id, may_defer, .. } = command else { return };
        let known = self.broker.request(id).is_some_and(|request| {
            let name = request.beat.as_ref().and_then(|beat| beat.heartbeat.as_deref());
            self.state.heartbeats().has(&request.workspace, name)
        });
        *may_defer &= known;
    }

    /// The beats that were resumed with the answers to these requests ended.
    pub(super) fn resumes_ended(&mut self, requests: &[RequestId]) -> Event {
        requests.iter().for_each(|id| self.broker.beat_ended(id));
        self.report_requests()
    }
}
