//! All known agents and what they are doing, merged from hosts, pulses and Claude Code's session files (spec 2, hybrid
//! detection: active first, passive fallback; docs/guide/agents.md).
//!
//! - [`known`]: the data read from all sources
//! - [`hosted`], [`session`]: data from hosts and from Claude Code's session files
//! - [`join`]: merges the sources into one entry per agent; pure
//! - [`follow`]: keeps the list up to date
//! - [`activity`]: an agent's recent actions

pub mod activity;
pub mod follow;
pub mod hosted;
pub mod join;
pub mod known;
pub mod session;

use jiff::Timestamp;
use murmur_core::config::backend::Backend;
use murmur_core::config::quiet::Quiet;
use murmur_core::id::SessionId;
use murmur_host::discover;
use murmur_store::pulse::health::Health;
use murmur_store::pulse::owner;
use serde::Serialize;
use std::io;
use std::path::PathBuf;
use std::time::Duration;
use sys::error::Hinted;
use sys::paths::DataDir;
use sys::unreadable::uncommon;

/// The sources to read.
#[derive(Debug, Clone)]
pub struct Sources {
    /// murmur's data folder: hosts and pulses.
    pub dir: DataDir,
    /// Claude Code's folder, `$CLAUDE_CONFIG_DIR` or `~/.claude`, if known: agents without pulses.
    pub claude: Option<PathBuf>,
    /// How long an agent may be quiet.
    pub quiet: Quiet,
}

/// Why Claude Code's sessions are missing.
#[derive(Debug, thiserror::Error)]
#[error("sessions without a pulse are not listed: cannot read {}", .path.display())]
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
    /// Checks that Claude Code's sessions can be read. Otherwise they are left out.
    pub fn sessions(&self) -> Result<(), SessionsError> {
        let Some(claude) = &self.claude else { return Ok(()) };
        let path = session::folder(claude);
        match std::fs::read_dir(&path) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => Err(SessionsError { path, source }),
            _ => Ok(()),
        }
    }
}

/// Where information about an agent comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// Its session file, written by Claude Code.
    Session,
    /// Its pulse.
    Pulse,
    /// Its host.
    Host,
}

/// An agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agent {
    /// Its id. Any text: agents that murmur didn't start have pulses, too.
    pub agent_id: String,
    /// The program that runs it.
    pub backend: Backend,
    /// The source of the newest information.
    pub source: Source,
    /// Its state.
    pub state: &'static str,
    /// How many tasks it runs in the background, according to its host.
    pub background: usize,
    /// Until when its account is on hold, according to its host.
    pub hold: Option<Timestamp>,
    /// The current or last tool; empty if none.
    pub tool_name: String,
    /// What it did with the tool.
    pub last_action: String,
    /// Its task; empty if not set.
    pub current_task: String,
    /// The branch according to its pulse; empty if unknown.
    pub git_branch: String,
    /// The folder it works in.
    pub workspace: PathBuf,
    /// Its project, according to its host.
    pub project: Option<String>,
    /// The name of the heartbeat whose beat it runs, according to its host.
    pub heartbeat: Option<String>,
    /// Its process id, if known.
    pub pid: Option<u32>,
    /// Claude Code's id of the conversation.
    pub session_id: Option<SessionId>,
    /// Why the last call or turn failed.
    pub error: Option<String>,
    /// When it started; if that isn't known, its last sign of life.
    pub started_at: Timestamp,
    /// Its last sign of life.
    pub at: Timestamp,
    /// Its health.
    pub health: Health,
    /// Whether its process or host is alive; `None` if unknown.
    pub alive: Option<bool>,
}

impl Agent {
    /// Whether its host is alive but does not answer.
    #[must_use]
    pub fn has_silent_host(&self) -> bool {
        self.state == discover::UNRESPONSIVE
    }

    /// The time since its last sign of life.
    #[must_use]
    pub fn age(&self, now: Timestamp) -> Duration {
        join::age(self.at, now)
    }

    /// When, after `now`, its health changes without any event; `None` if it does not.
    #[must_use]
    pub fn changes_in(&self, now: Timestamp, quiet: &Quiet) -> Option<Duration> {
        let stays = matches!(self.health, Health::Waiting | Health::Exited | Health::Dead);
        if stays { None } else { Health::changes_in(self.age(now), quiet) }
    }
}

/// The id of an agent that is known only by its `session`.
#[must_use]
pub fn session_agent(session: &SessionId) -> String {
    owner::of_session(session)
}

/// Returns every agent, sorted by id. Missing folders count as empty.
pub async fn all(sources: &Sources, now: Timestamp) -> io::Result<Vec<Agent>> {
    Ok(join::agents(&known::KnownAgents::read(sources).await?, &sources.quiet, now))
}
