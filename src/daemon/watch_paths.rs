//! The paths that the daemon watches.

use murmur_core::config::heartbeat::{FILE, FOLDER, Heartbeat};
use std::path::Path;
use sys::paths::DataDir;
use sys::watch::WatchedFolder;

/// config.json, approved.json, paused.json, config.toml at `settings`, and every file and folder that defines
/// `heartbeats` or may define new ones. Lazy, as there may be thousands.
pub fn edits<'a>(
    dir: &DataDir,
    settings: &Path,
    heartbeats: &'a [Heartbeat],
) -> impl Iterator<Item = WatchedFolder> + 'a {
    let own = WatchedFolder::new(dir.root(), &["config.json", "approved.json", "paused.json"]);
    // config.json may be a symlink into another folder, such as a dotfiles repository.
    let real = dir.config().canonicalize().ok();
    let folder = real.as_deref().and_then(Path::parent).filter(|folder| *folder != dir.root());
    let target = folder.map(|folder| WatchedFolder::new(folder, &[]));
    let settings =
        settings.parent().and_then(|folder| WatchedFolder::existing_or_coming(folder, &["config.toml"]));
    // Heartbeats of one workspace are adjacent.
    let workspaces = heartbeats.chunk_by(|one, next| one.workspace == next.workspace);
    let workspaces = workspaces.filter_map(<[Heartbeat]>::first);
    std::iter::once(own)
        .chain(target)
        .chain(settings)
        .chain(workspaces.flat_map(|first| workspace(&first.workspace)))
}

/// One workspace: its folder, `heartbeats/`, and every folder in that, even without a file.
fn workspace(folder: &Path) -> Vec<WatchedFolder> {
    if !folder.is_dir() {
        return Vec::from_iter(WatchedFolder::coming(folder));
    }
    let mut places = vec![WatchedFolder::new(folder, &[FILE, FOLDER])];
    let named = folder.join(FOLDER);
    if let Ok(entries) = std::fs::read_dir(&named) {
        places.push(WatchedFolder::new(&named, &[]));
        let folders = entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir());
        places.extend(folders.map(|path| WatchedFolder::new(&path, &[FILE])));
    }
    places
}

/// What a beat writes when it starts and ends: its record, its journal line, and the usage limits that it met; and the
/// failures that `murmur resume` removes.
#[must_use]
pub fn beats(dir: &DataDir) -> [WatchedFolder; 2] {
    [
        WatchedFolder::new(&dir.beats(), &[]),
        WatchedFolder::new(dir.root(), &["heartbeats.jsonl", "limits.json", "failures.json"]),
    ]
}
