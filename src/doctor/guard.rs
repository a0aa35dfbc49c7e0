//! The hook: that it refuses what it must, tried on the real one, in a data folder of its own that is gone afterwards: what
//! it decides is written down. What it is asked about is never run.

use super::{Environment, Finding};
use crate::agent::invocation::DIR_VARIABLE;
use crate::agent::settings::{HOME_VARIABLE, HookProgram};
use serde_json::{Value, json};
use std::io;
use std::process::{Output, Stdio};
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::process::Command;
use tokio::time::timeout;

/// How long the hook may take for an answer that needs nobody.
const PATIENCE: Duration = Duration::from_secs(10);

const CHECK: &str = "hook";

pub(super) async fn examine(environment: &Environment) -> Vec<Finding> {
    let hook = match HookProgram::find() {
        Ok(hook) => hook,
        Err(error) => return vec![Finding::fail(CHECK, error.to_string(), "install murmur anew")],
    };
    vec![closed(environment, &hook).await]
}

/// Whether what is no call, and a call that the guard refuses, are blocked.
async fn closed(environment: &Environment, hook: &HookProgram) -> Finding {
    let (program, _) = hook.called_for("PreToolUse");
    let broken = |what: String| {
        Finding::fail(CHECK, format!("{}: {what}", program.display()), "run no agents; install murmur anew")
    };
    match ask(environment, hook, "this is no call").await {
        Ok(output) if output.status.code() == Some(2) => {}
        Ok(output) => return broken(format!("what is no call is not blocked: {}", output.status)),
        Err(error) => return broken(error.to_string()),
    }
    let call = json!({
        "session_id": "doctor", "cwd": "/", "hook_event_name": "PreToolUse", "tool_name": "Bash",
        "tool_input": { "command": "sudo true" }, "tool_use_id": "doctor",
    });
    let output = match ask(environment, hook, &call.to_string()).await {
        Ok(output) => output,
        Err(error) => return broken(error.to_string()),
    };
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let is_denied = answer["hookSpecificOutput"]["permissionDecision"] == "deny";
    if is_denied || output.status.code() == Some(2) {
        return Finding::ok(CHECK, format!("{} blocks what it must", program.display()));
    }
    broken("`sudo true` is not refused".to_owned())
}

async fn ask(environment: &Environment, hook: &HookProgram, stdin: &str) -> io::Result<Output> {
    let folder = tempfile::tempdir()?;
    let (program, words) = hook.called_for("PreToolUse");
    let mut child = Command::new(program)
        .args(words)
        .env_clear()
        .env(DIR_VARIABLE, folder.path())
        .env(HOME_VARIABLE, &environment.user.home)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    if let Some(mut pipe) = child.stdin.take() {
        // One that does not read it has answered already.
        let _closed = pipe.write_all(stdin.as_bytes()).await;
    }
    timeout(PATIENCE, child.wait_with_output()).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}
