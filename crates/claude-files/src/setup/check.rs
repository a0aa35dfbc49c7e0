//! Runs the installed hook once, as Claude Code would, and checks that a pulse arrives. Leaves nothing behind.

use murmur_agent::invocation::AGENT_VARIABLE;
use murmur_agent::settings::PULSE_TIMEOUT;
use murmur_store::pulse::folder;
use serde_json::json;
use std::io;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};
use sys::error::Hinted;
use sys::paths::DataDir;
use sys::process::{Signal, signal_group};
use sys::random;
use sys::text::is_hidden;
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

/// Why no pulse arrived.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// There is no shell, or no pipe to it.
    #[error("the hook could not be started with `sh -c`")]
    NotStarted(#[source] io::Error),
    /// The shell could not run it.
    #[error("no pulse arrived: the program of {} is missing or cannot be run{}", shown(.command), quoted(.stderr))]
    Gone {
        /// The command.
        command: String,
        /// The shell's error output.
        stderr: String,
    },
    /// It timed out.
    #[error("no pulse arrived: {} did not end within {PULSE_TIMEOUT}s", shown(.command))]
    Late {
        /// The command.
        command: String,
    },
    /// It ended without writing a pulse.
    #[error("no pulse arrived in {}: {} ended with {status}{}", dir.display(), shown(.command), quoted(.stderr))]
    Silent {
        /// The command.
        command: String,
        /// murmur's data folder.
        dir: std::path::PathBuf,
        /// Its exit status.
        status: ExitStatus,
        /// Its error output.
        stderr: String,
    },
}

impl Hinted for CheckError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NotStarted(..) => "check that `sh` is on the PATH".to_owned(),
            Self::Gone { .. } => "run: murmur setup hooks, which updates its path".to_owned(),
            Self::Late { .. } => "check what it waits for".to_owned(),
            Self::Silent { .. } => "see murmur.log in that folder".to_owned(),
        })
    }
}

fn quoted(stderr: &str) -> String {
    let words = stderr.split_whitespace().collect::<Vec<_>>().join(" ").replace("; ", ", ");
    if words.is_empty() {
        String::new()
    } else {
        format!(" ({})", shown(&words.chars().take(200).collect::<String>()))
    }
}

/// Escapes `command` for a message: hidden characters, and `; `, which ends a message.
#[must_use]
pub fn shown(command: &str) -> String {
    let mut shown = String::with_capacity(command.len());
    for letter in command.chars() {
        if is_hidden(letter) || (letter == ' ' && shown.ends_with(';')) {
            shown.extend(letter.escape_unicode());
        } else {
            shown.push(letter);
        }
    }
    shown
}

/// Runs `command`, the PostToolUse hook, for a fake call of a fake agent in the folder `here`, and returns how long
/// it took. `dir` is the data folder from the environment, as for a real session.
pub async fn check(command: &str, dir: &DataDir, here: &Path) -> Result<Duration, CheckError> {
    let number = random::bytes::<4>().map_err(CheckError::NotStarted)?;
    let agent = format!("setup-check-{:08x}", u32::from_be_bytes(number));
    let ran = run(command, here, &agent).await;
    let pulse = dir.pulse(&agent);
    let arrived = folder::read(&pulse).is_some_and(|found| found.pulse.agent_id == agent);
    // They may not exist.
    let _pulse = std::fs::remove_file(pulse);
    let _activity = std::fs::remove_dir_all(dir.agent(&agent));
    let Ran { status, stderr, took } = ran?;
    let command = command.to_owned();
    match status.code() {
        _ if arrived => Ok(took),
        Some(126 | 127) => Err(CheckError::Gone { command, stderr }),
        _ => Err(CheckError::Silent { command, dir: dir.root().to_owned(), status, stderr }),
    }
}

/// A finished hook.
struct Ran {
    status: ExitStatus,
    stderr: String,
    took: Duration,
}

async fn run(command: &str, here: &Path, agent: &str) -> Result<Ran, CheckError> {
    let payload = json!({
        "session_id": agent, "transcript_path": "", "cwd": here.to_string_lossy(), "permission_mode": "default",
        "hook_event_name": "PostToolUse", "tool_name": "Bash",
        "tool_input": { "command": "murmur setup hooks --check", "description": "See that a pulse arrives" },
        "tool_response": { "stdout": "", "stderr": "", "interrupted": false, "isImage": false },
        "tool_use_id": "toolu_check", "duration_ms": 0,
    });
    let began = Instant::now();
    let mut child = Command::new("sh");
    child.args(["-c", command]).current_dir(here).process_group(0).kill_on_drop(true);
    child
        .env(AGENT_VARIABLE, agent)
        .env("CLAUDECODE", "1")
        .env("CLAUDE_PROJECT_DIR", here)
        .env("CLAUDE_CODE_SESSION_ID", agent);
    child.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = child.spawn().map_err(CheckError::NotStarted)?;
    let group = child.id();
    if let Some(mut stdin) = child.stdin.take() {
        // The hook may not read its input.
        let _closed = stdin.write_all(payload.to_string().as_bytes()).await;
    }
    let limit = Duration::from_secs(u64::from(PULSE_TIMEOUT));
    match tokio::time::timeout(limit, child.wait_with_output()).await {
        Ok(output) => {
            let output = output.map_err(CheckError::NotStarted)?;
            let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
            Ok(Ran { status: output.status, stderr, took: began.elapsed() })
        }
        Err(_) => {
            if let Some(group) = group {
                signal_group(group, Signal::KILL);
            }
            Err(CheckError::Late { command: command.to_owned() })
        }
    }
}
