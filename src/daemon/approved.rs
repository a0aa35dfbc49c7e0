//! `approved.json`: the named heartbeats that a person has approved, by the real path of their workspace. An agent can
//! create a folder in `heartbeats/`, but its heartbeat runs only after a person approved it.

use super::last_runs;
use jiff::Timestamp;
use murmur_core::config::heartbeat::Heartbeat;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use sys::paths::DataDir;
use sys::{atomic, file, lock};

/// The version of the file.
const VERSION: u32 = 1;

#[derive(Debug, Serialize, Deserialize)]
struct Contents {
    version: u32,
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
    let bytes = file::read_regular(&dir.approved()).ok().flatten();
    let contents = bytes.and_then(|bytes| serde_json::from_slice::<Contents>(&bytes).ok());
    contents
        .filter(|contents| contents.version == VERSION)
        .map(|contents| contents.approved)
        .unwrap_or_default()
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
    let mut approved = read(dir);
    approved.extend(names.iter().map(|name| Approval::of(workspace, name)));
    let mut text = serde_json::to_vec_pretty(&Contents { version: VERSION, approved })?;
    text.push(b'\n');
    atomic::write(&dir.approved(), &text)
}
