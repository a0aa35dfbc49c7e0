//! What a session's files say: `meta.json`, `final.json` and the lines of `index.jsonl` (spec 4, Storage;
//! docs/guide/captures.md).
//!
//! Read tolerantly: unknown fields are skipped, and what came with a later layout has a default.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use sys::identity::Identity;

/// The schema version in every file and every answer.
pub const SCHEMA_VERSION: &str = "v1alpha1";

/// The layout of a session's folder that is written here.
pub const LAYOUT: u32 = 1;

/// The files of a session.
pub(super) mod file {
    pub(crate) const META: &str = "meta.json";
    pub(crate) const OUTPUT: &str = "output.bin";
    pub(crate) const INDEX: &str = "index.jsonl";
    pub(crate) const FINAL: &str = "final.json";
    pub(crate) const LOCK: &str = "append.lock";
    /// Room for `final.json`, which it becomes.
    pub(crate) const ROOM: &str = ".final.json";
}

/// Where output came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Channel {
    /// A pseudo terminal, where stdout and stderr are one.
    Pty,
    /// A pipe from stdout.
    Stdout,
    /// A pipe from stderr.
    Stderr,
}

/// How the command's output reached us.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum TransportMode {
    /// A pseudo terminal of a Unix system.
    #[serde(rename = "posix-pty")]
    PosixPty,
    /// A pseudo console of Windows.
    #[serde(rename = "windows-conpty")]
    WindowsConpty,
    /// Pipes.
    #[serde(rename = "pipe")]
    Pipe,
}

impl fmt::Display for TransportMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::PosixPty => "posix-pty",
            Self::WindowsConpty => "windows-conpty",
            Self::Pipe => "pipe",
        })
    }
}

/// How far a session is: the lifecycle states of spec 4.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[schemars(description = "How far a session is.")]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// The command is about to be started.
    Starting,
    /// The command runs.
    Running,
    /// The command exited with a code.
    Exited,
    /// A signal killed the command.
    Signaled,
    /// The command could not be started, or nobody was left to say how it ended.
    Failed,
    /// It ended so long ago that the next sweep removes it.
    Expired,
}

impl State {
    /// Every state, in the order of a life.
    pub const ALL: [Self; 6] =
        [Self::Starting, Self::Running, Self::Exited, Self::Signaled, Self::Failed, Self::Expired];

    /// Whether there may be more output.
    #[must_use]
    pub fn is_active(self) -> bool {
        matches!(self, Self::Starting | Self::Running)
    }

    /// The word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Running => "running",
            Self::Exited => "exited",
            Self::Signaled => "signaled",
            Self::Failed => "failed",
            Self::Expired => "expired",
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// `meta.json`: what a session is; written before the command starts, and once more when its PID is known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Meta {
    /// [`SCHEMA_VERSION`].
    pub schema_version: String,
    /// [`LAYOUT`].
    #[serde(default)]
    pub layout: u32,
    /// The id; its folder's name.
    pub session_id: String,
    /// The command and its arguments. Bytes that are not UTF-8 are replaced.
    pub command: Vec<String>,
    /// Where it was started.
    pub working_directory: String,
    /// When, in UTC.
    pub started_at: Timestamp,
    /// How long it is kept after its end, in seconds.
    pub retention_seconds: u64,
    /// How its output reached us.
    pub transport_mode: TransportMode,
    /// Whether stdin and stdout were a terminal.
    pub tty_attached: bool,
    /// The command's PID; 0 as long as it has none.
    pub pid: u32,
    /// The process that writes the session.
    #[serde(default)]
    pub owner: Option<Identity>,
}

/// `final.json`: how it ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Final {
    /// [`SCHEMA_VERSION`].
    pub schema_version: String,
    /// The id.
    pub session_id: String,
    /// `exited`, `signaled` or `failed`.
    pub state: State,
    /// When, in UTC.
    pub ended_at: Timestamp,
    /// The exit code, if it exited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The signal that killed it, as `SIGINT`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What could not be kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<Lost>,
}

/// Output that the terminal got and the session did not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Lost {
    /// How many bytes were kept before the first lost one.
    pub kept_bytes: u64,
    /// How many were lost.
    pub lost_bytes: u64,
    /// The underlying error.
    pub reason: String,
}

/// A line of `index.jsonl`: a stretch of `output.bin`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stretch {
    /// Its first byte.
    pub offset: u64,
    /// How many bytes it has.
    pub length: u64,
    /// Where they came from.
    pub channel: Channel,
    /// When the first of them came, in UTC. The others came within 50 ms.
    pub timestamp: Timestamp,
}

impl Stretch {
    /// The byte after its last.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.offset.saturating_add(self.length)
    }
}
