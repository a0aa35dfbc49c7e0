//! Requests to a host, and its responses (spec 3, Host Protocol; docs/reference/host-protocol.md).

use super::calls::Call;
use super::state::{AgentKind, State};
use derun::id::SessionId as CaptureId;
use murmur_core::config::backend::Backend;
use murmur_core::id::BeatId;
use murmur_core::id::{AgentId, SessionId};
use murmur_core::permit::request::{Request, RequestId};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::Duration;
use sys::error::Failure;
use sys::failure;

/// The protocol version of this murmur's hosts.
pub const HOST_PROTOCOL_VERSION: &str = "0.2.0";

/// The version before, whose keys were `snake_case`; the aliases below are its keys. Hosts with any other version are
/// left alone.
pub const EARLIER_PROTOCOL_VERSION: &str = "0.1.0";

/// All request types.
pub const REQUEST_TYPES: [&str; 10] =
    ["ping", "status", "list", "attach", "detach", "interrupt", "send", WAIT, REQUESTS, "stop"];

/// Sent by a hook that waits for a person. The time limit of a beat is paused until the hook disconnects.
pub const WAIT: &str = "wait";

/// Lists the requests that wait for a person, for clients that find no daemon.
pub const REQUESTS: &str = "requests";

/// The default time for an agent to exit by itself.
pub const GRACE: Duration = Duration::from_secs(5);

/// The longest accepted grace period.
pub const MAX_GRACE: Duration = Duration::from_secs(3600);

/// Properties of an agent that never change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentInfo {
    /// Its id.
    #[serde(rename = "agent_id")]
    pub agent_id: AgentId,
    /// Beat or live.
    pub kind: AgentKind,
    /// Its project.
    pub project: String,
    /// Its role.
    pub role: String,
    /// The program that runs it.
    #[serde(default)]
    pub backend: Backend,
    /// Its working folder.
    pub worktree: PathBuf,
    /// The issue it works on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issue: Option<String>,
    /// The beat it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beat: Option<BeatId>,
    /// The name of the heartbeat in `heartbeats/` that the beat is of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heartbeat: Option<String>,
    /// When its host started, RFC 3339.
    #[serde(alias = "started_at")]
    pub started_at: String,
}

/// The answer to `ping`. Its keys are the same in every version: clients of any version decide by it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pong {
    /// [`HOST_PROTOCOL_VERSION`].
    #[serde(alias = "protocolVersion")]
    pub protocol_version: String,
    /// The host's version of murmur.
    pub version: String,
    /// The agent.
    pub agent_id: AgentId,
    /// The host's process.
    pub pid: u32,
}

/// The answer to `status`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// The agent.
    #[serde(flatten)]
    pub info: AgentInfo,
    /// Its state.
    #[serde(flatten)]
    pub state: State,
    /// The host's process.
    pub pid: u32,
    /// The agent's process; `null` if there is none.
    #[serde(alias = "agent_pid")]
    pub agent_pid: Option<u32>,
    /// The backend's id of the conversation, once known.
    #[serde(alias = "session_id")]
    pub session_id: Option<SessionId>,
    /// The capture session with its output.
    pub capture: Option<CaptureId>,
    /// Why the capture is incomplete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<String>,
    /// The number of the next event.
    #[serde(alias = "stream_offset")]
    pub stream_offset: u64,
    /// The number of clients that follow the events.
    #[serde(alias = "attached_clients")]
    pub attached_clients: usize,
    /// When the newest event was added, RFC 3339. Older hosts don't send it.
    #[serde(default, alias = "last_event_at", skip_serializing_if = "Option::is_none")]
    pub last_event_at: Option<String>,
    /// The newest tool call in progress.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<Call>,
    /// Until when its account is on hold, RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold: Option<String>,
}

/// The payload of `attach`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attach {
    /// The first event to send; `null` for new events only.
    #[serde(default)]
    pub from: Option<u64>,
}

/// The response to `attach`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attached {
    /// The number of the first event that is sent.
    pub from: u64,
    /// The number of the next new event.
    pub next: u64,
}

/// The payload of `send`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Send {
    /// The message.
    pub text: String,
}

/// The payload of `stop`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stop {
    /// Kill it at once.
    #[serde(default)]
    pub force: bool,
    /// The grace period, such as `5s`; [`GRACE`] if unset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grace: Option<String>,
}

/// The payload of [`WAIT`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Wait {
    /// The request's id.
    pub request: RequestId,
    /// The request; older hooks send only its id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<Box<Request>>,
}

/// The response to [`REQUESTS`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Waits {
    /// Waiting requests, oldest first.
    pub requests: Vec<Wait>,
}

impl Stop {
    /// Parses the grace period.
    pub fn grace_period(&self) -> Result<Duration, Failure> {
        let Some(text) = &self.grace else { return Ok(GRACE) };
        match humantime::parse_duration(text) {
            Ok(grace) if grace <= MAX_GRACE => Ok(grace),
            Ok(_) => Err(failure!("grace {text:?} is longer than {}", humantime::format_duration(MAX_GRACE))),
            Err(error) => Err(failure!("grace {text:?} is not a duration such as 5s").because(&error)),
        }
    }
}
