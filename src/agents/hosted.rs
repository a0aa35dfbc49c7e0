//! Agents as reported by their hosts.

use super::session;
use jiff::Timestamp;
use murmur_core::config::backend::Backend;
use murmur_core::id::{BeatId, SessionId};
use murmur_host::calls::Call;
use murmur_host::discover::{HostInfo, HostState};
use murmur_host::state;
use murmur_store::pulse::State;
use std::path::{Path, PathBuf};

/// An agent, according to its host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hosted {
    /// Its status.
    pub status: HostStatus,
    /// The program that runs it, if known.
    pub backend: Option<Backend>,
    /// The folder it works in; empty if unknown.
    pub worktree: PathBuf,
    /// Its project, if known.
    pub project: Option<String>,
    /// Claude Code's id of the conversation.
    pub session_id: Option<SessionId>,
    /// The beat that it runs.
    pub beat: Option<BeatId>,
    /// The name of the heartbeat that the beat is of, if it has one.
    pub heartbeat: Option<String>,
    /// When its host started.
    pub started_at: Option<Timestamp>,
    /// Its last sign of life.
    pub at: Option<Timestamp>,
    /// Its task, if set.
    pub task: Option<String>,
}

/// The status of an agent, according to its host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostStatus {
    /// Its host reports its state.
    Up {
        /// Its state.
        state: State,
        /// The host's name for the state.
        word: &'static str,
        /// Its process id; `None` if it has none.
        pid: Option<u32>,
        /// The running tool call.
        call: Option<Call>,
        /// How many tasks it runs in the background.
        background: usize,
        /// Until when its account is on hold.
        hold: Option<Timestamp>,
    },
    /// Its host is alive but does not answer, or speaks another version.
    Closed {
        /// The name for that.
        word: &'static str,
    },
    /// It has ended.
    Ended {
        /// Whether its host was killed.
        killed: bool,
    },
    /// Its host is dead and has not been cleaned up.
    Dead,
}

impl Hosted {
    /// Converts `seen`. Without a time in it, uses that of the agent's conversation in Claude Code's folder.
    #[must_use]
    pub fn of(seen: &HostInfo, claude: Option<&Path>) -> Self {
        let info = match &seen.condition {
            HostState::Up(status) => Some(&status.info),
            _ => seen.record.as_ref().map(|record| &record.info),
        };
        let backend = info.map(|info| info.backend.clone());
        let worktree = info.map(|info| info.worktree.clone()).unwrap_or_default();
        let time = |text: &str| text.parse::<Timestamp>().ok();
        let (status, session_id, at) = match &seen.condition {
            HostState::Up(status) => {
                let at = status.last_event_at.as_deref().and_then(time);
                let at =
                    at.or_else(|| session::conversation(claude?, &worktree, status.session_id.as_ref()?));
                let (state, word) = (state(&status.state), status.state.as_str());
                let pid = status.agent_pid;
                let (call, background) = (status.call.clone(), status.state.background());
                let hold = status.hold.as_deref().and_then(time);
                (HostStatus::Up { state, word, pid, call, background, hold }, status.session_id.clone(), at)
            }
            HostState::Incompatible(_) | HostState::Silent => {
                (HostStatus::Closed { word: seen.condition.as_str() }, None, None)
            }
            HostState::Ended(ended) => {
                (HostStatus::Ended { killed: ended.exit.is_none() }, None, time(&ended.ended_at))
            }
            HostState::Dead => (HostStatus::Dead, None, None),
        };
        let started_at = info.and_then(|info| time(&info.started_at));
        let beat = info.and_then(|info| info.beat.clone());
        let heartbeat = info.and_then(|info| info.heartbeat.clone());
        let project = info.map(|info| info.project.clone());
        Self { status, backend, worktree, project, session_id, beat, heartbeat, started_at, at, task: None }
    }

    /// Whether its host is alive.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        matches!(self.status, HostStatus::Up { .. } | HostStatus::Closed { .. })
    }
}

/// Converts a host's state to a pulse's.
fn state(state: &state::State) -> State {
    match state {
        state::State::Starting => State::Starting,
        state::State::Idle { .. } => State::Idle,
        state::State::Running { .. } | state::State::Stopping { .. } => State::Running,
        state::State::Exited { .. } => State::Exited,
    }
}
