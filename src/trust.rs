//! Workspace trust: what the Claude files of a repository would do, whether the user trusts them as they are, and how an
//! agent is started without them.
//!
//! Claude Code runs what a repository's settings name (hooks, helpers, MCP servers) before any hook of murmur's is asked,
//! so these files count before an agent is started, or not at all. They are read again each time.

mod collect;
pub mod effects;
mod git;
mod named;
mod servers;
mod standing;
mod start;
mod store;

use std::path::{Path, PathBuf};

pub use collect::{CollectError, Found, Kind, collect};
pub use standing::{Change, Standing, Why, Workspaces, compare};
pub use start::{Kept, LeftOut, PrivateFile, Start, start};
pub use store::{Store, StoreError, Trusted};

/// Where Claude Code has what is the user's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claude {
    /// Its folder, with the user's settings.
    pub folder: PathBuf,
    /// The file with the user's MCP servers.
    pub state: PathBuf,
}

impl Claude {
    /// As its environment, which is ours, and the user's home folder have it.
    #[must_use]
    pub fn find(home: &Path) -> Self {
        let set = std::env::var_os("CLAUDE_CONFIG_DIR").filter(|value| !value.is_empty()).map(PathBuf::from);
        match set {
            Some(folder) => Self { state: folder.join(".claude.json"), folder },
            None => Self { folder: home.join(".claude"), state: home.join(".claude.json") },
        }
    }
}
