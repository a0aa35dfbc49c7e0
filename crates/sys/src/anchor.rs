//! A folder that a process depends on, held open to detect when it is moved or deleted.
//!
//! An open descriptor keeps the inode number from being reused. Removals are reported by `F_NOTIFY`, which doesn't
//! count against the user's limit of inotify watches, so every host can use it.

use super::process::Signal;
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// An open folder and the path it was opened at.
#[derive(Debug)]
pub struct Anchor {
    path: PathBuf,
    folder: File,
}

/// The current state of the folder of an [`Anchor`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FolderState {
    /// It is still at its path.
    InPlace,
    /// It exists, but its path leads to another folder or nowhere.
    Moved,
    /// It was deleted.
    Deleted,
}

impl Anchor {
    /// Opens the folder at `path`.
    pub fn new(path: &Path) -> io::Result<Self> {
        Ok(Self { path: path.to_path_buf(), folder: File::open(path)? })
    }

    /// Another handle to the same folder.
    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(Self { path: self.path.clone(), folder: self.folder.try_clone()? })
    }

    /// Returns the state of the folder now.
    #[must_use]
    pub fn state(&self) -> FolderState {
        let Ok(ours) = self.folder.metadata() else { return FolderState::InPlace };
        if ours.nlink() == 0 {
            return FolderState::Deleted;
        }
        let is_at = |found: std::fs::Metadata| (found.dev(), found.ino()) == (ours.dev(), ours.ino());
        if self.path.metadata().is_ok_and(is_at) { FolderState::InPlace } else { FolderState::Moved }
    }

    /// The time of the last change to the folder's entries.
    #[must_use]
    pub fn changed_at(&self) -> Option<SystemTime> {
        self.folder.metadata().and_then(|found| found.modified()).ok()
    }

    /// Sends `signal` to this process whenever an entry of the folder is removed or renamed, for as long as `self`
    /// lives (Linux).
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

    /// From the kernel's headers: F_SETSIG, and DN_DELETE, DN_RENAME and DN_MULTISHOT for F_NOTIFY.
    const SET_SIGNAL: libc::c_int = 10;
    const REMOVALS: libc::c_ulong = 0x8 | 0x10 | 0x8000_0000;

    pub(super) fn signal_removals(folder: &File, signal: Signal) -> io::Result<()> {
        let folder = folder.as_raw_fd();
        let fcntl = |command, argument: libc::c_ulong| {
            // SAFETY: the descriptor is open, and the commands take an integer.
            #[expect(unsafe_code, reason = "rustix lacks these commands")]
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
    fn moves_and_deletions_are_detected_even_if_another_folder_takes_the_path() {
        let top = tempfile::tempdir().unwrap();
        let (path, other) = (top.path().join("data"), top.path().join("other"));
        std::fs::create_dir(&path).unwrap();
        let anchor = Anchor::new(&path).unwrap();
        assert_eq!(anchor.state(), FolderState::InPlace);
        std::fs::rename(&path, &other).unwrap();
        assert_eq!(anchor.state(), FolderState::Moved);
        std::fs::create_dir(&path).unwrap();
        assert_eq!(anchor.state(), FolderState::Moved);
        std::fs::remove_dir(&path).unwrap();
        std::fs::rename(&other, &path).unwrap();
        assert_eq!(anchor.state(), FolderState::InPlace);
        std::fs::remove_dir(&path).unwrap();
        assert_eq!(anchor.state(), FolderState::Deleted);
        std::fs::create_dir(&path).unwrap();
        assert_eq!(anchor.state(), FolderState::Deleted);
    }

    #[cfg(target_os = "linux")]
    #[tokio::test(flavor = "current_thread")]
    async fn a_removal_sends_a_signal() {
        use tokio::signal::unix::{SignalKind, signal};
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("hosts")).unwrap();
        let mut signals = signal(SignalKind::from_raw(Signal::URG.as_raw())).unwrap();
        let anchor = Anchor::new(folder.path()).unwrap();
        anchor.signal_removals(Signal::URG).unwrap();
        for _ in 0..2 {
            std::fs::remove_dir(folder.path().join("hosts")).unwrap();
            signals.recv().await.unwrap();
            std::fs::create_dir(folder.path().join("hosts")).unwrap();
        }
    }
}
