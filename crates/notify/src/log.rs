//! notifications.jsonl: one line per delivery, failure and answer.

use murmur_core::permit::request::RequestId;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::Path;

/// A line.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LogEntry {
    /// When, RFC 3339.
    pub ts: String,
    /// The channel; for a ping, the heartbeat.
    pub channel: String,
    /// `delivered`, `failed` (retried), `dropped`, `accepted` or `refused`.
    pub result: String,
    /// The message's title, or what was answered.
    pub what: String,
    /// The request that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<RequestId>,
    /// Who answered, as the channel names people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sender: Option<String>,
    /// Why it failed or was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Appends `line` to the file at `path`, which is rotated when it is full.
pub fn append(path: &Path, line: &LogEntry) -> io::Result<()> {
    let mut bytes = serde_json::to_vec(line)?;
    bytes.push(b'\n');
    rotate::append_line(path, &bytes)
}
