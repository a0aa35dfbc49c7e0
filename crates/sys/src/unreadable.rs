//! I/O errors of murmur's own files and folders, with path and hint.

mod flags;

use super::file::{is_full, room_hint};
use super::shell;
use crate::error::Failure;
use flags::unlocked;
use rustix::io::Errno;
use rustix::process::getuid;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The hint if nothing more specific is known.
const OWNER_AND_MODE: &str = "check its owner and mode";

/// Wraps `source` in an error of the same kind that names the path and has a hint.
#[must_use]
pub fn unreadable(path: &Path, source: io::Error) -> io::Error {
    let to_do = to_do(path, &source);
    let failure = Failure::new(format!("cannot read {}", path.display())).because(&source).hint(to_do);
    io::Error::new(source.kind(), failure)
}

/// A failure to write the file at `path`, with cause and hint. An error that says both already stays as it is.
#[must_use]
pub fn unwritable(path: &Path, source: &io::Error) -> Failure {
    if let Some(failure) = source.get_ref().and_then(|inner| inner.downcast_ref::<Failure>()) {
        return failure.clone();
    }
    Failure::new(format!("cannot write {}", path.display())).because(source).hint(write_hint(path, source))
}

/// The hint for a failure to write the file at `path`.
#[must_use]
pub fn write_hint(path: &Path, source: &io::Error) -> String {
    if is_full(source) { room_hint(source).to_owned() } else { to_do(path, source) }
}

/// The hint for `error`, met at the file or folder `path`.
fn to_do(path: &Path, error: &io::Error) -> String {
    if let Some(hint) = uncommon(path, error) {
        return hint;
    }
    match error.kind() {
        io::ErrorKind::PermissionDenied => opened(path).unwrap_or_else(|| OWNER_AND_MODE.to_owned()),
        io::ErrorKind::NotADirectory => {
            // The innermost path that exists is a file instead of a folder.
            let in_the_way = path.ancestors().find(|place| place.exists()).unwrap_or(path);
            format!(
                "choose another data folder with --data-dir or MURMUR_DIR, or move {} away if nobody needs it",
                in_the_way.display()
            )
        }
        io::ErrorKind::IsADirectory | io::ErrorKind::InvalidInput => {
            "move it away: murmur writes a file there".to_owned()
        }
        _ => "check the disk".to_owned(),
    }
}

/// Returns the hint for an error at `path` that neither owner nor mode explain: a loop of symlinks, or a flag that
/// forbids changes (`chattr`).
#[must_use]
pub fn uncommon(path: &Path, error: &io::Error) -> Option<String> {
    match Errno::from_io_error(error)? {
        Errno::LOOP => {
            Some(format!("remove the symlink {}: it leads back to itself", looping(path).display()))
        }
        Errno::PERM => unlocked(path),
        _ => None,
    }
}

/// The outermost part of `path` that cannot be resolved.
fn looping(path: &Path) -> &Path {
    let loops = |place: &&Path| {
        place.metadata().is_err_and(|error| Errno::from_io_error(&error) == Some(Errno::LOOP))
    };
    let places: Vec<&Path> = path.ancestors().collect();
    places.into_iter().rev().find(loops).unwrap_or(path)
}

/// Returns the `chmod` command that makes `path` accessible, if we own it and its mode, or a parent's, is the
/// cause.
#[must_use]
pub fn opened(path: &Path) -> Option<String> {
    let folders: Vec<&Path> = path.ancestors().collect();
    // Outermost first, because nothing is known about the contents of a closed folder.
    folders.into_iter().rev().find_map(|place| {
        let found = place.metadata().ok()?;
        let bits = match (found.is_dir(), place == path) {
            (true, true) => 0o700,
            (true, false) => 0o100,
            (false, _) => 0o600,
        };
        let is_closed = found.uid() == getuid().as_raw() && found.mode() & bits != bits;
        let bits = if found.is_dir() { "rwx" } else { "rw" };
        is_closed.then(|| format!("run: chmod u+{bits} {}", shell::path(place)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Hinted;
    use std::fs::{Permissions, create_dir, set_permissions, write};
    use std::os::unix::fs::PermissionsExt;

    /// Takes the error as an argument, because root is never denied access.
    fn message(path: &Path, kind: io::ErrorKind, top: &Path) -> String {
        let error = unreadable(path, kind.into());
        assert_eq!(error.kind(), kind);
        error.line().replace(&top.display().to_string(), "")
    }

    #[test]
    fn the_hint_names_the_outermost_closed_folder() {
        let top = tempfile::tempdir().unwrap();
        let top = top.path();
        let (data, beats) = (top.join("data"), top.join("data/beats"));
        create_dir(&data).unwrap();
        create_dir(&beats).unwrap();
        write(beats.join("file"), "").unwrap();
        let close = |path: &Path, mode: u32| set_permissions(path, Permissions::from_mode(mode)).unwrap();
        let denied = |path: &Path| message(path, io::ErrorKind::PermissionDenied, top);
        assert_eq!(denied(&beats), "cannot read /data/beats: permission denied; check its owner and mode");
        close(&beats.join("file"), 0);
        assert!(denied(&beats.join("file")).ends_with("; run: chmod u+rw /data/beats/file"));
        close(&beats, 0o300);
        assert!(denied(&beats).ends_with("; run: chmod u+rwx /data/beats"));
        assert!(denied(&beats.join("file")).ends_with("; run: chmod u+rw /data/beats/file"));
        close(&data, 0o600);
        assert!(denied(&beats).ends_with("; run: chmod u+rwx /data"), "{}", denied(&beats));
        close(&data, 0o700);
        close(&beats, 0o700);
    }

    #[test]
    fn the_write_hint_depends_on_the_error() {
        let message = |error: io::Error| unwritable(Path::new("/no/heartbeats.jsonl"), &error).line();
        for (errno, expected) in [
            (libc::ENOSPC, "No space left on device (os error 28); make room on that disk"),
            (libc::EACCES, "Permission denied (os error 13); check its owner and mode"),
            (libc::EPERM, "Operation not permitted (os error 1); check its owner and mode"),
            (libc::EISDIR, "Is a directory (os error 21); move it away: murmur writes a file there"),
        ] {
            let error = io::Error::from_raw_os_error(errno);
            assert_eq!(message(error), format!("cannot write /no/heartbeats.jsonl: {expected}"));
        }
        for (kind, expected) in [
            (
                io::ErrorKind::FileTooLarge,
                "raise the limit on file sizes (ulimit -f) where murmur is started",
            ),
            (io::ErrorKind::ReadOnlyFilesystem, "mount that file system read-write"),
        ] {
            assert!(message(kind.into()).ends_with(&format!("; {expected}")), "{kind}");
        }
    }

    #[test]
    fn the_hint_for_a_loop_names_the_link() {
        let top = tempfile::tempdir().unwrap();
        let link = top.path().join("link");
        std::os::unix::fs::symlink("link", &link).unwrap();
        for path in [link.clone(), link.join("heartbeats.jsonl")] {
            let error = path.metadata().unwrap_err();
            let expected = format!("; remove the symlink {}: it leads back to itself", link.display());
            assert!(unreadable(&path, error).line().ends_with(&expected));
        }
    }

    #[test]
    fn the_hint_for_a_file_in_place_of_a_folder_is_to_move_it() {
        let top = tempfile::tempdir().unwrap();
        write(top.path().join("data"), "").unwrap();
        assert_eq!(
            message(&top.path().join("data/hosts"), io::ErrorKind::NotADirectory, top.path()),
            "cannot read /data/hosts: not a directory; choose another data folder with --data-dir or MURMUR_DIR, or move /data away if nobody needs it"
        );
    }
}
