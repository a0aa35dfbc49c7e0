//! Why a beat that somebody asks for does not begin.

use std::path::PathBuf;

/// Why a beat that is asked for cannot start.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotNow {
    /// There is no such workspace.
    #[error("{} is not registered; run: murmur workspaces add {}", .workspace.display(), .workspace.display())]
    Unknown {
        /// What was asked for.
        workspace: PathBuf,
    },
    /// There is no such heartbeat in it.
    #[error("no such heartbeat in {}; its names are: {names}", .workspace.display())]
    Unnamed {
        /// The workspace.
        workspace: PathBuf,
        /// Those that there are; `null` is HEARTBEAT.md itself.
        names: String,
    },
    /// Another beat runs there.
    #[error("a beat of {} is running already; wait for its end, see: murmur status", .workspace.display())]
    Busy {
        /// The workspace.
        workspace: PathBuf,
    },
    /// There is no room for another.
    #[error(
        "{running} beats are running, as many as may; wait for an end, or raise maxConcurrent in config.json"
    )]
    Full {
        /// How many run.
        running: usize,
    },
    /// There are to be no more.
    #[error("the daemon is stopping; ask the next one, see: murmur status")]
    Stopping,
}
