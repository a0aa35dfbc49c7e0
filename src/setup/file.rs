//! A settings file, changed: under a lock, with a backup beside it, and so that nobody else's edit is lost.

use super::SetupError;
use crate::sys::file::read_regular;
use crate::sys::swap::{Swap, swap, write_beside};
use crate::sys::{atomic, lock};
use std::ffi::OsString;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

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
///
/// # Errors
/// [`SetupError::Read`], and what `decide` says.
pub fn look<T>(
    path: &Path,
    decide: impl FnOnce(Found<'_>) -> Result<Plan<T>, SetupError>,
) -> Result<Changed<T>, SetupError> {
    let real = resolve(path)?;
    let before = read(&real)?;
    let backup = read(&backup_of(&real)).unwrap_or_default();
    let plan = decide(Found { file: before.as_deref(), backup: backup.as_deref() })?;
    Ok(Changed { real, before, plan })
}

/// Does what `decide` says to the file at `path`, under the lock at `lock_path`. It is asked again whenever the file has
/// changed meanwhile.
///
/// # Errors
/// [`SetupError`]; the file is then as it was.
pub fn change<T>(
    path: &Path,
    lock_path: &Path,
    decide: impl FnMut(Found<'_>) -> Result<Plan<T>, SetupError>,
) -> Result<Changed<T>, SetupError> {
    change_watched(path, lock_path, decide, &mut |_, _| ())
}

/// The same; `moments` is told the file itself.
///
/// # Errors
/// As [`change`].
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
        let backup = read(&beside).unwrap_or_default();
        let plan = decide(Found { file: before.as_deref(), backup: backup.as_deref() })?;
        if plan.next == before {
            return Ok(Changed { real, before, plan });
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
                if plan.backup == Backup::Goes {
                    std::fs::remove_file(&beside)
                        .map_err(|source| SetupError::Write { path: beside, source })?;
                }
                return Ok(Changed { real, before, plan });
            }
            Swap::Changed(now) => before = now,
        }
    }
    Err(SetupError::Restless { path: real, times: TRIES })
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
