//! Where a beat is captured, and packing the capture when it ended. The daemon removes it later.

use super::job::Job;
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

/// Packs the capture of `entry` in the store at `root`. Best effort: otherwise it stays readable as it is.
pub(super) fn pack(root: &Path, job: &Job, entry: &Entry) {
    let (Some(id), Ok(store)) = (&entry.capture, Store::open(root)) else { return };
    let label = Label { group: group(job), failed: entry.outcome == Kind::Error };
    let _best_effort = pack::pack(&store, id, &label, entry.duration_ms >= SYNCED);
}

/// Where the output of `job` is captured, if the store is at `root`.
pub(super) fn destination(job: &Job, root: Option<PathBuf>) -> Destination {
    // Wrong settings end the beat elsewhere.
    let settings = Settings::read(&job.user.settings.settings()).unwrap_or_default();
    Destination { root, limits: settings.captures, group: Some(group(job)) }
}

/// What the captures of a heartbeat have in common.
fn group(job: &Job) -> String {
    slug(&job.workspace, job.name.as_deref())
}
