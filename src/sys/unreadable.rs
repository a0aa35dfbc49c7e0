//! What the system says of a file or folder of murmur's that cannot be used, with its path and with what to do about it.

use super::shell;
use crate::error::Failure;
use rustix::process::getuid;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Says this where nothing better is known.
const OWNER_AND_MODE: &str = "check its owner and mode";

/// The same error of the same kind, which says of what it is and what to do.
#[must_use]
pub fn unreadable(path: &Path, source: io::Error) -> io::Error {
    let to_do = to_do(path, source.kind());
    let failure = Failure::new(format!("cannot read {}", path.display())).because(&source).hint(to_do);
    io::Error::new(source.kind(), failure)
}

fn to_do(path: &Path, kind: io::ErrorKind) -> String {
    match kind {
        io::ErrorKind::PermissionDenied => opened(path).unwrap_or_else(|| OWNER_AND_MODE.to_owned()),
        io::ErrorKind::NotADirectory => {
            // What is there, though no folder; all that is around it is one.
            let in_the_way = path.ancestors().find(|place| place.exists()).unwrap_or(path);
            format!(
                "choose another data folder with --data-dir or MURMUR_DIR, or move {} away if nobody needs it",
                in_the_way.display()
            )
        }
        io::ErrorKind::IsADirectory | io::ErrorKind::InvalidInput => {
            "move it away: murmur writes a file there".to_owned()
        }
        _ => "look at the disk".to_owned(),
    }
}

/// What opens `path` to its owner, where that is us, and its mode is what closes it or a folder that it is in.
#[must_use]
pub fn opened(path: &Path) -> Option<String> {
    let folders: Vec<&Path> = path.ancestors().collect();
    // From the outside: nothing can be known of what is in a closed folder.
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

    /// Root looks into whatever it likes, so that the system's words are given here.
    fn said(path: &Path, kind: io::ErrorKind, top: &Path) -> String {
        let error = unreadable(path, kind.into());
        assert_eq!(error.kind(), kind);
        error.line().replace(&top.display().to_string(), "")
    }

    #[test]
    fn the_hint_opens_what_is_closed_and_not_what_is_in_it() {
        let top = tempfile::tempdir().unwrap();
        let top = top.path();
        let (data, beats) = (top.join("data"), top.join("data/beats"));
        create_dir(&data).unwrap();
        create_dir(&beats).unwrap();
        write(beats.join("file"), "").unwrap();
        let close = |path: &Path, mode: u32| set_permissions(path, Permissions::from_mode(mode)).unwrap();
        let denied = |path: &Path| said(path, io::ErrorKind::PermissionDenied, top);
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
    fn what_is_no_folder_is_to_be_moved_away() {
        let top = tempfile::tempdir().unwrap();
        write(top.path().join("data"), "").unwrap();
        assert_eq!(
            said(&top.path().join("data/hosts"), io::ErrorKind::NotADirectory, top.path()),
            "cannot read /data/hosts: not a directory; choose another data folder with --data-dir or MURMUR_DIR, or move /data away if nobody needs it"
        );
    }
}
