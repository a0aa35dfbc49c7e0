//! Resolves a configuration repeatedly without rereading it: a file with an unchanged identity is not opened.
//!
//! A file that changes twice within one tick of the file system's clock may keep its identity, so a file that changed
//! shortly before it was read is read again the next time.

use std::collections::{HashMap, hash_map};
use std::fs::Metadata;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::num::NonZeroU64;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use sys::error::Failure;
use sys::parallel;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use super::heartbeat_file::HeartbeatFile;
use super::never_runs;
use super::resolve::{self, Folder};
use super::{FOLDER, Heartbeat, Resolved};
use crate::config::cron::Crons;
use crate::config::file::{self, File, FileError, Workspace};
use crate::config::problem::{Position, Problem};
use sys::clock::rfc3339;

/// How old a change must be for the file's identity to be reliable.
const MIN_AGE: SignedDuration = SignedDuration::from_secs(2);

/// Resolves a configuration, and caches what it read.
#[derive(Debug)]
pub struct Cache {
    crons: Crons,
    config: Option<Config>,
    folders: HashMap<Key, Box<Entry>>,
}

/// config.json when it was last read.
#[derive(Debug)]
struct Config {
    stamp: Stamp,
    /// A hash of its bytes.
    bytes: u64,
    file: File,
}

/// A file's identity when it was last read, as a hash; `None` if it didn't exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Stamp {
    identity: Option<NonZeroU64>,
    settled: bool,
}

/// A clean path, hashed and compared by its bytes, which is cheaper than by its components.
#[derive(Debug)]
struct Key(Arc<Path>);

impl Hash for Key {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.0.as_os_str().hash(hasher);
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.0.as_os_str() == other.0.as_os_str()
    }
}

impl Eq for Key {}

#[derive(Debug)]
struct Entry {
    /// The index of its workspace in config.json.
    place: usize,
    found: Folder,
    folder: Stamp,
    own: Stamp,
    list: Stamp,
    /// One for each of the named heartbeats, in order.
    named: Vec<Stamp>,
}

/// A workspace that is looked at.
struct Look<'a> {
    workspace: &'a Workspace,
    entry: Box<Entry>,
    /// Its folder's device and inode, if it exists.
    identity: Option<[u64; 2]>,
}

impl Config {
    fn read(path: &Path, stamp: Stamp, crons: &Crons) -> Result<Self, FileError> {
        let bytes = File::bytes(path)?;
        let file = File::of(bytes.as_deref(), path, crons)?;
        Ok(Self { stamp, bytes: hash_of(bytes.as_deref()), file })
    }
}

impl Stamp {
    fn of(found: &io::Result<Metadata>, now: Timestamp) -> Self {
        let Ok(found) = found else { return Self::default() };
        let changed = Timestamp::new(found.ctime(), i32::try_from(found.ctime_nsec()).unwrap_or_default());
        let times = (found.mtime(), found.mtime_nsec(), found.ctime(), found.ctime_nsec());
        let mut hasher = DefaultHasher::new();
        (found.dev(), found.ino(), found.size(), times).hash(&mut hasher);
        Self {
            identity: Some(NonZeroU64::new(hasher.finish()).unwrap_or(NonZeroU64::MIN)),
            settled: changed.is_ok_and(|changed| now.duration_since(changed) > MIN_AGE),
        }
    }

    /// Whether reading the file now would yield the same as then.
    fn covers(self, now: Self) -> bool {
        self.settled && self.identity == now.identity
    }
}

impl Cache {
    /// Creates an empty cache. `zone` is the default for cron expressions: the system's, in production.
    #[must_use]
    pub fn new(zone: TimeZone) -> Self {
        Self { crons: Crons::new(zone), config: None, folders: HashMap::new() }
    }

    /// Resolves config.json at `path`, which need not exist, and the folders that it lists.
    ///
    /// Fails if config.json as a whole is not usable; the cache keeps its contents then.
    pub fn load(&mut self, path: &Path, now: Timestamp) -> Result<Resolved, FileError> {
        let stamp = Stamp::of(&std::fs::metadata(path), now);
        let known = self.config.take_if(|config| config.stamp.covers(stamp));
        let config = known.map_or_else(|| Config::read(path, stamp, &self.crons), Ok)?;
        let resolved = self.resolve(&config.file, path, now);
        self.config = Some(config);
        Ok(resolved)
    }

    /// Whether `folder` was a workspace when config.json was last read.
    #[must_use]
    pub fn knows(&self, folder: &Path) -> bool {
        self.folders.contains_key(&Key(folder.into()))
    }

    /// Whether config.json at `path` still has the bytes that were last read.
    #[must_use]
    pub fn is_current(&self, path: &Path) -> bool {
        let bytes = File::bytes(path);
        bytes.is_ok_and(|bytes| {
            self.config.as_ref().is_some_and(|config| config.bytes == hash_of(bytes.as_deref()))
        })
    }

    /// Applies `runs`, which murmur wrote into config.json without other changes, if `before` is what was last read.
    pub fn runs_written<'a>(
        &mut self,
        (before, after): (&[u8], &[u8]),
        runs: impl Iterator<Item = (&'a Path, Option<&'a str>, Timestamp)>,
        now: Timestamp,
    ) {
        let lines = |bytes: &[u8]| memchr::memchr_iter(b'\n', bytes).count();
        let Some(config) = self.config.as_mut().filter(|config| config.bytes == hash_of(Some(before))) else {
            return;
        };
        // The positions of later entries would be wrong.
        if lines(before) != lines(after) {
            return;
        }
        for (path, name, at) in runs {
            let place = self.folders.get(&Key(path.into())).map(|entry| entry.place);
            if let Some(Ok(workspace)) = place.and_then(|place| config.file.workspaces.get_mut(place)) {
                workspace.set_last_run(name, at, now);
            }
        }
        config.bytes = hash_of(Some(after));
    }

    /// Resolves again only the workspaces in `folders`, whose HEARTBEAT.md files changed. Returns `None` if that isn't
    /// enough: call [`Self::load`] then.
    pub fn load_again<'a>(
        &mut self,
        folders: impl Iterator<Item = &'a Path>,
        now: Timestamp,
    ) -> Option<Vec<Heartbeat>> {
        let config = self.config.take()?;
        let mut heartbeats = Vec::new();
        let mut all_known = true;
        for folder in folders {
            let place = self.folders.get(&Key(folder.into())).map(|entry| entry.place);
            let workspace = place.and_then(|place| config.file.workspaces.get(place)?.as_ref().ok());
            all_known =
                workspace.is_some_and(|workspace| self.resolve_again(workspace, &mut heartbeats, now));
            if !all_known {
                break;
            }
        }
        self.config = Some(config);
        all_known.then_some(heartbeats)
    }

    /// Resolves a workspace; returns whether nothing about it has to be reported.
    fn resolve_again(&mut self, workspace: &Workspace, out: &mut Vec<Heartbeat>, now: Timestamp) -> bool {
        let place = out.len();
        let mut problems = Vec::new();
        let found = std::fs::metadata(&workspace.path);
        let key = Key(Arc::clone(&workspace.path));
        let entry = self.folders.entry(key).or_insert_with(|| Box::new(Entry::new()));
        entry.refresh(&workspace.path, &found, &self.crons, now);
        resolve_one(workspace, &entry.found, out, &mut problems, now);
        let mut new = out.iter().skip(place);
        problems.is_empty() && new.all(|heartbeat| heartbeat.problem.is_none())
    }

    fn resolve(&mut self, file: &File, path: &Path, now: Timestamp) -> Resolved {
        let mut looks = self.look(file, now).into_iter();
        let mut out = Resolved {
            max_concurrent: file.max_concurrent,
            heartbeats: Vec::with_capacity(file.workspaces.len()),
            problems: Vec::new(),
            warnings: file.warnings.clone(),
            ahead: Vec::new(),
        };
        let mut same: HashMap<[u64; 2], (&Workspace, usize)> = HashMap::with_capacity(file.workspaces.len());
        for entry in &file.workspaces {
            let look = match entry {
                Ok(_) => looks.next(),
                Err(bad) => {
                    match resolve::bad(bad) {
                        Some(heartbeat) => out.heartbeats.push(heartbeat),
                        None => out.problems.push(bad.problem.clone()),
                    }
                    None
                }
            };
            let Some(Look { workspace, entry, identity }) = look else { continue };
            if let Some(identity) = identity {
                match same.entry(identity) {
                    hash_map::Entry::Vacant(empty) => _ = empty.insert((workspace, out.heartbeats.len())),
                    hash_map::Entry::Occupied(before) => {
                        out.refuse_link(path, *before.get(), workspace);
                        continue;
                    }
                }
            }
            resolve_one(workspace, &entry.found, &mut out.heartbeats, &mut out.problems, now);
            self.folders.insert(Key(Arc::clone(&workspace.path)), entry);
        }
        out.warn_of_the_future(path, now);
        out
    }

    /// Rereads what has changed in the folders of all valid workspaces, in their order, and forgets all others.
    fn look<'a>(&mut self, file: &'a File, now: Timestamp) -> Vec<Look<'a>> {
        let mut known = std::mem::take(&mut self.folders);
        let look = |(place, workspace): (usize, &'a Result<Workspace, _>)| {
            let workspace = workspace.as_ref().ok()?;
            let entry = known.remove(&Key(Arc::clone(&workspace.path)));
            let mut entry = entry.unwrap_or_else(|| Box::new(Entry::new()));
            entry.place = place;
            Some(Look { workspace, entry, identity: None })
        };
        let mut looks: Vec<Look> = file.workspaces.iter().enumerate().filter_map(look).collect();
        parallel::in_parts(&mut looks, |part| {
            for Look { workspace, entry, identity } in part {
                let found = std::fs::metadata(&workspace.path);
                *identity = found.as_ref().ok().map(|found| [found.dev(), found.ino()]);
                entry.refresh(&workspace.path, &found, &self.crons, now);
            }
        });
        looks
    }
}

/// A hash of a file's bytes, or of its absence.
fn hash_of(bytes: Option<&[u8]>) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}

/// Adds the heartbeats of a workspace, and their problems.
fn resolve_one(
    workspace: &Workspace,
    found: &Folder,
    out: &mut Vec<Heartbeat>,
    problems: &mut Vec<Problem>,
    now: Timestamp,
) {
    let first = out.len();
    resolve::heartbeats(workspace, found, out, problems);
    for heartbeat in out.iter_mut().skip(first).filter(|heartbeat| heartbeat.problem.is_none()) {
        let why = never_runs::why(heartbeat, now);
        heartbeat.never_runs = why.is_some();
        heartbeat.problem = why.map(|why| Problem::with(&heartbeat.file, why));
    }
}

fn read_if_changed(
    workspace: &Path,
    file: &Path,
    seen: &mut Stamp,
    contents: &mut HeartbeatFile,
    crons: &Crons,
    now: Timestamp,
) {
    let found = std::fs::metadata(file);
    let current = Stamp::of(&found, now);
    if !seen.covers(current) {
        *contents = HeartbeatFile::read(workspace, file, &found, crons);
        *seen = current;
    }
}

impl Entry {
    fn new() -> Self {
        let none = Stamp::default();
        let found =
            Folder { problem: None, own: HeartbeatFile::Missing, named: Vec::new(), names: Vec::new() };
        Self { place: 0, found, folder: none, own: none, list: none, named: Vec::new() }
    }

    /// Rereads what has changed in the workspace's folder `path`, whose metadata is `found`.
    fn refresh(&mut self, path: &Path, found: &io::Result<Metadata>, crons: &Crons, now: Timestamp) {
        let folder = Stamp::of(found, now);
        let unchanged = self.folder.covers(folder);
        if let Some(problem) = resolve::folder_problem(path, found) {
            *self = Self { place: self.place, ..Self::new() };
            self.found.problem = Some(problem);
            return;
        }
        self.found.problem = None;
        self.folder = folder;
        read_if_changed(path, &resolve::file_of(path, None), &mut self.own, &mut self.found.own, crons, now);
        // An unchanged folder can't have a new `heartbeats` in it.
        if !unchanged || self.list.identity.is_some() {
            self.list_again(path, now);
        }
        for ((name, file), seen) in self.found.named.iter_mut().zip(&mut self.named) {
            read_if_changed(path, &resolve::file_of(path, Some(name)), seen, file, crons, now);
        }
    }

    fn list_again(&mut self, path: &Path, now: Timestamp) {
        let list = Stamp::of(&std::fs::metadata(path.join(FOLDER)), now);
        if self.list.covers(list) || (self.list.identity.is_none() && list.identity.is_none()) {
            return;
        }
        self.list = list;
        let mut known: HashMap<Box<str>, (HeartbeatFile, Stamp)> = self
            .found
            .named
            .drain(..)
            .zip(self.named.drain(..))
            .map(|((name, file), seen)| (name, (file, seen)))
            .collect();
        let (names, problems) = resolve::list(path);
        self.found.names = problems;
        for name in names {
            let (file, seen) = known.remove(&name).unwrap_or((HeartbeatFile::Missing, Stamp::default()));
            self.found.named.push((name, file));
            self.named.push(seen);
        }
    }
}

impl Resolved {
    /// Reports last runs that are in the future.
    fn warn_of_the_future(&mut self, config: &Path, now: Timestamp) {
        for heartbeat in &self.heartbeats {
            let Some(at) = heartbeat.last_run.filter(|at| *at > now) else { continue };
            let (id, at) = (&heartbeat.id, rfc3339(at));
            let what = format!("lastRun of {id} is in the future ({at}); it counts as now");
            self.ahead.push(Problem::with(config, what));
        }
    }

    /// Reports two entries that lead to the same folder by different paths.
    fn refuse_link(&mut self, config: &Path, (before, at): (&Workspace, usize), workspace: &Workspace) {
        let at_place = |place: Position, what: Failure| Problem::at(config, place, what);
        let what = format!("it is the same folder as {:?}, and only that entry counts", before.path);
        self.problems.push(at_place(workspace.place, file::twice(&workspace.path, before.place, &what)));
        if let Some(key) = file::disagreement(before, workspace) {
            let what = format!("and the two disagree on {key:?}, so nothing runs there");
            let problem = at_place(before.place, file::twice(&before.path, workspace.place, &what));
            let own = self
                .heartbeats
                .iter_mut()
                .skip(at)
                .take_while(|heartbeat| heartbeat.workspace == before.path);
            own.for_each(|heartbeat| heartbeat.problem = Some(problem.clone()));
        }
    }
}
