//! `approved.json`: the named heartbeats that a person has approved, by the real path of their workspace. An agent can
//! create a folder in `heartbeats/`, but its heartbeat runs only after a person approved it.

use super::{last_runs, state_files};
use jiff::Timestamp;
use murmur_core::config::heartbeat::Heartbeat;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use sys::error::Failure;
use sys::paths::DataDir;
use sys::{lock, versioned};

#[derive(Debug, Default, Serialize, Deserialize)]
struct Contents {
    approved: BTreeSet<Approval>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct Approval {
    workspace: String,
    name: String,
}

impl Approval {
    fn of(workspace: &Path, name: &str) -> Self {
        let real = workspace.canonicalize();
        let workspace = real.as_deref().unwrap_or(workspace).to_string_lossy().into_owned();
        Self { workspace, name: name.to_owned() }
    }
}

/// Returns the approvals. A missing or invalid file approves nothing.
fn read(dir: &DataDir) -> BTreeSet<Approval> {
    versioned::read::<Contents>(&dir.approved()).ok().flatten().unwrap_or_default().approved
}

/// Why the file is not readable; `None` if it is.
#[must_use]
pub fn problem(dir: &DataDir) -> Option<Failure> {
    let then = "heartbeats that never ran are not approved";
    state_files::problem::<Contents>(
        &dir.approved(),
        then,
        "remove it, and approve them again with: murmur approve",
    )
}

/// Sets `approved` on each of `heartbeats`: named ones need an approval, or a run from before approvals existed.
pub fn mark(dir: &DataDir, heartbeats: &mut [Heartbeat], now: Timestamp) {
    if heartbeats.iter().all(|heartbeat| heartbeat.name.is_none()) {
        return;
    }
    let (approved, runs) = (read(dir), last_runs::read(dir, now).runs);
    for heartbeat in heartbeats {
        let Some(name) = &heartbeat.name else { continue };
        heartbeat.approved = heartbeat.last_run.is_some()
            || runs.contains_key(&heartbeat.id)
            || approved.contains(&Approval::of(&heartbeat.workspace, name));
    }
}

/// Approves these heartbeats of `workspace`.
pub fn approve(dir: &DataDir, workspace: &Path, names: &[&str]) -> io::Result<()> {
    let _lock = lock::lock(&dir.approved_lock())?;
    let mut approved = versioned::read_known::<Contents>(&dir.approved())?.approved;
    approved.extend(names.iter().map(|name| Approval::of(workspace, name)));
    versioned::write(&dir.approved(), &Contents { approved })
}
