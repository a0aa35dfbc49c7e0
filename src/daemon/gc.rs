//! Garbage collection: removes the pulses and folders of ended agents a day after their last sign of life, old
//! captures, and old parts of rotated files; rotates murmur.log.
//!
//! Touches only regular files and real folders directly in its folders, and never follows a link.

mod archives;
mod captures;

use jiff::{SignedDuration, Timestamp};
use murmur_core::config::captures::Captures;
use murmur_host::discover;
use murmur_store::pulse::folder::{self, FoundPulse};
use murmur_store::pulse::{Pulse, State};
use serde::Serialize;
use std::collections::HashSet;
use std::fs::{DirEntry, File, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use sys::error::Hinted;
use sys::identity;
use sys::paths::DataDir;
use sys::unreadable::uncommon;

/// How long after its last sign of life an ended agent is kept.
const RETENTION: SignedDuration = SignedDuration::from_hours(24);
/// How old a temporary file must be to count as left over.
const TEMP_FILE_AGE: SignedDuration = SignedDuration::from_hours(1);
/// How long after its last line a part of a rotated file is kept.
const ARCHIVES: SignedDuration = SignedDuration::from_hours(2 * 365 * 24);
/// How many bytes the parts of all rotated files may take, unless [`Collector::archives`] has to keep more.
const MAX_ARCHIVES: u64 = 4 << 30;
/// How long parts of the journal are kept even then: budgets of a month need them.
const BUDGET_MONTH: SignedDuration = SignedDuration::from_hours(32 * 24);
/// What a removed part is.
const PART: &str = "part of an archive";
/// The minimum time between two runs.
const MIN_INTERVAL: SignedDuration = SignedDuration::from_hours(1);

/// A file or folder could not be read or removed.
#[derive(Debug, thiserror::Error)]
#[error("cannot {what} {}", .path.display())]
pub struct GcError {
    what: &'static str,
    path: PathBuf,
    source: io::Error,
}

impl Hinted for GcError {
    fn hint(&self) -> Option<String> {
        Some(uncommon(&self.path, &self.source).unwrap_or_else(|| "check its owner and mode".to_owned()))
    }
}

/// The result of a run.
#[derive(Debug)]
pub struct Collected {
    /// When to run next.
    pub next: Timestamp,
    /// What was removed, or would be.
    pub removed: Vec<Removed>,
    /// The first error.
    pub error: Option<GcError>,
}

/// A file or folder that was removed.
#[derive(Debug, Serialize)]
pub struct Removed {
    /// Its path.
    pub path: PathBuf,
    /// What it was, for people.
    pub what: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// Why.
    pub why: &'static str,
}

/// Where to collect garbage, and how.
#[derive(Debug)]
pub struct Scope<'a> {
    /// The data folder.
    pub dir: &'a DataDir,
    /// The store of captures, and how long to keep those of beats; `None` leaves captures alone.
    pub captures: Option<(&'a Path, Captures)>,
    /// Whether to remove nothing, and only list what would be removed.
    pub is_dry_run: bool,
}

/// Removes what is no longer needed, as of `now`.
#[must_use]
pub fn collect(scope: &Scope<'_>, now: Timestamp) -> Collected {
    let Scope { dir, captures, is_dry_run } = *scope;
    let (hosted, next) = (hosted(dir), after(now, RETENTION));
    let mut collector = Collector { dir, now, is_dry_run, hosted, next, removed: Vec::new(), error: None };
    collector.pulses();
    collector.agents();
    if let Some((root, limits)) = &captures {
        collector.captures(root, limits);
        collector.next = collector.next.min(after(now, MIN_INTERVAL));
    }
    collector.archives(MAX_ARCHIVES);
    if !is_dry_run && let Err((path, error)) = archives::rotate(dir, rotate::LIMIT) {
        collector.record("rotate", &path, Err(error));
    }
    let Collector { next, removed, error, .. } = collector;
    Collected { next: next.max(after(now, MIN_INTERVAL)), removed, error }
}

struct Collector<'a> {
    dir: &'a DataDir,
    now: Timestamp,
    is_dry_run: bool,
    /// The folders of agents with a live host, which are kept whatever their pulses say.
    hosted: HashSet<PathBuf>,
    next: Timestamp,
    removed: Vec<Removed>,
    error: Option<GcError>,
}

impl Collector<'_> {
    fn pulses(&mut self) {
        for entry in self.entries(&self.dir.pulses()) {
            let path = entry.path();
            if is_temp_file(&entry) {
                self.remove_leftover(&path);
                continue;
            }
            let is_file = entry.file_type().is_ok_and(|found| found.is_file());
            if let Some(found) = folder::read(&path).filter(|_| is_file) {
                self.remove_if_ended(&found);
            }
        }
    }

    fn remove_if_ended(&mut self, found: &FoundPulse) {
        let Some(folder) = found.path.file_stem().map(|stem| self.dir.agents().join(stem)) else { return };
        if self.hosted.contains(&folder) || !self.is_due(found.pulse.at(), RETENTION) {
            return;
        }
        // A hook locks this while it writes a pulse: an agent that is active again stays.
        let activity = folder.join("activity.jsonl");
        let is_file = activity.symlink_metadata().is_ok_and(|found| found.is_file());
        let lock = is_file.then(|| File::open(&activity)).and_then(Result::ok);
        if lock.as_ref().is_some_and(|lock| lock.try_lock().is_err()) {
            return;
        }
        if !has_ended(&found.pulse, identity::was_alive_at)
            || folder::read(&found.path).as_ref() != Some(found)
        {
            return;
        }
        self.remove_file(&found.path, "last action of an agent", "its agent ended");
        self.remove_folder(&folder);
    }

    fn agents(&mut self) {
        for entry in self.entries(&self.dir.agents()) {
            // False for a link to a folder.
            if !entry.file_type().is_ok_and(|found| found.is_dir()) {
                continue;
            }
            let folder = entry.path();
            let mut newest = changed(entry.metadata());
            for inner in self.entries(&folder) {
                if is_temp_file(&inner) {
                    self.remove_leftover(&inner.path());
                }
                newest = newest.max(changed(inner.metadata()));
            }
            let mut pulse = self.dir.pulses().join(entry.file_name());
            pulse.as_mut_os_string().push(".json");
            let is_wanted = pulse.symlink_metadata().is_ok() || self.hosted.contains(&folder);
            if !is_wanted && self.is_due(newest, RETENTION) {
                self.remove_folder(&folder);
            }
        }
    }

    /// Removes parts of rotated files that are too old, and the oldest while all exceed `max` bytes. The newest part of
    /// each file stays, and the journal's parts of a month.
    fn archives(&mut self, max: u64) {
        let (mut bytes, mut removable) = (0, Vec::new());
        for live in self.dir.rotated() {
            let parts = match rotate::parts(&live) {
                Ok(parts) => parts,
                Err(error) => {
                    self.record("list the parts of", &live, Err(error));
                    continue;
                }
            };
            let is_journal = live == self.dir.journal();
            for (newer, part) in parts.iter().rev().enumerate() {
                let (path, written) =
                    (part.path(), part.modified().and_then(|at| Timestamp::try_from(at).ok()));
                if newer > 0 && self.is_due(written, ARCHIVES) {
                    self.remove_file(&path, PART, "rotated two years ago");
                    continue;
                }
                bytes += path.symlink_metadata().map_or(0, |found| found.len());
                if newer > 0 && written.is_some_and(|at| !is_journal || after(at, BUDGET_MONTH) <= self.now) {
                    removable.push((written, path));
                }
            }
        }
        removable.sort();
        for (_, path) in removable {
            if bytes <= max {
                break;
            }
            bytes -= path.symlink_metadata().map_or(0, |found| found.len());
            self.remove_file(&path, PART, "archives exceed 4 GiB");
        }
    }

    /// Removes a temporary file whose writer died.
    fn remove_leftover(&mut self, path: &Path) {
        if self.is_due(changed(path.symlink_metadata()), TEMP_FILE_AGE) {
            self.remove_file(path, "temporary file", "left over");
        }
    }

    fn remove_folder(&mut self, folder: &Path) {
        if folder.symlink_metadata().is_ok_and(|found| found.is_dir()) {
            let removal = removal(folder, "folder of an agent", "its agent ended");
            self.remove(removal, |folder| std::fs::remove_dir_all(folder));
        }
    }

    fn remove_file(&mut self, path: &Path, what: &str, why: &'static str) {
        self.remove(removal(path, what, why), |path| std::fs::remove_file(path));
    }

    /// Removes it with `remove`, and lists it if that succeeds. A dry run only lists it.
    fn remove(&mut self, removal: Removed, remove: impl FnOnce(&Path) -> io::Result<()>) {
        let is_gone = self.is_dry_run || {
            let removed = remove(&removal.path);
            let is_ok = removed.is_ok();
            self.record("remove", &removal.path, removed);
            is_ok
        };
        self.removed.extend(is_gone.then_some(removal));
    }

    /// Whether `at` is at least `retention` ago; otherwise the next run is scheduled for when it will be.
    fn is_due(&mut self, at: Option<Timestamp>, retention: SignedDuration) -> bool {
        let Some(due) = at.map(|at| after(at, retention)) else { return false };
        if due > self.now {
            self.next = self.next.min(due);
        }
        due <= self.now
    }

    /// The entries of a folder; none if it is missing or a link.
    fn entries(&mut self, folder: &Path) -> Vec<DirEntry> {
        if !folder.symlink_metadata().is_ok_and(|found| found.is_dir()) {
            return Vec::new();
        }
        match std::fs::read_dir(folder) {
            Ok(entries) => entries.flatten().collect(),
            Err(error) => {
                self.record("read", folder, Err(error));
                Vec::new()
            }
        }
    }

    fn record(&mut self, what: &'static str, path: &Path, result: io::Result<()>) {
        if let Err(source) = result
            && source.kind() != io::ErrorKind::NotFound
        {
            self.error.get_or_insert(GcError { what, path: path.to_path_buf(), source });
        }
    }
}

/// The removal of `path`, with the size of its files.
fn removal(path: &Path, what: &str, why: &'static str) -> Removed {
    Removed { path: path.to_path_buf(), what: what.to_owned(), bytes: size(path), why }
}

/// The size in bytes of a file, or of all files in a folder.
fn size(path: &Path) -> u64 {
    let Ok(found) = path.symlink_metadata() else { return 0 };
    if !found.is_dir() {
        return found.len();
    }
    std::fs::read_dir(path).into_iter().flatten().flatten().map(|entry| size(&entry.path())).sum()
}

/// Whether the agent of `pulse` has ended. An agent with an unknown process counts as ended: if it is alive, its next
/// call writes a new pulse, while a dead one would otherwise be reported as stuck forever.
fn has_ended(pulse: &Pulse, was_alive_at: impl Fn(u32, Timestamp) -> bool) -> bool {
    let lives = |at| pulse.pid.is_some_and(|pid| was_alive_at(pid, at));
    pulse.state == State::Exited || !pulse.at().is_some_and(lives)
}

fn hosted(dir: &DataDir) -> HashSet<PathBuf> {
    let live = discover::live(&dir.hosts()).unwrap_or_default();
    live.iter().map(|agent| dir.agent(agent.as_str())).collect()
}

/// Whether it is one of murmur's temporary files.
fn is_temp_file(entry: &DirEntry) -> bool {
    let name = entry.file_name();
    let is_ours = |start: &&str| name.as_encoded_bytes().starts_with(start.as_bytes());
    [".new-", ".murmur-"].iter().any(is_ours) && entry.file_type().is_ok_and(|found| found.is_file())
}

fn changed(found: io::Result<Metadata>) -> Option<Timestamp> {
    Timestamp::try_from(found.and_then(|found| found.modified()).ok()?).ok()
}

fn after(at: Timestamp, span: SignedDuration) -> Timestamp {
    at.checked_add(span).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests;
