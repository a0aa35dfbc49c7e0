//! Every agent there is, and what it is doing: in come hosts, pulses and Claude Code's own session files, out goes one
//! list. Who shows agents and who watches over them looks here (spec 2, hybrid detection: active first, passive
//! fallback).

use crate::config::quiet::Quiet;
use crate::pulse::folder;
use crate::pulse::health::Health;
use crate::sys::identity;
use crate::sys::paths::DataDir;
use jiff::Timestamp;
use serde::Serialize;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

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

/// What is known of an agent by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// Its host.
    Host,
    /// Its pulse.
    Pulse,
    /// The file that Claude Code keeps its session in.
    Session,
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
    /// Its process; 0 where it is not known.
    pub pid: u32,
    /// Claude Code's id of the conversation.
    pub session_id: Option<String>,
    /// Why the last call or turn failed.
    pub error: Option<String>,
    /// When it was last heard of.
    pub at: Timestamp,
    /// How it is.
    pub health: Health,
}

/// Every agent, by id.
///
/// # Errors
/// What the system says of reading the folders. Those that do not exist have no agents in them.
#[expect(clippy::unused_async, reason = "hosts are asked")]
pub async fn all(sources: &Sources, now: Timestamp) -> io::Result<Vec<Agent>> {
    let found = folder::all(&sources.dir)?;
    Ok(found.into_iter().map(|found| of_pulse(found.pulse, &sources.quiet, now)).collect())
}

fn of_pulse(pulse: crate::pulse::Pulse, quiet: &Quiet, now: Timestamp) -> Agent {
    let at = pulse.at().unwrap_or(now);
    let is_alive = (pulse.pid != 0).then(|| identity::was_alive_at(pulse.pid, at));
    let age = Duration::try_from(now.duration_since(at)).unwrap_or_default();
    Agent {
        source: Source::Pulse,
        state: pulse.state.word(),
        health: Health::of(pulse.state, is_alive, age, quiet),
        agent_id: pulse.agent_id,
        tool_name: pulse.tool_name,
        last_action: pulse.last_action,
        current_task: pulse.current_task,
        git_branch: pulse.git_branch,
        workspace: pulse.workspace,
        pid: pulse.pid,
        session_id: pulse.session_id,
        error: pulse.error,
        at,
    }
}
