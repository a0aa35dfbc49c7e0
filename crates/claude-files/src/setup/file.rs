//! Changes a settings file: under a lock, with a backup beside it, and without losing concurrent edits.

use super::SetupError;
use std::ffi::OsString;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use sys::file::read_regular;
use sys::swap::{Swap, swap, write_beside};
use sys::{atomic, lock};

/// How many concurrent edits are tolerated.
const TRIES: u32 = 100;

/// The current state, as input for a plan.
#[derive(Debug, Clone, Copy)]
pub struct SettingsFile<'a> {
    /// The file's bytes, if it exists.
    pub file: Option<&'a [u8]>,
    /// The backup's bytes, if it exists.
    pub backup: Option<&'a [u8]>,
}

/// What to do with the file and its backup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan<T> {
    /// The file's new bytes; `None` to remove it.
    pub next: Option<Vec<u8>>,
    /// What to do with the backup.
    pub backup: Backup,
    /// The decision, for the caller.
    pub decision: T,
}

/// What to do with the backup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backup {
    /// Leave it, if there is one.
    Keep,
    /// Write the file's old bytes to it.
    Write,
    /// Remove it.
    Remove,
}

/// A change that was made or was unnecessary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed<T> {
    /// The file, with links resolved.
    pub real: PathBuf,
    /// Its bytes before.
    pub before: Option<Vec<u8>>,
    /// The plan.
    pub plan: Plan<T>,
    /// Why the unneeded backup could not be removed.
    pub left_behind: Option<io::ErrorKind>,
}

/// Points at which another process could interfere, for tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// The plan was made, and the file is about to be reread.
    Decided,
    /// The file was reread, and is about to be replaced.
    Replacing,
}

/// The path of the backup of the settings at `real`.
#[must_use]
pub fn backup_of(real: &Path) -> PathBuf {
    let mut name = real.file_name().map_or_else(OsString::new, OsString::from);
    name.push(".murmur-backup");
    real.with_file_name(name)
}

/// Plans a change of the file at `path` with `decide`, and writes nothing.
pub fn preview<T>(
    path: &Path,
    decide: impl FnOnce(SettingsFile<'_>) -> Result<Plan<T>, SetupError>,
) -> Result<Changed<T>, SetupError> {
    let real = resolve(path)?;
    let before = read(&real)?;
    let plan = decide_on(&real, before.as_deref(), decide)?;
    Ok(Changed { real, before, plan, left_behind: None })
}

/// Plans a change of the file at `path` with `decide` and applies it, under the lock at `lock_path`. Plans again
/// whenever the file has changed meanwhile.
pub fn change<T>(
    path: &Path,
    lock_path: &Path,
    decide: impl FnMut(SettingsFile<'_>) -> Result<Plan<T>, SetupError>,
) -> Result<Changed<T>, SetupError> {
    change_watched(path, lock_path, decide, &mut |_, _| ())
}

/// The same, calling `stages` with the resolved path.
pub fn change_watched<T>(
    path: &Path,
    lock_path: &Path,
    mut decide: impl FnMut(SettingsFile<'_>) -> Result<Plan<T>, SetupError>,
    stages: &mut dyn FnMut(Stage, &Path),
) -> Result<Changed<T>, SetupError> {
    let _lock =
        lock::lock(lock_path).map_err(|source| SetupError::Lock { path: lock_path.to_owned(), source })?;
    let real = resolve(path)?;
    let beside = backup_of(&real);
    let cannot = |source| SetupError::Write { path: real.clone(), source };
    let mut before = read(&real)?;
    for _ in 0..TRIES {
        let plan = decide_on(&real, before.as_deref(), &mut decide)?;
        if plan.next == before {
            return Ok(Changed { real, before, plan, left_behind: None });
        }
        ours_to_write(&real)?;
        if plan.backup == Backup::Write
            && let Some(bytes) = &before
        {
            let mode = real.metadata().map_or(0o600, |found| found.mode() & 0o600);
            write_beside(&beside, bytes, mode).map_err(cannot)?;
        }
        stages(Stage::Decided, &real);
        let mut replacing = || stages(Stage::Replacing, &real);
        match swap(&real, before.as_deref(), plan.next.as_deref(), &mut replacing).map_err(cannot)? {
            Swap::Done => {
                let gone = if plan.backup == Backup::Remove { std::fs::remove_file(&beside) } else { Ok(()) };
                let left_behind =
                    gone.err().map(|error| error.kind()).filter(|kind| *kind != io::ErrorKind::NotFound);
                return Ok(Changed { real, before, plan, left_behind });
            }
            Swap::Changed(now) => before = now,
        }
    }
    Err(SetupError::KeepsChanging { path: real, times: TRIES })
}

/// Calls `decide` for the file at `real`, which is `before`, and its backup. An unreadable backup prevents any change.
fn decide_on<T>(
    real: &Path,
    before: Option<&[u8]>,
    decide: impl FnOnce(SettingsFile<'_>) -> Result<Plan<T>, SetupError>,
) -> Result<Plan<T>, SetupError> {
    let backup = read(&backup_of(real));
    let known = backup.as_ref().ok().and_then(Option::as_deref);
    let plan = decide(SettingsFile { file: before, backup: known })?;
    if plan.next.as_deref() != before {
        backup?;
    }
    Ok(plan)
}

fn read(real: &Path) -> Result<Option<Vec<u8>>, SetupError> {
    read_regular(real).map_err(|source| SetupError::Read { path: real.to_owned(), source })
}

/// Resolves `path`, which need not exist.
fn resolve(path: &Path) -> Result<PathBuf, SetupError> {
    let cannot = |source| SetupError::Read { path: path.to_owned(), source };
    let mut path = path.to_owned();
    for _ in 0..40 {
        match path.canonicalize() {
            Ok(real) => return Ok(real),
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(cannot(error)),
            Err(_) => {}
        }
        let folder = path.parent().unwrap_or(Path::new("/")).to_owned();
        match path.read_link() {
            Ok(target) => path = folder.join(target),
            Err(_) => {
                let folder = folder.canonicalize().unwrap_or(folder);
                return Ok(path.file_name().map_or_else(|| folder.clone(), |name| folder.join(name)));
            }
        }
    }
    Err(cannot(io::ErrorKind::NotFound.into()))
}

/// Checks that replacing `real` keeps its owner and links, and creates its folder.
fn ours_to_write(real: &Path) -> Result<(), SetupError> {
    let user = rustix::process::geteuid().as_raw();
    let folder = real.parent().unwrap_or(Path::new("/"));
    let foreign = |path: &Path, owner: u32| SetupError::Foreign { path: path.to_owned(), owner };
    if let Ok(found) = real.metadata() {
        if found.uid() != user {
            return Err(foreign(real, found.uid()));
        }
        if found.nlink() > 1 {
            return Err(SetupError::Linked { path: real.to_owned(), links: found.nlink() });
        }
        return Ok(());
    }
    // A new file should belong to the folder's owner.
    let there = folder.ancestors().find_map(|folder| Some((folder, folder.metadata().ok()?)));
    if let Some((folder, found)) = there
        && found.uid() != user
        && user == 0
    {
        return Err(foreign(folder, found.uid()));
    }
    atomic::create_private_folder(folder)
        .map_err(|source| SetupError::Write { path: real.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backup_that_cannot_be_removed_is_not_a_failure() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("settings.json");
        std::fs::write(&path, "a").unwrap();
        let beside = backup_of(&path.canonicalize().unwrap());
        std::fs::write(&beside, "b").unwrap();
        let decide = |found: SettingsFile<'_>| {
            Ok(Plan { next: found.backup.map(<[u8]>::to_vec), backup: Backup::Remove, decision: () })
        };
        let mut stages = |stage, _: &Path| {
            if stage == Stage::Replacing {
                std::fs::remove_file(&beside).unwrap();
                std::fs::create_dir(&beside).unwrap();
            }
        };
        let changed = change_watched(&path, &folder.path().join("lock"), decide, &mut stages).unwrap();
        assert!(changed.left_behind.is_some());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "b");
    }
}
