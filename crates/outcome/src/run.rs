//! A finished run of an agent, as its host saw it.

use crate::refused::Refusals;
use derun::id::SessionId as CaptureId;
use murmur_agent::event::RunResult;
use murmur_agent::unknown::Unknown;
use murmur_core::config::watchdogs::Watchdog;
use murmur_core::id::SessionId;
use murmur_core::permit::request::RequestId;
use murmur_store::journal::decisions::Unanswered;
use std::time::Duration;
use sys::process::Exit;

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
        /// A description, from [`breach`](crate::breach).
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
