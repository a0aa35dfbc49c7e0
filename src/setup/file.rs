//! A settings file, changed: under a lock, with a backup beside it, and so that nobody else's edit is lost.

use super::SetupError;
use std::ffi::OsString;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use sys::file::read_regular;
use sys::swap::{Swap, swap, write_beside};
use sys::{atomic, lock};

/// How often a file may change under our hands.
const TRIES: u32 = 100;

/// What is there, for whoever decides what becomes of it.
#[derive(Debug, Clone, Copy)]
pub struct Found<'a> {
    /// The bytes of the file; none where there is no file.
    pub file: Option<&'a [u8]>,
    /// The bytes of its backup.
    pub backup: Option<&'a [u8]>,
}

/// What becomes of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan<T> {
    /// The file's new bytes; none where it is to go.
    pub next: Option<Vec<u8>>,
    /// And its backup.
    pub backup: Backup,
    /// What was decided, for who asked.
    pub said: T,
}

/// What becomes of the backup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backup {
    /// It stays, or there is none.
    Stays,
    /// It becomes what the file was.
    Made,
    /// It is needed no longer.
    Goes,
}

/// A change that was made, or was found to be none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed<T> {
    /// The file itself, links followed.
    pub real: PathBuf,
    /// Its bytes before.
    pub before: Option<Vec<u8>>,
    /// What was decided.
    pub plan: Plan<T>,
    /// Why the backup, which is needed no longer, is still there.
    pub left_behind: Option<io::ErrorKind>,
}

/// The moments of a change at which another process could act. Only tests do anything then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// It was read and decided on, and is about to be read again.
    Decided,
    /// It was read again, and is about to be replaced.
    Replacing,
}

/// Where the backup of the settings at `real` is.
#[must_use]
pub fn backup_of(real: &Path) -> PathBuf {
    let mut name = real.file_name().map_or_else(OsString::new, OsString::from);
    name.push(".murmur-backup");
    real.with_file_name(name)
}

/// What `decide` says of the file at `path`; nothing is written.
pub fn look<T>(
    path: &Path,
    decide: impl FnOnce(Found<'_>) -> Result<Plan<T>, SetupError>,
) -> Result<Changed<T>, SetupError> {
    let real = resolve(path)?;
    let before = read(&real)?;
    let plan = decide_on(&real, before.as_deref(), decide)?;
    Ok(Changed { real, before, plan, left_behind: None })
}

/// Does what `decide` says to the file at `path`, under the lock at `lock_path`. It is asked again whenever the file has
/// changed meanwhile.
pub fn change<T>(
    path: &Path,
    lock_path: &Path,
    decide: impl FnMut(Found<'_>) -> Result<Plan<T>, SetupError>,
) -> Result<Changed<T>, SetupError> {
    change_watched(path, lock_path, decide, &mut |_, _| ())
}

/// The same; `moments` is told the file itself.
pub fn change_watched<T>(
    path: &Path,
    lock_path: &Path,
    mut decide: impl FnMut(Found<'_>) -> Result<Plan<T>, SetupError>,
    moments: &mut dyn FnMut(Moment, &Path),
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
        if plan.backup == Backup::Made
            && let Some(bytes) = &before
        {
            let mode = real.metadata().map_or(0o600, |found| found.mode() & 0o600);
            write_beside(&beside, bytes, mode).map_err(cannot)?;
        }
        moments(Moment::Decided, &real);
        let mut replacing = || moments(Moment::Replacing, &real);
        match swap(&real, before.as_deref(), plan.next.as_deref(), &mut replacing).map_err(cannot)? {
            Swap::Done => {
                let gone = if plan.backup == Backup::Goes { std::fs::remove_file(&beside) } else { Ok(()) };
                let left_behind =
                    gone.err().map(|error| error.kind()).filter(|kind| *kind != io::ErrorKind::NotFound);
                return Ok(Changed { real, before, plan, left_behind });
            }
            Swap::Changed(now) => before = now,
        }
    }
    Err(SetupError::Restless { path: real, times: TRIES })
}

/// What `decide` says of the file at `real`, which is `before`, and its backup. Without knowing that, nothing changes.
fn decide_on<T>(
    real: &Path,
    before: Option<&[u8]>,
    decide: impl FnOnce(Found<'_>) -> Result<Plan<T>, SetupError>,
) -> Result<Plan<T>, SetupError> {
    let backup = read(&backup_of(real));
    let known = backup.as_ref().ok().and_then(Option::as_deref);
    let plan = decide(Found { file: before, backup: known })?;
    if plan.next.as_deref() != before {
        backup?;
    }
    Ok(plan)
}

fn read(real: &Path) -> Result<Option<Vec<u8>>, SetupError> {
    read_regular(real).map_err(|source| SetupError::Read { path: real.to_owned(), source })
}

/// The file that `path` leads to, which need not exist.
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

/// Sees that what is made in the place of `real` would be the same user's, and makes its folder where there is none.
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
    // A new file belongs to whoever has the folder, or what is there of it.
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
    fn a_backup_that_cannot_be_removed_makes_no_failure_of_what_was_done() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("settings.json");
        std::fs::write(&path, "a").unwrap();
        let beside = backup_of(&path.canonicalize().unwrap());
        std::fs::write(&beside, "b").unwrap();
        let decide = |found: Found<'_>| {
            Ok(Plan { next: found.backup.map(<[u8]>::to_vec), backup: Backup::Goes, said: () })
        };
        let mut moments = |moment, _: &Path| {
            if moment == Moment::Replacing {
                std::fs::remove_file(&beside).unwrap();
                std::fs::create_dir(&beside).unwrap();
            }
        };
        let changed = change_watched(&path, &folder.path().join("lock"), decide, &mut moments).unwrap();
        assert!(changed.left_behind.is_some());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "b");
    }
}
