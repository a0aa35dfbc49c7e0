//! Replacing a file that other programs may edit in any way, without losing an edit.
//!
//! Another program's rename is noticed because the old and the new file are exchanged and the old one is checked
//! afterward. A program that has the file open for writing is noticed by a lease ([`super::lease`]): then nothing
//! is replaced, and programs that open it during the replacement wait. On systems without leases,
//! [`Replaced::late_edit`] detects such edits afterward.

use super::file::{read_at, read_regular};
use super::lease::{self, Taken};
use super::swap::{change_places, folder, put_back, stage};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The policy for a file that another program has open for writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenWriters {
    /// Fail with [`io::ErrorKind::ResourceBusy`].
    Refuse,
    /// Go ahead, because the program may never close it.
    Ignore,
}

/// The result of a replacement.
#[derive(Debug)]
pub enum Replacement {
    /// The file was replaced. Contains the old file, if there was one.
    Done(Option<Replaced>),
    /// Nothing was replaced, because the contents are not the expected ones.
    Changed,
}

/// A replaced file, with its old and its new contents.
#[derive(Debug)]
pub struct Replaced {
    old: File,
    expected: Vec<u8>,
    next: Vec<u8>,
}

impl Replaced {
    /// Returns what another program has written to the old file since, or `None`.
    ///
    /// # Errors
    /// [`io::ErrorKind::ResourceBusy`] if the old file is still open for writing.
    pub fn late_edit(&self) -> io::Result<Option<Vec<u8>>> {
        if all(&self.old)? == self.expected {
            return Ok(None);
        }
        match lease::take(&self.old) {
            Taken::Busy => Err(io::ErrorKind::ResourceBusy.into()),
            Taken::Lease(_) | Taken::Unknown => all(&self.old).map(Some),
        }
    }

    /// The old contents.
    #[must_use]
    pub fn before(&self) -> &[u8] {
        &self.expected
    }

    /// The new contents.
    #[must_use]
    pub fn next(&self) -> &[u8] {
        &self.next
    }
}

/// Returns the contents of the file at `path`, which may be a symlink; `None` if it doesn't exist.
///
/// # Errors
/// [`io::ErrorKind::InvalidInput`] if it is not a regular file.
pub fn read(path: &Path, open_writers: OpenWriters) -> io::Result<Option<Vec<u8>>> {
    let Some(file) = open(path)? else { return Ok(None) };
    let lease = lease(&file, open_writers)?;
    let read = all(&file);
    drop(lease);
    read.map(Some)
}

/// Whether a program has the file at `path` open for writing, as far as the system can tell.
#[must_use]
pub fn is_being_written(path: &Path) -> bool {
    open(path).is_ok_and(|file| file.is_some_and(|file| matches!(lease::take(&file), Taken::Busy)))
}

/// Replaces the contents of the file at `path`, which may be a symlink, with `next` if they equal `expected`.
/// `None` means that there is no file. The file keeps its mode and group; a new one gets 0600. The new contents
/// are synced to disk first. On failure the file is unchanged.
pub fn replace(
    path: &Path,
    expected: Option<&[u8]>,
    next: &[u8],
    open_writers: OpenWriters,
) -> io::Result<Replacement> {
    let path = &real(path)?;
    let staged = stage(path, next)?;
    let Some(expected) = expected else {
        return match staged.persist_noclobber(path) {
            Ok(_) => done(path, None),
            Err(failed) if failed.error.kind() == io::ErrorKind::AlreadyExists => Ok(Replacement::Changed),
            Err(failed) => Err(failed.error),
        };
    };
    let Some(old) = open(path)? else { return Ok(Replacement::Changed) };
    let lease = lease(&old, open_writers)?;
    if all(&old)? != expected || !is_at(&old, path) {
        return Ok(Replacement::Changed);
    }
    let replaced = |old| Some(Replaced { old, expected: expected.to_vec(), next: next.to_vec() });
    match change_places(staged.path(), path) {
        Ok(()) => {}
        Err(Errno::NOENT) => return Ok(Replacement::Changed),
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
            staged.persist(path).map_err(|failed| failed.error)?;
            drop(lease);
            return done(path, replaced(old));
        }
        Err(errno) => return Err(errno.into()),
    }
    let is_wanted = matches!(&lease, Taken::Lease(lease) if lease.is_wanted());
    let came_out = is_at(&old, staged.path());
    if came_out && !is_wanted && all(&old)? == expected {
        drop(lease);
        drop(staged);
        return done(path, replaced(old));
    }
    put_back(staged.path(), path, next, read_regular(staged.path()))?;
    File::open(folder(path))?.sync_all()?;
    // Programs that wait for the lease find the file in its place.
    drop(lease);
    if is_wanted && open_writers == OpenWriters::Refuse {
        Err(io::ErrorKind::ResourceBusy.into())
    } else {
        Ok(Replacement::Changed)
    }
}

fn done(path: &Path, replaced: Option<Replaced>) -> io::Result<Replacement> {
    File::open(folder(path))?.sync_all()?;
    Ok(Replacement::Done(replaced))
}

fn real(path: &Path) -> io::Result<PathBuf> {
    match path.canonicalize() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(path.to_path_buf()),
        real => real,
    }
}

/// Opens the file at `path` for reading. Never blocks.
fn open(path: &Path) -> io::Result<Option<File>> {
    let file = match File::options().read(true).custom_flags(libc::O_NONBLOCK).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    match file.metadata()?.is_file() {
        true => Ok(Some(file)),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file")),
    }
}

fn lease(file: &File, open_writers: OpenWriters) -> io::Result<Taken<'_>> {
    match lease::take(file) {
        Taken::Busy if open_writers == OpenWriters::Refuse => Err(io::ErrorKind::ResourceBusy.into()),
        taken => Ok(taken),
    }
}

/// Returns the whole contents of `file`.
fn all(file: &File) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(file.metadata()?.len()).unwrap_or_default() + 1];
    let mut read = 0;
    loop {
        match read_at(file, &mut bytes[read..], read as u64)? {
            0 => break,
            count => read += count,
        }
        if read == bytes.len() {
            bytes.resize(read * 2, 0);
        }
    }
    bytes.truncate(read);
    Ok(bytes)
}

fn is_at(file: &File, path: &Path) -> bool {
    let (Ok(ours), Ok(named)) = (file.metadata(), path.symlink_metadata()) else { return false };
    (ours.dev(), ours.ino()) == (named.dev(), named.ino())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_processes::none_starts;
    use std::io::{Seek, Write};

    fn place(text: &str) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.json");
        std::fs::write(&path, text).unwrap();
        (folder, path)
    }

    fn replaced(
        path: &Path,
        expected: &str,
        next: &str,
        open_writers: OpenWriters,
    ) -> Result<bool, io::ErrorKind> {
        match replace(path, Some(expected.as_bytes()), next.as_bytes(), open_writers) {
            Ok(outcome) => Ok(matches!(outcome, Replacement::Done(Some(_)))),
            Err(error) => Err(error.kind()),
        }
    }

    #[test]
    fn only_the_expected_contents_are_replaced() {
        let _guard = none_starts();
        let (folder, path) = place("a");
        assert_eq!(replaced(&path, "a", "b", OpenWriters::Refuse), Ok(true));
        assert_eq!(replaced(&path, "a", "c", OpenWriters::Refuse), Ok(false));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "b");
        let (new, link) = (folder.path().join("new"), folder.path().join("link"));
        assert!(matches!(replace(&new, None, b"n", OpenWriters::Refuse), Ok(Replacement::Done(None))));
        assert!(matches!(replace(&new, None, b"o", OpenWriters::Refuse), Ok(Replacement::Changed)));
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert_eq!(replaced(&link, "b", "c", OpenWriters::Refuse), Ok(true));
        assert!(link.is_symlink());
        assert_eq!(read(&link, OpenWriters::Refuse).unwrap(), Some(b"c".to_vec()));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 3);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_that_is_open_for_writing_is_not_replaced() {
        let _guard = none_starts();
        let (_folder, path) = place("a");
        let writer = File::options().write(true).open(&path).unwrap();
        assert_eq!(replaced(&path, "a", "b", OpenWriters::Refuse), Err(io::ErrorKind::ResourceBusy));
        assert_eq!(read(&path, OpenWriters::Refuse).unwrap_err().kind(), io::ErrorKind::ResourceBusy);
        drop(writer);
        assert_eq!(replaced(&path, "a", "b", OpenWriters::Refuse), Ok(true));
    }

    #[test]
    fn late_writes_to_the_old_file_are_detected() {
        let _guard = none_starts();
        let (_folder, path) = place("a");
        let mut writer = File::options().write(true).open(&path).unwrap();
        let Ok(Replacement::Done(Some(replaced))) = replace(&path, Some(b"a"), b"b", OpenWriters::Ignore)
        else {
            panic!("not replaced")
        };
        assert_eq!(replaced.late_edit().unwrap(), None);
        writer.write_all(b"late").unwrap();
        if cfg!(target_os = "linux") {
            assert_eq!(replaced.late_edit().unwrap_err().kind(), io::ErrorKind::ResourceBusy);
        }
        writer.rewind().unwrap();
        writer.write_all(b"done").unwrap();
        drop(writer);
        assert_eq!(replaced.late_edit().unwrap(), Some(b"done".to_vec()));
        assert_eq!(std::fs::read(&path).unwrap(), replaced.next());
    }
}
