//! Packs the capture of a beat that ended, which the daemon removes later.

use super::job::Job;
use derun::pack::{self, Label};
use derun::store::Store;
use murmur_core::outcome::Kind;
use murmur_store::journal::entry::Entry;
use std::path::Path;
use sys::paths::slug;

/// A session of this duration, in milliseconds, has been synced to disk, so its pack must be as well.
const SYNCED: u64 = 1000;

/// Packs the capture of `entry` in the store at `root`. Best effort: otherwise it stays readable as it is.
pub(super) fn pack(root: &Path, job: &Job, entry: &Entry) {
    let (Some(id), Ok(store)) = (&entry.capture, Store::open(root)) else { return };
    let group = slug(&job.workspace, job.name.as_deref());
    let label = Label { group, failed: entry.outcome == Kind::Error };
    let _best_effort = pack::pack(&store, id, &label, entry.duration_ms >= SYNCED);
}
