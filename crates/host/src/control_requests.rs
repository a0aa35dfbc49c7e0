//! Answers the agent's control requests (`can_use_tool`) on its stdout: a hook process decides, as for any other
//! call.
//!
//! Requests go in, and decisions come out. A backend with hooks asks here what no hook has decided; one without asks
//! about every call that it doesn't allow by itself. It waits for the answer.

use murmur_agent::dialog::{CallDecision, Dialog};
use murmur_agent::event::{Event, PermissionRequest};
use murmur_agent::invocation::Invocation;
use murmur_agent::settings::HookProgram;
use murmur_core::config::backend::{Backend, Capability};
use murmur_core::id::SessionId;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio::time::Instant;

/// The number of responses that may be queued; further ones wait.
const ANSWERS: usize = 8;

/// How long to wait for the event that describes a requested call. opencode 1.18.33 was up to 15 ms late.
const COMPLETION: Duration = Duration::from_secs(1);

/// The number of requests that wait for that; further ones don't.
const INCOMPLETE: usize = 64;

/// How much of a failed hook's stderr to read, in bytes.
const COMPLAINT: u64 = 4 << 10;

/// The hook event for a call that no hook has seen.
const FIRST: &str = "PreToolUse";

/// Handles an agent's control requests.
#[derive(Debug)]
pub(super) struct ControlRequests {
    hook: Option<Arc<Hook>>,
    /// The hook event for calls that the agent asks about: whether a hook has run before for the same call.
    event: &'static str,
    answers: mpsc::Sender<HookAnswer>,
    /// Requests in progress.
    asked: HashMap<String, AbortHandle>,
    /// Requests that may not be complete, and until when to wait for that.
    incomplete: Vec<(Instant, PermissionRequest)>,
    /// The conversation's id.
    session: Option<SessionId>,
}

/// A request, and the hook's decision on it.
#[derive(Debug)]
pub(super) struct HookAnswer {
    pub(super) request: PermissionRequest,
    pub(super) decision: Result<CallDecision, NoDecision>,
}

/// The hook gave no decision.
#[derive(Debug, Error)]
pub(super) enum NoDecision {
    /// It wrote this to stderr.
    #[error("{0}")]
    Complaint(String),
    #[error("it gave no answer")]
    Silence,
}

#[derive(Debug)]
struct Hook {
    program: HookProgram,
    env: Vec<(&'static str, OsString)>,
    cwd: PathBuf,
}

impl ControlRequests {
    /// Has `program` answer requests of the agent of `invocation`; without a program, requests stay unanswered. The
    /// receiver yields decisions.
    pub(super) fn new(
        program: Option<HookProgram>,
        backend: &Backend,
        invocation: &Invocation,
    ) -> (Self, mpsc::Receiver<HookAnswer>) {
        let (answers, lines) = mpsc::channel(ANSWERS);
        let Invocation { env, cwd, .. } = invocation;
        let event = if backend.has(Capability::Hooks) { "PermissionRequest" } else { FIRST };
        let hook = program.map(|program| Arc::new(Hook { program, env: env.clone(), cwd: cwd.clone() }));
        let (asked, incomplete, session) = (HashMap::new(), Vec::new(), None);
        (Self { hook, event, answers, asked, incomplete, session }, lines)
    }

    /// Handles an event of the conversation `session`. [`Self::complete`] starts answering its requests.
    pub(super) fn see(&mut self, event: &Event<'_>, session: Option<&SessionId>) {
        match event {
            Event::PermissionRequest(asks) if self.hook.is_some() => {
                self.session = session.cloned();
                self.incomplete.push((Instant::now() + COMPLETION, (**asks).clone()));
            }
            Event::PermissionRequestCancelled { request_id } => self.withdraw(request_id),
            // The agent says nothing about requests of a turn that was interrupted.
            Event::Result(_) if self.event == FIRST => {
                self.incomplete.clear();
                self.asked.drain().for_each(|(_, answering)| answering.abort());
            }
            _ => {}
        }
    }

    /// Has the hook decide on a request of the conversation `session` that is complete, and that no hook has seen.
    pub(super) fn ask(&mut self, request: PermissionRequest, session: Option<&SessionId>) {
        self.session = session.cloned();
        self.answer(request, FIRST);
    }

    /// Forgets the request with this id.
    pub(super) fn withdraw(&mut self, request: &str) {
        self.incomplete.retain(|(_, asks)| asks.request_id != request);
        if let Some(answering) = self.asked.remove(request) {
            answering.abort();
        }
    }

    /// Starts answering requests that `dialog` knows all about, or that have waited long enough for it.
    pub(super) fn complete(&mut self, dialog: &dyn Dialog, now: Instant) {
        for (until, mut asks) in std::mem::take(&mut self.incomplete) {
            if dialog.complete(&mut asks) || until <= now || self.incomplete.len() >= INCOMPLETE {
                self.answer(asks, self.event);
            } else {
                self.incomplete.push((until, asks));
            }
        }
    }

    /// When a request has waited long enough to be complete.
    pub(super) fn completes_at(&self) -> Option<Instant> {
        self.incomplete.iter().map(|(until, _)| *until).min()
    }

    fn answer(&mut self, asks: PermissionRequest, event: &'static str) {
        let Some(hook) = self.hook.clone() else { return };
        self.asked.retain(|_, answering| !answering.is_finished());
        let (answers, session) = (self.answers.clone(), self.session.clone());
        let id = asks.request_id.clone();
        let answering = tokio::spawn(async move {
            let decision = hook.ask(&asks, event, session.as_ref()).await;
            // An agent that has ended needs no response.
            let _gone = answers.send(HookAnswer { request: asks, decision }).await;
        });
        self.asked.insert(id, answering.abort_handle());
    }
}

impl Hook {
    /// Runs the hook. Without a decision, the call must be denied.
    async fn ask(
        &self,
        asks: &PermissionRequest,
        event: &'static str,
        session: Option<&SessionId>,
    ) -> Result<CallDecision, NoDecision> {
        let input = json!({
            "hook_event_name": event,
            "session_id": session.map_or("", SessionId::as_str),
            "cwd": asks.cwd.as_deref().map_or_else(|| self.cwd.clone(), |cwd| self.cwd.join(cwd)),
            "tool_name": asks.tool,
            "tool_input": asks.input,
            "tool_use_id": asks.tool_use_id,
        });
        let (program, words) = self.program.argv(event);
        let mut command = Command::new(program);
        command.args(words).envs(self.env.iter().map(|(name, value)| (name, value))).current_dir(&self.cwd);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        let mut complaint = Vec::new();
        let asking = async {
            let mut child = command.spawn().ok()?;
            // Own the child, so that it is killed when the request is withdrawn. It may be reaped with the agent's
            // orphans: only its output matters, not its exit status.
            let (mut stdin, mut stdout) = (child.stdin.take()?, child.stdout.take()?);
            let mut stderr = child.stderr.take()?.take(COMPLAINT);
            // A hook that fails at once reads nothing.
            let _unread = stdin.write_all(input.to_string().as_bytes()).await;
            drop(stdin);
            let mut output = Vec::new();
            let (read, _) = tokio::join!(stdout.read_to_end(&mut output), stderr.read_to_end(&mut complaint));
            read.ok()?;
            let answer: Value = serde_json::from_slice(&output).ok()?;
            decision(answer.get("hookSpecificOutput")?)
        };
        let decision = asking.await;
        decision.ok_or_else(|| match String::from_utf8_lossy(&complaint).trim() {
            "" => NoDecision::Silence,
            complaint => NoDecision::Complaint(complaint.to_owned()),
        })
    }
}

/// The decision in a hook's answer, in the form of either event; `None` if it has none.
fn decision(answer: &Value) -> Option<CallDecision> {
    let decision = answer.get("decision").unwrap_or(answer);
    let word = decision.get("behavior").or_else(|| decision.get("permissionDecision"))?.as_str()?;
    let reason = decision.get("message").or_else(|| decision.get("permissionDecisionReason"));
    Some(match word {
        "allow" => CallDecision::Allow { input: decision.get("updatedInput").cloned() },
        _ => CallDecision::Deny { reason: reason.and_then(Value::as_str).unwrap_or_default().to_owned() },
    })
}
