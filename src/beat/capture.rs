//! Where a beat and its gates are captured, and packing the captures when it ended. The daemon removes them later.

use super::job::Job;
use crate::gate::capture::GateCapture;
use derun::pack::{self, Label};
use derun::store::Store;
use murmur_core::config::settings::Settings;
use murmur_core::outcome::Kind;
use murmur_host::capture::Destination;
use murmur_store::journal::entry::Entry;
use std::path::{Path, PathBuf};
use sys::paths::slug;

/// A session of this duration, in milliseconds, has been synced to disk, so its pack must be as well.
const SYNCED: u64 = 1000;

/// Packs the captures of `entry` in the store at `root`. Best effort: otherwise they stay readable as they are.
pub(super) fn pack(root: &Path, job: &Job, entry: &Entry) {
    let captures = [(&entry.capture, group(job)), (&entry.gate_capture, gate_group(job))];
    for (id, group) in captures {
        let Some(id) = id else { continue };
        let Ok(store) = Store::open(root) else { continue };
        let label = Label { group, failed: entry.outcome == Kind::Error };
        let _best_effort = pack::pack(&store, id, &label, entry.duration_ms >= SYNCED);
    }
}

/// Where the output of `job` is captured, if the store is at `root`.
pub(super) fn destination(job: &Job, root: Option<PathBuf>) -> Destination {
    // Wrong settings end the beat elsewhere.
    let settings = Settings::read(&job.user.settings.settings()).unwrap_or_default();
    Destination { root, limits: settings.captures, group: Some(group(job)) }
}

/// What captures the output of the gates of `job`, whose agent is captured `to`.
pub(super) fn of_gates(job: &Job, to: &Destination) -> GateCapture {
    GateCapture::new(Destination { group: Some(gate_group(job)), ..to.clone() }, job.workspace.clone())
}

/// What the captures of a heartbeat have in common.
fn group(job: &Job) -> String {
    slug(&job.workspace, job.name.as_deref())
}

/// What the captures of a heartbeat's gates have in common. A gate that skips every beat leaves the last agent's capture alone.
fn gate_group(job: &Job) -> String {
    format!("{}+gates", group(job))
}
