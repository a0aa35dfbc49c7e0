//! Advisory file locks. They end with the process that holds them, so a crash leaves none behind.
//!
//! A lock belongs to the open file. A child between fork and exec has that open too, so closing the file doesn't
//! release the lock while another thread is starting a program; [`Lock`] therefore releases it explicitly.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
#[cfg(unix)]
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

/// A lock that is held until this is dropped.
#[derive(Debug)]
pub struct Lock(File);

impl Lock {
    /// The locked file, to write into.
    #[must_use]
    pub fn file(&self) -> &File {
        &self.0
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Where this fails, closing the file releases it.
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

/// Takes the lock on `path` (made with mode 0600 where it does not exist), or says by `None` that another has it.
///
/// # Errors
/// What the system says of opening or locking.
pub fn try_lock(path: &Path) -> io::Result<Option<Lock>> {
    let file = open(path)?;
    Ok(try_take(&file)?.then_some(Lock(file)))
}

/// Whether somebody holds the lock on `file`. Looking does not get in the way of others that look, and of one that
/// wants the lock only for the moment: who fails to get it must ask this before blaming anybody.
///
/// # Errors
/// What the system says of locking.
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

/// Takes the lock on `file`, or says by `false` that another has it. One that only looks is waited for.
///
/// # Errors
/// What the system says of locking.
pub fn try_take(file: &File) -> io::Result<bool> {
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(true),
            Err(TryLockError::WouldBlock) if is_held(file)? => return Ok(false),
            Err(TryLockError::WouldBlock) => std::thread::yield_now(),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
}

/// The process that has the exclusive lock on `file`, as the kernel lists it. `None` if nobody has, or if the system
/// does not tell (it is asked by `/proc/locks`, which is Linux's).
///
/// # Errors
/// What the system says of `file`.
#[cfg(unix)]
pub fn holder(file: &File) -> io::Result<Option<u32>> {
    let found = file.metadata()?;
    // The same type on no two systems, but never wider.
    let (device, inode) = (found.dev() as rustix::fs::Dev, found.ino());
    let place = format!("{:02x}:{:02x}:{inode}", rustix::fs::major(device), rustix::fs::minor(device));
    Ok(listed(&std::fs::read_to_string("/proc/locks").unwrap_or_default(), &place))
}

/// The PID of the exclusive lock on `place` in `/proc/locks`; lines with `->` only wait for one.
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

/// Takes the lock on `path`, waiting for as long as another has it.
///
/// # Errors
/// What the system says of opening or locking.
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
    fn the_holder_is_the_one_that_has_it_and_not_one_that_waits_or_looks() {
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
    fn a_child_that_has_not_called_exec_yet_does_not_keep_the_lock() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let held = try_lock(&path).unwrap().unwrap();
        // What fork does to it.
        let inherited = held.file().try_clone().unwrap();
        drop(held);
        assert!(try_lock(&path).unwrap().is_some());
        drop(inherited);
    }

    #[test]
    fn looking_keeps_nobody_from_taking() {
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
