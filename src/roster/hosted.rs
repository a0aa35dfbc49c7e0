//! What hosts say of their agents, as far as it matters here.

use super::session;
use crate::host::calls::Call;
use crate::host::discover::{Condition, Seen};
use crate::host::state;
use crate::pulse::State;
use jiff::Timestamp;
use std::path::{Path, PathBuf};

/// An agent by its host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hosted {
    /// How it is.
    pub standing: Standing,
    /// The folder it works in; empty where it is not known.
    pub worktree: PathBuf,
    /// Claude Code's id of the conversation.
    pub session_id: Option<String>,
    /// When its host began.
    pub started_at: Option<Timestamp>,
    /// When it was last heard of.
    pub at: Option<Timestamp>,
    /// What somebody said that it works on.
    pub task: Option<String>,
}

/// How an agent is, by its host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// Its host says so.
    Up {
        /// What it is doing.
        state: State,
        /// The host's word for it.
        word: &'static str,
        /// Its process; 0 where it has none.
        pid: Option<u32>,
        /// The call of a tool that has begun and not ended.
        call: Option<Call>,
        /// How many of its tasks run in the background.
        background: usize,
    },
    /// Its host lives and does not say, or says it in another version.
    Closed {
        /// The word for that.
        word: &'static str,
    },
    /// It has ended, or with `killed` its host was killed.
    Ended {
        /// Whether that was killed.
        killed: bool,
    },
    /// Its host is dead, and nobody has cleaned up after it.
    Dead,
}

impl Hosted {
    /// What `seen` says; where that says nothing of when, the agent's conversation in Claude Code's folder does.
    #[must_use]
    pub fn of(seen: &Seen, claude: Option<&Path>) -> Self {
        let card = match &seen.condition {
            Condition::Up(status) => Some(&status.card),
            _ => seen.record.as_ref().map(|record| &record.card),
        };
        let worktree = card.map(|card| card.worktree.clone()).unwrap_or_default();
        let time = |text: &str| text.parse::<Timestamp>().ok();
        let (standing, session_id, at) = match &seen.condition {
            Condition::Up(status) => {
                let at = status.last_event_at.as_deref().and_then(time);
                let at =
                    at.or_else(|| session::conversation(claude?, &worktree, status.session_id.as_deref()?));
                let (state, word) = (state(&status.state), status.state.word());
                let pid = status.agent_pid;
                let (call, background) = (status.call.clone(), status.state.background());
                (Standing::Up { state, word, pid, call, background }, status.session_id.clone(), at)
            }
            Condition::Incompatible(_) | Condition::Silent => {
                (Standing::Closed { word: seen.condition.word() }, None, None)
            }
            Condition::Ended(ended) => {
                (Standing::Ended { killed: ended.exit.is_none() }, None, time(&ended.ended_at))
            }
            Condition::Dead => (Standing::Dead, None, None),
        };
        let started_at = card.and_then(|card| time(&card.started_at));
        Self { standing, worktree, session_id, started_at, at, task: None }
    }

    /// Whether its host lives.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        matches!(self.standing, Standing::Up { .. } | Standing::Closed { .. })
    }
}

/// What an agent is doing, in the words of a pulse.
fn state(state: &state::State) -> State {
    match state {
        state::State::Starting => State::Starting,
        state::State::Idle { .. } => State::Idle,
        state::State::Running { .. } | state::State::Stopping { .. } => State::Running,
        state::State::Exited { .. } => State::Exited,
    }
}
