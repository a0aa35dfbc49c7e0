//! Every agent there is, and what it is doing: in come hosts, pulses and Claude Code's own session files, out goes one
//! list. Who shows agents and who watches over them looks here (spec 2, hybrid detection: active first, passive
//! fallback; docs/guide/agents.md).
//!
//! - [`known`]: what is read
//! - [`hosted`], [`session`]: of hosts, and of Claude Code's session files
//! - [`join`]: one agent once, purely
//! - [`follow`]: all of it kept up to date, as it changes
//! - [`activity`]: what one agent did lately

pub mod activity;
pub mod follow;
pub mod hosted;
pub mod join;
pub mod known;
pub mod session;

use crate::config::quiet::Quiet;
use crate::pulse::health::Health;
use crate::pulse::owner;
use jiff::Timestamp;
use serde::Serialize;
use std::io;
use std::path::PathBuf;
use std::time::Duration;
use sys::error::Hinted;
use sys::paths::DataDir;
use sys::unreadable::uncommon;

/// Where to look.
#[derive(Debug, Clone)]
pub struct Sources {
    /// murmur's data folder: hosts and pulses.
    pub dir: DataDir,
    /// Claude Code's own folder, `$CLAUDE_CONFIG_DIR` or `~/.claude`, where it is known: agents without pulses.
    pub claude: Option<PathBuf>,
    /// When a quiet agent is stuck.
    pub quiet: Quiet,
}

/// Why Claude Code's sessions are not among the agents.
#[derive(Debug, thiserror::Error)]
#[error("sessions without a pulse are not listed: cannot read {}: {source}", .path.display())]
pub struct SessionsError {
    path: PathBuf,
    source: io::Error,
}

impl Hinted for SessionsError {
    fn hint(&self) -> Option<String> {
        Some(uncommon(&self.path, &self.source).unwrap_or_else(|| "check its owner and mode".to_owned()))
    }
}

impl Sources {
    /// Whether Claude Code's sessions can be read. Where they cannot, there are none among the agents.
    pub fn sessions(&self) -> Result<(), SessionsError> {
        let Some(claude) = &self.claude else { return Ok(()) };
        let path = session::folder(claude);
        match std::fs::read_dir(&path) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => Err(SessionsError { path, source }),
            _ => Ok(()),
        }
    }
}

/// What is known of an agent by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// The file that Claude Code keeps its session in.
    Session,
    /// Its pulse.
    Pulse,
    /// Its host.
    Host,
}

/// An agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agent {
    /// Its id.
    pub agent_id: String,
    /// What the newest of it is known by.
    pub source: Source,
    /// What it is doing, in a word.
    pub state: &'static str,
    /// How many of its tasks run in the background, as far as its host knows.
    pub background: usize,
    /// The tool it uses, or used last; empty where there is none.
    pub tool_name: String,
    /// What it did with it.
    pub last_action: String,
    /// What it works on; empty where nobody said.
    pub current_task: String,
    /// The branch, as a pulse has it; empty where it is not known.
    pub git_branch: String,
    /// The folder it works in.
    pub workspace: PathBuf,
    /// Its process, if known.
    pub pid: Option<u32>,
    /// Claude Code's id of the conversation.
    pub session_id: Option<String>,
    /// Why the last call or turn failed.
    pub error: Option<String>,
    /// When it was last heard of.
    pub at: Timestamp,
    /// How it is.
    pub health: Health,
    /// Whether its process, or its host, lives; `None` where nobody knows.
    pub alive: Option<bool>,
}

impl Agent {
    /// How long ago it was last heard of.
    #[must_use]
    pub fn age(&self, now: Timestamp) -> Duration {
        join::age(self.at, now)
    }

    /// How long after `now` its health changes by time alone; `None` if it does not.
    #[must_use]
    pub fn changes_in(&self, now: Timestamp, quiet: &Quiet) -> Option<Duration> {
        let stays = matches!(self.health, Health::Waiting | Health::Exited | Health::Dead);
        if stays { None } else { Health::changes_in(self.age(now), quiet) }
    }
}

/// The id of the agent that holds the conversation `session_id` and has no other.
#[must_use]
pub fn session_agent(session_id: &str) -> String {
    owner::of_session(session_id)
}

/// Every agent, by id.
///
/// # Errors
/// What the system says of reading the folders. Those that do not exist have no agents in them.
pub async fn all(sources: &Sources, now: Timestamp) -> io::Result<Vec<Agent>> {
    Ok(join::agents(&known::Known::read(sources).await?, &sources.quiet, now))
}
