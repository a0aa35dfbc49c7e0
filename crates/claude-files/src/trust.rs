//! Workspace trust: what a repository's Claude files would do, whether the user trusts them as they are, and how an
//! agent starts without them.
//!
//! Claude Code runs what a repository's settings name (hooks, helpers, MCP servers) before it asks any hook of murmur,
//! so the files are checked before each start of an agent. Nothing is cached between starts.

mod collect;
pub mod effects;
mod git;
mod named;
mod servers;
mod start;
mod state;
mod store;

use std::path::{Path, PathBuf};

pub use collect::{ClaudeFile, CollectError, FileKind, collect};
pub use servers::of as servers;
pub use start::{OmittedServer, PrivateFile, Start, WrittenFile, start};
pub use state::{Change, TrustState, WhyUntrusted, Workspaces, compare};
pub use store::{Store, StoreError, Trusted};

/// The locations of Claude Code's own files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claude {
    /// Its folder, with the user's settings.
    pub folder: PathBuf,
    /// The file with the user's MCP servers.
    pub state: PathBuf,
}

impl Claude {
    /// Finds them from this process's environment and the user's home folder, like Claude Code does.
    #[must_use]
    pub fn find(home: &Path) -> Self {
        let folder =
            std::env::var_os("CLAUDE_CONFIG_DIR").filter(|value| !value.is_empty()).map(PathBuf::from);
        match folder {
            Some(folder) => Self { state: folder.join(".claude.json"), folder },
            None => Self { folder: home.join(".claude"), state: home.join(".claude.json") },
        }
    }
}
