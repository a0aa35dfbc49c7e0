//! murmur's own event format: the events in a host's stream (docs/reference/host-events.md).

mod client_call;
mod progress;
mod report;

pub use progress::Progress;

use super::state::State;
use murmur_agent::event::{Event as Agent, McpServer, PermissionRequest, RunResult, Tokens};
use murmur_core::id::SessionId;
use murmur_core::permit::request::RequestId;
use murmur_rpc::envelope::{event_line, write_event};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// An event that murmur itself generates rather than deriving it from the agent's output.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event_type", content = "payload", rename_all = "snake_case")]
pub enum MurmurEvent {
    /// The agent's state changed.
    State(State),
    /// A message to the agent; it starts a turn.
    Chat {
        /// Always `user`.
        role: Role,
        /// The message.
        text: String,
    },
    /// A call of the agent waits for a person.
    Waiting {
        /// The request's id.
        request: RequestId,
        /// The tool, if known.
        tool: String,
    },
    /// The call no longer waits: it was answered or timed out.
    Waited {
        /// The request's id.
        request: RequestId,
    },
    /// The agent delegates a call to murmur (an ACP client method).
    ToolUse {
        /// Pairs the call with its result.
        id: String,
        /// The tool that does the same.
        name: String,
        /// Its input, without the middle of long texts.
        input: Value,
    },
    /// That was done, or refused.
    ToolResult {
        /// The call.
        id: String,
        /// What it returned, without the middle of a long text, or why it failed.
        output: String,
        /// Whether it failed or was denied. The alias is the key in older files.
        #[serde(rename = "isError", alias = "is_error")]
        is_error: bool,
    },
    /// A message was withdrawn before it was sent, which ends its turn.
    Interrupted,
    /// Output is no longer captured from here on; events that leave memory are lost.
    Lost {
        /// The cause.
        reason: String,
    },
    /// The agent's account is on hold because a usage limit is reached.
    Hold {
        /// The limit, such as `five_hour`.
        window: String,
        /// Until when, RFC 3339.
        until: String,
    },
    /// The account is no longer on hold.
    HoldOver,
    /// A problem that the agent did not report itself.
    Problem {
        /// The problem, and what to do.
        text: String,
    },
}

/// The author of a message to an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The user.
    User,
}

impl MurmurEvent {
    /// Its line, as event `offset` of `agent_id`.
    #[must_use]
    pub fn line(&self, agent_id: &str, offset: u64) -> Vec<u8> {
        match self {
            Self::State(state) => event_line("state", agent_id, offset, state),
            Self::Chat { role, text } => event_line("chat", agent_id, offset, &Chat { role, text }),
            Self::Waiting { request, tool } => {
                event_line("waiting", agent_id, offset, &Waiting { request, tool })
            }
            Self::Waited { request } => event_line("waited", agent_id, offset, &Waited { request }),
            Self::ToolUse { .. } | Self::ToolResult { .. } | Self::Interrupted => {
                let mut line = Vec::new();
                self.with_agent_event(|event| line = Derived::Agent(event).line(agent_id, offset));
                line
            }
            Self::Lost { reason } => event_line("lost", agent_id, offset, &Reason { reason }),
            Self::Hold { window, until } => event_line("hold", agent_id, offset, &Hold { window, until }),
            Self::HoldOver => event_line("hold_over", agent_id, offset, &Nothing {}),
            Self::Problem { text } => event_line("problem", agent_id, offset, &Text { text }),
        }
    }
}

/// An event derived from the agent's output.
#[derive(Debug)]
pub enum Derived<'a> {
    /// From a line on stdout.
    Agent(&'a Agent<'a>),
    /// A line on stderr, or a part of a very long one.
    Stderr(&'a str),
}

#[derive(Serialize)]
struct Chat<'a> {
    role: &'a Role,
    text: &'a str,
}

#[derive(Serialize)]
struct Waiting<'a> {
    request: &'a RequestId,
    #[serde(skip_serializing_if = "str::is_empty")]
    tool: &'a str,
}

#[derive(Serialize)]
struct Waited<'a> {
    request: &'a RequestId,
}

#[derive(Serialize)]
struct Hold<'a> {
    window: &'a str,
    until: &'a str,
}

#[derive(Serialize)]
struct Reason<'a> {
    reason: &'a str,
}

#[derive(Serialize)]
struct Text<'a> {
    text: &'a str,
}

#[derive(Serialize)]
struct AgentMessage<'a> {
    role: &'static str,
    text: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    message: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    parent: &'a str,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    chunk: bool,
}

#[derive(Serialize)]
struct ToolUse<'a> {
    id: &'a str,
    name: &'a str,
    input: &'a RawValue,
    #[serde(skip_serializing_if = "str::is_empty")]
    message: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    parent: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ToolResult<'a> {
    id: &'a str,
    output: &'a str,
    is_error: bool,
    #[serde(skip_serializing_if = "str::is_empty")]
    parent: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Session<'a> {
    session_id: &'a str,
    model: &'a str,
    version: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    permission_mode: &'a str,
    #[serde(skip_serializing_if = "<[McpServer]>::is_empty")]
    mcp_servers: &'a [McpServer],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Retry<'a> {
    attempt: u64,
    of: u64,
    delay_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u64>,
    #[serde(skip_serializing_if = "str::is_empty")]
    error: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Result<'a> {
    subtype: &'a str,
    is_error: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: &'a Option<String>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    errors: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    stop_reason: &'a Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: &'a Option<SessionId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cost_usd: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    duration_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    num_turns: Option<u64>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    denials: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    deferred_tool: &'a Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    api_error_status: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    origin: &'a Option<String>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    models: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<Usage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    total_usage: Option<Usage>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Usage {
    input: u64,
    output: u64,
    cache_read: u64,
    cache_write: u64,
}

impl From<Tokens> for Usage {
    fn from(Tokens { input, output, cache_read, cache_write }: Tokens) -> Self {
        Self { input, output, cache_read, cache_write }
    }
}

impl<'a> Result<'a> {
    fn of(result: &'a RunResult) -> Self {
        Self {
            subtype: &result.subtype,
            is_error: result.is_error,
            text: &result.text,
            errors: &result.errors,
            stop_reason: &result.stop_reason,
            session_id: &result.session_id,
            cost_usd: result.cost_usd,
            duration_ms: result.duration_ms,
            num_turns: result.num_turns,
            denials: &result.denials,
            deferred_tool: &result.deferred_tool,
            api_error_status: result.api_error_status,
            origin: &result.origin,
            models: &result.models,
            usage: result.usage.map(Usage::from),
            total_usage: result.total_usage.map(Usage::from),
        }
    }
}

#[derive(Serialize)]
struct Bytes {
    bytes: u64,
}

#[derive(Serialize)]
struct Nothing {}

impl Derived<'_> {
    /// Whether it is an event of the stream. Only those have a line and a number.
    #[must_use]
    pub fn is_in_stream(&self) -> bool {
        !matches!(self, Self::Agent(Agent::MessageTokens { .. }))
    }

    /// Its line, as event `offset` of `agent_id`.
    #[must_use]
    pub fn line(&self, agent_id: &str, offset: u64) -> Vec<u8> {
        let mut line = Vec::with_capacity(256);
        self.write(&mut line, agent_id, offset);
        line
    }

    /// Appends its line to `out`, as event `offset` of `agent_id`.
    pub fn write(&self, out: &mut Vec<u8>, agent_id: &str, offset: u64) {
        let event = match self {
            Self::Stderr(text) => return write_event(out, "stderr", agent_id, offset, &Text { text }),
            Self::Agent(event) => event,
        };
        match event {
            Agent::Session { id, model, version, permission_mode, mcp_servers } => {
                let session = Session { session_id: id, model, version, permission_mode, mcp_servers };
                write_event(out, "session", agent_id, offset, &session)
            }
            Agent::Text { message, parent, text, is_chunk } => write_event(
                out,
                "chat",
                agent_id,
                offset,
                &AgentMessage { role: "assistant", text, message, parent, chunk: *is_chunk },
            ),
            Agent::ToolUse { message, parent, id, name, input } => {
                let call = ToolUse { id, name, input: input.0, message, parent };
                write_event(out, "tool_use", agent_id, offset, &call)
            }
            Agent::ToolResult { parent, id, output, is_error } => {
                let answer = ToolResult { id, output, is_error: *is_error, parent };
                write_event(out, "tool_result", agent_id, offset, &answer)
            }
            Agent::Blocked { id, reason } => {
                write_event(out, "blocked", agent_id, offset, &json!({ "id": id, "reason": reason }))
            }
            Agent::Retry { attempt, of, delay_ms, status, error } => {
                let retry = Retry { attempt: *attempt, of: *of, delay_ms: *delay_ms, status: *status, error };
                write_event(out, "retry", agent_id, offset, &retry)
            }
            Agent::ApiError(refusal) => {
                write_event(out, "api_error", agent_id, offset, &report::api_error(refusal))
            }
            Agent::Task(task) => write_event(out, "task", agent_id, offset, &report::task(task)),
            Agent::Background { tasks } => {
                write_event(out, "background_tasks", agent_id, offset, &json!({ "tasks": tasks }))
            }
            Agent::Compaction(compaction) => {
                write_event(out, "compaction", agent_id, offset, &report::compaction(compaction))
            }
            Agent::RateLimit(limit) => {
                write_event(out, "rate_limit", agent_id, offset, &report::rate_limit(limit))
            }
            Agent::PermissionMode { mode } => {
                write_event(out, "permission_mode", agent_id, offset, &json!({ "mode": mode }))
            }
            Agent::MessageTokens { .. } => {}
            Agent::Usage(tokens) => write_event(out, "usage", agent_id, offset, &Usage::from(*tokens)),
            Agent::Warning { text } => write_event(out, "warning", agent_id, offset, &Text { text }),
            Agent::Cost { usd } => write_event(out, "cost", agent_id, offset, &json!({ "usd": usd })),
            Agent::Result(result) => write_event(out, "result", agent_id, offset, &Result::of(result)),
            Agent::Oversized { bytes } => {
                write_event(out, "oversized", agent_id, offset, &Bytes { bytes: *bytes })
            }
            Agent::PermissionRequest(asks) => {
                let PermissionRequest { request_id, tool, input, tool_use_id, cwd } = &**asks;
                let mut payload = json!({
                    "requestId": request_id, "name": tool, "input": input, "toolUseId": tool_use_id,
                });
                if let Some(cwd) = cwd {
                    payload["cwd"] = cwd.as_str().into();
                }
                write_event(out, "permission_asked", agent_id, offset, &payload)
            }
            Agent::PermissionRequestCancelled { request_id } => {
                let payload = json!({ "requestId": request_id });
                write_event(out, "permission_withdrawn", agent_id, offset, &payload)
            }
            Agent::Garbled => write_event(out, "garbled", agent_id, offset, &Nothing {}),
        }
    }
}
