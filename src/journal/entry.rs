//! One line of the journal: spec 0's fields in spec 0's order, then murmur's own.

use crate::agent::conversation::Turn;
use crate::outcome::{Kind, Outcome};
use crate::sys::process::Exit;
use serde::{Deserialize, Serialize};

/// What is written of a beat. Times are RFC 3339 in UTC, durations whole milliseconds.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    /// When the beat started.
    pub ts: String,
    /// The workspace's path.
    pub workspace: String,
    /// `ok`, `attention` or `error`.
    pub outcome: Kind,
    /// Wall-clock time of the agent, or of the attempt to start it.
    pub duration_ms: u64,
    /// The first 200 characters of the agent's answer, with `attention`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// What went wrong, with `error`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The conversation, of a verbose beat. Written and never read back: only people look at it.
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    pub turns: Option<Vec<Turn>>,
    /// The beat's id, a UUIDv7. Empty in lines of other programs.
    #[serde(default)]
    pub beat: String,
    /// The name of a named heartbeat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heartbeat: Option<String>,
    /// The agent's id.
    #[serde(default)]
    pub agent: String,
    /// Claude Code's id of the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// US dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// Turns, as the agent counts them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub num_turns: Option<u64>,
    /// How the agent's process ended; absent if it was never started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<Exit>,
    /// Whether it was stopped because its time was up.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub timed_out: bool,
    /// The tools whose calls were refused, one entry a call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub denials: Vec<String>,
    /// The session of the captures that has what the agent wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capture: Option<String>,
    /// Why not all of it is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capture_lost: Option<String>,
    /// The request whose answer the beat waits for, which then goes on in another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting: Option<String>,
    /// The request with whose answer it went on where another beat had ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resumes: Option<String>,
}

impl Entry {
    /// Sets the outcome and the words that go with it.
    pub fn set_outcome(&mut self, outcome: Outcome) {
        self.outcome = outcome.kind();
        (self.summary, self.error) = match outcome {
            Outcome::Ok => (None, None),
            Outcome::Attention(summary) => (Some(summary), None),
            Outcome::Error(error) => (None, Some(error)),
        };
    }

    /// The line, with its newline.
    ///
    /// # Errors
    /// Only if a number in it is not one that JSON knows.
    pub fn line(&self) -> serde_json::Result<String> {
        let mut line = serde_json::to_string(self)?;
        line.push('\n');
        Ok(line)
    }
}
