//! What is asked of a host, and what it answers (spec 3, Host Protocol; docs/reference/host-protocol.md).

use super::calls::Call;
use super::id::AgentId;
use super::state::{Kind, State};
use crate::permit::request::Request;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::Duration;

/// The version of all of this. Hosts of another one are left alone.
pub const HOST_PROTOCOL_VERSION: &str = "0.1.0";

/// The questions there are.
pub const QUESTIONS: [&str; 9] =
    ["ping", "status", "list", "attach", "detach", "send", WAIT, REQUESTS, "stop"];

/// The question by which a hook says that it waits for a person. The time of a beat stands still until it hangs up.
pub const WAIT: &str = "wait";

/// The question for the requests that wait for a person, for who finds no daemon.
pub const REQUESTS: &str = "requests";

/// How long an agent has to end by itself when nobody says otherwise.
pub const GRACE: Duration = Duration::from_secs(5);

/// The longest grace: after that nobody waits any more.
pub const LONGEST_GRACE: Duration = Duration::from_secs(3600);

/// What does not change in the life of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Card {
    /// Its id.
    pub agent_id: AgentId,
    /// Whether it is a beat's.
    pub kind: Kind,
    /// What it belongs to.
    pub project: String,
    /// What it is for.
    pub role: String,
    /// Which program it is.
    pub backend: String,
    /// The folder it works in.
    pub worktree: PathBuf,
    /// What it works on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issue: Option<String>,
    /// The beat it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beat: Option<String>,
    /// When its host began, RFC 3339.
    pub started_at: String,
}

/// The answer to `ping`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pong {
    /// [`HOST_PROTOCOL_VERSION`].
    pub protocol_version: String,
    /// The host's version of murmur.
    pub version: String,
    /// The agent.
    pub agent_id: String,
    /// The host's process.
    pub pid: u32,
}

/// The answer to `status`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// What it is.
    #[serde(flatten)]
    pub card: Card,
    /// What it is doing.
    #[serde(flatten)]
    pub state: State,
    /// The host's process.
    pub pid: u32,
    /// The agent's process; `null` when it has none.
    pub agent_pid: Option<u32>,
    /// Claude Code's id of the conversation, once it said it.
    pub session_id: Option<String>,
    /// The session of the captures that has its output.
    pub capture: Option<String>,
    /// Why not all of it is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<String>,
    /// The number of the next event.
    pub stream_offset: u64,
    /// How many clients follow the events.
    pub attached_clients: usize,
    /// When the newest event was, RFC 3339. Hosts of before there was this do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_event_at: Option<String>,
    /// The call of a tool that has begun and not ended, the newest if there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<Call>,
}

/// What goes with `attach`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attach {
    /// The first event that is wanted; `null` for those to come.
    #[serde(default)]
    pub from: Option<u64>,
}

/// The answer to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attached {
    /// The first event that comes.
    pub from: u64,
    /// The first that has not happened yet.
    pub next: u64,
}

/// What goes with `send`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Send {
    /// What is said to the agent.
    pub text: String,
}

/// What goes with `stop`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stop {
    /// Kill it at once.
    #[serde(default)]
    pub force: bool,
    /// How long it may take, as `5s`; [`GRACE`] where it is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grace: Option<String>,
}

/// What goes with [`WAIT`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Wait {
    /// The request's id.
    pub request: String,
    /// The request; hooks of an earlier murmur send only its id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<Box<Request>>,
}

/// The answer to [`REQUESTS`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Waits {
    /// Those that hooks wait with, the oldest first.
    pub requests: Vec<Wait>,
}

impl Stop {
    /// How long it may take.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn patience(&self) -> Result<Duration, String> {
        let Some(text) = &self.grace else { return Ok(GRACE) };
        match humantime::parse_duration(text) {
            Ok(grace) if grace <= LONGEST_GRACE => Ok(grace),
            Ok(_) => {
                Err(format!("grace {text:?} is longer than {}", humantime::format_duration(LONGEST_GRACE)))
            }
            Err(error) => Err(format!("grace {text:?} is no span of time, as 5s: {error}")),
        }
    }
}
