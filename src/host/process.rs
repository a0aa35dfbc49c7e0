//! One agent's process: how it is started, how it came to its end, and what a run of it was.

use super::audit::Refusals;
use crate::agent::event::RunResult;
use crate::agent::invocation::Invocation;
use crate::permit::request::Request;
use std::io;
use std::process::Stdio;
use std::time::Duration;
use sys::process::{self, Exit};
use tokio::process::{Child, Command};

/// How an agent's process came to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// It ended by itself.
    Exited(i32),
    /// A signal killed it that murmur did not send.
    Signaled(i32),
    /// It ran longer than it may and was stopped.
    TimedOut {
        /// How long that is.
        limit: Duration,
        /// How long it had waited for people besides.
        waited: Duration,
        /// What that interrupted.
        doing: Doing,
    },
    /// Somebody stopped it, or murmur itself.
    Stopped {
        /// How long it had run.
        after: Duration,
        /// What that interrupted.
        doing: Doing,
    },
    /// It began by itself to take more turns than it was allowed, and was stopped.
    OutOfTurns {
        /// How many that is.
        limit: u64,
    },
    /// One of its calls ran that murmur had not decided on, and it was killed.
    Undecided {
        /// The call, without what looks like a secret.
        call: String,
    },
    /// One of its calls ran and did what it may not, and it was killed.
    Breach {
        /// What, as [`breached`] or [`ran_denied`] says it.
        said: String,
    },
    /// It had answered, and murmur ended it with what it went on with.
    Settled {
        /// How many of its tasks in the background were ended with it, as far as it told of them.
        background: usize,
        /// Whether it was about to exceed the default limit of turns.
        out_of_turns: bool,
    },
}

/// What an agent was in the middle of when it was stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Doing {
    /// A person was asked.
    Waits {
        /// The request's id.
        request: String,
        /// For how long.
        time: Duration,
    },
    /// The API failed and was tried again.
    Retries {
        /// How often.
        retries: u64,
        /// The HTTP status of its last answer, if there was one.
        status: Option<u64>,
    },
    /// A tool ran.
    Tool {
        /// Which.
        tool: String,
        /// What it was called to do, without what looks like a secret.
        action: String,
        /// For how long.
        time: Duration,
    },
    /// The model was to say something.
    Model {
        /// For how long nothing had come.
        time: Duration,
    },
    /// Its turn was over, and tasks went on in the background.
    Background {
        /// Which, in words.
        tasks: Vec<String>,
    },
    /// Its turn was over, and its process had not ended.
    Nothing,
}

/// What is said of an agent that was killed because `call` ran undecided.
#[must_use]
pub fn undecided(call: &str) -> String {
    format!("a call was not decided: {call}")
}

/// What is said of an agent that was killed because `call` reached what it may not.
#[must_use]
pub fn breached(call: &str) -> String {
    format!("a call wrote where it is not allowed, because a link changed after the decision: {call}")
}

/// What is said of an agent that was killed because `call` ran after it had been denied.
#[must_use]
pub fn ran_denied(call: &str) -> String {
    format!("a call ran although it was denied: {call}")
}

/// How much of the end of stderr is kept, in bytes.
const STDERR_KEPT: usize = 16 << 10;

/// A run that came to its end.
#[derive(Debug)]
pub struct Run {
    /// How.
    pub ending: Ending,
    /// What became of the process itself.
    pub exit: Exit,
    /// The run's summaries: of a beat usually one, none if it died early, more where background tasks ended after the
    /// first; of a live agent the last.
    pub said: Vec<RunResult>,
    /// Whether it ended within a turn that it had begun by itself.
    pub unfinished: bool,
    /// The conversation's id, if it said one.
    pub session_id: Option<String>,
    /// The end of what it wrote on stderr, lossily decoded.
    pub stderr: String,
    /// Processes that could not be killed.
    pub survivors: usize,
    /// The session of the captures that has its output.
    pub capture: Option<String>,
    /// Why not all of it is there.
    pub lost: Option<String>,
    /// What the guard refused, and which hooks failed.
    pub refusals: Refusals,
    /// The requests that waited for a person when it ended, and of which no decision was recorded.
    pub unanswered: Vec<Unanswered>,
}

/// A request that waited for a person when its agent ended.
#[derive(Debug)]
pub struct Unanswered {
    /// Its id.
    pub id: String,
    /// What was asked.
    pub request: Box<Request>,
    /// How long it had waited.
    pub time: Duration,
}

/// Starts `invocation`, with pipes for all that it says and hears. It dies with this process.
///
/// # Errors
/// What the system says.
pub(super) fn spawn(invocation: &Invocation) -> io::Result<Child> {
    let mut command = Command::new(&invocation.program);
    command.args(&invocation.args).current_dir(&invocation.cwd);
    command.envs(invocation.env.iter().map(|(name, value)| (name, value)));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    process::bind_to_us(&mut command);
    command.spawn()
}

/// Appends `bytes` to `kept` and drops from its front what is more than [`STDERR_KEPT`].
pub(super) fn keep_end(kept: &mut Vec<u8>, bytes: &[u8]) {
    kept.extend_from_slice(bytes);
    let surplus = kept.len().saturating_sub(STDERR_KEPT);
    kept.drain(..surplus);
}
