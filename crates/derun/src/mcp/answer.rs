//! What each tool answers: the types that answers are made of, and their output schemas.

use super::input::{Cursor, Encoding};
use crate::record::{Channel, Lost, SCHEMA_VERSION, State, TransportMode};
use crate::search::Found;
use schemars::JsonSchema;
use serde::Serialize;

/// What every answer is: something with a line that says it to a human.
pub(super) trait Answer: Serialize + JsonSchema {
    /// It in one line.
    fn summary(&self) -> String;
}

/// What `derun_list_sessions` answers.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Sessions {
    /// The version of this answer's shape.
    #[schemars(extend("const" = SCHEMA_VERSION))]
    pub(super) schema_version: &'static str,
    /// When the sessions were looked at, RFC 3339.
    #[schemars(extend("format" = "date-time"))]
    pub(super) generated_at: String,
    /// How many sessions there are, in this answer or not.
    pub(super) total_count: usize,
    /// Whether there are more than in this answer.
    pub(super) truncated: bool,
    /// The sessions, the newest first.
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

/// A session in short.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Summary {
    /// Its id.
    pub(super) session_id: String,
    /// How far it is.
    pub(super) state: State,
    /// When it began, RFC 3339.
    #[schemars(extend("format" = "date-time"))]
    pub(super) started_at: String,
    /// When it ended, RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date-time"))]
    pub(super) ended_at: Option<String>,
    /// How its output reached the capture.
    pub(super) transport_mode: TransportMode,
    /// Whether a terminal was attached.
    pub(super) tty_attached: bool,
    /// How long it is kept after its end, in seconds.
    pub(super) retention_seconds: u64,
    /// The command's PID; 0 if it has none.
    pub(super) pid: u32,
    /// The command and its arguments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) command: Option<Vec<String>>,
    /// Present if the command has more than that.
    #[serde(skip_serializing_if = "is_false")]
    pub(super) command_truncated: bool,
}

/// What `derun_get_session` answers.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct OneSession {
    /// The version of this answer's shape.
    #[schemars(extend("const" = SCHEMA_VERSION))]
    pub(super) schema_version: &'static str,
    /// The session.
    pub(super) session: Detail,
    /// How much it wrote.
    #[serde(flatten)]
    pub(super) output: Output,
}

impl Answer for OneSession {
    fn summary(&self) -> String {
        let Summary { session_id, state, .. } = &self.session.summary;
        format!("session {session_id}: {state}, {} bytes", self.output.output_bytes)
    }
}

/// How much a session wrote.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(super) struct Output {
    /// How many bytes of output there are.
    pub(super) output_bytes: u64,
    /// How many chunks were written down.
    pub(super) chunk_count: u64,
    /// When the last of them began to come, RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date-time"))]
    pub(super) last_chunk_at: Option<String>,
}

/// All of a session but its output.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Detail {
    /// It in short.
    #[serde(flatten)]
    pub(super) summary: Summary,
    /// Where the command was started.
    pub(super) working_directory: String,
    /// The exit code, if it exited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) exit_code: Option<i32>,
    /// The signal that killed it, as SIGINT.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) signal: Option<String>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<String>,
    /// Output that could not be kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) lost: Option<Lost>,
    /// When it is removed at the earliest, RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date-time"))]
    pub(super) expires_at: Option<String>,
    /// How much it wrote.
    #[serde(flatten)]
    pub(super) output: Output,
}

/// A stretch of output of one channel.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Chunk {
    /// Where it came from.
    pub(super) channel: Channel,
    /// The cursor of its first byte.
    pub(super) start_cursor: Cursor,
    /// The cursor of the byte behind its last.
    pub(super) end_cursor: Cursor,
    /// When its first byte came, RFC 3339.
    #[schemars(extend("format" = "date-time"))]
    pub(super) timestamp: String,
    /// Which of text and data_base64 there is.
    pub(super) encoding: Encoding,
    /// It as text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) text: Option<String>,
    /// Its bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) data_base64: Option<String>,
}

/// What `derun_read_output` answers.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Read {
    /// The version of this answer's shape.
    #[schemars(extend("const" = SCHEMA_VERSION))]
    pub(super) schema_version: &'static str,
    /// The session's id.
    pub(super) session_id: String,
    /// How far it is.
    pub(super) state: State,
    /// The output; not with grep.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) chunks: Option<Vec<Chunk>>,
    /// The lines that match; only with grep.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) matches: Option<Vec<Match>>,
    /// Where to go on.
    pub(super) next_cursor: Cursor,
    /// Whether there is nothing behind next_cursor, and nothing will come.
    pub(super) eof: bool,
}

impl Answer for Read {
    fn summary(&self) -> String {
        let what = match (&self.chunks, &self.matches) {
            (_, Some(matches)) => format!("{} matching lines", matches.len()),
            (chunks, None) => described(chunks.as_deref().unwrap_or_default()),
        };
        let end = if self.eof { ", end of output" } else { "" };
        format!("{what}, next_cursor {}{end}", self.next_cursor.0)
    }
}

/// A line that matches.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Match {
    /// The cursor of its first byte; in a line of more than 64 KiB, of the part with the hit.
    pub(super) cursor: Cursor,
    /// Which line it is; 1 is the one where the search began.
    pub(super) line: u64,
    /// The line, or what of it is around the hit.
    pub(super) text: String,
    /// The lines before it.
    pub(super) before: Vec<String>,
    /// The lines after it.
    pub(super) after: Vec<String>,
    /// Present if text is not the whole line, or before or after have fewer or shorter lines for want of room.
    #[serde(skip_serializing_if = "is_false")]
    pub(super) cut: bool,
}

impl From<Found> for Match {
    fn from(found: Found) -> Self {
        let Found { cursor, line, text, before, after, cut } = found;
        Self { cursor: Cursor(cursor), line, text, before, after, cut }
    }
}

/// What `derun_wait_output` answers.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Waited {
    /// The version of this answer's shape.
    #[schemars(extend("const" = SCHEMA_VERSION))]
    pub(super) schema_version: &'static str,
    /// The session's id.
    pub(super) session_id: String,
    /// How far it is.
    pub(super) state: State,
    /// The output.
    pub(super) chunks: Vec<Chunk>,
    /// Where to go on.
    pub(super) next_cursor: Cursor,
    /// Whether there is nothing behind next_cursor, and nothing will come.
    pub(super) eof: bool,
    /// Whether the time was over before anything came.
    pub(super) timed_out: bool,
    /// How many milliseconds it waited.
    pub(super) waited_ms: u64,
}

impl Answer for Waited {
    fn summary(&self) -> String {
        let end = match (self.eof, self.timed_out) {
            (true, _) => ", end of output",
            (false, true) => ", timed out",
            (false, false) => "",
        };
        format!("{}, next_cursor {}{end}", described(&self.chunks), self.next_cursor.0)
    }
}

/// What a tool answers that cannot do what it was asked.
#[derive(Debug, Serialize)]
pub(super) struct Failed {
    /// The version of this answer's shape.
    pub(super) schema_version: &'static str,
    /// Why not, in one line.
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
