//! What the agent has murmur do, as its client: decided on, performed and shown like a call of the agent's own tools.

use super::Host;
use crate::client_files;
use crate::event::{MurmurEvent, Progress};
use murmur_agent::client_call::{ClientCall, ClientError, ClientErrorKind, ClientReply, ClientStep};
use murmur_agent::dialog::CallDecision;
use murmur_agent::event::PermissionRequest;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;
use sys::process::reap_but;
use tokio::sync::mpsc;

/// How many events may be queued; who has more waits.
const EVENTS: usize = 8;

/// How much of a text is shown, in bytes.
const SHOWN: usize = 16 << 10;

/// What is said of a call whose turn ended first.
const WITHDRAWN: &str = "the agent no longer waits for it";

/// The agent's calls that wait for a decision.
#[derive(Debug)]
pub(super) struct ClientCalls {
    /// By the id of the request.
    asked: HashMap<String, Asked>,
    events: mpsc::Sender<ClientEvent>,
}

#[derive(Debug)]
struct Asked {
    tool_use_id: String,
    call: ClientCall,
    /// The file without links, which was decided on.
    real_path: PathBuf,
}

/// Something that happened to a call that is being performed.
#[derive(Debug)]
pub(super) enum ClientEvent {
    /// It is done.
    Performed {
        /// The request to reply to.
        request: String,
        tool_use_id: String,
        result: Result<ClientReply, ClientError>,
        /// What is shown if it succeeded.
        shown: String,
    },
}

impl ClientCalls {
    /// No calls yet. The receiver yields what happens to them.
    pub(super) fn new() -> (Self, mpsc::Receiver<ClientEvent>) {
        let (events, received) = mpsc::channel(EVENTS);
        (Self { asked: HashMap::new(), events }, received)
    }
}

impl<S: FnMut(Progress<'_>, Duration)> Host<'_, S> {
    /// Takes the next steps of what the agent has murmur do.
    pub(super) fn take_client_steps(&mut self) {
        for step in self.dialog.client_steps() {
            match step {
                ClientStep::Ask { request, call } => self.ask_for_client(request, call),
                ClientStep::Perform(request, call) => self.perform(request, call),
                ClientStep::Withdraw(request) => {
                    self.control_requests.withdraw(&request);
                    self.refused(&request, WITHDRAWN);
                }
            }
        }
    }

    /// Has the hook decide on a call. A file is decided on with the path that will be opened as well.
    fn ask_for_client(&mut self, mut request: PermissionRequest, call: ClientCall) {
        let real_path = match &call {
            ClientCall::Read { path, .. } | ClientCall::Write { path, .. } => {
                match client_files::real_path(path) {
                    Ok(real) => {
                        if real != *path {
                            request.input["file_paths"] = json!([path, real]);
                        }
                        real
                    }
                    Err(ClientError { message: reason, .. }) => {
                        let bytes = self.dialog.answer(&request, &CallDecision::Deny { reason });
                        return self.send_bytes(bytes);
                    }
                }
            }
            ClientCall::Run(_) | ClientCall::Terminal { .. } => PathBuf::new(),
        };
        let (id, name) = (request.tool_use_id.clone(), request.tool.clone());
        self.show(MurmurEvent::ToolUse { id, name, input: shortened(&request.input) });
        let asked = Asked { tool_use_id: request.tool_use_id.clone(), call, real_path };
        self.client.asked.insert(request.request_id.clone(), asked);
        self.control_requests.ask(request, self.activity.session_id.as_ref());
    }

    /// Performs the call that the agent asks about with `request`, if it is one for murmur and allowed.
    pub(super) fn decided_for_client(&mut self, request: &str, decision: &CallDecision) {
        let Some(asked) = self.client.asked.get(request) else { return };
        let is_allowed = matches!(decision, CallDecision::Allow { .. });
        self.audit.decided_for_client(&asked.call.equivalents(), is_allowed);
        self.take_client_steps();
        let reason = match decision {
            CallDecision::Deny { reason } => reason,
            CallDecision::Allow { .. } => "only the call itself was allowed",
        };
        self.refused(request, reason);
    }

    /// Shows that a call was refused, unless it is being performed.
    fn refused(&mut self, request: &str, reason: &str) {
        if let Some(asked) = self.client.asked.remove(request) {
            self.show_result(asked.tool_use_id, reason.to_owned(), true);
        }
    }

    /// Performs a call that was allowed, or that needs no decision.
    fn perform(&mut self, request: String, call: ClientCall) {
        let asked = self.client.asked.remove(&request);
        let Some(Asked { tool_use_id, real_path, .. }) = asked else { return };
        let events = self.client.events.clone();
        let id = (request.clone(), tool_use_id.clone());
        let work = move || {
            let (result, shown) = match call {
                ClientCall::Read { line, limit, .. } => {
                    let text = client_files::read(&real_path, line, limit);
                    let shown = text.as_ref().map(|text| cut(text).to_owned()).unwrap_or_default();
                    (text.map(ClientReply::Text), shown)
                }
                ClientCall::Write { content, .. } => {
                    let shown = format!("wrote {} bytes", content.len());
                    (client_files::write(&real_path, &content).map(|()| ClientReply::Done), shown)
                }
                ClientCall::Run(_) | ClientCall::Terminal { .. } => {
                    let (kind, message) = (ClientErrorKind::Failed, "murmur runs no commands".to_owned());
                    (Err(ClientError { kind, message }), String::new())
                }
            };
            // A host that has ended needs no result.
            let _gone = events.blocking_send(ClientEvent::Performed { request, tool_use_id, result, shown });
        };
        // Not one of the runtime's threads, which would have to end first: a file system may not answer.
        if let Err(error) = std::thread::Builder::new().spawn(work) {
            let (kind, message) = (ClientErrorKind::Failed, format!("cannot start a thread: {error}"));
            let (request, tool_use_id) = id;
            self.performed(&request, tool_use_id, Err(ClientError { kind, message }), String::new());
        }
    }

    pub(super) fn note_client_event(&mut self, event: ClientEvent) {
        match event {
            ClientEvent::Performed { request, tool_use_id, result, shown } => {
                self.performed(&request, tool_use_id, result, shown);
            }
        }
    }

    /// Replies to a call that was performed, and shows its result.
    fn performed(
        &mut self,
        request: &str,
        tool_use_id: String,
        result: Result<ClientReply, ClientError>,
        shown: String,
    ) {
        match &result {
            Ok(_) => self.show_result(tool_use_id, shown, false),
            Err(error) => self.show_result(tool_use_id, error.message.clone(), true),
        }
        let bytes = self.dialog.reply(request, result);
        self.send_bytes(bytes);
    }

    /// Ends what the agent no longer waits for.
    pub(super) fn interrupt_client_calls(&mut self) {
        self.take_client_steps();
    }

    /// Reaps children that have ended.
    pub(super) fn reap(&mut self) {
        reap_but(self.pid, &[]);
    }

    fn show_result(&mut self, id: String, output: String, is_error: bool) {
        self.show(MurmurEvent::ToolResult { id, output, is_error });
    }

    /// Adds an event about a call, as if the agent had reported it.
    fn show(&mut self, own: MurmurEvent) {
        let at = self.begun.elapsed();
        let mut acted = None;
        let Self { activity, watchdogs, audit, sink, .. } = self;
        let mut audit = Some(audit).filter(|_| self.spec.is_audited && self.stopped.is_none());
        own.with_agent_event(|event| {
            acted = activity.see(event, at);
            watchdogs.iter_mut().for_each(|watchdogs| watchdogs.see(event, at));
            if let Some(audit) = audit.as_mut() {
                let _some_are_undecided = audit.see(event);
            }
            sink(Progress::Agent(event), at);
        });
        self.capture.own(own);
        acted.into_iter().for_each(|input| self.take(input));
    }
}

/// The input of a call without the rest of long texts.
fn shortened(input: &Value) -> Value {
    let mut input = input.clone();
    for value in input.as_object_mut().into_iter().flat_map(|fields| fields.values_mut()) {
        if let Value::String(text) = value {
            *value = cut(text).into();
        }
    }
    input
}

/// The beginning of a text.
fn cut(text: &str) -> String {
    if text.len() <= SHOWN {
        return text.to_owned();
    }
    let end = (0..=SHOWN).rev().find(|end| text.is_char_boundary(*end)).unwrap_or_default();
    format!("{}…", &text[..end])
}
