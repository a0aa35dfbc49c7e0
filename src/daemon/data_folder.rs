//! The data folder, and whether it is still where the daemon found it.
//!
//! Whoever moves or deletes it, or one of the two files in it that make the daemon the only one and reachable, lets another
//! daemon start there. The system tells of that; nothing here looks again and again.

use super::follow::changed;
use crate::sys::paths::DataDir;
use crate::sys::watch::{Place, Watch};
use std::fmt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The folder of the daemon that runs.
#[derive(Debug)]
pub struct DataFolder {
    dir: DataDir,
    folder: Option<FileId>,
    lock: Option<FileId>,
    watch: Option<Watch>,
}

/// Device and inode.
type FileId = (u64, u64);

/// What is not there any more.
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

impl DataFolder {
    /// The folder as it is now, with the daemon's lock and its socket in it.
    #[must_use]
    pub fn new(dir: DataDir) -> Self {
        let watch = Watch::new(places(&dir)).ok();
        let (folder, lock) = (id(dir.root()), id(&dir.pid()));
        Self { dir, folder, lock, watch }
    }

    /// Waits until it is lost. Where the system does not tell, that is for ever.
    pub async fn lost(&mut self) -> Lost {
        loop {
            if let Some(lost) = self.look() {
                return lost;
            }
            if changed(&mut self.watch).await.is_err() {
                self.watch = None;
            }
        }
    }

    /// What is lost now, if anything.
    #[must_use]
    pub fn look(&self) -> Option<Lost> {
        if id(self.dir.root()) != self.folder {
            return Some(Lost::Folder(self.dir.root().to_path_buf()));
        }
        let socket = self.dir.root().join(self.dir.socket_name());
        if id(&self.dir.pid()) != self.lock {
            Some(Lost::File(self.dir.pid()))
        } else {
            (!socket.exists()).then_some(Lost::File(socket))
        }
    }
}

fn id(path: &Path) -> Option<FileId> {
    path.metadata().ok().map(|found| (found.dev(), found.ino()))
}

/// The folder, every folder above it, and every link on the way.
fn places(dir: &DataDir) -> Vec<Place> {
    let root = dir.root();
    let mut places = vec![Place::new(root, &["murmur.pid", "murmur.sock"])];
    let real = root.canonicalize().unwrap_or_else(|_| root.to_path_buf());
    places.extend(real.ancestors().skip(1).map(Place::itself));
    places.extend(root.ancestors().filter(|step| step.is_symlink()).filter_map(Place::of));
    places
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// A data folder `link/above/data`, where `link` leads to `real`.
    fn folder() -> (tempfile::TempDir, DataDir) {
        let top = tempfile::tempdir().unwrap();
        let data = top.path().join("real/above/data");
        std::fs::create_dir_all(&data).unwrap();
        for name in ["murmur.pid", "murmur.sock"] {
            std::fs::write(data.join(name), "").unwrap();
        }
        symlink("real", top.path().join("link")).unwrap();
        let dir = DataDir::find(Some(&top.path().join("link/above/data")), None, None).unwrap();
        (top, dir)
    }

    #[tokio::test(flavor = "current_thread")]
    async fn whatever_makes_the_path_lead_elsewhere_is_noticed() {
        type Step = fn(&Path) -> std::io::Result<()>;
        let moves: [Step; 6] = [
            |top| std::fs::rename(top.join("real/above/data"), top.join("elsewhere")),
            |top| std::fs::rename(top.join("real/above"), top.join("elsewhere")),
            |top| std::fs::rename(top.join("real"), top.join("elsewhere")),
            |top| std::fs::remove_file(top.join("link")),
            |top| std::fs::remove_dir_all(top.join("real/above/data")),
            |top| std::fs::remove_dir_all(top.join("real")),
        ];
        for step in moves {
            let (top, dir) = folder();
            let mut data = DataFolder::new(dir.clone());
            let other = top.path().join("real/above/data/other");
            std::fs::write(other, "").unwrap();
            assert_eq!(data.look(), None);
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
            let (_top, dir) = folder();
            let mut data = DataFolder::new(dir.clone());
            let path = dir.root().join(name);
            let (lost, ()) = tokio::join!(data.lost(), async { std::fs::remove_file(&path).unwrap() });
            assert_eq!(lost, Lost::File(path));
        }
    }
}
