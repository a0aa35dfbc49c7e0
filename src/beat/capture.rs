//! Where a beat and its gates are captured; packs the captures once it has ended. The daemon removes them later.

use super::job::Job;
use derun::id::SessionId;
use derun::pack::{self, Label};
use derun::store::Store;
use murmur_core::outcome::OutcomeKind;
use murmur_gate::capture::GateCapture;
use murmur_host::capture::Destination;
use murmur_store::journal::entry::JournalEntry;
use std::path::{Path, PathBuf};
use sys::paths::slug;

/// A session that lasted at least this long, in milliseconds, was synced to disk, so its pack must be as well.
const SYNCED: u64 = 1000;

/// Packs the captures of `entry` in the store at `root`, both in one file if it has two. Best effort: otherwise they
/// stay readable as they are.
pub(super) fn pack(root: &Path, job: &Job, entry: &JournalEntry) {
    let (agent, gates) = (entry.capture.as_ref(), entry.gate_capture.as_ref());
    if agent.is_none() && gates.is_none() {
        return;
    }
    let Ok(store) = Store::open(root) else { return };
    let pack = |ids: &[&SessionId], group: String| {
        let label = Label { group, failed: entry.outcome == OutcomeKind::Error };
        pack::pack(&store, ids, &label, entry.duration_ms >= SYNCED).is_ok_and(|is_packed| is_packed)
    };
    if let (Some(agent), Some(gates)) = (agent, gates)
        && pack(&[agent, gates], group(job))
    {
        return;
    }
    // One of them is very large, or the file system has no hard links.
    for (id, group) in [(agent, group(job)), (gates, gate_group(job))] {
        let _best_effort = id.is_some_and(|id| pack(&[id], group));
    }
}

/// Where the output of `job` is captured, if the store is at `root`.
pub(super) fn destination(job: &Job, root: Option<PathBuf>) -> Destination {
    Destination { root, limits: job.captures, group: Some(group(job)) }
}

/// The capture of what the gates of `job` print, in the store and with the limits of its agent's capture, `to`.
pub(super) fn of_gates(job: &Job, to: &Destination) -> GateCapture {
    GateCapture::new(Destination { group: Some(gate_group(job)), ..to.clone() }, job.workspace.clone())
}

/// What the captures of a heartbeat have in common.
fn group(job: &Job) -> String {
    slug(&job.workspace, job.name.as_deref())
}

/// What the captures of a heartbeat's gates have in common. A gate that skips every beat leaves the last agent's
/// capture alone.
fn gate_group(job: &Job) -> String {
    format!("{}+gates", group(job))
}
