//! A file about a process, locked by that process for as long as it lives: whoever can lock it knows that it is dead.
//!
//! It has its full size from the start, so that what comes of the process can be written into it on a full disk. Its
//! lock ends with its holder, whatever kills that; no PID is trusted.

use super::file::open_regular;
use super::unreadable::unreadable;
use super::{atomic, lock};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

/// The size of a file, in bytes.
pub const SIZE: usize = 16 << 10;

/// The size of a spare file, in bytes: enough for most, and a block of most file systems.
pub const SPARE_SIZE: usize = 4 << 10;

/// Such a file of this process.
#[derive(Debug)]
pub struct Held {
    path: PathBuf,
    file: File,
}

/// Whether what is in the file has to be there after a power failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lasting {
    /// Yes.
    Yes,
    /// It is of no use then.
    No,
}

impl Held {
    /// Makes `name` in `folder`, which is made where it does not exist but the one above it does, and holds it. `None` if there is such a file
    /// already, whoever's.
    ///
    /// # Errors
    /// What the system says, for example that the disk is full.
    pub fn create(folder: &Path, name: &str, text: &[u8], lasting: Lasting) -> io::Result<Option<Self>> {
        Self::create_sized(folder, name, padded(text.to_vec(), SIZE)?, lasting)
    }

    /// Makes the spare file `name` in `folder`, for [`Self::create_from`]. One that is there stays as it is.
    ///
    /// # Errors
    /// What the system says, for example that the disk is full.
    pub fn create_spare(folder: &Path, name: &str) -> io::Result<()> {
        Self::create_sized(folder, name, padded(Vec::new(), SPARE_SIZE)?, Lasting::No).map(drop)
    }

    fn create_sized(folder: &Path, name: &str, text: Vec<u8>, lasting: Lasting) -> io::Result<Option<Self>> {
        atomic::create_private_subfolder(folder)?;
        let path = folder.join(name);
        // Locked and whole before it gets its name, so that nobody takes it for a dead process's.
        let fill = |mut file: &File| {
            file.lock()?;
            file.write_all(&text)?;
            if lasting == Lasting::Yes { file.sync_data() } else { Ok(()) }
        };
        // Where that can be, it has no name at all until then: whoever is killed on the way leaves nothing.
        if let Some(file) = nameless::make(folder) {
            fill(&file)?;
            match nameless::name(&file, &path) {
                Ok(()) => return Ok(Some(Self { path, file })),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(None),
                Err(_) => {}
            }
        }
        let temporary = tempfile::Builder::new().prefix(".new-").tempfile_in(folder)?;
        fill(temporary.as_file())?;
        match temporary.persist_noclobber(&path) {
            Ok(file) => Ok(Some(Self { path, file })),
            Err(failed) if failed.error.kind() == io::ErrorKind::AlreadyExists => Ok(None),
            Err(failed) => Err(failed.error),
        }
    }

    /// Makes `name` in `folder` of the spare file at `spare`, without asking the disk for room, and holds it. `None` if the
    /// spare is gone, or somebody else is taking it.
    ///
    /// # Errors
    /// What the system says.
    pub fn create_from(spare: &Path, folder: &Path, name: &str, text: &[u8]) -> io::Result<Option<Self>> {
        let Some(held) = Self::take_over(spare)? else { return Ok(None) };
        held.rewrite(text)?;
        let path = folder.join(name);
        std::fs::rename(spare, &path)?;
        Ok(Some(Self { path, ..held }))
    }

    /// Whether it was a spare file.
    #[must_use]
    pub fn is_spare(&self) -> bool {
        self.file.metadata().is_ok_and(|found| found.len() <= SPARE_SIZE as u64)
    }

    /// Makes it the spare file at `spare`.
    ///
    /// # Errors
    /// What the system says; it is where it was then.
    pub fn put_aside(&self, spare: &Path) -> io::Result<()> {
        std::fs::rename(&self.path, spare)
    }

    /// Takes the file at `path` over from a dead process. `None` if its process lives, or if it is gone.
    ///
    /// # Errors
    /// What the system says.
    pub fn take_over(path: &Path) -> io::Result<Option<Self>> {
        let file = match open_regular(path, File::options().read(true).write(true)) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let held = Self { path: path.to_path_buf(), file };
        Ok((lock::try_take(&held.file)? && held.is_there()).then_some(held))
    }

    /// Whether it has no name any more; one that was moved has another.
    #[must_use]
    pub fn is_deleted(&self) -> bool {
        self.file.metadata().is_ok_and(|ours| ours.nlink() == 0)
    }

    /// Whether it still has its name.
    #[must_use]
    pub fn is_there(&self) -> bool {
        let (Ok(ours), Ok(named)) = (self.file.metadata(), self.path.metadata()) else { return false };
        (ours.dev(), ours.ino()) == (named.dev(), named.ino())
    }

    /// Writes `text` in place of what is there, without asking the disk for room where it fits.
    ///
    /// # Errors
    /// What the system says, or that it is too long.
    pub fn rewrite(&self, text: &[u8]) -> io::Result<()> {
        let mut size = usize::try_from(self.file.metadata()?.len()).unwrap_or(SIZE);
        if text.len() >= size && size < SIZE {
            // A spare one that is too small. Its end first: what is there stays whole if there is no room for it.
            self.file.write_all_at(&vec![b' '; SIZE - size], size as u64)?;
            size = SIZE;
        }
        self.file.write_all_at(&padded(text.to_vec(), size)?, 0)
    }

    /// Brings it to the disk.
    ///
    /// # Errors
    /// What the system says.
    pub fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    /// What is in it.
    ///
    /// # Errors
    /// What the system says.
    pub fn read(&self) -> io::Result<Vec<u8>> {
        let mut text = vec![0; usize::try_from(self.file.metadata()?.len()).unwrap_or(SIZE)];
        self.file.read_exact_at(&mut text, 0)?;
        Ok(text)
    }

    /// Removes it.
    ///
    /// # Errors
    /// What the system says; it is a dead process's then.
    pub fn remove(self) -> io::Result<()> {
        std::fs::remove_file(&self.path)
    }
}

/// A file of somebody's.
#[derive(Debug)]
pub struct Found {
    /// Where.
    pub path: PathBuf,
    /// Whether its process lives.
    pub is_held: bool,
    /// What is in it.
    pub text: Vec<u8>,
}

/// The files of `folder` whose names end in `.json`, in the order of their names. Those that cannot be read are passed
/// over: they are just being removed.
///
/// # Errors
/// What the system says of reading the folder. One that does not exist is empty.
pub fn all(folder: &Path) -> io::Result<Vec<Found>> {
    all_but(folder, |_| false)
}

/// The same without those whose names, up to `.json`, are `known`: they are not opened.
///
/// # Errors
/// As for [`all`].
pub fn all_but(folder: &Path, known: impl Fn(&str) -> bool) -> io::Result<Vec<Found>> {
    let mut found = Vec::new();
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(found),
        Err(error) => return Err(unreadable(folder, error)),
    };
    for entry in entries {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().as_encoded_bytes();
        // A file gets its name when it is locked and whole; before that it is none.
        let Some(stem) = name.strip_suffix(b".json").filter(|stem| !stem.starts_with(b".")) else { continue };
        if !str::from_utf8(stem).is_ok_and(&known) {
            found.extend(look(&path));
        }
    }
    found.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(found)
}

/// The file at `path`; `None` if there is none that can be read.
#[must_use]
pub fn look(path: &Path) -> Option<Found> {
    let file = open_regular(path, File::options().read(true)).ok()?;
    let is_held = lock::is_held(&file).ok()?;
    let mut text = Vec::new();
    // Read after it was asked who holds it: whoever is dead now has written all that it ever will.
    (&file).read_to_end(&mut text).ok()?;
    Some(Found { path: path.to_path_buf(), is_held, text })
}

/// Files that get their name when they are done. Not every file system has them, and naming one takes a `/proc`.
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

    /// Names it `path`, if nothing is there.
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
    fn a_file_is_its_process_s_until_that_is_dead() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        let create = || Held::create(folder.path(), "a.json", b"one", Lasting::No).unwrap();
        let held = create().unwrap();
        assert!(create().is_none());
        assert!(Held::take_over(&path).unwrap().is_none());
        assert!(all(folder.path()).unwrap()[0].is_held);
        held.rewrite(b"two").unwrap();
        drop(held);
        let found = all(folder.path()).unwrap().remove(0);
        assert!(!found.is_held);
        assert_eq!((found.text.trim_ascii_end(), found.text.len()), (&b"two"[..], SIZE));
        let taken = Held::take_over(&path).unwrap().unwrap();
        assert_eq!(taken.read().unwrap(), found.text);
        taken.remove().unwrap();
        assert!(Held::take_over(&path).unwrap().is_none());
        assert!(all(folder.path()).unwrap().is_empty());
    }

    /// Where the file system has such files; elsewhere the others are used.
    #[cfg(target_os = "linux")]
    #[test]
    fn until_it_is_named_there_is_nothing_to_be_left_behind() {
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
    fn what_does_not_fit_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let long = vec![b'x'; SIZE];
        let error = Held::create(folder.path(), "a.json", &long, Lasting::No).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
