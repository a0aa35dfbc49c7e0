//! Calls that the agent delegates to murmur (ACP client methods): decided on, performed and shown like calls of the
//! agent's own tools.

use super::Host;
use crate::client_files;
use crate::event::{MurmurEvent, Progress};
use crate::terminals::{self, Ending, TerminalEvent, Terminals};
use murmur_agent::client_call::{
    ClientCall, ClientError, ClientErrorKind, ClientReply, ClientStep, CommandLine, TerminalAction,
};
use murmur_agent::dialog::CallDecision;
use murmur_agent::event::PermissionRequest;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;
use sys::process::{Exit, reap_but};
use sys::signals;
use tokio::sync::mpsc;

/// How many events may be queued; terminals with more wait.
const EVENTS: usize = 8;

/// How much of a text is shown, in bytes: at first, and once [`SHOWN_IN_ALL`] have been shown. A capture's limit
/// doesn't count these texts.
const SHOWN: usize = 4 << 10;
const SHOWN_IN_ALL: usize = 16 << 20;
const SHOWN_AFTER: usize = 256;

/// The result of a call whose turn ended before it was decided on.
const WITHDRAWN: &str = "the agent no longer waits for it";

/// The delegated calls, and the terminals that they started.
#[derive(Debug)]
pub(super) struct DelegatedCalls {
    /// By the id of the request.
    asked: HashMap<String, Asked>,
    performed: mpsc::Sender<Performed>,
    terminals: Terminals,
    /// How much text was shown, in bytes.
    shown: usize,
}

#[derive(Debug)]
struct Asked {
    tool_use_id: String,
    call: ClientCall,
    /// The file, or the folder of a command, without links, which was decided on.
    real_path: PathBuf,
}

/// A call on a file that is done.
#[derive(Debug)]
pub(super) struct Performed {
    /// The request to reply to.
    request: String,
    tool_use_id: String,
    result: Result<ClientReply, ClientError>,
    /// What is shown if it succeeded.
    shown: String,
}

/// What happens to calls that are being performed.
#[derive(Debug)]
pub(super) struct ClientEvents {
    performed: mpsc::Receiver<Performed>,
    terminals: mpsc::Receiver<TerminalEvent>,
}

/// Something that happened to a call.
#[derive(Debug)]
pub(super) enum ClientEvent {
    Performed(Performed),
    Terminal(TerminalEvent),
}

impl ClientEvents {
    /// Waits for the next event. Cancel safe.
    pub(super) async fn next(&mut self) -> ClientEvent {
        tokio::select! {
            Some(performed) = self.performed.recv() => ClientEvent::Performed(performed),
            Some(event) = self.terminals.recv() => ClientEvent::Terminal(event),
            else => std::future::pending().await,
        }
    }
}

impl DelegatedCalls {
    /// No calls yet, and what happens to them.
    pub(super) fn new() -> (Self, ClientEvents) {
        let (performed, files) = mpsc::channel(EVENTS);
        let (printed, terminals) = mpsc::channel(EVENTS);
        let calls = Self { asked: HashMap::new(), performed, terminals: Terminals::new(printed), shown: 0 };
        (calls, ClientEvents { performed: files, terminals })
    }

    /// The input of a call without what only the guard needs, and without the middle of long texts.
    fn shortened(&mut self, input: &Value) -> Value {
        let mut input = input.clone();
        if let Some(fields) = input.as_object_mut() {
            fields.remove("file_paths");
            for value in fields.values_mut() {
                if let Value::String(text) = value {
                    *value = self.cut(text).into();
                }
            }
        }
        input
    }

    /// A text to show.
    fn cut(&mut self, text: &str) -> String {
        let text = cut(text, if self.shown < SHOWN_IN_ALL { SHOWN } else { SHOWN_AFTER });
        self.shown = self.shown.saturating_add(text.len());
        text
    }
}

impl<S: FnMut(Progress<'_>, Duration)> Host<'_, S> {
    /// Takes the next steps of delegated calls.
    pub(super) fn take_client_steps(&mut self) {
        for step in self.dialog.client_steps() {
            match step {
                ClientStep::Ask { request, call } => self.ask_for_client(request, call),
                ClientStep::Perform(request, call) => self.perform(request, call),
                ClientStep::Withdraw(request) => {
                    self.control_requests.withdraw(&request);
                    self.refused(&request, WITHDRAWN);
                }
                ClientStep::Refuse { request, reason, by } => {
                    self.audit.refuse(&self.spec.info, &self.spec.invocation.cwd, &request, &reason, &by);
                    self.show_call(&request);
                    self.show_result(request.tool_use_id, reason, true);
                }
            }
        }
    }

    /// Has the hook decide on a call. A file is decided on with the path that will be opened as well.
    fn ask_for_client(&mut self, mut request: PermissionRequest, call: ClientCall) {
        let found = match &call {
            ClientCall::Read { path, .. } | ClientCall::Write { path, .. } => client_files::real_path(path),
            ClientCall::Run(command) => match &command.cwd {
                Some(cwd) => terminals::real_folder(cwd),
                None => Ok(self.spec.invocation.cwd.clone()),
            },
            ClientCall::Consent => Ok(self.spec.invocation.cwd.clone()),
            ClientCall::Terminal { .. } => return,
        };
        let real_path = match found {
            Ok(real_path) => real_path,
            Err(ClientError { message: reason, .. }) => {
                let bytes = self.dialog.answer(&request, &CallDecision::Deny { reason });
                return self.send_bytes(bytes);
            }
        };
        match &call {
            ClientCall::Run(_) => request.cwd = Some(real_path.to_string_lossy().into_owned()),
            ClientCall::Read { path, .. } | ClientCall::Write { path, .. } if real_path != *path => {
                request.input["file_paths"] = json!([path, real_path]);
            }
            _ => {}
        }
        self.show_call(&request);
        let asked = Asked { tool_use_id: request.tool_use_id.clone(), call, real_path };
        self.client.asked.insert(request.request_id.clone(), asked);
        self.control_requests.ask(request, self.activity.session_id.as_ref());
    }

    /// Performs the call that the agent asks about with `request`, if it is one for murmur and allowed.
    pub(super) fn decided_for_client(&mut self, request: &str, decision: &CallDecision) {
        let Some(asked) = self.client.asked.get(request) else { return };
        let is_allowed = matches!(decision, CallDecision::Allow { .. });
        let is_consent = asked.call == ClientCall::Consent;
        self.audit.decided_for_client(&asked.call.equivalents(), is_allowed);
        self.take_client_steps();
        let reason = match decision {
            CallDecision::Deny { reason } => reason,
            CallDecision::Allow { .. } if is_consent => {
                if let Some(asked) = self.client.asked.remove(request) {
                    self.show_result(asked.tool_use_id, "allowed".to_owned(), false);
                }
                return;
            }
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
        if let ClientCall::Terminal { id, action } = call {
            return self.act_on_terminal(request, &id, action);
        }
        let asked = self.client.asked.remove(&request);
        let Some(Asked { tool_use_id, real_path, .. }) = asked else { return };
        if let ClientCall::Run(command) = call {
            return self.run_command(&request, tool_use_id, &command, &real_path);
        }
        let performed = self.client.performed.clone();
        let (ids, write) = ((request.clone(), tool_use_id.clone()), move || {
            let (result, shown) = match call {
                ClientCall::Write { content, .. } => {
                    let shown = format!("wrote {} bytes", content.len());
                    (client_files::write(&real_path, &content).map(|()| ClientReply::Done), shown)
                }
                ClientCall::Read { line, limit, .. } => {
                    let text = client_files::read(&real_path, line, limit);
                    let shown = text.as_ref().map(|text| cut(text, SHOWN)).unwrap_or_default();
                    (text.map(ClientReply::Text), shown)
                }
                ClientCall::Run(_) | ClientCall::Terminal { .. } | ClientCall::Consent => return,
            };
            // A host that has ended needs no result.
            let _gone = performed.blocking_send(Performed { request, tool_use_id, result, shown });
        });
        // Not one of the runtime's threads, which would have to end first: a file system may not answer.
        if let Err(error) = std::thread::Builder::new().spawn(write) {
            let (kind, message) = (ClientErrorKind::Failed, format!("cannot start a thread: {error}"));
            let (request, tool_use_id) = ids;
            let result = Err(ClientError { kind, message });
            self.performed(Performed { request, tool_use_id, result, shown: String::new() });
        }
    }

    /// Runs a command in a new terminal.
    fn run_command(&mut self, request: &str, tool_use_id: String, command: &CommandLine, cwd: &Path) {
        let started = self.client.terminals.start(command, cwd, &self.spec.invocation, &tool_use_id);
        if let Err(error) = &started {
            self.show_result(tool_use_id, error.message.clone(), true);
        }
        self.reply(request, started.map(ClientReply::Started));
    }

    fn act_on_terminal(&mut self, request: String, id: &str, action: TerminalAction) {
        let terminals = &mut self.client.terminals;
        let result = match action {
            TerminalAction::Output => terminals.output(id),
            TerminalAction::Wait => match terminals.wait(id, &request) {
                Some(result) => result,
                None => return,
            },
            TerminalAction::Kill => terminals.kill(id),
            TerminalAction::Release => terminals.release(id).map(|ending| {
                ending.into_iter().for_each(|ending| self.terminal_ended(ending));
                ClientReply::Done
            }),
        };
        self.reply(&request, result);
    }

    /// Shows how a command ended, and replies to requests that waited for it.
    fn terminal_ended(&mut self, ending: Ending) {
        let Ending { tool_use_id, waits, exit, output } = ending;
        let how = match exit {
            Some(Exit::Code(0)) => String::new(),
            Some(Exit::Code(code)) => format!("exit code {code}\n"),
            Some(Exit::Signal(number)) => format!("killed by {}\n", signals::name(number)),
            None => "killed\n".to_owned(),
        };
        self.show_result(tool_use_id, how.clone() + &output, !how.is_empty());
        for request in waits {
            let released = || ClientError {
                kind: ClientErrorKind::Failed,
                message: "the terminal was released".to_owned(),
            };
            self.reply(&request, exit.map(ClientReply::Exited).ok_or_else(released));
        }
    }

    pub(super) fn note_client_event(&mut self, event: ClientEvent) {
        match event {
            ClientEvent::Performed(performed) => self.performed(performed),
            ClientEvent::Terminal(event) => {
                let ending = self.client.terminals.note(event);
                ending.into_iter().for_each(|ending| self.terminal_ended(ending));
            }
        }
    }

    /// Replies to a call that was performed, and shows its result.
    fn performed(&mut self, performed: Performed) {
        let Performed { request, tool_use_id, result, shown } = performed;
        match &result {
            Ok(_) => self.show_result(tool_use_id, shown, false),
            Err(error) => self.show_result(tool_use_id, error.message.clone(), true),
        }
        self.reply(&request, result);
    }

    fn reply(&mut self, request: &str, result: Result<ClientReply, ClientError>) {
        let bytes = self.dialog.reply(request, result);
        self.send_bytes(bytes);
    }

    /// Ends the delegated calls of the agent's interrupted turn.
    pub(super) fn interrupt_client_calls(&mut self) {
        self.take_client_steps();
        self.client.terminals.kill_all();
    }

    /// Reaps children that have ended, and notices ends of commands.
    pub(super) fn reap(&mut self) {
        reap_but(self.pid, &self.client.terminals.pids());
        self.client.terminals.look();
    }

    /// Shows a call that murmur decides on.
    fn show_call(&mut self, request: &PermissionRequest) {
        let (id, name) = (request.tool_use_id.clone(), request.tool.clone());
        let input = self.client.shortened(&request.input);
        self.show(MurmurEvent::ToolUse { id, name, input });
    }

    fn show_result(&mut self, id: String, output: String, is_error: bool) {
        let output = self.client.cut(&output);
        self.show(MurmurEvent::ToolResult { id, output, is_error });
    }

    /// Adds an event as if the agent had reported it.
    pub(super) fn show(&mut self, own: MurmurEvent) {
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
        self.report_unrecorded();
        acted.into_iter().for_each(|input| self.take(input));
    }
}

/// A text of at most `room` bytes and a mark: its first half and its end.
fn cut(text: &str, room: usize) -> String {
    if text.len() <= room {
        return text.to_owned();
    }
    let end = (0..=room / 2).rev().find(|end| text.is_char_boundary(*end)).unwrap_or_default();
    let rest = text.len() - room / 2;
    let from = (rest..text.len()).find(|from| text.is_char_boundary(*from)).unwrap_or(text.len());
    format!("{}…{}", &text[..end], &text[from..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_shown_with_their_beginning_and_end() {
        assert_eq!(cut("abcdef", 6), "abcdef");
        assert_eq!(cut("abcdefg", 4), "ab…fg");
        assert_eq!(cut("äöüß", 6), "ä…ß");
    }

    #[test]
    fn much_text_is_shown_in_few_bytes_each() {
        let (mut calls, _events) = DelegatedCalls::new();
        let input =
            json!({ "file_path": "/a", "file_paths": ["/a", "/b"], "content": "x".repeat(SHOWN + 9) });
        let shown = calls.shortened(&input);
        assert_eq!(shown["content"].as_str().unwrap().len(), SHOWN + "…".len());
        assert_eq!(shown.as_object().unwrap().len(), 2);
        calls.shown = SHOWN_IN_ALL;
        assert_eq!(calls.cut(&"y".repeat(SHOWN)).len(), SHOWN_AFTER + "…".len());
    }
}
