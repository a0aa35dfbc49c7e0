//! What the host writes to its agent's stdin, in the form that the agent's backend reads.

use super::Host;
use crate::audit::describe;
use crate::control_requests::HookAnswer;
use crate::event::{MurmurEvent, Progress, Role};
use crate::state::{AgentKind, State};
use murmur_agent::dialog::{CallDecision, Overruled};
use murmur_agent::event::PermissionRequest;
use secrets::mask;
use std::time::Duration;
use sys::error::{Failure, Hinted};

impl<S: FnMut(Progress<'_>, Duration)> Host<'_, S> {
    /// Sends a beat's prompt, or whatever a hosted agent needs before its first message.
    pub(super) fn open_dialog(&mut self, prompt: &str) {
        let opening = self.dialog.open();
        self.send_bytes(opening);
        match self.spec.info.kind {
            AgentKind::Beat if self.dialog.outlives_turn() => {
                let bytes = self.dialog.send(prompt);
                (self.sink)(Progress::Message(prompt), self.begun.elapsed());
                self.send_bytes(bytes);
            }
            AgentKind::Beat => {
                self.send_bytes(self.spec.invocation.stdin.clone());
                self.stdin = None;
            }
            AgentKind::Live => {}
        }
    }

    /// Answers calls that the agent asks about although its hook has allowed them.
    pub(super) fn repeat_decisions(&mut self) {
        let Self { dialog, audit, .. } = self;
        let answers = dialog.repeat_decisions(&mut |call| audit.is_allowed(call));
        self.send_bytes(answers);
    }

    /// Sends a message, which starts a turn.
    pub(super) fn send_message(&mut self, text: String) {
        let bytes = self.dialog.send(&text);
        (self.sink)(Progress::Message(&text), self.begun.elapsed());
        self.capture.own(MurmurEvent::Chat { role: Role::User, text });
        self.send_bytes(bytes);
    }

    /// Answers a call that the agent asks about. Without a decision, it is denied.
    pub(super) fn answer(&mut self, HookAnswer { request, decision }: HookAnswer) {
        let decision = decision.unwrap_or_else(|why| {
            // A hook that fails because murmur stops the agent is not a failure.
            if self.stopped.is_none() {
                self.audit.hook_failed(&request, &why.to_string());
            }
            CallDecision::Deny { reason: "murmur could not decide on the call".to_owned() }
        });
        if let CallDecision::Deny { reason } = &decision {
            self.send_denial(&request, reason);
        }
        let bytes = self.dialog.answer(&request, &decision);
        for overruled in self.note_overruled() {
            if overruled.tool_use_id == request.tool_use_id {
                self.send_denial(&request, &overruled.reason);
            }
        }
        self.send_bytes(bytes);
        self.decided_for_client(&request.request_id, &decision);
    }

    /// Tells people why a call is denied, unless the agent is told.
    fn send_denial(&mut self, request: &PermissionRequest, reason: &str) {
        if self.dialog.sends_reasons() {
            return;
        }
        let what = format!("{}: {}", describe(&request.tool, &request.input.to_string()), mask(reason));
        let denied = Progress::Denied { tool_use_id: &request.tool_use_id, what: &what };
        (self.sink)(denied, self.begun.elapsed());
        self.capture.own(MurmurEvent::Problem { text: format!("denied {what}") });
    }

    /// Records the calls that will not run although they were allowed, before the agent is told, and returns them.
    pub(super) fn note_overruled(&mut self) -> Vec<Overruled> {
        let overruled = self.dialog.overruled();
        overruled.iter().for_each(|call| self.audit.overrule(call));
        overruled
    }

    /// Interrupts the current turn. Returns the state, which the agent's next result changes. A message that was not
    /// sent yet gets its result here.
    pub(super) fn interrupt(&mut self) -> Result<State, Failure> {
        self.machine.check_interrupt().map_err(|error| error.failure())?;
        if self.dialog.withdraw() {
            self.show(MurmurEvent::Interrupted);
        } else {
            let bytes = self.dialog.interrupt();
            self.send_bytes(bytes);
        }
        self.interrupt_client_calls();
        Ok(self.machine.state().clone())
    }

    pub(super) fn send_bytes(&mut self, bytes: Vec<u8>) {
        if !bytes.is_empty()
            && let Some(stdin) = &self.stdin
            && stdin.try_send(bytes).is_err()
        {
            let agent = &self.spec.info.agent_id;
            let text =
                format!("the agent does not read its messages; stop it with: murmur agent stop {agent}");
            self.capture.own(MurmurEvent::Problem { text });
        }
    }
}
