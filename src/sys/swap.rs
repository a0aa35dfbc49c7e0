//! A file replaced only while it is what it was: what somebody else wrote in the last moment stays.
//!
//! The new file is made beside the old one and the two change places (Linux, macOS); what came out is looked at, and goes
//! back if it is something else. Where a system or a file system cannot do that, the file is read right before it is replaced.

use super::file::read_regular;
use rustix::io::Errno;
use std::fs::{File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use tempfile::NamedTempFile;

/// What became of a replacement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Swap {
    /// It is done.
    Done,
    /// Nothing was done: the file is this now, or is not there.
    Changed(Option<Vec<u8>>),
}

/// Makes the file at `path`, no link, what `next` says, if it is what `expected` says; `None` is no file. `moment` is
/// called when it has been looked at for the last time before.
///
/// A file that exists keeps its mode and its group; a new one gets 0600. What is written is on the disk before it counts.
///
/// # Errors
/// What the system says. The file is then as it was, and no other is left behind; only what somebody put there in the
/// last moment, and what cannot go back there, is left beside it.
pub fn swap(
    path: &Path,
    expected: Option<&[u8]>,
    next: Option<&[u8]>,
    moment: &mut dyn FnMut(),
) -> io::Result<Swap> {
    let folder = folder(path);
    let staged = stage(path, next.unwrap_or_default())?;
    let now = read_regular(path)?;
    if now.as_deref() != expected {
        return Ok(Swap::Changed(now));
    }
    moment();
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

/// Writes `bytes` to the file at `path`, which is replaced if there is one, with this mode.
///
/// # Errors
/// What the system says. The old file is then as it was.
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

/// The new file, beside the one that it is to replace, and like it.
pub(super) fn stage(path: &Path, bytes: &[u8]) -> io::Result<NamedTempFile> {
    let found = path.metadata().ok();
    let mut file = private(folder(path), 0o600)?;
    file.write_all(bytes)?;
    if let Some(found) = found {
        if found.gid() != file.as_file().metadata()?.gid() {
            std::os::unix::fs::fchown(file.as_file(), None, Some(found.gid()))?;
        }
        // A file is made under the user's mask, which is not to hold for one that was there.
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

/// Other systems have nothing for it.
#[cfg(not(any(target_os = "linux", target_os = "macos")))]
pub(super) fn change_places(_: &Path, _: &Path) -> Result<(), Errno> {
    Err(Errno::NOSYS)
}

/// How often two writers may overtake each other.
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

/// Has what came out go back: `out` is what is at `staged`, while `next` was put at `path`.
pub(super) fn put_back(
    staged: &Path,
    path: &Path,
    next: &[u8],
    mut out: io::Result<Option<Vec<u8>>>,
) -> io::Result<Swap> {
    // What somebody put there goes back, until nothing newer comes out by that. It is on the disk all the time.
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

/// Takes the file away under another name, and gives it up when it has been looked at.
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
    // It is somebody's, whether it can be read or not.
    match staged.persist_noclobber(path) {
        Err(failed) if failed.error.kind() != io::ErrorKind::AlreadyExists => {
            // Better under a strange name than nowhere.
            let (_, left) = failed.file.keep().map_err(|failed| failed.error)?;
            let what = format!("{} ({} is what somebody had put there)", failed.error, left.display());
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
        let mut moment = || {
            if let Some(late) = late {
                let other = folder.path().join("other");
                std::fs::write(&other, late).unwrap();
                std::fs::rename(other, &path).unwrap();
            }
        };
        let swap = swap(&path, before.map(str::as_bytes), next.map(str::as_bytes), &mut moment).unwrap();
        let left = std::fs::read_dir(folder.path()).unwrap().count();
        assert!(left <= 1, "{left} files");
        (swap, std::fs::read_to_string(&path).ok())
    }

    #[test]
    fn a_file_becomes_what_it_is_to_be() {
        assert_eq!(swapped(Some("a"), Some("b"), None), (Swap::Done, Some("b".into())));
        assert_eq!(swapped(None, Some("b"), None), (Swap::Done, Some("b".into())));
        assert_eq!(swapped(Some("a"), None, None), (Swap::Done, None));
        assert_eq!(swapped(None, None, None), (Swap::Done, None));
    }

    #[test]
    fn what_comes_in_the_last_moment_stays() {
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
    fn what_comes_in_the_last_moment_and_cannot_be_read_stays() {
        for next in [None, Some(&b"b"[..])] {
            let (folder, path) = place(Some("a"));
            let mut moment = || {
                std::fs::remove_file(&path).unwrap();
                std::os::unix::fs::symlink("nowhere", &path).unwrap();
            };
            let failed = swap(&path, Some(b"a"), next, &mut moment).unwrap_err();
            assert_eq!(failed.kind(), io::ErrorKind::NotFound);
            assert_eq!(path.read_link().unwrap(), Path::new("nowhere"));
            assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        }
    }

    #[test]
    fn a_file_that_is_another_already_stays() {
        let (_folder, path) = place(Some("c"));
        let swap = swap(&path, Some(b"a"), Some(b"b"), &mut || panic!("it was not looked at")).unwrap();
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
