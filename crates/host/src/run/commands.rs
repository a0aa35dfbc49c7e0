//! Commands of the host's clients.

use super::Host;
use crate::event::Progress;
use crate::protocol::{Status, Waits};
use crate::serve::Command;
use crate::state::Input;
use std::time::Duration;
use sys::clock;
use sys::error::Hinted;

impl<S: FnMut(Progress<'_>, Duration)> Host<'_, S> {
    pub(super) fn handle_command(&mut self, command: Command) {
        match command {
            Command::Status(reply) => {
                let _gone = reply.send(self.status());
            }
            Command::Send(text, reply) => {
                let checked = self.machine.check_send().map_err(|error| error.failure());
                if checked.is_ok() {
                    self.take(Input::Send(text));
                }
                let _gone = reply.send(checked.map(|()| self.machine.state().clone()));
            }
            Command::Interrupt(reply) => {
                let _gone = reply.send(self.interrupt());
            }
            Command::Stop { force, grace, reply } => {
                self.stops.push(reply);
                self.stop(force, grace);
            }
            Command::Requests(reply) => {
                let _gone = reply.send(Waits { requests: self.activity.requests() });
            }
            Command::Wait(wait, until, reply) => self.wait(wait, until, reply),
        }
    }

    fn status(&self) -> Status {
        let feed = self.capture.feed();
        Status {
            info: self.spec.info.clone(),
            state: self.machine.state().clone(),
            pid: std::process::id(),
            agent_pid: self.pid,
            session_id: self.activity.session_id.clone(),
            capture: self.capture.session().cloned(),
            lost: self.capture.lost().map(str::to_owned),
            stream_offset: feed.next(),
            attached_clients: feed.readers(),
            last_event_at: Some(clock::rfc3339(self.capture.last_at())),
            call: self.activity.current_call(),
            hold: self.hold.as_ref().map(|hold| clock::rfc3339(hold.until)),
        }
    }
}
