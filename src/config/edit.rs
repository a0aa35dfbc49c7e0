//! Changes to config.json that leave every other byte as its user wrote it.
//!
//! Text in, text out: the functions here know which bytes are which key, replace or insert those, and imitate the
//! layout around them. [`apply`] does it to the file, under a lock.

pub(crate) mod layout;
mod member;
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
use sys;
use sys::pause::pause;
use sys::replace::{self, Care, Outcome, Replaced};
use sys::unreadable::uncommon;

pub use workspaces::{NewWorkspace, add_workspace, remove_workspace};

/// Why config.json was not changed. It is then as it was.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    /// It is not what the reader accepts as a whole.
    #[error(transparent)]
    Wrong(#[from] Problem),
    /// There is no such workspace to remove.
    #[error("workspace {} is not in config.json", path.display())]
    Unknown {
        /// The path that was asked for.
        path: PathBuf,
    },
    /// The workspace to add is there already.
    #[error("workspace {} is in config.json already", path.display())]
    Known {
        /// The path that was asked for.
        path: PathBuf,
    },
    /// A path that JSON cannot hold.
    #[error("path {} is not UTF-8", path.display())]
    NotUtf8 {
        /// The path that was asked for.
        path: PathBuf,
    },
    /// The lock could not be taken.
    #[error("{} cannot be locked", path.display())]
    Lock {
        /// The lock file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// Another program has the file open for writing.
    #[error("{} is being written by another program", path.display())]
    Open {
        /// The file.
        path: PathBuf,
    },
    /// Other programs change it all the time.
    #[error("{} changes all the time", path.display())]
    Restless {
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
    #[error("{} cannot be read", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// It could not be written.
    #[error("{} cannot be written", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

impl Hinted for EditError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Unknown { .. } => "`murmur workspaces list` shows those that are".to_owned(),
            Self::Known { .. } => "change its entry there".to_owned(),
            Self::NotUtf8 { .. } => "rename the folder".to_owned(),
            Self::Lock { .. } => "check the owner and mode of its folder".to_owned(),
            Self::Busy { .. } => "it is tried again".to_owned(),
            Self::Read { path, source } => {
                uncommon(path, source).unwrap_or_else(|| "check its owner and mode".to_owned())
            }
            Self::Write { path, source } => uncommon(path, source)
                .unwrap_or_else(|| "check its folder's owner, mode and free space".to_owned()),
            Self::Open { .. } => "it is tried again".to_owned(),
            Self::Restless { .. } => "stop what changes it".to_owned(),
            Self::Wrong(problem) => return problem.hint(),
        })
    }
}

/// That a heartbeat ran.
#[derive(Debug, Clone, Copy)]
pub struct LastRun<'a> {
    /// The workspace's path, as config.json has it.
    pub workspace: &'a Path,
    /// The heartbeat's name; none for the workspace's own.
    pub name: Option<&'a str>,
    /// When it ran.
    pub at: Timestamp,
}

/// Reads the file at `path` under the lock at `lock_path`, and replaces it where `edit` changes its text.
///
/// A file that does not exist is an empty text. Nothing is written where the text stays the same. Where another program
/// changes the file meanwhile, whether it knows of the lock or not, `edit` is called again with what it wrote.
///
/// # Errors
/// What `edit` says, and what the system says of the two files. The file is then as it was.
pub fn apply(
    path: &Path,
    lock_path: &Path,
    edit: impl Fn(&str) -> Result<String, EditError>,
) -> Result<(), EditError> {
    let _lock = sys::lock::lock(lock_path)
        .map_err(|source| EditError::Lock { path: lock_path.to_owned(), source })?;
    for _ in 0..LOOKS {
        match change(path, Care::Full, &edit) {
            Err(EditError::Open { .. }) => pause(LOOK),
            changed => return changed.map(|_| ()),
        }
    }
    // It is not written, only kept open.
    change(path, Care::Less, &edit).map(|_| ())
}

/// Does the same, but waits for nobody. Returns the file that was replaced.
///
/// # Errors
/// As [`apply`]; [`EditError::Busy`] where another has the lock, [`EditError::Open`] where another program is just writing
/// the file.
pub fn apply_at_once(
    path: &Path,
    lock_path: &Path,
    care: Care,
    edit: impl Fn(&str) -> Result<String, EditError>,
) -> Result<Option<Replaced>, EditError> {
    let lock = sys::lock::try_lock(lock_path)
        .map_err(|source| EditError::Lock { path: lock_path.to_owned(), source })?;
    match lock {
        Some(_held) => change(path, care, &edit),
        None => Err(EditError::Busy { path: lock_path.to_owned() }),
    }
}

/// How often, and how far apart, is looked whether another program has written what it is writing.
const LOOKS: u32 = 200;
const LOOK: Duration = Duration::from_millis(5);

/// How many edits of others may come in between.
const TRIES: u32 = 100;

fn change(
    path: &Path,
    care: Care,
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
        let before = replace::read(path, care).map_err(read_failed)?;
        let text = super::file::text_of(before.as_deref().unwrap_or_default(), path)?;
        if !text.body().trim().is_empty() {
            text.object(text.body())?;
        }
        let after = edit(text.source())?;
        if after.as_bytes() == before.as_deref().unwrap_or_default() {
            return Ok(None);
        }
        match replace::replace(path, before.as_deref(), after.as_bytes(), care).map_err(write_failed)? {
            Outcome::Done(replaced) => return Ok(replaced),
            Outcome::Changed => {}
        }
    }
    Err(EditError::Restless { path: path.to_owned() })
}

/// Sets `lastRun`, or `lastRuns.<name>`, of the workspaces named; those that are not there any more are skipped, as are
/// those that have a later one, but for one that is later than `now`.
///
/// # Errors
/// When the text is not JSON or not an object.
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
    let mut out = String::with_capacity(source.len() + 64 * updates.len());
    let mut copied = 0;
    for entry in entries {
        let Ok(object) = Object::parse(entry) else { continue };
        let path = object.get("path").and_then(|member| json::string(member.value));
        // The first entry of a path is the one that counts, so it is taken out here.
        let Some(updates) = path.and_then(|path| pending.remove(Path::new(path.as_ref()))) else { continue };
        let span = json::span(source, entry);
        let changed =
            updates.iter().fold(entry.to_owned(), |entry, update| with_last_run(&entry, update, now));
        out.push_str(source.get(copied..span.start).unwrap_or_default());
        out.push_str(&changed);
        copied = span.end;
    }
    out.push_str(source.get(copied..).unwrap_or_default());
    Ok(out)
}

fn with_last_run(entry: &str, update: &LastRun<'_>, now: Timestamp) -> String {
    let is_later = |said: &str| {
        let said = json::string(said).and_then(|said| said.parse::<Timestamp>().ok());
        said.is_some_and(|said| said >= update.at && said <= now)
    };
    let at = format!("\"{}\"", sys::clock::rfc3339(update.at));
    let object = Object::parse(entry).ok();
    let member = |key| object.as_ref().and_then(|object| object.get(key));
    let Some(name) = update.name else {
        let stays = member("lastRun").is_some_and(|member| is_later(member.value));
        return if stays { entry.to_owned() } else { member::set(entry, "lastRun", &at) };
    };
    let runs = member("lastRuns").filter(|member| member.value.starts_with('{'));
    let said = runs.and_then(|runs| Object::parse(runs.value).ok()?.get(name));
    match runs {
        _ if said.is_some_and(|said| is_later(said.value)) => entry.to_owned(),
        Some(runs) if !runs.value.contains('"') => {
            member::set(entry, "lastRuns", &member::nested(entry, name, &at))
        }
        Some(runs) => member::set(entry, "lastRuns", &member::set(runs.value, name, &at)),
        None => member::set(entry, "lastRuns", &member::nested(entry, name, &at)),
    }
}
