//! The files of a session: `meta.json`, `final.json` and the lines of `index.jsonl` (spec 4, Storage;
//! README.md).
//!
//! Parsing is lenient: unknown fields are ignored, and fields of later layouts have defaults.

use crate::id::SessionId;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use sys::identity::Identity;

/// The schema version in all files and answers.
pub const SCHEMA_VERSION: &str = "v1alpha1";

/// The layout version of the session folders that are written.
pub const LAYOUT: u32 = 1;

/// The files of a session.
pub(super) mod file {
    pub(crate) const META: &str = "meta.json";
    pub(crate) const OUTPUT: &str = "output.bin";
    pub(crate) const INDEX: &str = "index.jsonl";
    pub(crate) const FINAL: &str = "final.json";
    pub(crate) const LOCK: &str = "append.lock";
    /// Reserved disk space that becomes `final.json`.
    pub(crate) const ROOM: &str = ".final.json";
}

/// The source of output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Channel {
    /// A pseudoterminal, which merges stdout and stderr.
    Pty,
    /// The pipe of stdout.
    Stdout,
    /// The pipe of stderr.
    Stderr,
}

/// How the command's output is captured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum TransportMode {
    /// A Unix pseudoterminal.
    #[serde(rename = "posix-pty")]
    PosixPty,
    /// A Windows pseudoconsole.
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

/// The lifecycle state of a session (spec 4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[schemars(description = "The state of the session.")]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// The command is being started.
    Starting,
    /// The command is running.
    Running,
    /// The command exited.
    Exited,
    /// A signal killed the command.
    Signaled,
    /// The command could not be started, or its end was not recorded.
    Failed,
    /// It ended so long ago that the next sweep removes it.
    Expired,
}

impl State {
    /// All states in order.
    pub const ALL: [Self; 6] =
        [Self::Starting, Self::Running, Self::Exited, Self::Signaled, Self::Failed, Self::Expired];

    /// Whether more output may follow.
    #[must_use]
    pub fn is_active(self) -> bool {
        matches!(self, Self::Starting | Self::Running)
    }

    /// The name of the state.
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

/// `meta.json`: properties of a session, written before the command starts and again when its PID is known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Meta {
    /// [`SCHEMA_VERSION`].
    pub schema_version: String,
    /// [`LAYOUT`].
    #[serde(default)]
    pub layout: u32,
    /// The id, which is the name of the folder, draft or pack.
    pub session_id: SessionId,
    /// The command and its arguments. Invalid UTF-8 is replaced.
    pub command: Vec<String>,
    /// The working directory.
    pub working_directory: String,
    /// When it started, in UTC.
    pub started_at: Timestamp,
    /// How long it is kept after its end, in seconds.
    pub retention_seconds: u64,
    /// How its output is captured.
    pub transport_mode: TransportMode,
    /// Whether stdin and stdout were a terminal.
    pub tty_attached: bool,
    /// The command's PID, once it runs. In the file, 0 stands for an unknown one (spec 4).
    #[serde(with = "sys::identity::zero_if_unknown")]
    pub pid: Option<u32>,
    /// The process that writes the session.
    #[serde(default)]
    pub owner: Option<Identity>,
    /// How much of its output is kept at most, in bytes: the beginning and the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<u64>,
    /// What it has in common with other sessions, whose newest one is kept longer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
}

/// `final.json`: how a session ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Final {
    /// [`SCHEMA_VERSION`].
    pub schema_version: String,
    /// The id.
    pub session_id: SessionId,
    /// `exited`, `signaled` or `failed`.
    pub state: State,
    /// When it ended, in UTC.
    pub ended_at: Timestamp,
    /// The exit code, if it exited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The signal that killed it, such as `SIGINT`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Output that could not be captured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<Lost>,
    /// Output that was not kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap: Option<Gap>,
}

/// Output that reached the terminal but was not captured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Lost {
    /// The number of bytes captured before the first lost one.
    pub kept_bytes: u64,
    /// The number of lost bytes.
    pub lost_bytes: u64,
    /// The underlying error.
    pub reason: String,
}

/// Output between the beginning and the end that was not kept, because there was more than `max_bytes`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Gap {
    /// The offset of its first byte.
    pub offset: u64,
    /// Its size in bytes.
    pub length: u64,
}

impl Gap {
    /// The offset after its last byte.
    #[must_use]
    pub fn end(self) -> u64 {
        self.offset.saturating_add(self.length)
    }
}

/// A line of `index.jsonl`: a stretch of `output.bin`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stretch {
    /// The offset of its first byte.
    pub offset: u64,
    /// Its size in bytes.
    pub length: u64,
    /// Its channel.
    pub channel: Channel,
    /// When its first byte was written, in UTC. The others followed within 50 ms.
    pub timestamp: Timestamp,
}

impl Stretch {
    /// The offset after its last byte.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.offset.saturating_add(self.length)
    }
}
