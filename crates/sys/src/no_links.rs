//! Opens a file by an absolute path in which symlinks are refused, so that it opens the file that was checked.
//!
//! Unlike in `folder`, the path may have many components, and the file may belong to any user.

use super::file::NotAFile;
#[cfg(target_os = "linux")]
use rustix::fs::ResolveFlags;
use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;
#[cfg(target_os = "linux")]
use std::ffi::OsStr;
use std::fs::File;
use std::io;
#[cfg(target_os = "linux")]
use std::os::fd::AsFd;
use std::os::fd::OwnedFd;
use std::path::{Component, Path};

/// Never waits for a pipe or becomes a terminal's process.
const ALWAYS: OFlags = OFlags::NONBLOCK.union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

/// A folder on the way, which may be unreadable.
#[cfg(target_os = "linux")]
const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
#[cfg(not(target_os = "linux"))]
const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// Opens the regular file at `path` for reading.
///
/// # Errors
/// [`io::ErrorKind::InvalidInput`] if it is not a regular file.
pub fn open(path: &Path) -> io::Result<File> {
    regular(path, OFlags::RDONLY, Mode::empty())
}

/// Opens the regular file at `path` for writing. It keeps its contents, and is created if it doesn't exist.
///
/// # Errors
/// [`io::ErrorKind::InvalidInput`] if it is not a regular file.
pub fn open_to_write(path: &Path) -> io::Result<File> {
    regular(path, OFlags::WRONLY | OFlags::CREATE, Mode::from_raw_mode(0o666))
}

fn regular(path: &Path, flags: OFlags, mode: Mode) -> io::Result<File> {
    // Opening a device can have side effects.
    if let Ok(found) = path.symlink_metadata()
        && !found.is_symlink()
    {
        NotAFile::check(&found)?;
    }
    let file: File = opened(path, flags | ALWAYS, mode).map_err(refused)?.into();
    NotAFile::check(&file.metadata()?)?;
    Ok(file)
}

fn opened(path: &Path, flags: OFlags, mode: Mode) -> Result<OwnedFd, Errno> {
    #[cfg(target_os = "linux")]
    if let Some(opened) = by_kernel(CWD, path.as_os_str(), flags, mode, ResolveFlags::empty()) {
        return opened;
    }
    walk(path, flags, mode)
}

/// Opens `path` in `folder`, with symlinks refused by the kernel, and what `more` refuses; `None` if it can't do that.
#[cfg(target_os = "linux")]
pub(super) fn by_kernel(
    folder: impl AsFd,
    path: &OsStr,
    flags: OFlags,
    mode: Mode,
    more: ResolveFlags,
) -> Option<Result<OwnedFd, Errno>> {
    let strict = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS | more;
    match rustix::fs::openat2(folder, path, flags, mode, strict) {
        // An old kernel, or a sandbox that doesn't allow the call.
        Err(Errno::NOSYS | Errno::PERM | Errno::AGAIN) => None,
        opened => Some(opened),
    }
}

/// Opens each folder of `path` in the one before.
fn walk(path: &Path, flags: OFlags, mode: Mode) -> Result<OwnedFd, Errno> {
    let mut folder = rustix::fs::openat(CWD, "/", FOLDER, Mode::empty())?;
    let mut names = path.components().peekable();
    while let Some(part) = names.next() {
        let name = match part {
            Component::Normal(name) => name,
            Component::RootDir => continue,
            Component::ParentDir | Component::CurDir | Component::Prefix(_) => return Err(Errno::INVAL),
        };
        if names.peek().is_none() {
            return rustix::fs::openat(&folder, name, flags | OFlags::NOFOLLOW, mode);
        }
        folder = rustix::fs::openat(&folder, name, FOLDER | OFlags::NOFOLLOW, Mode::empty())?;
    }
    Err(Errno::ISDIR)
}

fn refused(error: Errno) -> io::Error {
    match error {
        Errno::LOOP => io::Error::new(io::ErrorKind::InvalidInput, "a link has appeared on its path"),
        other => other.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_link_anywhere_on_the_path_is_refused() {
        let top = tempfile::tempdir().unwrap();
        let top = top.path().canonicalize().unwrap();
        fs::create_dir(top.join("a")).unwrap();
        fs::write(top.join("a/file"), "text").unwrap();
        symlink("a", top.join("link")).unwrap();
        symlink("file", top.join("a/also")).unwrap();
        for walks in [false, true] {
            let open = |path: &str, flags: OFlags| {
                let path = top.join(path);
                let mode = if flags.contains(OFlags::CREATE) { Mode::RWXU } else { Mode::empty() };
                let open = if walks { walk } else { opened };
                open(&path, flags, mode).map(drop)
            };
            let read = |path: &str| open(path, OFlags::RDONLY);
            assert_eq!(read("a/file"), Ok(()));
            assert!(matches!(read("link/file"), Err(Errno::LOOP | Errno::NOTDIR)), "{walks}");
            assert_eq!(read("a/also"), Err(Errno::LOOP));
            assert_eq!(read("a/none"), Err(Errno::NOENT));
            assert_eq!(open("a/also", OFlags::WRONLY | OFlags::CREATE), Err(Errno::LOOP));
            assert_eq!(open("a/new", OFlags::WRONLY | OFlags::CREATE), Ok(()));
            fs::remove_file(top.join("a/new")).unwrap();
        }
    }

    #[test]
    fn only_regular_files_are_opened() {
        let top = tempfile::tempdir().unwrap();
        let kind = |opened: io::Result<File>| opened.unwrap_err().kind();
        assert_eq!(kind(open(top.path())), io::ErrorKind::InvalidInput);
        assert_eq!(kind(open(Path::new("/dev/null"))), io::ErrorKind::InvalidInput);
        let path = top.path().canonicalize().unwrap().join("file");
        fs::write(&path, "old").unwrap();
        assert!(open_to_write(&path).is_ok());
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
    }
}
