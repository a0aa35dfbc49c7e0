//! A folder held open, whose files are reached by name alone: nothing outside it is ever opened, whatever links
//! stand in it or are put there meanwhile.
//!
//! Names are single components. The kernel itself refuses links and steps out of the folder (`openat2` with
//! `RESOLVE_BENEATH`; where there is none, `O_NOFOLLOW`, which says the same of a single component).

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
const PRIVATE_FILE: Mode = Mode::RUSR.union(Mode::WUSR);

/// An open folder.
#[derive(Debug)]
pub struct Folder(OwnedFd);

/// What [`Folder::look`] says of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    /// Whether it is a folder; a link is none.
    pub is_folder: bool,
    /// When it was last changed, in seconds since 1970.
    pub modified: i64,
}

impl Folder {
    /// Opens `path`, which is trusted: links in it are followed.
    ///
    /// # Errors
    /// What the system says, for example that it is no folder.
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self(rustix::fs::openat(CWD, path, FOLDER, Mode::empty())?))
    }

    /// Opens the folder `name` in this one.
    ///
    /// # Errors
    /// What the system says; a link is refused.
    pub fn open_folder(&self, name: impl AsRef<OsStr>) -> io::Result<Self> {
        Ok(Self(self.beneath(name.as_ref(), FOLDER, Mode::empty())?))
    }

    /// Makes the folder `name`, with mode 0700.
    ///
    /// # Errors
    /// What the system says, for example that there is something of that name.
    pub fn create_folder(&self, name: impl AsRef<OsStr>) -> io::Result<()> {
        Ok(rustix::fs::mkdirat(&self.0, component(name.as_ref())?, Mode::RWXU)?)
    }

    /// Opens the file `name` for reading.
    ///
    /// # Errors
    /// What the system says; anything but a regular file of ours is refused.
    pub fn open_file(&self, name: &str) -> io::Result<File> {
        // Not blocking, so that a pipe that somebody put there keeps nobody waiting.
        self.file(name, OFlags::RDONLY | OFlags::NONBLOCK, Mode::empty())
    }

    /// Opens the file `name` to bring what was written to it to the disk.
    ///
    /// # Errors
    /// As [`Self::open_file`].
    pub fn open_to_sync(&self, name: &str) -> io::Result<File> {
        self.open_file(name)
    }

    /// Makes the file `name`, which must not exist, for appending, with mode 0600.
    ///
    /// # Errors
    /// What the system says, for example that there is something of that name.
    pub fn create_file(&self, name: &str) -> io::Result<File> {
        self.file(name, OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | OFlags::EXCL, PRIVATE_FILE)
    }

    /// Makes the file `name`, which must not exist, with mode 0600 and `size` bytes of room, to be written over from its
    /// beginning.
    ///
    /// # Errors
    /// What the system says, for example that there is no room.
    pub fn create_room(&self, name: &str, size: usize) -> io::Result<File> {
        use std::io::Seek;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
        let mut file = self.file(name, flags, PRIVATE_FILE)?;
        file.write_all(&vec![b' '; size])?;
        file.rewind()?;
        Ok(file)
    }

    /// Opens the file `name` for appending, and makes it with mode 0600 where it does not exist.
    ///
    /// # Errors
    /// As [`Self::open_file`].
    pub fn append_file(&self, name: &str) -> io::Result<File> {
        let flags = OFlags::RDWR | OFlags::APPEND | OFlags::CREATE | OFlags::NONBLOCK;
        self.file(name, flags, PRIVATE_FILE)
    }

    fn file(&self, name: &str, flags: OFlags, mode: Mode) -> io::Result<File> {
        let file = self.beneath(OsStr::new(name), flags | OFlags::CLOEXEC | OFlags::NOCTTY, mode)?;
        let found = rustix::fs::fstat(&file)?;
        if FileType::from_raw_mode(found.st_mode) != FileType::RegularFile {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
        }
        if found.st_uid != rustix::process::geteuid().as_raw() {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, "it belongs to another user"));
        }
        Ok(file.into())
    }

    fn beneath(&self, name: &OsStr, flags: OFlags, mode: Mode) -> io::Result<OwnedFd> {
        let name = component(name)?;
        #[cfg(target_os = "linux")]
        {
            use rustix::fs::ResolveFlags;
            let stay = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
            match rustix::fs::openat2(&self.0, name, flags, mode, stay) {
                // An old kernel, or a sandbox that does not know the call.
                Err(Errno::NOSYS | Errno::PERM | Errno::AGAIN) => {}
                opened => return opened.map_err(refused),
            }
        }
        rustix::fs::openat(&self.0, name, flags | OFlags::NOFOLLOW, mode).map_err(refused)
    }

    /// Replaces the file `name` by one that holds `bytes`, mode 0600, so that nobody ever sees half of it.
    /// `durable` says that it has to be there after a power failure as well.
    ///
    /// # Errors
    /// What the system says; the old file stays, and no temporary one is left.
    pub fn write(&self, name: &str, bytes: &[u8], durable: bool) -> io::Result<()> {
        let temporary = format!(".{name}.{:016x}", u64::from_le_bytes(super::random::bytes()?));
        let written = || {
            let mut file = self.create_file(&temporary)?;
            file.write_all(bytes)?;
            if durable {
                file.sync_all()?;
            } else {
                begin_to_sync(&file);
            }
            self.rename(&temporary, name)
        };
        written().inspect_err(|_| {
            let _gone = self.remove_file(&temporary);
        })?;
        if durable { self.sync() } else { Ok(()) }
    }

    /// Gives the file `from` the name `to`, in place of what had it.
    ///
    /// # Errors
    /// What the system says.
    pub fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let (from, to) = (component(OsStr::new(from))?, component(OsStr::new(to))?);
        Ok(rustix::fs::renameat(&self.0, from, &self.0, to)?)
    }

    /// Makes what was made, renamed or removed here survive a power failure.
    ///
    /// # Errors
    /// What the system says.
    pub fn sync(&self) -> io::Result<()> {
        Ok(rustix::fs::fsync(&self.0)?)
    }

    /// Removes the file or link `name`.
    ///
    /// # Errors
    /// What the system says.
    pub fn remove_file(&self, name: impl AsRef<OsStr>) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.0, component(name.as_ref())?, AtFlags::empty())?)
    }

    /// Removes the folder `name`, which must be empty.
    ///
    /// # Errors
    /// What the system says.
    pub fn remove_folder(&self, name: impl AsRef<OsStr>) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.0, component(name.as_ref())?, AtFlags::REMOVEDIR)?)
    }

    /// What is there under `name`, without following a link.
    ///
    /// # Errors
    /// What the system says.
    pub fn look(&self, name: impl AsRef<OsStr>) -> io::Result<Seen> {
        let found = rustix::fs::statat(&self.0, component(name.as_ref())?, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(seen(&found))
    }

    /// Whether `name` stands for this very `file`, and not for another or for nothing by now.
    ///
    /// # Errors
    /// What the system says.
    pub fn is_named(&self, name: &str, file: &File) -> io::Result<bool> {
        let name = component(OsStr::new(name))?;
        let opened = rustix::fs::fstat(file)?;
        match rustix::fs::statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(named) => Ok((named.st_dev, named.st_ino) == (opened.st_dev, opened.st_ino)),
            Err(Errno::NOENT) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// What this folder itself is.
    ///
    /// # Errors
    /// What the system says.
    pub fn look_at_itself(&self) -> io::Result<Seen> {
        Ok(seen(&rustix::fs::fstat(&self.0)?))
    }

    /// Every name in this folder, in no order.
    ///
    /// # Errors
    /// What the system says.
    pub fn names(&self) -> io::Result<Vec<OsString>> {
        let mut names = Vec::new();
        for entry in rustix::fs::Dir::read_from(&self.0)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if name != b"." && name != b".." {
                names.push(OsString::from_vec(name.to_vec()));
            }
        }
        Ok(names)
    }

    /// The same folder, held once more.
    ///
    /// # Errors
    /// What the system says.
    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(Self(self.0.try_clone()?))
    }

    /// A path that names this folder for as long as it is held, wherever it is moved (Linux).
    #[must_use]
    pub fn path(&self) -> std::path::PathBuf {
        use std::os::fd::AsRawFd;
        format!("/proc/self/fd/{}", self.0.as_raw_fd()).into()
    }
}

/// Has the system begin to write `file` to the disk, without waiting for that: the `sync` that comes later then has
/// less to do. A hint, which is not taken everywhere.
fn begin_to_sync(file: &File) {
    #[cfg(target_os = "linux")]
    {
        use std::os::fd::AsRawFd;
        // SAFETY: the call takes an open descriptor and no pointer.
        #[expect(unsafe_code, reason = "there is no safe way to ask for it")]
        let _hint = unsafe { libc::sync_file_range(file.as_raw_fd(), 0, 0, libc::SYNC_FILE_RANGE_WRITE) };
    }
    #[cfg(not(target_os = "linux"))]
    let _hint = file;
}

/// Whether `error` says that no more can be open at once, by us or by all.
#[must_use]
pub fn is_out_of_descriptors(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::MFILE | Errno::NFILE))
}

/// What the system says, except that it speaks of too many links where one is too many.
fn refused(errno: Errno) -> io::Error {
    match errno {
        Errno::LOOP => {
            io::Error::new(io::ErrorKind::InvalidInput, "it is a link, and links are not followed")
        }
        errno => errno.into(),
    }
}

fn seen(found: &rustix::fs::Stat) -> Seen {
    Seen {
        is_folder: FileType::from_raw_mode(found.st_mode) == FileType::Directory,
        // The field's type differs from system to system.
        #[expect(clippy::useless_conversion, reason = "not an i64 everywhere")]
        modified: i64::from(found.st_mtime),
    }
}

/// `name`, if it is one component that stays in the folder.
fn component(name: &OsStr) -> io::Result<&OsStr> {
    let bytes = name.as_bytes();
    if matches!(bytes, b"" | b"." | b"..") || bytes.iter().any(|byte| matches!(byte, b'/' | 0)) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("{name:?} is not a file's name")));
    }
    Ok(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{MetadataExt, symlink};

    #[test]
    fn a_file_is_made_private_replaced_whole_and_leaves_nothing_beside_it() {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder::open(place.path()).unwrap();
        folder.write("meta.json", b"one", false).unwrap();
        folder.write("meta.json", b"two", true).unwrap();
        assert_eq!(io::read_to_string(folder.open_file("meta.json").unwrap()).unwrap(), "two");
        assert_eq!(place.path().join("meta.json").metadata().unwrap().mode() & 0o777, 0o600);
        assert_eq!(folder.names().unwrap(), ["meta.json"]);
    }

    #[test]
    fn links_lead_nowhere_dangling_or_not() {
        let place = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        std::fs::write(outside.path().join("secret"), "secret").unwrap();
        symlink(outside.path().join("secret"), place.path().join("link")).unwrap();
        symlink(outside.path().join("nothing"), place.path().join("dangling")).unwrap();
        symlink(outside.path(), place.path().join("folder")).unwrap();
        let folder = Folder::open(place.path()).unwrap();
        for name in ["link", "dangling"] {
            assert!(folder.open_file(name).is_err());
            assert!(folder.append_file(name).is_err());
            assert!(folder.create_file(name).is_err());
        }
        assert!(folder.open_folder("folder").is_err());
        // What is replaced is the link, never what it leads to.
        folder.write("link", b"ours", false).unwrap();
        folder.write("dangling", b"ours", false).unwrap();
        assert_eq!(std::fs::read(outside.path().join("secret")).unwrap(), b"secret");
        assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 1);
    }

    #[test]
    fn names_are_single_components_and_a_pipe_is_no_file() {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder::open(place.path()).unwrap();
        for name in ["", ".", "..", "a/b", "/etc/passwd", "../x"] {
            assert_eq!(folder.open_file(name).unwrap_err().kind(), io::ErrorKind::InvalidInput, "{name}");
        }
        crate::sys::fifo::make(&place.path().join("pipe")).unwrap();
        assert_eq!(folder.open_file("pipe").unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }
}
