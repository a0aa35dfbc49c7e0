//! The folders in murmur's data folder: whether each is usable and private.

use super::{Check, Environment, Finding, Hint, Level};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use sys::unreadable::opened;

/// The worst problem of any folder other than the hosts'.
pub(super) fn examine(environment: &Environment) -> Option<Finding> {
    let hosts = environment.dir.hosts();
    let folders = environment.dir.folders().into_iter().filter(|folder| *folder != hosts);
    let mut wrong: Vec<Finding> =
        folders.filter_map(|folder| check_path(Check::DATA_FOLDER, &folder, Level::Warn)).collect();
    // The worst; among equals the first.
    wrong.sort_by_key(|finding| std::cmp::Reverse(finding.level));
    let rest = wrong.len().saturating_sub(1);
    let first = wrong.into_iter().next()?;
    let more = if rest == 0 { String::new() } else { format!(" (and {rest} more)") };
    Some(Finding { found: format!("{}{more}", first.found), ..first })
}

/// Checks the folder of hosts, whose sockets others must not reach.
pub(super) fn hosts(environment: &Environment) -> Option<Finding> {
    check_path(Check::HOSTS, &environment.dir.hosts(), Level::Fail)
}

/// What is wrong with the folder at `path`, if it exists. `if_open` is the level if others could write to it, which the
/// data folder around it prevents.
fn check_path(check: Check, path: &Path, if_open: Level) -> Option<Finding> {
    let shown = path.display();
    let found = match path.metadata() {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        Err(error) => {
            return Some(check.fail(format!("cannot read {shown}: {error}"), Hint::OWNER_AND_MODE));
        }
    };
    if !found.is_dir() {
        return Some(check.fail(format!("{shown} is not a folder"), Hint::NO_FOLDER));
    }
    let access = rustix::fs::Access::READ_OK | rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK;
    let access = rustix::fs::access(path, access).map_err(io::Error::from);
    let mode = found.mode() & 0o7777;
    if let Err(error) = access {
        // We cannot change the mode of another user's folder.
        let hint =
            if opened(path).is_some() { Hint::MAKE_WRITABLE.about(path) } else { Hint::OWNER_AND_MODE };
        return Some(check.fail(format!("cannot use {shown} (mode {mode:04o}): {error}"), hint));
    }
    let open = || Finding {
        // A folder that is only readable is closed on the next use.
        level: if mode & 0o022 == 0 { Level::Warn } else { if_open },
        ..check.fail(
            format!("{shown} is accessible to other users (mode {mode:04o})"),
            Hint::CLOSE_FOLDER.about(path),
        )
    };
    (mode & 0o077 != 0).then(open)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{Permissions, create_dir, set_permissions, write};
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_folder_is_ok_or_open_or_not_a_folder() {
        let top = tempfile::tempdir().unwrap();
        let path = top.path().join("hosts");
        let of = |path: &Path, level| {
            check_path(Check::HOSTS, path, level).map(|finding| {
                let hint = finding.hint.unwrap().to_string();
                (
                    finding.level,
                    finding.found.replace(&path.display().to_string(), "X"),
                    hint.replace(&path.display().to_string(), "X"),
                )
            })
        };
        assert_eq!(of(&path, Level::Fail), None);
        create_dir(&path).unwrap();
        set_permissions(&path, Permissions::from_mode(0o700)).unwrap();
        assert_eq!(of(&path, Level::Fail), None);
        set_permissions(&path, Permissions::from_mode(0o777)).unwrap();
        let open = |level| {
            Some((
                level,
                "X is accessible to other users (mode 0777)".to_owned(),
                "run: chmod 700 X".to_owned(),
            ))
        };
        assert_eq!(of(&path, Level::Fail), open(Level::Fail));
        assert_eq!(of(&path, Level::Warn), open(Level::Warn));
        let file = top.path().join("beats");
        write(&file, "").unwrap();
        let none = of(&file, Level::Warn).unwrap();
        assert_eq!(
            none,
            (
                Level::Fail,
                "X is not a folder".to_owned(),
                "move it away; murmur creates a folder there".to_owned()
            )
        );
    }
}
