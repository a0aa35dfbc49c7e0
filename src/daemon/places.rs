//! Where edits are looked for.

use crate::config::heartbeat::{FILE, FOLDER, Heartbeat};
use std::path::Path;
use sys::paths::DataDir;
use sys::watch::Place;

/// config.json, what is approved, and every file and folder from which `heartbeats` come, or from which new ones may come. One after the
/// other: there may be thousands.
pub fn edits<'a>(dir: &DataDir, heartbeats: &'a [Heartbeat]) -> impl Iterator<Item = Place> + 'a {
    let own = Place::new(dir.root(), &["config.json", "approved.json"]);
    // A link's target may be in a folder of its own, as where a user keeps all settings in one repository.
    let real = dir.config().canonicalize().ok();
    let folder = real.as_deref().and_then(Path::parent).filter(|folder| *folder != dir.root());
    let target = folder.map(|folder| Place::new(folder, &[]));
    // A workspace's heartbeats come one after the other.
    let workspaces = heartbeats.chunk_by(|one, next| one.workspace == next.workspace);
    let workspaces = workspaces.filter_map(<[Heartbeat]>::first);
    std::iter::once(own).chain(target).chain(workspaces.flat_map(|first| workspace(&first.workspace)))
}

/// The places of one workspace: its folder, `heartbeats/`, and every folder in that, whether it has a file yet or not.
fn workspace(folder: &Path) -> Vec<Place> {
    if !folder.is_dir() {
        return Vec::from_iter(Place::coming(folder));
    }
    let mut places = vec![Place::new(folder, &[FILE, FOLDER])];
    let named = folder.join(FOLDER);
    if let Ok(entries) = std::fs::read_dir(&named) {
        places.push(Place::new(&named, &[]));
        let folders = entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir());
        places.extend(folders.map(|path| Place::new(&path, &[FILE])));
    }
    places
}

/// What a beat leaves on disk when it begins and when it ends: its record, and its line.
#[must_use]
pub fn beats(dir: &DataDir) -> [Place; 2] {
    [Place::new(&dir.beats(), &[]), Place::new(dir.root(), &["heartbeats.jsonl"])]
}
