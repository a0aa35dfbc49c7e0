//! The answers of the tools and their output schemas.

use super::input::{Cursor, Encoding};
use crate::record::{Channel, Gap, Lost, SCHEMA_VERSION, State, TransportMode};
use crate::search::SearchMatch;
use schemars::JsonSchema;
use serde::Serialize;

/// An answer of a tool.
pub(super) trait Answer: Serialize + JsonSchema {
    /// A one-line summary.
    fn summary(&self) -> String;
}

/// The answer of `derun_list_sessions`.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Sessions {
    /// The version of this answer's format.
    #[schemars(extend("const" = SCHEMA_VERSION))]
    pub(super) schema_version: &'static str,
    /// When the sessions were listed, RFC 3339.
    #[schemars(extend("format" = "date-time"))]
    pub(super) generated_at: String,
    /// The total number of sessions, including those not in this answer.
    pub(super) total_count: usize,
    /// Whether there are more sessions than in this answer.
    pub(super) truncated: bool,
    /// The sessions, newest first.
    pub(super) sessions: Vec<Summary>,
}

impl Answer for Sessions {
    fn summary(&self) -> String {
        match (self.sessions.len(), self.truncated) {
            (1, false) => "1 session".to_owned(),
            (count, false) => format!("{count} sessions"),
            (count, true) => format!("the newest {count} of {} sessions", self.total_count),
        }
    }
}

/// A summary of a session.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Summary {
    /// Its id.
    pub(super) session_id: String,
    /// Its state.
    pub(super) state: State,
    /// When it started, RFC 3339.
    #[schemars(extend("format" = "date-time"))]
    pub(super) started_at: String,
    /// When it ended, RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date-time"))]
    pub(super) ended_at: Option<String>,
    /// How its output is captured.
    pub(super) transport_mode: TransportMode,
    /// Whether a terminal was attached.
    pub(super) tty_attached: bool,
    /// How long it is kept after its end, in seconds.
    pub(super) retention_seconds: u64,
    /// The command's PID; 0 if it never ran.
    pub(super) pid: u32,
    /// The command and its arguments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) command: Option<Vec<String>>,
    /// Present if the command is longer.
    #[serde(skip_serializing_if = "is_false")]
    pub(super) command_truncated: bool,
}

/// The answer of `derun_get_session`.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct OneSession {
    /// The version of this answer's format.
    #[schemars(extend("const" = SCHEMA_VERSION))]
    pub(super) schema_version: &'static str,
    /// The session.
    pub(super) session: Detail,
    /// The size of its output.
    #[serde(flatten)]
    pub(super) output: Output,
}

impl Answer for OneSession {
    fn summary(&self) -> String {
        let Summary { session_id, state, .. } = &self.session.summary;
        format!("session {session_id}: {state}, {} bytes", self.output.output_bytes)
    }
}

/// The size of a session's output.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(super) struct Output {
    /// The number of bytes.
    pub(super) output_bytes: u64,
    /// The number of recorded chunks: output of one channel within 50 ms.
    pub(super) chunk_count: u64,
    /// When the last chunk started, RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date-time"))]
    pub(super) last_chunk_at: Option<String>,
    /// Output that was not kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) gap: Option<Gap>,
}

/// All details of a session except its output.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Detail {
    /// A summary of the session.
    #[serde(flatten)]
    pub(super) summary: Summary,
    /// The working directory of the command.
    pub(super) working_directory: String,
    /// The exit code, if it exited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) exit_code: Option<i32>,
    /// The signal that killed it, such as SIGINT.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) signal: Option<String>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<String>,
    /// Output that could not be captured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) lost: Option<Lost>,
    /// When it may be removed, RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date-time"))]
    pub(super) expires_at: Option<String>,
    /// The size of its output.
    #[serde(flatten)]
    pub(super) output: Output,
}

/// A chunk of output from one channel.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Chunk {
    /// Its channel.
    pub(super) channel: Channel,
    /// The cursor of its first byte.
    pub(super) start_cursor: Cursor,
    /// The cursor after its last byte.
    pub(super) end_cursor: Cursor,
    /// When its first byte was written, RFC 3339.
    #[schemars(extend("format" = "date-time"))]
    pub(super) timestamp: String,
    /// Whether text or data_base64 is present.
    pub(super) encoding: Encoding,
    /// The output as text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) text: Option<String>,
    /// The output's bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) data_base64: Option<String>,
}

/// The answer of `derun_read_output`.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Read {
    /// The version of this answer's format.
    #[schemars(extend("const" = SCHEMA_VERSION))]
    pub(super) schema_version: &'static str,
    /// The session's id.
    pub(super) session_id: String,
    /// The state of the session.
    pub(super) state: State,
    /// The output; absent with grep.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) chunks: Option<Vec<Chunk>>,
    /// The matching lines; only with grep.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) matches: Option<Vec<Match>>,
    /// Present if output before next_cursor was not kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) gap: Option<Gap>,
    /// The cursor to continue at.
    pub(super) next_cursor: Cursor,
    /// Whether there is no more output at next_cursor, and never will be.
    pub(super) eof: bool,
}

impl Answer for Read {
    fn summary(&self) -> String {
        let what = match (&self.chunks, &self.matches) {
            (_, Some(matches)) => format!("{} matching lines", matches.len()),
            (chunks, None) => described(chunks.as_deref().unwrap_or_default()),
        };
        let end = if self.eof { ", end of output" } else { "" };
        format!("{what}{}, next_cursor {}{end}", missing(self.gap), self.next_cursor.0)
    }
}

/// A matching line.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Match {
    /// The cursor of its first byte; for a line of more than 64 KiB, of the part with the match.
    pub(super) cursor: Cursor,
    /// The line number, counted from 1 at the start of the search.
    pub(super) line: u64,
    /// The line, or the part around the match.
    pub(super) text: String,
    /// The lines before it.
    pub(super) before: Vec<String>,
    /// The lines after it.
    pub(super) after: Vec<String>,
    /// Present if text is not the whole line, or if lines before or after it were omitted or shortened.
    #[serde(skip_serializing_if = "is_false")]
    pub(super) cut: bool,
}

impl From<SearchMatch> for Match {
    fn from(found: SearchMatch) -> Self {
        let SearchMatch { cursor, line, text, before, after, cut } = found;
        Self { cursor: Cursor(cursor), line, text, before, after, cut }
    }
}

/// The answer of `derun_wait_output`.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Waited {
    /// The version of this answer's format.
    #[schemars(extend("const" = SCHEMA_VERSION))]
    pub(super) schema_version: &'static str,
    /// The session's id.
    pub(super) session_id: String,
    /// The state of the session.
    pub(super) state: State,
    /// The output.
    pub(super) chunks: Vec<Chunk>,
    /// Present if output before next_cursor was not kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) gap: Option<Gap>,
    /// The cursor to continue at.
    pub(super) next_cursor: Cursor,
    /// Whether there is no more output at next_cursor, and never will be.
    pub(super) eof: bool,
    /// Whether the wait timed out before there was output.
    pub(super) timed_out: bool,
    /// How long it waited, in milliseconds.
    pub(super) waited_ms: u64,
}

impl Answer for Waited {
    fn summary(&self) -> String {
        let end = match (self.eof, self.timed_out) {
            (true, _) => ", end of output",
            (false, true) => ", timed out",
            (false, false) => "",
        };
        let what = described(&self.chunks);
        format!("{what}{}, next_cursor {}{end}", missing(self.gap), self.next_cursor.0)
    }
}

/// The answer of a tool that failed.
#[derive(Debug, Serialize)]
pub(super) struct Failed {
    /// The version of this answer's format.
    pub(super) schema_version: &'static str,
    /// The error, in one line.
    pub(super) error: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_false(flag: &bool) -> bool {
    !flag
}

fn described(chunks: &[Chunk]) -> String {
    let bytes: u64 = chunks.iter().map(|chunk| chunk.end_cursor.0 - chunk.start_cursor.0).sum();
    format!("{bytes} bytes")
}

fn missing(gap: Option<Gap>) -> String {
    gap.map_or_else(String::new, |gap| format!(", then {} bytes that were not kept", gap.length))
}
