//! What an agent does, independent of the backend. Events borrow from the line they were parsed from.

use murmur_core::id::SessionId;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::borrow::Cow;

/// Maximum length of a line of output, in bytes. A longer one becomes [`Event::Oversized`].
pub const MAX_LINE: usize = 16 << 20;

/// Something that an agent did.
#[derive(Debug, Clone, PartialEq)]
pub enum Event<'a> {
    /// The session started.
    Session {
        /// The backend's id of the conversation, to resume it.
        id: Cow<'a, str>,
        /// The model.
        model: Cow<'a, str>,
        /// The backend's version.
        version: Cow<'a, str>,
        /// Its permission mode, for example `plan`; empty if it doesn't say.
        permission_mode: Cow<'a, str>,
        /// Its MCP servers.
        mcp_servers: Vec<McpServer>,
    },
    /// The agent wrote text.
    Text {
        /// The message that this is part of; blocks of one message are one turn.
        message: Cow<'a, str>,
        /// The tool call that the subagent runs in; empty for the agent itself.
        parent: Cow<'a, str>,
        /// The text.
        text: Cow<'a, str>,
        /// Whether it continues the text of its message so far. A call of a tool begins a new message.
        is_chunk: bool,
    },
    /// The agent called a tool. A call may be announced again, with more of its input.
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
    /// A tool call returned.
    ToolResult {
        /// As in `Text`.
        parent: Cow<'a, str>,
        /// The call.
        id: Cow<'a, str>,
        /// The output's text; its blocks are joined by newlines.
        output: Cow<'a, str>,
        /// Whether the call failed or was denied.
        is_error: bool,
    },
    /// A hook blocked a call, of which there is no other event.
    Blocked {
        /// The call.
        id: Cow<'a, str>,
        /// Why.
        reason: Cow<'a, str>,
    },
    /// The API request failed and will be retried.
    Retry {
        /// The number of this retry, from 1.
        attempt: u64,
        /// The maximum number of retries.
        of: u64,
        /// The delay before it, in milliseconds.
        delay_ms: u64,
        /// The HTTP status, if there was a response.
        status: Option<u64>,
        /// The backend's name for the error, for example `overloaded`; empty if it doesn't say.
        error: Cow<'a, str>,
    },
    /// The API rejected a request for good. The agent's text about it follows.
    ApiError(Box<ApiError>),
    /// A task changed: a command or a subagent, in the background or not.
    Task(Box<Task>),
    /// The tasks that run in the background now; all others have ended. Older backends don't send it.
    Background {
        /// All background tasks.
        tasks: Vec<BackgroundTask>,
    },
    /// The conversation is being compacted.
    Compaction(Box<Compaction>),
    /// The state of a subscription's rate limit.
    RateLimit(Box<RateLimit>),
    /// The permission mode changed, for example to `plan`.
    PermissionMode {
        /// The new mode.
        mode: Cow<'a, str>,
    },
    /// The cost of the conversation so far.
    Cost {
        /// In US dollars.
        usd: f64,
    },
    /// The agent waits for approval of a tool call (`can_use_tool`).
    PermissionRequest(Box<PermissionRequest>),
    /// The agent no longer waits for approval.
    PermissionRequestCancelled {
        /// The request, as in [`PermissionRequest`].
        request_id: String,
    },
    /// The tokens of one request to the model, for backends whose results don't have those of the turn.
    Usage(Tokens),
    /// The tokens of a message so far, which the backend repeats with each part of it. The result has those of the
    /// turn.
    MessageTokens {
        /// As in `Text`.
        message: Cow<'a, str>,
        /// Its tokens.
        tokens: Tokens,
    },
    /// Something that the agent's user should know.
    Warning {
        /// What.
        text: Cow<'a, str>,
    },
    /// The result of the run.
    Result(Box<RunResult>),
    /// A line was too long for the parser and was skipped.
    Oversized {
        /// The line's length, in bytes.
        bytes: u64,
    },
    /// A line was not a JSON object and was skipped.
    Garbled,
}

/// A control request on the agent's stdout, to be answered on its stdin.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PermissionRequest {
    /// The id to send back in the response.
    pub request_id: String,
    /// The tool.
    pub tool: String,
    /// The tool's input.
    pub input: serde_json::Value,
    /// Pairs the call with its result.
    pub tool_use_id: String,
    /// The folder that the call runs in, if it isn't the agent's; relative to that.
    pub cwd: Option<String>,
}

/// An MCP server of an agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct McpServer {
    /// Its name in the configuration.
    pub name: String,
    /// `connected`, `failed`, `pending`, `needs-auth`, or a status that only newer backends have.
    pub status: String,
}

/// A request that the API rejected.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ApiError {
    /// The backend's name for the error, for example `rate_limit` or `authentication_failed`.
    pub error: String,
    /// The HTTP status, if there was a response.
    pub status: Option<u64>,
    /// The usage limit that is reached, if it names one.
    pub limit: Option<RateLimit>,
}

impl ApiError {
    /// The [`ApiError::error`] of an API that could not be reached.
    pub const UNREACHABLE: &'static str = "unreachable";
}

/// A stage in the life of a task.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TaskStage {
    /// It started.
    #[default]
    Started,
    /// It is in progress.
    Progress,
    /// Its status changed.
    Updated,
    /// It ended.
    Ended,
}

/// A task, as far as the backend describes it. Missing texts are empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Task {
    /// What happened to it.
    pub stage: TaskStage,
    /// The backend's id of the task.
    pub id: String,
    /// The tool call that started it.
    pub tool_use_id: String,
    /// The kind, for example `local_bash` or `local_agent`.
    pub kind: String,
    /// The model's description of it.
    pub description: String,
    /// Whether the agent continues meanwhile.
    pub is_background: Option<bool>,
    /// The status, for example `completed`, `failed` or `stopped`.
    pub status: String,
    /// How it ended.
    pub summary: String,
    /// The last tool that it used.
    pub last_tool: String,
}

/// A task that runs in the background.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackgroundTask {
    /// The backend's id of the task.
    #[serde(rename = "taskId", alias = "task_id")]
    pub id: String,
    /// The kind, for example `local_bash` or `local_agent`.
    pub kind: String,
    /// The model's description of it.
    pub description: String,
}

/// A stage of compacting a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Compaction {
    /// It started.
    Started,
    /// It failed, and why.
    Failed(String),
    /// The conversation continues from a summary.
    Done {
        /// `auto` or `manual`; empty if the backend doesn't say.
        trigger: String,
        /// Tokens before.
        pre_tokens: Option<u64>,
        /// Tokens after.
        post_tokens: Option<u64>,
    },
}

/// The state of one window of a subscription's rate limit. An agent reports each window by itself, whenever it likes;
/// the last report on a window counts.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RateLimit {
    /// `allowed`, `allowed_warning` or `rejected`, or what only newer backends say. Codex doesn't warn.
    pub status: String,
    /// The limit's window: `five_hour`, `seven_day`, those with a suffix if the limit is only for some models
    /// (`seven_day_opus`), or another one; empty if the backend doesn't say.
    pub window: String,
    /// When it resets, in seconds since 1970.
    pub resets_at: Option<i64>,
    /// The used part of it, from 0 to 1.
    pub utilization: Option<f64>,
}

/// Token counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Tokens {
    /// Input tokens, without those read from or written to the cache.
    pub input: u64,
    /// Output tokens.
    pub output: u64,
    /// Read from the cache.
    pub cache_read: u64,
    /// Written to the cache.
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

/// A JSON value in its original spelling. Two are equal if their bytes are.
#[derive(Debug, Clone, Copy)]
pub struct Json<'a>(pub &'a RawValue);

impl PartialEq for Json<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.0.get() == other.0.get()
    }
}

/// The result that a run reports at its end.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunResult {
    /// The kind of result, for example `success` or `error_max_turns`.
    pub subtype: String,
    /// Whether the run failed. Claude Code sends `success` with `true` here if the API rejects a request.
    pub is_error: bool,
    /// The final text; `None` if there is none, as at the turn limit.
    pub text: Option<String>,
    /// The errors, if the run lists any.
    pub errors: Vec<String>,
    /// Why the model stopped, for example `end_turn` or `tool_deferred`.
    pub stop_reason: Option<String>,
    /// The session.
    pub session_id: Option<SessionId>,
    /// Cost, in US dollars.
    pub cost_usd: Option<f64>,
    /// Duration, in milliseconds, as the backend measured it.
    pub duration_ms: Option<u64>,
    /// Turns, as the backend counts them.
    pub num_turns: Option<u64>,
    /// The tools whose calls were denied, in order, one entry per call.
    pub denials: Vec<String>,
    /// The tool call that a hook deferred, if `stop_reason` is `tool_deferred`.
    pub deferred_tool: Option<String>,
    /// The HTTP status of the API's error.
    pub api_error_status: Option<u64>,
    /// Why the agent started this turn by itself, for example `task-notification`; `None` if a prompt asked for it.
    pub origin: Option<String>,
    /// The models used since the agent's process started, subagents' included.
    pub models: Vec<String>,
    /// The tokens of this turn, without subagents.
    pub usage: Option<Tokens>,
    /// The tokens of all models since the agent's process started.
    pub total_usage: Option<Tokens>,
}

impl RunResult {
    /// The [`RunResult::subtype`] of a turn that failed for a reason that only the agent's last message has.
    pub const ERROR_IN_MESSAGE: &'static str = "error_in_message";

    /// The beginning of an error that only Claude Code's developers can read.
    const DIAGNOSTIC: &str = "[ede_diagnostic]";

    /// The errors that are meant for people.
    pub fn errors_for_people(&self) -> impl Iterator<Item = &str> {
        self.errors.iter().map(String::as_str).filter(|error| !error.starts_with(Self::DIAGNOSTIC))
    }

    /// Whether the turn failed because somebody interrupted it. Claude Code only says in which state the turn was.
    #[must_use]
    pub fn is_interruption(subtype: &str, errors: &[&str]) -> bool {
        let means_interruption = |error: &&str| {
            let state = error.strip_prefix(Self::DIAGNOSTIC);
            state.is_some_and(|state| state.starts_with(" result_type=user "))
                || *error == "the turn was interrupted"
        };
        subtype == "error_during_execution" && !errors.is_empty() && errors.iter().all(means_interruption)
    }

    /// The [`RunResult::subtype`] of a turn that reached the run's limit on its cost.
    pub const OUT_OF_BUDGET: &'static str = "error_max_budget_usd";

    /// The [`RunResult::stop_reason`] of a turn that was canceled.
    pub const CANCELED: &'static str = "cancelled";
}
