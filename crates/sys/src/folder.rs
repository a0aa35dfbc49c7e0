//! An open folder whose entries are accessed by name. Nothing outside it is ever opened, even if somebody places
//! symlinks in it.
//!
//! Names are single path components. The kernel refuses symlinks and `..` (`openat2` with `RESOLVE_BENEATH`;
//! without `openat2`, `O_NOFOLLOW`, which is equivalent for a single component).

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
const PRIVATE_FILE: Mode = Mode::RUSR.union(Mode::WUSR);

/// An open folder.
#[derive(Debug)]
pub struct Folder(OwnedFd);

/// The type, modification time, size and number of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileInfo {
    /// Whether it is a folder. False for a symlink to a folder.
    pub is_folder: bool,
    /// Modification time in seconds since 1970.
    pub modified: i64,
    /// Its size in bytes.
    pub size: u64,
    /// Its number on its disk: names of the same file share it.
    pub inode: u64,
}

impl Folder {
    /// Opens `path`. Symlinks in it are followed, so the path must be trusted.
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self(rustix::fs::openat(CWD, path, FOLDER, Mode::empty())?))
    }

    /// Opens the subfolder `name`. Symlinks are refused.
    pub fn open_folder(&self, name: impl AsRef<OsStr>) -> io::Result<Self> {
        Ok(Self(self.beneath(name.as_ref(), FOLDER, Mode::empty())?))
    }

    /// Creates the subfolder `name` with mode 0700.
    pub fn create_folder(&self, name: impl AsRef<OsStr>) -> io::Result<()> {
        Ok(rustix::fs::mkdirat(&self.0, component(name.as_ref())?, Mode::RWXU)?)
    }

    /// Opens the file `name` for reading.
    ///
    /// # Errors
    /// Fails for anything but a regular file that belongs to the user.
    pub fn open_file(&self, name: &str) -> io::Result<File> {
        // Nonblocking, so that opening a pipe doesn't wait.
        self.file(name, OFlags::RDONLY | OFlags::NONBLOCK, Mode::empty())
    }

    /// Opens the file `name` for reading, and returns its metadata as well.
    ///
    /// # Errors
    /// Same as [`Self::open_file`].
    pub fn open_seen(&self, name: &str) -> io::Result<(File, FileInfo)> {
        let (file, found) = self.checked(name, OFlags::RDONLY | OFlags::NONBLOCK, Mode::empty())?;
        Ok((file, seen(&found)))
    }

    /// Opens the file `name` to call `sync_all` on it.
    ///
    /// # Errors
    /// Same as [`Self::open_file`].
    pub fn open_to_sync(&self, name: &str) -> io::Result<File> {
        self.open_file(name)
    }

    /// Creates the file `name` for appending, with mode 0600.
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`] if the name exists.
    pub fn create_file(&self, name: &str) -> io::Result<File> {
        self.file(name, OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | OFlags::EXCL, PRIVATE_FILE)
    }

    /// Creates the file `name` with mode 0600 and `size` bytes of reserved space, positioned at its start.
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`] if the name exists.
    pub fn create_room(&self, name: &str, size: usize) -> io::Result<File> {
        use std::io::Seek;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
        let mut file = self.file(name, flags, PRIVATE_FILE)?;
        if size > 0 {
            file.write_all(&vec![b' '; size])?;
            file.rewind()?;
        }
        Ok(file)
    }

    /// Opens the file `name` for appending, and creates it with mode 0600 if it doesn't exist.
    ///
    /// # Errors
    /// Same as [`Self::open_file`].
    pub fn append_file(&self, name: &str) -> io::Result<File> {
        let flags = OFlags::RDWR | OFlags::APPEND | OFlags::CREATE | OFlags::NONBLOCK;
        self.file(name, flags, PRIVATE_FILE)
    }

    fn file(&self, name: &str, flags: OFlags, mode: Mode) -> io::Result<File> {
        self.checked(name, flags, mode).map(|(file, _)| file)
    }

    fn checked(&self, name: &str, flags: OFlags, mode: Mode) -> io::Result<(File, rustix::fs::Stat)> {
        let file = self.beneath(OsStr::new(name), flags | OFlags::CLOEXEC | OFlags::NOCTTY, mode)?;
        let found = rustix::fs::fstat(&file)?;
        if FileType::from_raw_mode(found.st_mode) != FileType::RegularFile {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
        }
        if found.st_uid != super::process::own_user() {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, "it belongs to another user"));
        }
        Ok((file.into(), found))
    }

    fn beneath(&self, name: &OsStr, flags: OFlags, mode: Mode) -> io::Result<OwnedFd> {
        let name = component(name)?;
        #[cfg(target_os = "linux")]
        if let Some(opened) =
            super::no_links::by_kernel(&self.0, name, flags, mode, rustix::fs::ResolveFlags::BENEATH)
        {
            return opened.map_err(refused);
        }
        rustix::fs::openat(&self.0, name, flags | OFlags::NOFOLLOW, mode).map_err(refused)
    }

    /// Atomically replaces the file `name` with `bytes`, mode 0600. With `durable` it is on disk when this
    /// returns.
    ///
    /// On failure the old file is unchanged and no temporary file remains.
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

    /// Renames the file `from` to `to`, replacing `to` if it exists.
    pub fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let (from, to) = (component(OsStr::new(from))?, component(OsStr::new(to))?);
        Ok(rustix::fs::renameat(&self.0, from, &self.0, to)?)
    }

    /// Gives the file `name` another name, `also`.
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`] if that exists; others on a file system without hard links.
    pub fn link(&self, name: &str, also: &str) -> io::Result<()> {
        let (name, also) = (component(OsStr::new(name))?, component(OsStr::new(also))?);
        Ok(rustix::fs::linkat(&self.0, name, &self.0, also, AtFlags::empty())?)
    }

    /// Syncs the folder's entries to disk.
    pub fn sync(&self) -> io::Result<()> {
        Ok(rustix::fs::fsync(&self.0)?)
    }

    /// Removes the file or symlink `name`.
    pub fn remove_file(&self, name: impl AsRef<OsStr>) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.0, component(name.as_ref())?, AtFlags::empty())?)
    }

    /// Removes the empty subfolder `name`.
    pub fn remove_folder(&self, name: impl AsRef<OsStr>) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.0, component(name.as_ref())?, AtFlags::REMOVEDIR)?)
    }

    /// Returns the metadata of the entry `name` without following symlinks.
    pub fn look(&self, name: impl AsRef<OsStr>) -> io::Result<FileInfo> {
        let found = rustix::fs::statat(&self.0, component(name.as_ref())?, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(seen(&found))
    }

    /// Whether `name` still refers to this open `file`.
    pub fn is_named(&self, name: &str, file: &File) -> io::Result<bool> {
        let name = component(OsStr::new(name))?;
        let opened = rustix::fs::fstat(file)?;
        match rustix::fs::statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(named) => Ok((named.st_dev, named.st_ino) == (opened.st_dev, opened.st_ino)),
            Err(Errno::NOENT) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the metadata of this folder.
    pub fn look_at_itself(&self) -> io::Result<FileInfo> {
        Ok(seen(&rustix::fs::fstat(&self.0)?))
    }

    /// Lists all names in this folder, in no particular order.
    pub fn names(&self) -> io::Result<Vec<OsString>> {
        self.names_of(|_, _| true)
    }

    /// Lists the names of the folders in this folder, and of the files whose names `is_wanted`, in no particular order.
    /// Doesn't look at each entry if the disk tells their types.
    pub fn folders_and_files(&self, is_wanted: impl Fn(&OsStr) -> bool) -> io::Result<Vec<OsString>> {
        self.names_of(|kind, name| match kind {
            FileType::Directory => true,
            FileType::RegularFile => is_wanted(name),
            FileType::Unknown => self.look(name).is_ok_and(|seen| seen.is_folder || is_wanted(name)),
            _ => false,
        })
    }

    fn names_of(&self, is_wanted: impl Fn(FileType, &OsStr) -> bool) -> io::Result<Vec<OsString>> {
        let mut names = Vec::new();
        for entry in rustix::fs::Dir::read_from(&self.0)? {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name != "." && name != ".." && is_wanted(entry.file_type(), name) {
                names.push(name.to_owned());
            }
        }
        Ok(names)
    }

    /// Duplicates the handle.
    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(Self(self.0.try_clone()?))
    }

    /// A path to this folder that stays valid while the handle is open, even if the folder is moved (Linux).
    #[must_use]
    pub fn path(&self) -> std::path::PathBuf {
        use std::os::fd::AsRawFd;
        format!("/proc/self/fd/{}", self.0.as_raw_fd()).into()
    }
}

/// Starts writing `file` to disk without waiting, so that a later `sync` is faster. Best effort.
fn begin_to_sync(file: &File) {
    #[cfg(target_os = "linux")]
    {
        use std::os::fd::AsRawFd;
        // SAFETY: the call takes an open descriptor and no pointer.
        #[expect(unsafe_code, reason = "there is no safe wrapper")]
        let _hint = unsafe { libc::sync_file_range(file.as_raw_fd(), 0, 0, libc::SYNC_FILE_RANGE_WRITE) };
    }
    #[cfg(not(target_os = "linux"))]
    let _hint = file;
}

/// Whether `error` means that the limit of open files of the process or the system is reached.
#[must_use]
pub fn is_out_of_descriptors(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::MFILE | Errno::NFILE))
}

/// Replaces ELOOP's message, "too many levels of symbolic links", which is misleading here.
fn refused(errno: Errno) -> io::Error {
    match errno {
        Errno::LOOP => {
            io::Error::new(io::ErrorKind::InvalidInput, "it is a link, and links are not followed")
        }
        errno => errno.into(),
    }
}

fn seen(found: &rustix::fs::Stat) -> FileInfo {
    FileInfo {
        is_folder: FileType::from_raw_mode(found.st_mode) == FileType::Directory,
        #[expect(clippy::useless_conversion, reason = "not i64 on every system")]
        modified: i64::from(found.st_mtime),
        size: u64::try_from(found.st_size).unwrap_or_default(),
        #[expect(clippy::useless_conversion, reason = "not u64 on every system")]
        inode: u64::from(found.st_ino),
    }
}

/// Checks that `name` is a single path component.
fn component(name: &OsStr) -> io::Result<&OsStr> {
    let bytes = name.as_bytes();
    if matches!(bytes, b"" | b"." | b"..") || bytes.iter().any(|byte| matches!(byte, b'/' | 0)) {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("{name:?} is not a valid file name"),
        ));
    }
    Ok(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{MetadataExt, symlink};

    #[test]
    fn a_file_is_private_and_replaced_without_leftovers() {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder::open(place.path()).unwrap();
        folder.write("meta.json", b"one", false).unwrap();
        folder.write("meta.json", b"two", true).unwrap();
        assert_eq!(io::read_to_string(folder.open_file("meta.json").unwrap()).unwrap(), "two");
        assert_eq!(place.path().join("meta.json").metadata().unwrap().mode() & 0o777, 0o600);
        assert_eq!(folder.names().unwrap(), ["meta.json"]);
    }

    #[test]
    fn a_file_with_two_names_is_one_file() {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder::open(place.path()).unwrap();
        folder.write("one", b"text", false).unwrap();
        folder.link("one", "two").unwrap();
        assert_eq!(folder.look("one").unwrap(), folder.look("two").unwrap());
        assert_eq!(folder.link("one", "two").unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        folder.remove_file("one").unwrap();
        assert_eq!(io::read_to_string(folder.open_file("two").unwrap()).unwrap(), "text");
    }

    #[test]
    fn symlinks_are_not_followed() {
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
        // A write replaces the symlink, never its target.
        folder.write("link", b"ours", false).unwrap();
        folder.write("dangling", b"ours", false).unwrap();
        assert_eq!(std::fs::read(outside.path().join("secret")).unwrap(), b"secret");
        assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 1);
    }

    #[test]
    fn links_and_files_are_no_folders() {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder::open(place.path()).unwrap();
        folder.create_folder("a").unwrap();
        folder.create_file("b").unwrap();
        symlink("a", place.path().join("c")).unwrap();
        assert_eq!(folder.folders_and_files(|_| false).unwrap(), ["a"]);
        let mut all = folder.folders_and_files(|_| true).unwrap();
        all.sort_unstable();
        assert_eq!(all, ["a", "b"]);
        assert_eq!(folder.names().unwrap().len(), 3);
    }

    #[test]
    fn names_are_single_components_and_pipes_are_refused() {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder::open(place.path()).unwrap();
        for name in ["", ".", "..", "a/b", "/etc/passwd", "../x"] {
            assert_eq!(folder.open_file(name).unwrap_err().kind(), io::ErrorKind::InvalidInput, "{name}");
        }
        crate::fifo::make(&place.path().join("pipe")).unwrap();
        assert_eq!(folder.open_file("pipe").unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }
}
