//! Why a requested beat does not start.

use super::HeartbeatHold;
use std::path::{Path, PathBuf};
use sys::clock::rfc3339;
use sys::error::Hinted;
use sys::shell;

/// Why a requested beat cannot start.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum StartRefusal {
    /// The workspace is not registered.
    #[error("{} is not registered", .workspace.display())]
    Unknown {
        /// The requested workspace.
        workspace: PathBuf,
    },
    /// The workspace has no such heartbeat.
    #[error("no such heartbeat in {}", .workspace.display())]
    Unnamed {
        /// The workspace.
        workspace: PathBuf,
        /// The existing names; `null` is HEARTBEAT.md itself.
        names: String,
    },
    /// The heartbeat is not approved.
    #[error("the heartbeat {name:?} in {} is not approved yet", .workspace.display())]
    Unapproved {
        /// The workspace.
        workspace: PathBuf,
        /// Its name.
        name: String,
    },
    /// Another beat runs there.
    #[error("a beat of {} is already running", .workspace.display())]
    Busy {
        /// The workspace.
        workspace: PathBuf,
    },
    /// `maxConcurrent` beats are running.
    #[error("{running} beats are running, which is the maximum")]
    Full {
        /// The number of running beats.
        running: usize,
    },
    /// A usage limit, a reserve or a budget forbids it.
    #[error("the heartbeat may not start until {}: {}", rfc3339(.0.until), .0.why)]
    Held(HeartbeatHold),
    /// The daemon is stopping.
    #[error("the daemon is stopping")]
    Stopping,
}

impl StartRefusal {
    /// A heartbeat of `workspace` that is not among `names`, which are empty if the workspace isn't registered.
    pub(super) fn not_found<'a>(workspace: &Path, names: impl Iterator<Item = &'a str>) -> Self {
        let names: Vec<&str> = names.collect();
        let workspace = workspace.to_path_buf();
        match names.is_empty() {
            true => Self::Unknown { workspace },
            false => Self::Unnamed { workspace, names: names.join(", ") },
        }
    }
}

/// The hint to approve a heartbeat.
#[must_use]
pub fn approve_hint(workspace: &Path, name: &str) -> String {
    let (workspace, name) = (shell::path(workspace), shell::option("--name", name));
    format!("review it, then run: murmur approve {workspace} {name}")
}

impl Hinted for StartRefusal {
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Unknown { workspace, .. } => {
                format!("run: murmur add {}", shell::path(workspace))
            }
            Self::Unnamed { names, .. } => format!("use one of these names: {names}"),
            Self::Unapproved { workspace, name } => approve_hint(workspace, name),
            Self::Busy { .. } => "wait until it ends; see: murmur status".to_owned(),
            Self::Full { .. } => "wait until one ends, or raise maxConcurrent in config.json".to_owned(),
            Self::Held(_) => "to try anyway, run: murmur beat --ignore-limits".to_owned(),
            Self::Stopping => "wait for the next daemon; see: murmur status".to_owned(),
        })
    }
}
