//! An agent's process: how it starts, how it ends, and the result of a run.

use super::audit::Refusals;
use super::pipes::Pipes;
use derun::id::SessionId as CaptureId;
use murmur_agent::event::RunResult;
use murmur_agent::invocation::Invocation;
use murmur_agent::unknown::Unknown;
use murmur_core::config::watchdogs::Watchdog;
use murmur_core::id::SessionId;
use murmur_core::permit::request::RequestId;
use murmur_store::journal::decisions::Unanswered;
use std::ffi::OsStr;
use std::io;
use std::process::Stdio;
use std::time::Duration;
use sys::process::{self, Exit};
use tokio::process::{Child, Command};

/// How an agent's process ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunEnd {
    /// It exited by itself.
    Exited(i32),
    /// It was killed by a signal that murmur did not send.
    Signaled(i32),
    /// It exceeded its time limit and was stopped.
    TimedOut {
        /// The limit.
        limit: Duration,
        /// How long it had waited for people, which doesn't count.
        waited: Duration,
        /// What was interrupted.
        doing: LastActivity,
    },
    /// It seemed to hang and was stopped.
    Hung {
        /// What noticed that.
        watchdog: Watchdog,
        /// The limit.
        limit: Duration,
        /// What was interrupted; of tools, the one that ran for longest.
        doing: LastActivity,
    },
    /// A user stopped it, or murmur shut down.
    Stopped {
        /// How long it had run.
        after: Duration,
        /// What was interrupted.
        doing: LastActivity,
    },
    /// It exceeded the turn limit that was set for it, and was stopped.
    OutOfTurns {
        /// The limit.
        limit: u64,
    },
    /// One of its calls had no decision, or ran against one, and it was killed.
    Breach {
        /// A description, from `undecided`, `breached` or `ran_denied`.
        what: String,
    },
    /// It had answered, and murmur ended it, since it would have waited for more messages: it exited with code 0 when
    /// its stdin was closed, or was killed because it didn't exit.
    Answered,
    /// It had answered, and murmur ended it together with its background work.
    Settled {
        /// The number of background tasks that were ended, as far as the agent reported them.
        background: usize,
        /// Whether it was about to exceed the default turn limit.
        out_of_turns: bool,
    },
}

/// What an agent was doing when it was stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LastActivity {
    /// It waited for a person.
    Waits {
        /// The request's id.
        request: RequestId,
        /// For how long.
        time: Duration,
    },
    /// It was retrying an API call.
    Retries {
        /// The number of retries.
        retries: u64,
        /// The HTTP status of the last answer, if there was one.
        status: Option<u64>,
    },
    /// A tool was running.
    Tool {
        /// Its name.
        tool: String,
        /// A summary of its input, with secrets redacted.
        action: String,
        /// For how long.
        time: Duration,
    },
    /// It waited for the model.
    Model {
        /// How long nothing had arrived.
        time: Duration,
    },
    /// Its turn was over and background tasks were running.
    Background {
        /// Descriptions of the tasks.
        tasks: Vec<String>,
    },
    /// Its turn was over, but its process was still running.
    Nothing,
}

/// The message for an agent that was killed because its hook didn't decide on `call`.
#[must_use]
pub(super) fn undecided(call: &str, has_run: bool) -> String {
    match has_run {
        true => format!("a call ran without a decision: {call}"),
        false => format!("murmur's hook made no decision on a call, so it did not run: {call}"),
    }
}

/// The message for an agent that was killed because `call` wrote where it may not.
#[must_use]
pub(super) fn breached(call: &str) -> String {
    format!("a call wrote where it is not allowed, because a link changed after the decision: {call}")
}

/// The message for an agent that was killed because `call` ran after it was denied.
#[must_use]
pub(super) fn ran_denied(call: &str) -> String {
    format!("a call ran although it was denied: {call}")
}

/// How much of the end of stderr to keep, in bytes.
const STDERR_KEPT: usize = 16 << 10;

/// A finished run.
#[derive(Debug)]
pub struct Run {
    /// How it ended.
    pub ending: RunEnd,
    /// The exit of the process itself.
    pub exit: Exit,
    /// Its results. A beat usually has one: none if it died early, more if background tasks ended later. A hosted agent
    /// has its last.
    pub results: Vec<RunResult>,
    /// Whether it ended within a turn that it had started by itself.
    pub unfinished: bool,
    /// The conversation's id, if known.
    pub session_id: Option<SessionId>,
    /// The end of its stderr, decoded lossily.
    pub stderr: String,
    /// The number of processes that could not be killed.
    pub survivors: usize,
    /// The capture session with its output.
    pub capture: Option<CaptureId>,
    /// Why the capture is incomplete.
    pub lost: Option<String>,
    /// Calls that were refused or ran without a decision, and hooks that failed.
    pub refusals: Refusals,
    /// The tools whose calls were denied according to decisions.jsonl, in order, one entry per call.
    pub denials: Vec<String>,
    /// Requests that waited for a person when it ended, without a recorded decision.
    pub unanswered: Vec<Unanswered>,
    /// The agent's version; empty if it doesn't say.
    pub version: String,
    /// Its unknown output.
    pub unknown: Unknown,
}

/// Starts `invocation` with pipes for stdin, stdout and stderr. On Linux, it dies with this process.
pub(super) fn spawn(invocation: &Invocation) -> io::Result<(Child, Pipes)> {
    let mut command = in_environment_of(invocation, &invocation.program);
    command.args(&invocation.args).current_dir(&invocation.cwd).stdin(Stdio::piped());
    Pipes::spawn(command)
}

/// A command that runs `program` with the variables of the agent of `invocation`. On Linux, it dies with this process.
pub(super) fn in_environment_of(invocation: &Invocation, program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    process::without_git_place(&mut command);
    command.envs(invocation.env.iter().map(|(name, value)| (name, value)));
    command.envs(invocation.program_env.iter().map(|(name, value)| (name, value)));
    process::bind_to_us(&mut command);
    command
}

/// Appends `bytes` to `kept`, then truncates the front to [`STDERR_KEPT`] bytes.
pub(super) fn keep_end(kept: &mut Vec<u8>, bytes: &[u8]) {
    kept.extend_from_slice(bytes);
    let surplus = kept.len().saturating_sub(STDERR_KEPT);
    kept.drain(..surplus);
}
