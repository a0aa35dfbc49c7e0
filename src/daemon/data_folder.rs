//! Watches whether the data folder is still where the daemon found it.
//!
//! If the folder, the daemon's lock or its socket is moved or deleted, another daemon can start there. Deleting a
//! folder removes its files first; nothing may be created in it meanwhile.

use super::config_watcher::changed;
use super::instance::Instance;
use std::fmt;
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};
use sys::anchor::{Anchor, FolderState};
use sys::paths::DataDir;
use sys::pause::wait_until;
use sys::watch::{Watch, WatchedFolder};
use tokio::time::Instant;

/// How long the folder must stay unchanged after a file is gone: it may be in the middle of being deleted.
const SETTLE: Duration = Duration::from_secs(1);
/// How many times in a row to wait for that.
const MAX_ROUNDS: u32 = 10;

/// The running daemon's data folder.
#[derive(Debug)]
pub struct DataFolder {
    dir: DataDir,
    anchor: Anchor,
    lock: FileId,
    watch: Option<Watch>,
    settling: Option<Settling>,
}

/// A file is gone, and the folder may follow.
#[derive(Debug)]
struct Settling {
    until: Instant,
    changed_at: Option<SystemTime>,
    rounds: u32,
}

/// Identifies a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileId {
    device: u64,
    inode: u64,
}

/// What was moved or deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lost {
    /// The folder itself.
    Folder(PathBuf),
    /// The daemon's lock or its socket.
    File(PathBuf),
}

impl fmt::Display for Lost {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(path) => write!(out, "the data folder {} was moved or deleted", path.display()),
            Self::File(path) => write!(out, "{} was moved or deleted", path.display()),
        }
    }
}

impl Lost {
    /// The message of a daemon that stops because of it.
    #[must_use]
    pub fn stop_message(&self) -> String {
        format!("{self}; murmur stops, since another daemon could start there")
    }
}

impl DataFolder {
    /// Starts to watch the folder in which the daemon took its lock, with that lock and the daemon's socket.
    pub fn new(dir: DataDir, instance: &Instance) -> io::Result<Self> {
        let watch = Watch::new(watch_paths(&dir)).ok();
        let lock = FileId::of(&instance.lock_file().metadata()?);
        Ok(Self { dir, anchor: instance.folder().try_clone()?, lock, watch, settling: None })
    }

    /// Waits until it is lost; forever where it cannot be watched.
    pub async fn lost(&mut self) -> Lost {
        loop {
            let until = match self.check() {
                Some(lost) if matches!(lost, Lost::Folder(_)) || self.has_settled() => return lost,
                Some(_) => self.settling.as_ref().map(|settling| settling.until),
                None => {
                    self.settling = None;
                    None
                }
            };
            tokio::select! {
                changed = changed(&mut self.watch) => if changed.is_err() { self.watch = None },
                () = wait_until(until) => {}
            }
        }
    }

    /// Whether the folder has been unchanged for long enough since a file was gone.
    fn has_settled(&mut self) -> bool {
        let (now, changed_at) = (Instant::now(), self.anchor.changed_at());
        let settling = self.settling.get_or_insert(Settling { until: now + SETTLE, changed_at, rounds: 1 });
        if now < settling.until {
            return false;
        }
        if settling.changed_at == changed_at || settling.rounds >= MAX_ROUNDS {
            return true;
        }
        *settling = Settling { until: now + SETTLE, changed_at, rounds: settling.rounds + 1 };
        false
    }

    /// Returns what is lost now, if anything.
    #[must_use]
    pub fn check(&self) -> Option<Lost> {
        if self.anchor.state() != FolderState::InPlace {
            return Some(Lost::Folder(self.dir.root().to_path_buf()));
        }
        let socket = self.dir.root().join(self.dir.socket_name());
        if self.dir.pid().metadata().map(|found| FileId::of(&found)).ok() != Some(self.lock) {
            Some(Lost::File(self.dir.pid()))
        } else {
            (!socket.exists()).then_some(Lost::File(socket))
        }
    }
}

impl FileId {
    fn of(found: &Metadata) -> Self {
        Self { device: found.dev(), inode: found.ino() }
    }
}

/// The folder, its ancestors, and every symlink on the way.
fn watch_paths(dir: &DataDir) -> Vec<WatchedFolder> {
    let root = dir.root();
    let mut places = vec![WatchedFolder::new(root, &["murmur.pid", "murmur.sock"])];
    let real = root.canonicalize().unwrap_or_else(|_| root.to_path_buf());
    places.extend(real.ancestors().skip(1).map(WatchedFolder::itself));
    places.extend(root.ancestors().filter(|step| step.is_symlink()).filter_map(WatchedFolder::of));
    places
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::super::instance::become_daemon;
    use super::*;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    /// A data folder `link/above/data`, where `link` leads to `real`, and its daemon.
    fn folder() -> (tempfile::TempDir, DataDir, Instance) {
        let top = tempfile::tempdir().unwrap();
        let data = top.path().join("real/above/data");
        std::fs::create_dir_all(&data).unwrap();
        std::fs::write(data.join("murmur.sock"), "").unwrap();
        symlink("real", top.path().join("link")).unwrap();
        let dir = DataDir::find(Some(&top.path().join("link/above/data")), None, None).unwrap();
        let instance = become_daemon(&dir).unwrap().unwrap();
        (top, dir, instance)
    }

    #[tokio::test(flavor = "current_thread")]
    async fn whatever_makes_the_path_lead_elsewhere_is_noticed() {
        type Step = fn(&Path) -> io::Result<()>;
        let moves: [Step; 6] = [
            |top| std::fs::rename(top.join("real/above/data"), top.join("elsewhere")),
            |top| std::fs::rename(top.join("real/above"), top.join("elsewhere")),
            |top| std::fs::rename(top.join("real"), top.join("elsewhere")),
            |top| std::fs::remove_file(top.join("link")),
            |top| std::fs::remove_dir_all(top.join("real/above/data")),
            |top| std::fs::remove_dir_all(top.join("real")),
        ];
        for step in moves {
            let (top, dir, instance) = folder();
            let mut data = DataFolder::new(dir.clone(), &instance).unwrap();
            let other = top.path().join("real/above/data/other");
            std::fs::write(other, "").unwrap();
            assert_eq!(data.check(), None);
            let (lost, stepped) = tokio::join!(data.lost(), async { step(top.path()) });
            stepped.unwrap();
            // A folder that is being deleted loses its files first.
            let file = |name: &str| Lost::File(dir.root().join(name));
            let expected = [Lost::Folder(dir.root().to_path_buf()), file("murmur.pid"), file("murmur.sock")];
            assert!(expected.contains(&lost), "{lost}");
        }
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_lock_or_a_socket_that_goes_away_is_noticed() {
        for name in ["murmur.pid", "murmur.sock"] {
            let (_top, dir, instance) = folder();
            let mut data = DataFolder::new(dir.clone(), &instance).unwrap();
            let path = dir.root().join(name);
            let (lost, ()) = tokio::join!(data.lost(), async { std::fs::remove_file(&path).unwrap() });
            assert_eq!(lost, Lost::File(path));
        }
    }

    /// Its events may still wait to be read when the next daemon has started in a new folder.
    #[tokio::test(flavor = "current_thread")]
    async fn a_folder_that_was_replaced_before_it_was_watched_is_lost() {
        let (top, dir, instance) = folder();
        std::fs::rename(top.path().join("real/above/data"), top.path().join("elsewhere")).unwrap();
        std::fs::create_dir(top.path().join("real/above/data")).unwrap();
        let _next = become_daemon(&dir).unwrap().unwrap();
        std::fs::write(dir.root().join("murmur.sock"), "").unwrap();
        let mut data = DataFolder::new(dir.clone(), &instance).unwrap();
        assert_eq!(data.lost().await, Lost::Folder(dir.root().to_path_buf()));
    }
}
