//! A folder that a process depends on, by a descriptor: whether it is still at its path, was moved, or was deleted.
//!
//! As long as the descriptor is open, no other folder gets its number. Being told of removals costs no watch, of which a
//! user has few: every host can afford it.

use super::process::Signal;
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The folder as it was when the process began to depend on it.
#[derive(Debug)]
pub struct Anchor {
    path: PathBuf,
    folder: File,
}

/// What became of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whereabouts {
    /// It is at its path.
    There,
    /// It exists, and its path leads nowhere or to another folder.
    Moved,
    /// It does not exist any more.
    Deleted,
}

impl Anchor {
    /// The folder that is at `path` now.
    ///
    /// # Errors
    /// What the system says of opening it.
    pub fn new(path: &Path) -> io::Result<Self> {
        Ok(Self { path: path.to_path_buf(), folder: File::open(path)? })
    }

    /// What became of it by now.
    #[must_use]
    pub fn look(&self) -> Whereabouts {
        let Ok(ours) = self.folder.metadata() else { return Whereabouts::There };
        if ours.nlink() == 0 {
            return Whereabouts::Deleted;
        }
        let is_at = |found: std::fs::Metadata| (found.dev(), found.ino()) == (ours.dev(), ours.ino());
        if self.path.metadata().is_ok_and(is_at) { Whereabouts::There } else { Whereabouts::Moved }
    }

    /// When something directly in it was made, renamed or removed last.
    #[must_use]
    pub fn changed_at(&self) -> Option<SystemTime> {
        self.folder.metadata().and_then(|found| found.modified()).ok()
    }

    /// Has this process get `signal` whenever something directly in it is removed or renamed, as long as this is there
    /// (Linux).
    ///
    /// # Errors
    /// What the system says; then it does not tell.
    pub fn signal_removals(&self, signal: Signal) -> io::Result<()> {
        #[cfg(target_os = "linux")]
        return linux::signal_removals(&self.folder, signal);
        #[cfg(not(target_os = "linux"))]
        {
            let _unused = signal;
            Err(io::ErrorKind::Unsupported.into())
        }
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use super::{File, Signal, io};
    use std::os::fd::AsRawFd;

    /// From the kernel's headers: which signal `F_NOTIFY` sends, and what it tells of, not only once.
    const SET_SIGNAL: libc::c_int = 10;
    const REMOVALS: libc::c_ulong = 0x8 | 0x10 | 0x8000_0000;

    pub(super) fn signal_removals(folder: &File, signal: Signal) -> io::Result<()> {
        let folder = folder.as_raw_fd();
        let fcntl = |command, argument: libc::c_ulong| {
            // SAFETY: the descriptor is open, and the commands take a number and no pointer.
            #[expect(unsafe_code, reason = "rustix does not have these commands")]
            let done = unsafe { libc::fcntl(folder, command, argument) };
            if done == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
        };
        fcntl(SET_SIGNAL, libc::c_ulong::try_from(signal.as_raw()).unwrap_or_default())?;
        fcntl(libc::F_NOTIFY, REMOVALS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_there_or_moved_or_deleted_whatever_is_at_its_path() {
        let top = tempfile::tempdir().unwrap();
        let (path, other) = (top.path().join("data"), top.path().join("other"));
        std::fs::create_dir(&path).unwrap();
        let anchor = Anchor::new(&path).unwrap();
        assert_eq!(anchor.look(), Whereabouts::There);
        std::fs::rename(&path, &other).unwrap();
        assert_eq!(anchor.look(), Whereabouts::Moved);
        std::fs::create_dir(&path).unwrap();
        assert_eq!(anchor.look(), Whereabouts::Moved);
        std::fs::remove_dir(&path).unwrap();
        std::fs::rename(&other, &path).unwrap();
        assert_eq!(anchor.look(), Whereabouts::There);
        std::fs::remove_dir(&path).unwrap();
        assert_eq!(anchor.look(), Whereabouts::Deleted);
        std::fs::create_dir(&path).unwrap();
        assert_eq!(anchor.look(), Whereabouts::Deleted);
    }

    #[cfg(target_os = "linux")]
    #[tokio::test(flavor = "current_thread")]
    async fn a_removal_is_told_by_a_signal() {
        use tokio::signal::unix::{SignalKind, signal};
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("hosts")).unwrap();
        let mut told = signal(SignalKind::from_raw(Signal::URG.as_raw())).unwrap();
        let anchor = Anchor::new(folder.path()).unwrap();
        anchor.signal_removals(Signal::URG).unwrap();
        for _ in 0..2 {
            std::fs::remove_dir(folder.path().join("hosts")).unwrap();
            told.recv().await.unwrap();
            std::fs::create_dir(folder.path().join("hosts")).unwrap();
        }
    }
}
