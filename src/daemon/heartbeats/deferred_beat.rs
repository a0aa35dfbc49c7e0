//! Beats that wait for an answer.

use murmur_core::id::{AgentId, SessionId};
use murmur_core::permit::request::RequestId;
use std::path::PathBuf;

/// A beat that ended unfinished: one of its calls waits for an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeferredBeat {
    /// The request.
    pub id: RequestId,
    /// The agent's id, which the resumed beat keeps.
    pub agent: AgentId,
    /// The session to resume; `None` if the backend did not say.
    pub session: Option<SessionId>,
    /// Where it ran.
    pub workspace: PathBuf,
    /// The name of a named heartbeat.
    pub name: Option<String>,
    /// Whether it has been answered.
    pub is_answered: bool,
}
