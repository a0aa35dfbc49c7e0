//! An agent's pulse: its last action, in one small file, `heartbeats/<agent>.json` (spec 2, Heartbeat File Format;
//! crates/store/pulses.md).
//!
//! Hooks write it at every tool call and at the start and end of turns and sessions. Spec 2 calls it a heartbeat, which
//! means something else here.
//!
//! - [`mod@write`]: writes pulses; [`activity`]: the log of an agent's last actions
//! - [`action`]: tool call → short description; [`brief`]: any text → a short line; [`shallow`]: foreign JSON
//! - [`branch`]: a folder → the branch of its repository
//! - [`folder`]: reads one or all pulses
//! - [`health`]: pulse, now → active, stale, warning, stuck and so on
//! - [`owner`]: environment, conversation → the agent's id
//! - [`task`]: an agent's current task, `agents/<agent>/current-task.json`

pub mod action;
pub mod activity;
pub mod branch;
pub mod brief;
pub mod folder;
pub mod health;
pub mod owner;
pub mod shallow;
pub mod task;
pub mod write;

use jiff::Timestamp;
use murmur_core::id::SessionId;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// An agent's last action. Spec 2's fields come first, in this order, and are never `null`.
///
/// Read leniently, so that the output of spec 2's script is accepted too.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Pulse {
    /// The time, RFC 3339 with the local UTC offset.
    pub timestamp: String,
    /// The agent's id. Any text: outside murmur, it is the name of a tmux session ([`owner`]).
    pub agent_id: String,
    /// The tool; at the end of a turn or session, the session's last one; empty if none.
    pub tool_name: String,
    /// What it did: the command, path or pattern, with `…` if it has over [`ACTION`] characters.
    pub last_action: String,
    /// Its task; empty if not set.
    pub current_task: String,
    /// The branch of its repository; `unknown` outside a repository, `detached at <commit>` without a branch.
    pub git_branch: String,
    /// The folder it works in.
    pub workspace: PathBuf,
    /// The agent's process, if known. In the file, 0 stands for an unknown one (spec 2).
    #[serde(with = "sys::identity::zero_if_unknown")]
    pub pid: Option<u32>,
    /// Claude Code's id of the conversation.
    pub session_id: Option<SessionId>,
    /// Its state.
    pub state: State,
    /// The call's id.
    pub tool_use_id: Option<String>,
    /// How long the call took, in milliseconds.
    pub duration_ms: Option<u64>,
    /// Why the call or the turn failed.
    pub error: Option<String>,
    /// The backend; empty for Claude Code.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub backend: String,
}

/// The most characters of [`Pulse::last_action`].
pub const ACTION: usize = 100;

/// An agent's state according to its pulse, with the same names as for hosted agents.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Its session started.
    Starting,
    /// It is working on a turn. The default for pulses without a state.
    #[default]
    Running,
    /// Its turn ended; it waits for a message.
    Idle,
    /// Its session ended.
    Exited,
    /// A state of another murmur version.
    #[serde(other)]
    Unknown,
}

impl State {
    /// The name of the state.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Running => "running",
            Self::Idle => "idle",
            Self::Exited => "exited",
            Self::Unknown => "unknown",
        }
    }
}

impl Pulse {
    /// Parses a pulse; `None` if it is invalid or has no time.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let pulse: Self = serde_json::from_slice(bytes).ok()?;
        pulse.at().is_some().then_some(pulse)
    }

    /// Its time.
    #[must_use]
    pub fn at(&self) -> Option<Timestamp> {
        self.timestamp.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pulse_has_the_specs_fields_in_the_specs_order_and_then_our_own() {
        let text = serde_json::to_string(&Pulse::default()).unwrap();
        let keys: Vec<&str> =
            text.split('"').skip(1).step_by(2).filter(|word| word.contains('_') || word.len() > 2).collect();
        assert_eq!(
            keys.join(" "),
            "timestamp agent_id tool_name last_action current_task git_branch workspace pid session_id state running \
             tool_use_id duration_ms error"
        );
    }

    #[test]
    fn the_specs_script_writes_a_valid_pulse() {
        let pulse = Pulse::parse(
            br#"{"timestamp":"2026-01-21T10:30:45-08:00","agent_id":"agent-pan-30","tool_name":"Edit",
            "last_action":"{\"file_path\":\"src/lib/agents.ts\"}","current_task":"Implement","git_branch":"feature/pan-30",
            "workspace":"/home/user/projects/panopticon","pid":12345,"new":[1]}"#,
        );
        let pulse = pulse.unwrap();
        assert_eq!(pulse.at().unwrap().to_string(), "2026-01-21T18:30:45Z");
        assert_eq!((pulse.state, pulse.pid, pulse.session_id), (State::Running, Some(12345), None));
        assert_eq!(Pulse::parse(br#"{"timestamp":"now","agent_id":"x"}"#), None);
        assert_eq!(Pulse::parse(br#"{"timestamp":"2026-01-21T10:30:45Z","agent_id":"x""#), None);
        let newer = br#"{"timestamp":"2026-01-21T10:30:45Z","state":"dreaming"}"#;
        assert_eq!(Pulse::parse(newer).unwrap().state, State::Unknown);
    }
}
