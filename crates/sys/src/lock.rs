//! Advisory file locks. A lock ends with the process that holds it, so a crash leaves none behind.
//!
//! A lock belongs to the open file description. A child between fork and exec shares it, so closing the file
//! doesn't release the lock while another thread starts a program. [`Lock`] therefore unlocks explicitly.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
#[cfg(unix)]
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

/// A lock, released on drop.
#[derive(Debug)]
pub struct Lock(File);

impl Lock {
    /// The locked file.
    #[must_use]
    pub fn file(&self) -> &File {
        &self.0
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // If this fails, closing the file releases the lock.
        let _closing_does_it = self.0.unlock();
    }
}

fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    return super::file::open_regular(path, options.mode(0o600));
    #[cfg(windows)]
    options.open(path)
}

/// Locks `path`, creating it with mode 0600 if it doesn't exist. Returns `None` if the lock is taken.
pub fn try_lock(path: &Path) -> io::Result<Option<Lock>> {
    try_take(open(path)?)
}

/// Whether the lock on `file` is held. The check takes a shared lock for a moment, which other checks tolerate. A
/// caller that failed to get an exclusive lock must ask this before it reports a conflict.
pub fn is_held(file: &File) -> io::Result<bool> {
    match file.try_lock_shared() {
        Ok(()) => {
            file.unlock()?;
            Ok(false)
        }
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Locks `file`. Returns `None` if the lock is taken. Waits for callers of [`is_held`], which hold it only briefly.
pub fn try_take(file: File) -> io::Result<Option<Lock>> {
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(Some(Lock(file))),
            Err(TryLockError::WouldBlock) if is_held(&file)? => return Ok(None),
            Err(TryLockError::WouldBlock) => std::thread::yield_now(),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
}

/// The process that holds the exclusive lock on `file`, according to `/proc/locks`. `None` if there is none or if
/// it is unknown (only Linux has this list).
#[cfg(unix)]
pub fn holder(file: &File) -> io::Result<Option<u32>> {
    let found = file.metadata()?;
    // The type of `st_dev` differs between systems, but is never wider.
    let (device, inode) = (found.dev() as rustix::fs::Dev, found.ino());
    let place = format!("{:02x}:{:02x}:{inode}", rustix::fs::major(device), rustix::fs::minor(device));
    Ok(listed(&std::fs::read_to_string("/proc/locks").unwrap_or_default(), &place))
}

/// The PID with the exclusive lock on `place` in `/proc/locks`. Lines with `->` are waiters.
#[cfg(unix)]
fn listed(locks: &str, place: &str) -> Option<u32> {
    locks.lines().find_map(|line| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        match fields[..] {
            [_, "FLOCK", _, "WRITE", pid, at, ..] if at == place => pid.parse().ok(),
            _ => None,
        }
    })
}

/// Locks `path`, waiting until the lock is free.
pub fn lock(path: &Path) -> io::Result<Lock> {
    let file = open(path)?;
    file.lock()?;
    Ok(Lock(file))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn the_holder_is_neither_a_waiter_nor_a_reader() {
        let locks = "\
1: POSIX  ADVISORY  WRITE 10 fe:00:7 0 EOF
2: FLOCK  ADVISORY  READ 11 fe:00:7 0 EOF
3: -> FLOCK  ADVISORY  WRITE 12 fe:00:7 0 EOF
4: FLOCK  ADVISORY  WRITE 13 fe:00:8 0 EOF
5: FLOCK  ADVISORY  WRITE 14 fe:00:7 0 EOF
";
        assert_eq!(listed(locks, "fe:00:7"), Some(14));
        assert_eq!(listed(locks, "fe:00:9"), None);
    }

    #[test]
    fn a_child_before_exec_does_not_keep_the_lock() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let held = try_lock(&path).unwrap().unwrap();
        // Same effect as fork.
        let inherited = held.file().try_clone().unwrap();
        drop(held);
        assert!(try_lock(&path).unwrap().is_some());
        drop(inherited);
    }

    #[test]
    fn checking_a_lock_does_not_prevent_taking_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let held = try_lock(&path).unwrap().unwrap();
        let other = File::open(&path).unwrap();
        assert!(is_held(&other).unwrap());
        assert!(try_lock(&path).unwrap().is_none());
        drop(held);
        assert!(!is_held(&other).unwrap());
        assert!(try_lock(&path).unwrap().is_some());
    }
}
