//! A lock file about a process, which the process keeps locked for as long as it lives. If someone else can lock
//! it, the process is dead. PIDs are never trusted.
//!
//! The file is written at full size at the start, so that updates succeed even on a full disk.

use super::atomic;
use super::file::open_regular;
use super::lock::{self, Lock};
use super::unreadable::unreadable;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The size of a lock file, in bytes.
pub const SIZE: usize = 16 << 10;

/// The size of a spare file, in bytes: enough for most contents, and one block on most file systems.
pub const SPARE_SIZE: usize = 4 << 10;

/// A lock file that this process holds.
#[derive(Debug)]
pub struct ProcessLock {
    path: PathBuf,
    lock: Lock,
    /// The size of the file, in bytes.
    size: AtomicUsize,
}

/// Whether the contents must survive a power failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// Sync to disk.
    Synced,
    /// They are useless after a reboot.
    Unsynced,
}

impl ProcessLock {
    /// Creates and locks `name` in `folder`. Creates `folder` as well, but not its parent. Returns `None` if the
    /// file exists already.
    pub fn create(
        folder: &Path,
        name: &str,
        text: &[u8],
        durability: Durability,
    ) -> io::Result<Option<Self>> {
        Self::create_sized(folder, name, padded(text.to_vec(), SIZE)?, durability)
    }

    /// Creates the spare file `name` in `folder` for [`Self::create_from`]. An existing one stays as it is.
    pub fn create_spare(folder: &Path, name: &str) -> io::Result<()> {
        Self::create_sized(folder, name, padded(Vec::new(), SPARE_SIZE)?, Durability::Unsynced).map(drop)
    }

    fn create_sized(
        folder: &Path,
        name: &str,
        text: Vec<u8>,
        durability: Durability,
    ) -> io::Result<Option<Self>> {
        let (path, size) = (folder.join(name), AtomicUsize::new(text.len()));
        // Lock and fill it before it gets its name, so that it is never mistaken for a dead process's file.
        let fill = |file: File| {
            let lock = lock::try_take(file)?.ok_or(io::ErrorKind::ResourceBusy)?;
            lock.file().write_all(&text)?;
            if durability == Durability::Synced {
                lock.file().sync_data()?;
            }
            Ok::<Lock, io::Error>(lock)
        };
        // Prefer an unnamed file, which leaves nothing behind if this process is killed now.
        let nameless = nameless::make(folder).or_else(|| {
            atomic::create_private_subfolder(folder).ok()?;
            nameless::make(folder)
        });
        if let Some(file) = nameless {
            let lock = fill(file)?;
            match nameless::name(lock.file(), &path) {
                Ok(()) => return Ok(Some(Self { path, lock, size })),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(None),
                Err(_) => {}
            }
        }
        atomic::create_private_subfolder(folder)?;
        let temporary = tempfile::Builder::new().prefix(".new-").tempfile_in(folder)?;
        let lock = fill(temporary.as_file().try_clone()?)?;
        match temporary.persist_noclobber(&path) {
            Ok(_) => Ok(Some(Self { path, lock, size })),
            Err(failed) if failed.error.kind() == io::ErrorKind::AlreadyExists => Ok(None),
            Err(failed) => Err(failed.error),
        }
    }

    /// Renames the spare file at `spare` to `name` in `folder` and locks it, without allocating disk space.
    /// Returns `None` if the spare is gone or in use.
    pub fn create_from(spare: &Path, folder: &Path, name: &str, text: &[u8]) -> io::Result<Option<Self>> {
        let Some(held) = Self::take_over(spare)? else { return Ok(None) };
        held.rewrite(text)?;
        let path = folder.join(name);
        std::fs::rename(spare, &path)?;
        Ok(Some(Self { path, ..held }))
    }

    /// Whether it was created from a spare file.
    #[must_use]
    pub fn is_spare(&self) -> bool {
        self.size.load(Ordering::Relaxed) <= SPARE_SIZE
    }

    /// Renames it to the spare file at `spare`.
    pub fn keep_as_spare(&self, spare: &Path) -> io::Result<()> {
        std::fs::rename(&self.path, spare)
    }

    /// Takes over the file at `path` from a dead process. Returns `None` if the process lives or the file is gone.
    pub fn take_over(path: &Path) -> io::Result<Option<Self>> {
        let file = match open_regular(path, File::options().read(true).write(true)) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let Some(lock) = lock::try_take(file)? else { return Ok(None) };
        let size = AtomicUsize::new(usize::try_from(lock.file().metadata()?.len()).unwrap_or(SIZE));
        Ok(Some(Self { path: path.to_path_buf(), lock, size }).filter(Self::is_there))
    }

    /// Whether the file was deleted. False if it was moved.
    #[must_use]
    pub fn is_deleted(&self) -> bool {
        self.lock.file().metadata().is_ok_and(|ours| ours.nlink() == 0)
    }

    /// Whether the file is still at its path.
    #[must_use]
    pub fn is_there(&self) -> bool {
        let (Ok(ours), Ok(named)) = (self.lock.file().metadata(), self.path.metadata()) else { return false };
        (ours.dev(), ours.ino()) == (named.dev(), named.ino())
    }

    /// Overwrites the contents with `text`, without allocating disk space if it fits.
    ///
    /// # Errors
    /// [`io::ErrorKind::FileTooLarge`] if `text` is too long.
    pub fn rewrite(&self, text: &[u8]) -> io::Result<()> {
        let mut size = self.size.load(Ordering::Relaxed);
        if text.len() >= size && size < SIZE {
            // A spare file that is too small. Extend it first, so that the old contents survive a full disk.
            self.lock.file().write_all_at(&vec![b' '; SIZE - size], size as u64)?;
            size = SIZE;
            self.size.store(size, Ordering::Relaxed);
        }
        self.lock.file().write_all_at(&padded(text.to_vec(), size)?, 0)
    }

    /// Syncs the contents to disk.
    pub fn sync(&self) -> io::Result<()> {
        self.lock.file().sync_data()
    }

    /// Returns the contents.
    pub fn read(&self) -> io::Result<Vec<u8>> {
        let mut text = vec![0; self.size.load(Ordering::Relaxed)];
        self.lock.file().read_exact_at(&mut text, 0)?;
        Ok(text)
    }

    /// Deletes the file.
    pub fn remove(self) -> io::Result<()> {
        std::fs::remove_file(&self.path)
    }
}

/// A lock file of any process.
#[derive(Debug)]
pub struct LockFile {
    /// Its path.
    pub path: PathBuf,
    /// Whether its process lives.
    pub is_held: bool,
    /// Its contents.
    pub text: Vec<u8>,
}

/// Returns the lock files in `folder` (`*.json`), sorted by name. Files that are not readable are skipped, because
/// they are just being removed. A missing folder counts as empty.
pub fn all(folder: &Path) -> io::Result<Vec<LockFile>> {
    all_but(folder, |_| false)
}

/// Like [`all`], but skips files whose name without `.json` is `known`, without opening them.
pub fn all_but(folder: &Path, known: impl Fn(&str) -> bool) -> io::Result<Vec<LockFile>> {
    let mut found = Vec::new();
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(found),
        Err(error) => return Err(unreadable(folder, error)),
    };
    for entry in entries {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().as_encoded_bytes();
        // Hidden files are not ready yet: a file gets its final name after it is locked and filled.
        let Some(stem) = name.strip_suffix(b".json").filter(|stem| !stem.starts_with(b".")) else { continue };
        if !str::from_utf8(stem).is_ok_and(&known) {
            found.extend(look(&path));
        }
    }
    found.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(found)
}

/// Returns the lock file at `path`, or `None` if it is not readable.
#[must_use]
pub fn look(path: &Path) -> Option<LockFile> {
    let file = open_regular(path, File::options().read(true)).ok()?;
    let is_held = lock::is_held(&file).ok()?;
    let mut text = Vec::new();
    // Read after checking the lock: a dead process has written all it ever will.
    (&file).read_to_end(&mut text).ok()?;
    Some(LockFile { path: path.to_path_buf(), is_held, text })
}

/// Files that get a name once they are complete (`O_TMPFILE`). Not supported by every file system, and naming
/// needs `/proc`.
#[cfg(target_os = "linux")]
mod nameless {
    use rustix::fs::{AtFlags, CWD, Mode, OFlags};
    use std::fs::File;
    use std::io;
    use std::os::fd::AsRawFd;
    use std::path::Path;

    pub(super) fn make(folder: &Path) -> Option<File> {
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        rustix::fs::openat(CWD, folder, flags, Mode::RUSR | Mode::WUSR).ok().map(File::from)
    }

    /// Links the file to `path` unless that exists.
    pub(super) fn name(file: &File, path: &Path) -> io::Result<()> {
        let file = format!("/proc/self/fd/{}", file.as_raw_fd());
        Ok(rustix::fs::linkat(CWD, &file, CWD, path, AtFlags::SYMLINK_FOLLOW)?)
    }
}

#[cfg(not(target_os = "linux"))]
mod nameless {
    use std::fs::File;
    use std::io;
    use std::path::Path;

    pub(super) fn make(_folder: &Path) -> Option<File> {
        None
    }

    pub(super) fn name(_file: &File, _path: &Path) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

fn padded(mut text: Vec<u8>, size: usize) -> io::Result<Vec<u8>> {
    if text.len() >= size {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    text.resize(size - 1, b' ');
    text.push(b'\n');
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_locked_until_its_process_is_dead() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        let create = || ProcessLock::create(folder.path(), "a.json", b"one", Durability::Unsynced).unwrap();
        let held = create().unwrap();
        assert!(create().is_none());
        assert!(ProcessLock::take_over(&path).unwrap().is_none());
        assert!(all(folder.path()).unwrap()[0].is_held);
        held.rewrite(b"two").unwrap();
        drop(held);
        let found = all(folder.path()).unwrap().remove(0);
        assert!(!found.is_held);
        assert_eq!((found.text.trim_ascii_end(), found.text.len()), (&b"two"[..], SIZE));
        let taken = ProcessLock::take_over(&path).unwrap().unwrap();
        assert_eq!(taken.read().unwrap(), found.text);
        taken.remove().unwrap();
        assert!(ProcessLock::take_over(&path).unwrap().is_none());
        assert!(all(folder.path()).unwrap().is_empty());
    }

    /// Passes trivially on file systems without O_TMPFILE.
    #[cfg(target_os = "linux")]
    #[test]
    fn an_unnamed_file_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        let count = || std::fs::read_dir(folder.path()).unwrap().count();
        let Some(file) = nameless::make(folder.path()) else { return };
        assert_eq!((count(), file.metadata().unwrap().mode() & 0o7777), (0, 0o600));
        nameless::name(&file, &path).unwrap();
        assert_eq!(path.metadata().unwrap().ino(), file.metadata().unwrap().ino());
        let second = nameless::make(folder.path()).unwrap();
        assert_eq!(nameless::name(&second, &path).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(count(), 1);
    }

    #[test]
    fn contents_that_are_too_long_are_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let long = vec![b'x'; SIZE];
        let error = ProcessLock::create(folder.path(), "a.json", &long, Durability::Unsynced).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
