//! Files that hold the state of heartbeats and accounts, and the locks for changes to them.

use super::DataDir;
use std::path::PathBuf;

impl DataDir {
    /// What agents reported of their accounts' usage limits.
    #[must_use]
    pub fn limits(&self) -> PathBuf {
        self.root.join("limits.json")
    }

    /// The lock for changes to [`Self::limits`].
    #[must_use]
    pub fn limits_lock(&self) -> PathBuf {
        self.root.join("limits.lock")
    }

    /// The failures in a row of heartbeats.
    #[must_use]
    pub fn failures(&self) -> PathBuf {
        self.root.join("failures.json")
    }

    /// The lock for changes to [`Self::failures`].
    #[must_use]
    pub fn failures_lock(&self) -> PathBuf {
        self.root.join("failures.lock")
    }

    /// The MCP servers that started.
    #[must_use]
    pub fn mcp_servers(&self) -> PathBuf {
        self.root.join("mcp-servers.json")
    }

    /// The lock for changes to [`Self::mcp_servers`].
    #[must_use]
    pub fn mcp_servers_lock(&self) -> PathBuf {
        self.root.join("mcp-servers.lock")
    }

    /// The heartbeats that the user has paused.
    #[must_use]
    pub fn paused(&self) -> PathBuf {
        self.root.join("paused.json")
    }

    /// The lock for changes to [`Self::paused`].
    #[must_use]
    pub fn paused_lock(&self) -> PathBuf {
        self.root.join("paused.lock")
    }

    /// The numbers that requests have in the inbox.
    #[must_use]
    pub fn inbox(&self) -> PathBuf {
        self.root.join("inbox.json")
    }

    /// The lock for changes to [`Self::inbox`].
    #[must_use]
    pub fn inbox_lock(&self) -> PathBuf {
        self.root.join("inbox.lock")
    }

    /// The daemon's record of when every heartbeat last ran.
    #[must_use]
    pub fn last_runs(&self) -> PathBuf {
        self.root.join("last-runs.json")
    }
}
