//! The JSON object of an agent (docs/reference/json.md).

use crate::agents::{Agent, Source};
use jiff::Timestamp;
use murmur_core::config::backend::Backend;
use murmur_core::id::SessionId;
use murmur_store::pulse::health::Health;
use serde::Serialize;
use std::borrow::Cow;
use sys::clock;

/// An agent, with the keys of a pulse where they apply.
#[derive(Debug, Serialize)]
pub(super) struct Object<'a> {
    agent_id: &'a str,
    #[serde(skip_serializing_if = "Backend::is_default")]
    backend: &'a Backend,
    health: Health,
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    background: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hold_until: Option<String>,
    alive: Option<bool>,
    source: Source,
    tool_name: &'a str,
    last_action: &'a str,
    current_task: &'a str,
    git_branch: &'a str,
    workspace: Cow<'a, str>,
    pid: Option<u32>,
    session_id: Option<&'a SessionId>,
    error: Option<&'a str>,
    last_heard_at: String,
    age_ms: u64,
}

/// Describes `agent` at `now`.
pub(super) fn of(agent: &Agent, now: Timestamp) -> Object<'_> {
    Object {
        agent_id: &agent.agent_id,
        backend: &agent.backend,
        health: agent.health,
        state: agent.state,
        background: Some(agent.background).filter(|tasks| *tasks > 0),
        hold_until: agent.hold.map(clock::rfc3339),
        alive: agent.alive,
        source: agent.source,
        tool_name: &agent.tool_name,
        last_action: &agent.last_action,
        current_task: &agent.current_task,
        git_branch: &agent.git_branch,
        workspace: agent.workspace.to_string_lossy(),
        pid: agent.pid,
        session_id: agent.session_id.as_ref(),
        error: agent.error.as_deref(),
        last_heard_at: clock::rfc3339(agent.at),
        age_ms: u64::try_from(agent.age(now).as_millis()).unwrap_or(u64::MAX),
    }
}
