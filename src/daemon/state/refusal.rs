//! Why a beat that somebody asks for does not begin.

use std::path::{Path, PathBuf};
use sys::error::Hinted;
use sys::shell;

/// Why a beat that is asked for cannot start.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotNow {
    /// There is no such workspace.
    #[error("{} is not registered", .workspace.display())]
    Unknown {
        /// What was asked for.
        workspace: PathBuf,
    },
    /// There is no such heartbeat in it.
    #[error("no such heartbeat in {}", .workspace.display())]
    Unnamed {
        /// The workspace.
        workspace: PathBuf,
        /// Those that there are; `null` is HEARTBEAT.md itself.
        names: String,
    },
    /// Nobody has approved it.
    #[error("the heartbeat {name:?} in {} is not approved yet", .workspace.display())]
    Unapproved {
        /// The workspace.
        workspace: PathBuf,
        /// Its name.
        name: String,
    },
    /// Another beat runs there.
    #[error("a beat of {} is running already", .workspace.display())]
    Busy {
        /// The workspace.
        workspace: PathBuf,
    },
    /// There is no room for another.
    #[error("{running} beats are running, as many as may")]
    Full {
        /// How many run.
        running: usize,
    },
    /// There are to be no more.
    #[error("the daemon is stopping")]
    Stopping,
}

/// What a person does to have a heartbeat run.
#[must_use]
pub fn approve_hint(workspace: &Path, name: &str) -> String {
    let (workspace, name) = (shell::path(workspace), shell::path(Path::new(name)));
    format!("look at it, then run: murmur workspaces approve {workspace} --name {name}")
}

impl Hinted for NotNow {
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Unknown { workspace, .. } => {
                format!("run: murmur workspaces add {}", shell::path(workspace))
            }
            Self::Unnamed { names, .. } => format!("use one of these names: {names}"),
            Self::Unapproved { workspace, name } => approve_hint(workspace, name),
            Self::Busy { .. } => "wait for its end, see: murmur status".to_owned(),
            Self::Full { .. } => "wait for an end, or raise maxConcurrent in config.json".to_owned(),
            Self::Stopping => "ask the next one, see: murmur status".to_owned(),
        })
    }
}
