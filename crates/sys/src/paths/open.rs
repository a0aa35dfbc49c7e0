//! Checks of other users' access to the data folder.
//!
//! If others can write to it, murmur cannot trust what it reads there and refuses to start. If they can only read
//! it, murmur warns: sockets are in folders that nobody else can enter, and files are private.

use super::{DataDir, PathsError};
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Permission bits that let others write.
const WRITE: u32 = 0o022;
const ANYTHING: u32 = 0o077;
/// Permission bits that let others enter a folder.
const ENTER: u32 = 0o011;

/// The depth of the search for writable entries. murmur's own folders are not deeper.
const DEPTH: usize = 4;

impl DataDir {
    /// Checks that only the user can write to the data folder. Returns [`PathsError::Open`] if others can read it.
    ///
    /// # Errors
    /// [`PathsError::Writable`], or [`PathsError::Unusable`] if its mode is unknown.
    pub fn require_ours(&self) -> Result<Option<PathsError>, PathsError> {
        let path = self.root().to_path_buf();
        let found = path.metadata().map_err(|source| PathsError::Unusable { path: path.clone(), source })?;
        if let Some(writable) = writable(&path, &found) {
            return Err(writable);
        }
        if mode(&found) & ANYTHING == 0 {
            return Ok(None);
        }
        // Only the folder's own mode protects its contents.
        match writable_within(&path, &found, DEPTH) {
            Some(writable) => Err(writable),
            None => Ok(Some(PathsError::Open { path, mode: mode(&found) })),
        }
    }
}

fn mode(found: &Metadata) -> u32 {
    found.mode() & 0o7777
}

fn writable(path: &Path, found: &Metadata) -> Option<PathsError> {
    let mode = mode(found);
    let is_writable = mode & WRITE != 0 && !found.is_symlink();
    let is_folder = found.is_dir();
    is_writable.then(|| PathsError::Writable { path: path.to_path_buf(), mode, is_folder })
}

/// Returns the first entry in `folder` that others can reach and write to.
fn writable_within(folder: &Path, found: &Metadata, depth: usize) -> Option<PathsError> {
    if !found.is_dir() || mode(found) & ENTER == 0 {
        return None;
    }
    let deeper = depth.checked_sub(1)?;
    let mut paths: Vec<_> = std::fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path()).collect();
    paths.sort_unstable();
    paths.iter().find_map(|path| {
        let found = path.symlink_metadata().ok()?;
        writable(path, &found).or_else(|| writable_within(path, &found, deeper))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Hinted;
    use std::fs::{Permissions, create_dir, set_permissions, write};
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn others_may_read_but_not_write() {
        let top = tempfile::tempdir().unwrap();
        let root = top.path().join("data");
        let dir = DataDir::find(Some(&root), None, None).unwrap();
        dir.prepare().unwrap();
        let try_set = |path: &Path, mode: u32| set_permissions(path, Permissions::from_mode(mode));
        let set = |path: &Path, mode: u32| try_set(path, mode).unwrap();
        let finding = || match dir.require_ours() {
            Ok(None) => "ours".to_owned(),
            Ok(Some(open)) => format!("warn: {open}").replace(root.to_str().unwrap(), "X"),
            Err(error) => {
                let hint = error.hint().unwrap_or_default();
                format!("{error}; {hint}").replace(root.to_str().unwrap(), "X")
            }
        };
        assert_eq!(finding(), "ours");
        // A Nix build may not be allowed to set the setgid bit of a folder.
        let inherits = try_set(&root, 0o2750).is_ok().then_some(0o2750);
        for mode in [0o755, 0o750, 0o705, 0o711].into_iter().chain(inherits) {
            set(&root, mode);
            let expected = format!("warn: the data folder X is open to other users (mode {mode:04o})");
            assert_eq!(finding(), expected);
        }
        for mode in [0o777, 0o1777, 0o770, 0o702, 0o720] {
            set(&root, mode);
            let expected = format!(
                "other users can write to X (mode {mode:04o}); check what is there, then run: chmod 700 X"
            );
            assert_eq!(finding(), expected);
        }
        write(dir.config(), "{}").unwrap();
        create_dir(dir.beats()).unwrap();
        write(dir.beats().join("a"), "").unwrap();
        set(&dir.config(), 0o644);
        set(&dir.beats(), 0o700);
        set(&dir.beats().join("a"), 0o666);
        std::os::unix::fs::symlink("config.json", root.join("link")).unwrap();
        set(&root, 0o755);
        assert!(finding().starts_with("warn: "), "{}", finding());
        set(&dir.beats(), 0o755);
        assert_eq!(
            finding(),
            "other users can write to X/beats/a (mode 0666); check what is there, then run: chmod 600 X/beats/a"
        );
        set(&dir.beats(), 0o777);
        assert!(finding().ends_with("run: chmod 700 X/beats"), "{}", finding());
        // Others cannot enter the root.
        set(&root, 0o700);
        assert_eq!(finding(), "ours");
    }
}
