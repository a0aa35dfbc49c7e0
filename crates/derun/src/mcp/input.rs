//! The input of each tool: types that calls are parsed into, with their input schemas.

use super::arguments::Arguments;
use super::fail::ToolError;
use crate::record::State;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use std::borrow::Cow;
use std::time::Duration;

/// The maximum and default number of sessions in an answer.
const MAX_LIMIT: u64 = 1000;
const LIMIT: u64 = 50;
/// The maximum and default number of bytes of output in an answer (spec 4, "Implemented defaults").
const MAX_BYTES: u64 = 1024 * 1024;
const BYTES: u64 = 65_536;
/// The maximum and default wait, in milliseconds (spec 4, "Implemented defaults").
const MAX_TIMEOUT: u64 = 60_000;
const TIMEOUT: u64 = 30_000;
/// The maximum number of context lines on each side of a match.
const MAX_CONTEXT: u64 = 50;

const fn limit() -> u64 {
    LIMIT
}
const fn bytes() -> u64 {
    BYTES
}
const fn timeout() -> u64 {
    TIMEOUT
}

/// An offset in a session's output, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cursor(pub(super) u64);

impl JsonSchema for Cursor {
    fn schema_name() -> Cow<'static, str> {
        "Cursor".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": "^[0-9]+$" })
    }
}

impl Serialize for Cursor {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

/// The encoding of output in an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Encoding {
    /// As text; bytes that are not UTF-8 are still base64.
    #[default]
    Text,
    /// Every byte as base64.
    Base64,
}

/// How much output to return, and how.
#[derive(Debug, Clone, Copy, JsonSchema)]
pub(super) struct OutputOptions {
    /// Maximum number of bytes of output in the answer.
    #[schemars(default = "bytes", range(min = 1, max = MAX_BYTES))]
    pub(super) max_bytes: usize,
    /// Encoding of the output in the answer.
    #[schemars(default)]
    pub(super) encoding: Encoding,
    /// Return what a terminal would show: without escape codes, and only the final state of overwritten lines.
    #[schemars(default)]
    pub(super) strip_ansi: bool,
}

impl OutputOptions {
    fn take(arguments: &mut Arguments) -> Result<Self, ToolError> {
        let max_bytes = arguments.number("max_bytes", 1)?.unwrap_or(BYTES).min(MAX_BYTES);
        let words = [("text", Encoding::Text), ("base64", Encoding::Base64)];
        let encoding = arguments.word("encoding", &words)?.unwrap_or_default();
        let strip_ansi = arguments.flag("strip_ansi")?.unwrap_or_default();
        if strip_ansi && encoding == Encoding::Base64 {
            return Err(ToolError::argument("strip_ansi", "requires text, not base64"));
        }
        Ok(Self { max_bytes: usize::try_from(max_bytes).unwrap_or(usize::MAX), encoding, strip_ansi })
    }
}

/// The input of `derun_list_sessions`.
#[derive(Debug, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct ListInput {
    /// Only sessions in this state.
    #[schemars(default)]
    pub(super) state: Option<State>,
    /// Maximum number of sessions to list, newest first.
    #[schemars(default = "limit", range(min = 1, max = MAX_LIMIT))]
    pub(super) limit: u64,
}

impl ListInput {
    pub(super) fn take(mut arguments: Arguments) -> Result<Self, ToolError> {
        let words = State::ALL.map(|state| (state.as_str(), state));
        let state = arguments.word("state", &words)?;
        let limit = arguments.number("limit", 1)?.unwrap_or(LIMIT).min(MAX_LIMIT);
        arguments.finish()?;
        Ok(Self { state, limit })
    }
}

/// The input of `derun_get_session`.
#[derive(Debug, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct GetInput {
    /// Session ID, from derun_list_sessions.
    pub(super) session_id: String,
}

impl GetInput {
    pub(super) fn take(mut arguments: Arguments) -> Result<Self, ToolError> {
        let session_id = arguments.text("session_id")?;
        arguments.finish()?;
        Ok(Self { session_id: session_id.ok_or(ToolError::Missing("session_id"))? })
    }
}

/// Where to start reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Start {
    Cursor(u64),
    LastBytes(u64),
    LastLines(u64),
}

/// The arguments that determine a [`Start`].
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct StartArguments {
    /// Where to start: "0", the default, or the next_cursor of an answer.
    cursor: Option<Cursor>,
    /// Start this many bytes before the end instead of at a cursor.
    tail_bytes: Option<u64>,
    /// Start this many lines before the end instead of at a cursor.
    tail_lines: Option<u64>,
}

/// What to search for.
#[derive(Debug, Clone, JsonSchema)]
pub(super) struct Pattern {
    /// Return only lines that match this regular expression (Rust syntax, linear time), as `matches`.
    #[schemars(rename = "grep")]
    pub(super) regex: String,
    /// With grep: number of lines of context before and after each match.
    #[schemars(with = "Option<u64>", range(max = MAX_CONTEXT))]
    pub(super) context: usize,
    /// With grep: whether to ignore case.
    #[schemars(with = "Option<bool>")]
    pub(super) ignore_case: bool,
}

/// The input of `derun_read_output`.
#[derive(Debug, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct ReadInput {
    /// Session ID, from derun_list_sessions.
    pub(super) session_id: String,
    #[schemars(flatten, with = "StartArguments")]
    pub(super) from: Start,
    #[schemars(flatten)]
    pub(super) options: OutputOptions,
    #[schemars(flatten)]
    pub(super) pattern: Option<Pattern>,
}

impl ReadInput {
    /// Whether the call is short enough to run in place.
    pub(super) fn is_short(&self) -> bool {
        self.pattern.is_none() && !self.options.strip_ansi && !matches!(self.from, Start::LastLines(_))
    }

    pub(super) fn take(mut arguments: Arguments) -> Result<Self, ToolError> {
        let session_id = arguments.text("session_id")?;
        let cursor = arguments.cursor("cursor")?.map(Start::Cursor);
        let last_bytes = arguments.number("tail_bytes", 0)?.map(Start::LastBytes);
        let last_lines = arguments.number("tail_lines", 0)?.map(Start::LastLines);
        let options = OutputOptions::take(&mut arguments)?;
        let regex = arguments.text("grep")?;
        let context = arguments.number("context", 0)?;
        let ignore_case = arguments.flag("ignore_case")?;
        arguments.finish()?;
        let session_id = session_id.ok_or(ToolError::Missing("session_id"))?;
        let from = match (cursor, last_bytes, last_lines) {
            (_, Some(_), Some(_)) => {
                return Err(ToolError::argument("tail_lines", "cannot be combined with tail_bytes"));
            }
            (Some(_), Some(_), None) => {
                return Err(ToolError::argument("tail_bytes", "cannot be combined with cursor"));
            }
            (Some(_), None, Some(_)) => {
                return Err(ToolError::argument("tail_lines", "cannot be combined with cursor"));
            }
            (cursor, bytes, lines) => cursor.or(bytes).or(lines).unwrap_or(Start::Cursor(0)),
        };
        let pattern = match regex {
            Some(regex) => {
                let context = usize::try_from(context.unwrap_or(0).min(MAX_CONTEXT)).unwrap_or_default();
                Some(Pattern { regex, context, ignore_case: ignore_case.unwrap_or_default() })
            }
            None if context.is_some() => return Err(ToolError::argument("context", "requires grep")),
            None if ignore_case.is_some() => {
                return Err(ToolError::argument("ignore_case", "requires grep"));
            }
            None => None,
        };
        Ok(Self { session_id, from, options, pattern })
    }
}

/// The input of `derun_wait_output`.
#[derive(Debug, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct WaitInput {
    /// Session ID, from derun_list_sessions.
    pub(super) session_id: String,
    /// Cursor to wait at: the next_cursor of an answer.
    #[schemars(with = "Cursor")]
    pub(super) cursor: u64,
    /// Maximum time to wait, in milliseconds.
    #[schemars(rename = "timeout_ms", with = "u64", default = "timeout", range(max = MAX_TIMEOUT))]
    pub(super) timeout: Duration,
    #[schemars(flatten)]
    pub(super) options: OutputOptions,
}

impl WaitInput {
    pub(super) fn take(mut arguments: Arguments) -> Result<Self, ToolError> {
        let session_id = arguments.text("session_id")?;
        let cursor = arguments.cursor("cursor")?;
        let timeout = arguments.number("timeout_ms", 0)?.unwrap_or(TIMEOUT).min(MAX_TIMEOUT);
        let options = OutputOptions::take(&mut arguments)?;
        arguments.finish()?;
        Ok(Self {
            session_id: session_id.ok_or(ToolError::Missing("session_id"))?,
            cursor: cursor.ok_or(ToolError::Missing("cursor"))?,
            timeout: Duration::from_millis(timeout),
            options,
        })
    }
}
