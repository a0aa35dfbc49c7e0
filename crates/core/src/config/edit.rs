//! Changes to config.json that leave every other byte as its user wrote it.
//!
//! The functions are pure, from text to text: they find the bytes of a key, replace or insert them, and match the
//! layout around them. [`apply`] changes the file, under a lock.

mod keys;
pub mod layout;
mod member;
pub mod splice;
#[cfg(test)]
mod tests;
mod workspaces;

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use sys::error::Hinted;

use jiff::Timestamp;

use super::json::{self, Object};
use super::problem::Problem;
use splice::Splices;
use sys::file::{is_full, room_hint};
use sys::pause::pause;
use sys::replace::{self, OpenWriters, Replaced, Replacement};
use sys::unreadable::uncommon;

pub use keys::{KeyChange, set_keys};
pub use workspaces::{NewWorkspace, add_workspace, remove_workspace};

/// Why config.json was not changed.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    /// It is not a valid configuration.
    #[error(transparent)]
    Wrong(#[from] Problem),
    /// The workspace to remove does not exist.
    #[error("workspace {} is not in config.json", path.display())]
    Unknown {
        /// The requested path.
        path: PathBuf,
    },
    /// The workspace to add already exists.
    #[error("workspace {} is already in config.json", path.display())]
    Known {
        /// The requested path.
        path: PathBuf,
    },
    /// A path that JSON cannot hold.
    #[error("path {} is not UTF-8", path.display())]
    NotUtf8 {
        /// The requested path.
        path: PathBuf,
    },
    /// The lock could not be taken.
    #[error("cannot lock {}", path.display())]
    Lock {
        /// The lock file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Another program has the file open for writing.
    #[error("{} is being written by another program", path.display())]
    Open {
        /// The file.
        path: PathBuf,
    },
    /// Other programs kept changing it.
    #[error("{} keeps changing", path.display())]
    KeepsChanging {
        /// The file.
        path: PathBuf,
    },
    /// Another process is changing the file.
    #[error("{} is held by another process", path.display())]
    Busy {
        /// The lock file.
        path: PathBuf,
    },
    /// It could not be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// It could not be written.
    #[error("cannot write {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

impl Hinted for EditError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Unknown { .. } => "see: murmur list".to_owned(),
            Self::Known { .. } => "edit its entry there".to_owned(),
            Self::NotUtf8 { .. } => "rename the folder".to_owned(),
            Self::Lock { .. } => "check the owner and mode of its folder".to_owned(),
            Self::Busy { .. } => "murmur retries".to_owned(),
            Self::Read { path, source } => {
                uncommon(path, source).unwrap_or_else(|| "check its owner and mode".to_owned())
            }
            Self::Write { source, .. } if is_full(source) => room_hint(source).to_owned(),
            Self::Write { path, source } => uncommon(path, source)
                .unwrap_or_else(|| "check its folder's owner, mode and free space".to_owned()),
            Self::Open { .. } => "murmur retries".to_owned(),
            Self::KeepsChanging { .. } => "stop the program that changes it".to_owned(),
            Self::Wrong(problem) => return problem.hint(),
        })
    }
}

/// A heartbeat's run.
#[derive(Debug, Clone, Copy)]
pub struct LastRun<'a> {
    /// The workspace's path, as in config.json.
    pub workspace: &'a Path,
    /// The heartbeat's name; `None` for the workspace's own.
    pub name: Option<&'a str>,
    /// When it ran.
    pub at: Timestamp,
}

/// Edits the file at `path` with `edit`, under the lock at `lock_path`.
///
/// A missing file counts as empty. Nothing is written if the text stays the same. If another program changes the file
/// meanwhile, with or without the lock, `edit` is called again with the new text. On an error the file is unchanged.
pub fn apply(
    path: &Path,
    lock_path: &Path,
    edit: impl Fn(&str) -> Result<String, EditError>,
) -> Result<(), EditError> {
    let _lock = sys::lock::lock(lock_path)
        .map_err(|source| EditError::Lock { path: lock_path.to_owned(), source })?;
    for _ in 0..LOOKS {
        match change(path, OpenWriters::Refuse, &edit) {
            Err(EditError::Open { .. }) => pause(LOOK),
            changed => return changed.map(|_| ()),
        }
    }
    // It is kept open but not written.
    change(path, OpenWriters::Ignore, &edit).map(|_| ())
}

/// Does the same without waiting, and returns the replaced file.
///
/// # Errors
/// [`EditError::Busy`] if another process has the lock, [`EditError::Open`] if another program is writing the file.
pub fn apply_at_once(
    path: &Path,
    lock_path: &Path,
    open_writers: OpenWriters,
    edit: impl Fn(&str) -> Result<String, EditError>,
) -> Result<Option<Replaced>, EditError> {
    let lock = sys::lock::try_lock(lock_path)
        .map_err(|source| EditError::Lock { path: lock_path.to_owned(), source })?;
    match lock {
        Some(_held) => change(path, open_writers, &edit),
        None => Err(EditError::Busy { path: lock_path.to_owned() }),
    }
}

/// How often to check whether another program has finished writing.
const LOOKS: u32 = 200;
const LOOK: Duration = Duration::from_millis(5);

/// How many concurrent edits are tolerated.
const TRIES: u32 = 100;

fn change(
    path: &Path,
    open_writers: OpenWriters,
    edit: &impl Fn(&str) -> Result<String, EditError>,
) -> Result<Option<Replaced>, EditError> {
    let read_failed = |source: io::Error| match source.kind() {
        io::ErrorKind::ResourceBusy => EditError::Open { path: path.to_owned() },
        _ => EditError::Read { path: path.to_owned(), source },
    };
    let write_failed = |source: io::Error| match source.kind() {
        io::ErrorKind::ResourceBusy => EditError::Open { path: path.to_owned() },
        _ => EditError::Write { path: path.to_owned(), source },
    };
    for _ in 0..TRIES {
        let before = replace::read(path, open_writers).map_err(read_failed)?;
        let text = super::file::text_of(before.as_deref().unwrap_or_default(), path)?;
        if !text.body().trim().is_empty() {
            text.object(text.body())?;
        }
        let after = edit(text.source())?;
        if after.as_bytes() == before.as_deref().unwrap_or_default() {
            return Ok(None);
        }
        match replace::replace(path, before.as_deref(), after.as_bytes(), open_writers)
            .map_err(write_failed)?
        {
            Replacement::Done(replaced) => return Ok(replaced),
            Replacement::Changed => {}
        }
    }
    Err(EditError::KeepsChanging { path: path.to_owned() })
}

/// Sets `lastRun` or `lastRuns.<name>` of these workspaces. Skips missing workspaces, and those with a later run,
/// unless that is after `now`.
pub fn set_last_run(source: &str, updates: &[LastRun<'_>], now: Timestamp) -> Result<String, EditError> {
    let text = super::file::text_of(source.as_bytes(), Path::new("config.json"))?;
    if text.body().trim().is_empty() {
        return Ok(source.to_owned());
    }
    let root = text.object(text.body())?;
    let entries =
        root.get("workspaces").and_then(|member| json::elements(member.value).ok()).unwrap_or_default();
    let mut pending: std::collections::HashMap<&Path, Vec<&LastRun<'_>>> = std::collections::HashMap::new();
    for update in updates {
        pending.entry(update.workspace).or_default().push(update);
    }
    let mut splices = Splices::default();
    for entry in entries {
        let Ok(object) = Object::parse(entry) else { continue };
        let path = object.get("path").and_then(|member| json::string(member.value));
        // Only the first entry of a path is used.
        let Some(updates) = path.and_then(|path| pending.remove(Path::new(path.as_ref()))) else { continue };
        let changed =
            updates.iter().fold(entry.to_owned(), |entry, update| with_last_run(&entry, update, now));
        splices.replace(json::span(source, entry), changed);
    }
    Ok(splices.apply(source))
}

fn with_last_run(entry: &str, update: &LastRun<'_>, now: Timestamp) -> String {
    let is_later = |known: &str| {
        let known = json::string(known).and_then(|known| known.parse::<Timestamp>().ok());
        known.is_some_and(|known| known >= update.at && known <= now)
    };
    let at = format!("\"{}\"", sys::clock::rfc3339(update.at));
    let object = Object::parse(entry).ok();
    let member = |key| object.as_ref().and_then(|object| object.get(key));
    let Some(name) = update.name else {
        let stays = member("lastRun").is_some_and(|member| is_later(member.value));
        return if stays { entry.to_owned() } else { member::set(entry, "lastRun", &at) };
    };
    let runs = member("lastRuns").filter(|member| member.value.starts_with('{'));
    let known = runs.and_then(|runs| Object::parse(runs.value).ok()?.get(name));
    match runs {
        _ if known.is_some_and(|known| is_later(known.value)) => entry.to_owned(),
        Some(runs) if !runs.value.contains('"') => {
            member::set(entry, "lastRuns", &member::nested(entry, name, &at))
        }
        Some(runs) => member::set(entry, "lastRuns", &member::set(runs.value, name, &at)),
        None => member::set(entry, "lastRuns", &member::nested(entry, name, &at)),
    }
}
