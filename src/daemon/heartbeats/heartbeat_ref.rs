//! How a heartbeat is named by clients and in plans.

use serde::Deserialize;
use std::path::PathBuf;

/// Identifies a heartbeat.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub struct HeartbeatRef {
    /// The workspace, absolute.
    pub workspace: PathBuf,
    /// The name of a named heartbeat.
    #[serde(default)]
    pub name: Option<String>,
}
