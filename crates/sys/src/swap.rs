//! Replacing a file only if it is unchanged, without losing a concurrent edit.
//!
//! The new file is created next to the old one, and the two are exchanged atomically (Linux, macOS). If the old
//! one turns out to be different, they are exchanged back. On other systems and file systems, the file is compared
//! right before it is replaced.

use super::file::read_regular;
use rustix::io::Errno;
use std::fs::{File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use tempfile::NamedTempFile;

/// The result of a replacement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Swap {
    /// The file was replaced.
    Done,
    /// Nothing was replaced. Contains the current contents, or `None` if the file doesn't exist.
    Changed(Option<Vec<u8>>),
}

/// Replaces the contents of the file at `path`, not a symlink, with `next` if they equal `expected`. `None` means
/// that there is no file. Calls `before_swap` right after the last check.
///
/// An existing file keeps its mode and group; a new one gets 0600. The new contents are synced to disk first.
///
/// # Errors
/// On failure the file is unchanged and no other file remains, except for a concurrent edit that cannot be moved
/// back, which is kept next to it.
pub fn swap(
    path: &Path,
    expected: Option<&[u8]>,
    next: Option<&[u8]>,
    before_swap: &mut dyn FnMut(),
) -> io::Result<Swap> {
    let folder = folder(path);
    let staged = stage(path, next.unwrap_or_default())?;
    let now = read_regular(path)?;
    if now.as_deref() != expected {
        return Ok(Swap::Changed(now));
    }
    before_swap();
    let done = match (expected, next) {
        (None, None) => Swap::Done,
        (None, Some(_)) => match staged.persist_noclobber(path) {
            Ok(_) => Swap::Done,
            Err(failed) if failed.error.kind() == io::ErrorKind::AlreadyExists => {
                Swap::Changed(read_regular(path)?)
            }
            Err(failed) => return Err(failed.error),
        },
        (Some(expected), Some(next)) => exchange(staged, path, expected, next)?,
        (Some(expected), None) => remove(staged, path, expected)?,
    };
    File::open(folder)?.sync_all()?;
    Ok(done)
}

/// Replaces the contents of the file at `path` with `bytes`, or creates it, with this mode. On failure the old
/// file is unchanged.
pub fn write_beside(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let folder = folder(path);
    let mut file = private(folder, mode)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|failed| failed.error)?;
    File::open(folder)?.sync_all()
}

pub(super) fn folder(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn private(folder: &Path, mode: u32) -> io::Result<NamedTempFile> {
    tempfile::Builder::new().prefix(".murmur-").permissions(Permissions::from_mode(mode)).tempfile_in(folder)
}

/// Creates the new file next to `path`, with the same mode and group.
pub(super) fn stage(path: &Path, bytes: &[u8]) -> io::Result<NamedTempFile> {
    let found = path.metadata().ok();
    let mut file = private(folder(path), 0o600)?;
    file.write_all(bytes)?;
    if let Some(found) = found {
        if found.gid() != file.as_file().metadata()?.gid() {
            std::os::unix::fs::fchown(file.as_file(), None, Some(found.gid()))?;
        }
        // The umask applies to created files, but must not change an existing mode.
        file.as_file().set_permissions(Permissions::from_mode(found.mode() & 0o7777))?;
    }
    file.as_file().sync_all()?;
    Ok(file)
}

#[cfg(any(target_os = "linux", target_os = "macos"))]
pub(super) fn change_places(one: &Path, other: &Path) -> Result<(), Errno> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE)
}

/// Not supported on this system.
#[cfg(not(any(target_os = "linux", target_os = "macos")))]
pub(super) fn change_places(_: &Path, _: &Path) -> Result<(), Errno> {
    Err(Errno::NOSYS)
}

/// The limit of exchanges with a competing writer.
const ROUNDS: u32 = 100;

fn exchange(staged: NamedTempFile, path: &Path, expected: &[u8], next: &[u8]) -> io::Result<Swap> {
    match change_places(staged.path(), path) {
        Ok(()) => {}
        Err(Errno::NOENT) => return Ok(Swap::Changed(read_regular(path)?)),
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
            staged.persist(path).map_err(|failed| failed.error)?;
            return Ok(Swap::Done);
        }
        Err(errno) => return Err(errno.into()),
    }
    let out = read_regular(staged.path());
    if matches!(&out, Ok(Some(out)) if out == expected) {
        return Ok(Swap::Done);
    }
    put_back(staged.path(), path, next, out)
}

/// Moves the contents `out`, which are at `staged`, back to `path`, where `next` is now.
pub(super) fn put_back(
    staged: &Path,
    path: &Path,
    next: &[u8],
    mut out: io::Result<Option<Vec<u8>>>,
) -> io::Result<Swap> {
    // Exchange until nothing newer comes out. The concurrent edit is always on disk in one of the two files.
    let mut placed = Some(next.to_vec());
    for _ in 0..ROUNDS {
        change_places(staged, path)?;
        let now = read_regular(staged);
        if matches!(&now, Ok(now) if *now == placed) {
            return out.map(Swap::Changed);
        }
        placed = out.unwrap_or_default();
        out = now;
    }
    read_regular(path).map(Swap::Changed)
}

/// Deletes the file by renaming it and comparing the contents.
fn remove(staged: NamedTempFile, path: &Path, expected: &[u8]) -> io::Result<Swap> {
    match std::fs::rename(path, staged.path()) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Swap::Changed(None)),
        Err(error) => return Err(error),
    }
    let out = read_regular(staged.path());
    if matches!(&out, Ok(Some(out)) if out == expected) {
        return Ok(Swap::Done);
    }
    // Somebody's file is kept even if it is not readable.
    match staged.persist_noclobber(path) {
        Err(failed) if failed.error.kind() != io::ErrorKind::AlreadyExists => {
            // Keep it under a temporary name instead of losing it.
            let (_, left) = failed.file.keep().map_err(|failed| failed.error)?;
            let what = format!("{} (a concurrent edit was saved as {})", failed.error, left.display());
            Err(io::Error::new(failed.error.kind(), what))
        }
        _ => {
            out?;
            Ok(Swap::Changed(read_regular(path)?))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(text: Option<&str>) -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("settings.json");
        if let Some(text) = text {
            std::fs::write(&path, text).unwrap();
        }
        (folder, path)
    }

    fn swapped(before: Option<&str>, next: Option<&str>, late: Option<&str>) -> (Swap, Option<String>) {
        let (folder, path) = place(before);
        let mut before_swap = || {
            if let Some(late) = late {
                let other = folder.path().join("other");
                std::fs::write(&other, late).unwrap();
                std::fs::rename(other, &path).unwrap();
            }
        };
        let swap = swap(&path, before.map(str::as_bytes), next.map(str::as_bytes), &mut before_swap).unwrap();
        let left = std::fs::read_dir(folder.path()).unwrap().count();
        assert!(left <= 1, "{left} files");
        (swap, std::fs::read_to_string(&path).ok())
    }

    #[test]
    fn a_file_is_replaced_created_or_removed() {
        assert_eq!(swapped(Some("a"), Some("b"), None), (Swap::Done, Some("b".into())));
        assert_eq!(swapped(None, Some("b"), None), (Swap::Done, Some("b".into())));
        assert_eq!(swapped(Some("a"), None, None), (Swap::Done, None));
        assert_eq!(swapped(None, None, None), (Swap::Done, None));
    }

    #[test]
    fn a_concurrent_edit_is_kept() {
        assert_eq!(
            swapped(Some("a"), Some("b"), Some("c")),
            (Swap::Changed(Some(b"c".to_vec())), Some("c".into()))
        );
        assert_eq!(
            swapped(None, Some("b"), Some("c")),
            (Swap::Changed(Some(b"c".to_vec())), Some("c".into()))
        );
        assert_eq!(
            swapped(Some("a"), None, Some("c")),
            (Swap::Changed(Some(b"c".to_vec())), Some("c".into()))
        );
    }

    #[test]
    fn a_concurrent_edit_that_is_not_readable_is_kept() {
        for next in [None, Some(&b"b"[..])] {
            let (folder, path) = place(Some("a"));
            let mut before_swap = || {
                std::fs::remove_file(&path).unwrap();
                std::os::unix::fs::symlink("nowhere", &path).unwrap();
            };
            let failed = swap(&path, Some(b"a"), next, &mut before_swap).unwrap_err();
            assert_eq!(failed.kind(), io::ErrorKind::NotFound);
            assert_eq!(path.read_link().unwrap(), Path::new("nowhere"));
            assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        }
    }

    #[test]
    fn a_file_with_other_contents_is_not_replaced() {
        let (_folder, path) = place(Some("c"));
        let swap = swap(&path, Some(b"a"), Some(b"b"), &mut || panic!("must not be called")).unwrap();
        assert_eq!(swap, Swap::Changed(Some(b"c".to_vec())));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "c");
    }

    #[test]
    fn modes_are_kept_and_a_new_file_is_private() {
        let (_folder, path) = place(None);
        let mode = || path.metadata().unwrap().mode() & 0o7777;
        swap(&path, None, Some(b"a"), &mut || ()).unwrap();
        assert_eq!(mode(), 0o600);
        std::fs::set_permissions(&path, Permissions::from_mode(0o666)).unwrap();
        swap(&path, Some(b"a"), Some(b"b"), &mut || ()).unwrap();
        assert_eq!(mode(), 0o666);
    }
}
