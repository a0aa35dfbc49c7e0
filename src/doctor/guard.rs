//! Checks that the hook refuses destructive calls, by running the same command as agents do in a temporary data folder,
//! as it records its decisions. The calls themselves are never run.

use super::{Check, Environment, Finding, Hint};
use murmur_agent::invocation::DIR_VARIABLE;
use murmur_agent::settings::{HOME_VARIABLE, HookProgram, POLICY_VARIABLE};
use murmur_core::permit::policy::{Checker, Policy};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::io;
use std::path::Path;
use std::process::{Output, Stdio};
use std::time::Duration;
use sys::{process, scratch};
use tokio::io::AsyncWriteExt;
use tokio::process::Command;
use tokio::time::timeout;

/// How long the hook may take for a decision that nobody is asked about.
const HOOK_TIMEOUT: Duration = Duration::from_secs(10);

const CHECK: Check = Check::HOOK;

/// What would happen to a call.
#[derive(Debug, PartialEq, Eq)]
enum CallResult {
    /// The hook denies it.
    Denied,
    /// The hook failed, which blocks it too.
    Blocked,
    /// It runs.
    Runs,
}

pub(super) async fn examine(environment: &Environment) -> Vec<Finding> {
    let hook = HookProgram::find().map_err(|error| error.to_string());
    let command = hook.and_then(|hook| hook.deciding("PreToolUse").map_err(|error| error.to_string()));
    match command {
        Ok(command) => vec![closed(&environment.user.home, &command).await],
        Err(error) => vec![CHECK.fail(error, Hint::INSTALL_MURMUR)],
    }
}

/// Checks invalid input, a call that the guard refuses, one that nobody can approve, and one that must run. The
/// guard's must be *denied*: a hook that only fails would block everything.
async fn closed(home: &Path, command: &str) -> Finding {
    let nobody = Policy::of_beat();
    let somebody = Policy { checker: Checker::Manual, approval_wait: Some(0), ..nobody };
    let tries = [
        ("invalid input", "not a call".to_owned(), nobody, [CallResult::Blocked, CallResult::Denied]),
        ("`sudo true`", bash("sudo true"), nobody, [CallResult::Denied, CallResult::Denied]),
        ("a call that nobody can approve", bash("true"), somebody, [CallResult::Blocked, CallResult::Denied]),
        ("`true`", bash("true"), nobody, [CallResult::Runs, CallResult::Runs]),
    ];
    for (what, stdin, policy, expected) in tries {
        let result = match ask(home, command, &stdin, policy).await {
            Ok(output) => result_of(&output),
            Err(error) => return broken(command, &error.to_string()),
        };
        if !expected.contains(&result) {
            return broken(
                command,
                &match result {
                    CallResult::Runs => format!("{what} is not refused"),
                    CallResult::Denied => format!("{what} is denied"),
                    CallResult::Blocked => format!("the hook fails on {what}"),
                },
            );
        }
    }
    CHECK.ok(format!("`{command}` refuses destructive calls"))
}

fn broken(command: &str, what: &str) -> Finding {
    CHECK.fail(format!("`{command}`: {what}"), Hint::RUN_NO_AGENTS)
}

fn bash(command: &str) -> String {
    let call = json!({
        "session_id": "doctor", "cwd": "/", "hook_event_name": "PreToolUse", "tool_name": "Bash",
        "tool_input": { "command": command }, "tool_use_id": "doctor",
    });
    call.to_string()
}

/// What Claude Code would do.
fn result_of(output: &Output) -> CallResult {
    if output.status.code() == Some(2) {
        return CallResult::Blocked;
    }
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let is_denied = answer["hookSpecificOutput"]["permissionDecision"] == "deny";
    if is_denied { CallResult::Denied } else { CallResult::Runs }
}

async fn ask(home: &Path, command: &str, stdin: &str, policy: Policy) -> io::Result<Output> {
    let folder = scratch::folder("murmur-doctor-", home)?;
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", command]).env_clear().env(DIR_VARIABLE, folder.path());
    shell.env(HOME_VARIABLE, home).env(POLICY_VARIABLE, serde_json::to_string(&policy)?);
    shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    process::bind_to_us(&mut shell);
    let mut child = shell.spawn()?;
    let group = child.id();
    if let Some(mut pipe) = child.stdin.take() {
        // A hook that does not read it has already answered.
        let _closed = pipe.write_all(stdin.as_bytes()).await;
    }
    let answered = timeout(HOOK_TIMEOUT, child.wait_with_output()).await;
    answered.unwrap_or_else(|_| {
        // The hook is the shell's child and would outlive it.
        if let Some(group) = group {
            process::signal_group(group, Signal::KILL);
        }
        Err(io::ErrorKind::TimedOut.into())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Level;

    async fn of(command: &str) -> (Level, String) {
        let finding = closed(Path::new("/home/user"), command).await;
        (finding.level, finding.found)
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_hook_that_lets_a_call_run_or_refuses_everything_is_broken() {
        let denies = r#"echo '{"hookSpecificOutput":{"permissionDecision":"deny"}}'"#;
        for (command, what) in [
            ("exit 0", "invalid input is not refused"),
            ("echo no; exit 1", "invalid input is not refused"),
            ("/nonexistent/murmur-hook PreToolUse || exit 2", "the hook fails on `sudo true`"),
            ("grep -q tool_name || exit 2", "`sudo true` is not refused"),
            (
                "read call; case $call in *sudo*) ANSWER;; not*) exit 2;; esac",
                "a call that nobody can approve is not refused",
            ),
            ("ANSWER", "`true` is denied"),
        ] {
            let command = command.replace("ANSWER", denies);
            assert_eq!(of(&command).await, (Level::Fail, format!("`{command}`: {what}")));
        }
    }
}
