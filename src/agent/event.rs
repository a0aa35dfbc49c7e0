//! What an agent did, in murmur's own words, whatever the backend. Events borrow from the line they came in.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::borrow::Cow;

/// One thing an agent did.
#[derive(Debug, Clone, PartialEq)]
pub enum Event<'a> {
    /// The agent is up.
    Session {
        /// The backend's name for the conversation, by which it can be resumed.
        id: Cow<'a, str>,
        /// The model that answers.
        model: Cow<'a, str>,
        /// The backend's version.
        version: Cow<'a, str>,
        /// Its permission mode, for example `plan`; empty if it doesn't say.
        permission_mode: Cow<'a, str>,
        /// Its MCP servers.
        mcp_servers: Vec<McpServer>,
    },
    /// It said something.
    Text {
        /// The message this is part of: blocks of one message are one turn.
        message: Cow<'a, str>,
        /// The tool call within which a subagent speaks; empty for the agent itself.
        parent: Cow<'a, str>,
        /// What it said.
        text: Cow<'a, str>,
    },
    /// It called a tool.
    ToolUse {
        /// As in `Text`.
        message: Cow<'a, str>,
        /// As in `Text`.
        parent: Cow<'a, str>,
        /// Pairs the call with its result.
        id: Cow<'a, str>,
        /// The tool's name.
        name: Cow<'a, str>,
        /// The tool's input, as the backend wrote it.
        input: Json<'a>,
    },
    /// A tool answered.
    ToolResult {
        /// As in `Text`.
        parent: Cow<'a, str>,
        /// The call it answers.
        id: Cow<'a, str>,
        /// The answer's text; blocks of it are joined by newlines.
        output: Cow<'a, str>,
        /// Whether the call failed or was refused.
        is_error: bool,
    },
    /// The model could not be reached and is tried again.
    Retry {
        /// From 1.
        attempt: u64,
        /// The last attempt there will be.
        of: u64,
        /// Milliseconds until then.
        delay_ms: u64,
        /// The HTTP status, if there was an answer.
        status: Option<u64>,
        /// The backend's word for what went wrong, for example `overloaded`; empty if it doesn't say.
        error: Cow<'a, str>,
    },
    /// The API refused a request for good. What the agent says of it follows as text.
    ApiError(Box<ApiError>),
    /// Something happened to a task: a command or a subagent, in the background or not.
    Task(Box<Task>),
    /// These tasks run in the background now; those that aren't listed have ended. Older backends never say this.
    Background {
        /// All of them.
        tasks: Vec<BackgroundTask>,
    },
    /// The conversation is being made shorter.
    Compaction(Box<Compaction>),
    /// How much of a subscription's limit is left.
    RateLimit(Box<RateLimit>),
    /// The agent changed its permission mode, for example to `plan`.
    PermissionMode {
        /// The mode it is in now.
        mode: Cow<'a, str>,
    },
    /// It waits for a word on whether a tool may be called (`can_use_tool`).
    Asks(Box<Asks>),
    /// It does not wait for that any more.
    AsksNoMore {
        /// What was asked, as in [`Asks`].
        request_id: String,
    },
    /// The run's own summary.
    Result(Box<RunResult>),
    /// A line was longer than the parser keeps and was passed over.
    Oversized {
        /// The line's length.
        bytes: u64,
    },
    /// A line was not a JSON object and was passed over.
    Garbled,
}

/// What an agent asks on its own output, and waits for an answer to on its input.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Asks {
    /// Comes back in the answer.
    pub request_id: String,
    /// The tool.
    pub tool: String,
    /// What it is called with.
    pub input: serde_json::Value,
    /// Pairs the call with its result.
    pub tool_use_id: String,
}

/// An MCP server of an agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct McpServer {
    /// Its name in the configuration.
    pub name: String,
    /// `connected`, `failed`, `pending`, `needs-auth` or a word of a newer backend.
    pub status: String,
}

/// A refusal by the API.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ApiError {
    /// The backend's word for it, for example `rate_limit` or `authentication_failed`.
    pub error: String,
    /// The HTTP status, if there was an answer.
    pub status: Option<u64>,
}

/// What happened to a task.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TaskStage {
    /// It began.
    #[default]
    Started,
    /// It is at work.
    Progress,
    /// Its status changed.
    Updated,
    /// It ended.
    Ended,
}

/// A task, as far as the backend describes it. An absent text is empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Task {
    /// What happened to it.
    pub stage: TaskStage,
    /// The backend's id of it.
    pub id: String,
    /// The tool call that started it.
    pub tool_use_id: String,
    /// For example `local_bash` or `local_agent`.
    pub kind: String,
    /// What it is for, in the model's words.
    pub description: String,
    /// Whether the agent goes on meanwhile.
    pub is_background: Option<bool>,
    /// For example `completed`, `failed` or `stopped`.
    pub status: String,
    /// How it ended.
    pub summary: String,
    /// The tool that it used last.
    pub last_tool: String,
}

/// A task that runs in the background.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackgroundTask {
    /// The backend's id of it.
    #[serde(rename = "task_id")]
    pub id: String,
    /// For example `local_bash` or `local_agent`.
    pub kind: String,
    /// What it is for, in the model's words.
    pub description: String,
}

/// How far making a conversation shorter has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Compaction {
    /// It began.
    Started,
    /// It failed, and why.
    Failed(String),
    /// The conversation goes on from a summary.
    Done {
        /// `auto` or `manual`; empty if the backend doesn't say.
        trigger: String,
        /// Tokens before.
        pre_tokens: Option<u64>,
        /// Tokens after.
        post_tokens: Option<u64>,
    },
}

/// A subscription's limit.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RateLimit {
    /// `allowed`, `allowed_warning` or `rejected`.
    pub status: String,
    /// Which limit, for example `five_hour`.
    pub window: String,
    /// When it resets, in seconds since 1970.
    pub resets_at: Option<i64>,
    /// How much of it is used, from 0 to 1.
    pub utilization: Option<f64>,
}

/// Tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Tokens {
    /// Read, without those from and into the cache.
    pub input: u64,
    /// Written.
    pub output: u64,
    /// Read from the cache.
    pub cache_read: u64,
    /// Put into the cache.
    pub cache_write: u64,
}

impl std::ops::Add for Tokens {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            input: self.input.saturating_add(other.input),
            output: self.output.saturating_add(other.output),
            cache_read: self.cache_read.saturating_add(other.cache_read),
            cache_write: self.cache_write.saturating_add(other.cache_write),
        }
    }
}

/// A JSON value as it was written. Two are equal when they are the same to the byte.
#[derive(Debug, Clone, Copy)]
pub struct Json<'a>(pub &'a RawValue);

impl PartialEq for Json<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.0.get() == other.0.get()
    }
}

/// What a run said of itself at its end.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunResult {
    /// For example `success` or `error_max_turns`.
    pub subtype: String,
    /// Whether the run failed. Claude Code pairs `success` with `true` here when the API refuses.
    pub is_error: bool,
    /// The final text; `None` where the run has none, as at the turn limit.
    pub text: Option<String>,
    /// What went wrong, where the run lists it.
    pub errors: Vec<String>,
    /// Why the model stopped, for example `end_turn` or `tool_deferred`.
    pub stop_reason: Option<String>,
    /// The conversation's id.
    pub session_id: Option<String>,
    /// US dollars.
    pub cost_usd: Option<f64>,
    /// Milliseconds, as the backend measured them.
    pub duration_ms: Option<u64>,
    /// Turns, as the backend counts them.
    pub num_turns: Option<u64>,
    /// The tools whose calls were refused, in order, one entry a call.
    pub denials: Vec<String>,
    /// The tool call that a hook put off, with `stop_reason` `tool_deferred`.
    pub deferred_tool: Option<String>,
    /// The HTTP status with which the API refused.
    pub api_error_status: Option<u64>,
    /// Why the agent began this turn by itself, for example `task-notification`; `None` of a turn that it was asked for.
    pub origin: Option<String>,
    /// The models that worked since the agent's process began, subagents' included.
    pub models: Vec<String>,
    /// The tokens of this turn, without those of subagents.
    pub usage: Option<Tokens>,
    /// The tokens of all models since the agent's process began.
    pub total_usage: Option<Tokens>,
}
