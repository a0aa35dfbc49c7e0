//! Answers the agent's control requests (`can_use_tool`) on its stdout: a hook process decides, as for any other
//! call.
//!
//! Requests go in, and lines for the agent's stdin come out. Claude Code asks here about calls that no hook has
//! decided on, and waits for the answer.

use murmur_agent::event::{Event, PermissionRequest};
use murmur_agent::invocation::Invocation;
use murmur_agent::settings::HookProgram;
use murmur_core::id::SessionId;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

/// The number of responses that may be queued; further ones wait.
const ANSWERS: usize = 8;

/// Handles an agent's control requests.
#[derive(Debug)]
pub(super) struct ControlRequests {
    hook: Option<Arc<Hook>>,
    answers: mpsc::Sender<Vec<u8>>,
    /// Requests in progress.
    asked: HashMap<String, AbortHandle>,
}

#[derive(Debug)]
struct Hook {
    program: HookProgram,
    env: Vec<(&'static str, OsString)>,
    cwd: PathBuf,
}

impl ControlRequests {
    /// Has `program` answer requests of the agent of `invocation`; without a program, requests stay unanswered. The
    /// receiver yields response lines.
    pub(super) fn new(
        program: Option<HookProgram>,
        invocation: &Invocation,
    ) -> (Self, mpsc::Receiver<Vec<u8>>) {
        let (answers, lines) = mpsc::channel(ANSWERS);
        let Invocation { env, cwd, .. } = invocation;
        let hook = program.map(|program| Arc::new(Hook { program, env: env.clone(), cwd: cwd.clone() }));
        (Self { hook, answers, asked: HashMap::new() }, lines)
    }

    /// Handles an event of the conversation `session` and starts answering its requests.
    pub(super) fn see(&mut self, event: &Event<'_>, session: Option<&SessionId>) {
        match event {
            Event::PermissionRequest(asks) => self.answer(asks, session),
            Event::PermissionRequestCancelled { request_id } => {
                if let Some(answering) = self.asked.remove(request_id) {
                    answering.abort();
                }
            }
            _ => {}
        }
    }

    fn answer(&mut self, asks: &PermissionRequest, session: Option<&SessionId>) {
        let Some(hook) = self.hook.clone() else { return };
        self.asked.retain(|_, answering| !answering.is_finished());
        let (answers, asks, session) = (self.answers.clone(), asks.clone(), session.cloned());
        let id = asks.request_id.clone();
        let answering = tokio::spawn(async move {
            let response = hook.ask(&asks, session.as_ref()).await;
            // An agent that has ended needs no response.
            let _gone = answers.send(line(&asks.request_id, &response)).await;
        });
        self.asked.insert(id, answering.abort_handle());
    }
}

impl Hook {
    /// Runs the hook; a hook without an answer denies the call.
    async fn ask(&self, asks: &PermissionRequest, session: Option<&SessionId>) -> Value {
        let input = json!({
            "hook_event_name": "PermissionRequest",
            "session_id": session.map_or("", SessionId::as_str),
            "cwd": self.cwd,
            "tool_name": asks.tool,
            "tool_input": asks.input,
            "tool_use_id": asks.tool_use_id,
        });
        let (program, words) = self.program.argv("PermissionRequest");
        let mut command = Command::new(program);
        command.args(words).envs(self.env.iter().map(|(name, value)| (name, value))).current_dir(&self.cwd);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
        let said = async {
            let mut child = command.spawn().ok()?;
            // Own the child, so that it is killed when the request is withdrawn. It may be reaped with the agent's
            // orphans: only its output matters, not its exit status.
            let (mut stdin, mut stdout) = (child.stdin.take()?, child.stdout.take()?);
            stdin.write_all(input.to_string().as_bytes()).await.ok()?;
            drop(stdin);
            let mut said = Vec::new();
            stdout.read_to_end(&mut said).await.ok()?;
            let answer: Value = serde_json::from_slice(&said).ok()?;
            Some(answer.get("hookSpecificOutput")?.get("decision")?.clone())
        };
        let denied = || json!({ "behavior": "deny", "message": "murmur could not decide on the call" });
        let mut decision = said.await.unwrap_or_else(denied);
        if decision["behavior"] == "allow" && decision.get("updatedInput").is_none() {
            decision["updatedInput"] = asks.input.clone();
        }
        decision
    }
}

fn line(request_id: &str, response: &Value) -> Vec<u8> {
    let response = json!({ "subtype": "success", "request_id": request_id, "response": response });
    let mut line = json!({ "type": "control_response", "response": response }).to_string().into_bytes();
    line.push(b'\n');
    line
}
