//! Atomic file writes: write a temporary file next to the target, fsync it, rename it, fsync the folder.

use super::file::{NotAFile, open_regular};
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

/// Replaces the contents of `path` with `bytes`. If `path` is a symlink, its target is replaced.
///
/// An existing file keeps its mode; a new file gets 0600. On failure the old file is unchanged and no temporary
/// file remains.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let target = match path.canonicalize() {
        Ok(real) => real,
        Err(error) if error.kind() == io::ErrorKind::NotFound => path.to_path_buf(),
        Err(error) => return Err(error),
    };
    let mode = match target.metadata() {
        Ok(found) => found.permissions().mode() & 0o7777,
        Err(_) => 0o600,
    };
    let folder = target.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let permissions = std::fs::Permissions::from_mode(mode);
    let mut file =
        tempfile::Builder::new().prefix(".murmur-").permissions(permissions).tempfile_in(folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(&target).map_err(|failed| failed.error)?;
    File::open(folder)?.sync_all()
}

/// Creates the file `path` with `bytes` and the umask's default mode.
///
/// # Errors
/// [`io::ErrorKind::AlreadyExists`] if the path exists.
pub fn create(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if path.symlink_metadata().is_ok() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    let permissions = std::fs::Permissions::from_mode(0o666);
    let mut file =
        tempfile::Builder::new().prefix(".murmur-").permissions(permissions).tempfile_in(folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist_noclobber(path).map_err(|failed| failed.error)?;
    File::open(folder)?.sync_all()
}

/// Creates `path` and its missing parents with mode 0700. Existing folders keep their mode.
pub fn create_private_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Creates the folder `path` with mode 0700 if it doesn't exist. Its parent must exist: a data folder that was
/// deleted must not reappear.
pub fn create_private_subfolder(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
        made => made,
    }
}

/// Creates `path` as [`create_private_subfolder`] does, or removes other users' permissions from an existing one.
///
/// # Errors
/// [`io::ErrorKind::PermissionDenied`] if other users could write to it or own it.
pub fn close_folder(path: &Path) -> io::Result<()> {
    create_private_subfolder(path)?;
    let found = path.metadata()?;
    let mode = found.mode() & 0o7777;
    if found.uid() != super::process::own_user() {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "it belongs to another user"));
    }
    if mode & 0o022 != 0 {
        let what = format!("other users can write to it (mode {mode:04o})");
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, what));
    }
    if mode & 0o077 == 0 {
        return Ok(());
    }
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o700))
}

/// Opens `path` for appending and reading, and creates it with mode 0600 if it doesn't exist.
///
/// # Errors
/// [`super::file::NotAFile`] if the path is not a regular file.
pub fn open_append(path: &Path) -> io::Result<File> {
    open_regular(path, OpenOptions::new().read(true).append(true).create(true).mode(0o600))
}

/// The same, but refuses a symlink, which may lead elsewhere.
///
/// # Errors
/// The path is a symlink, or not a regular file.
pub fn open_append_no_link(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true).mode(0o600);
    // Don't block on pipes.
    let file = options.custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path)?;
    NotAFile::check(&file.metadata()?)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_file_is_private_and_an_existing_one_keeps_its_mode() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.json");
        write(&path, b"one").unwrap();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        write(&path, b"two").unwrap();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o640);
        assert_eq!(std::fs::read(&path).unwrap(), b"two");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_file_is_created_once_without_leftovers() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("HEARTBEAT.md");
        create(&path, b"one").unwrap();
        assert_eq!(create(&path, b"two").unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        std::os::unix::fs::symlink("nowhere", folder.path().join("link")).unwrap();
        let linked = create(&folder.path().join("link"), b"two").unwrap_err();
        assert_eq!(linked.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(std::fs::read(&path).unwrap(), b"one");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_folder_is_closed_unless_others_could_write_to_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hosts");
        let mode = || path.metadata().unwrap().permissions().mode() & 0o7777;
        close_folder(&path).unwrap();
        assert_eq!(mode(), 0o700);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        close_folder(&path).unwrap();
        assert_eq!(mode(), 0o700);
        for open in [0o770, 0o702, 0o777, 0o1777] {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(open)).unwrap();
            assert_eq!(close_folder(&path).unwrap_err().kind(), io::ErrorKind::PermissionDenied);
            assert_eq!(mode(), open);
        }
    }

    #[test]
    fn a_symlink_stays_a_symlink() {
        let folder = tempfile::tempdir().unwrap();
        let (real, link) = (folder.path().join("real"), folder.path().join("link"));
        std::fs::write(&real, "old").unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        write(&link, b"new").unwrap();
        assert!(link.is_symlink());
        assert_eq!(std::fs::read(&real).unwrap(), b"new");
    }
}
