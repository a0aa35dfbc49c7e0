//! What an agent did, in murmur's own words, whatever the backend. Events borrow from the line they came in.

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
    },
    /// It waits for a word on whether a tool may be called (`can_use_tool`).
    Asks(Box<Asks>),
    /// It does not wait for that any more.
    AsksNoMore {
        /// What was asked, as in [`Asks`].
        request_id: String,
    },
    /// The run's own summary.
    Result(RunResult),
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
}
