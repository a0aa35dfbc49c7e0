//! Finds registered heartbeats by the names that people use for them.

use super::user_env::UserEnv;
use jiff::tz::TimeZone;
use murmur_core::config::cron::Crons;
use murmur_core::config::file::File;
use murmur_core::config::heartbeat::{Cache, Heartbeat, HeartbeatId};
use murmur_core::naming::{self, Candidate, LAST, Noun};
use murmur_store::journal::entry::JournalEntry;
use murmur_store::journal::read::{Backward, Entries};
use std::collections::{BTreeSet, HashMap};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use sys::clock;
use sys::error::Failure;
use sys::failure;
use sys::paths::DataDir;

/// The workspace, and the name of the heartbeat in it, that `what` stands for: the name of a registered heartbeat or
/// workspace, or else a folder. A path to a folder, such as `./site`, is not a name.
pub(super) fn workspace_or_heartbeat(
    what: &Path,
    dir: &DataDir,
    env: &UserEnv,
) -> anyhow::Result<(PathBuf, Option<String>)> {
    let is_there = what.exists();
    let Some(name) = what.to_str().filter(|name| !is_there || is_word(name)) else {
        return Ok((env.workspace(what)?, None));
    };
    let known = Cache::new(env.time_zone()).load(&dir.config(), clock::now())?.heartbeats;
    match named(name, &known, dir)? {
        Some(found) if found.workspace.try_exists().is_ok_and(|is_there| !is_there) => {
            let (workspace, config) = (found.workspace.display(), dir.config());
            Err(failure!("the workspace {workspace} does not exist"; "if you moved it, change its path in {}", config.display()).into())
        }
        Some(found) => Ok((env.workspace(&found.workspace)?, found.name.as_deref().map(str::to_owned))),
        None if is_there || name.contains('/') => Ok((env.workspace(what)?, None)),
        None => Err(unknown(name, &known).into()),
    }
}

/// Whether `name` is a bare word, which may be a name, rather than a path.
fn is_word(name: &str) -> bool {
    !name.contains('/') && !matches!(name, "." | "..")
}

/// The registered heartbeat that `what` stands for; a folder stands for its own one.
pub(super) fn registered(what: &Path, dir: &DataDir, env: &UserEnv) -> anyhow::Result<Heartbeat> {
    let known = Cache::new(env.time_zone()).load(&dir.config(), clock::now())?.heartbeats;
    let typed = what.to_string_lossy();
    if let Some(found) = named(&typed, &known, dir)? {
        return Ok(found.clone());
    }
    let real = what.canonicalize().ok();
    let is_there = |heartbeat: &&Heartbeat| {
        *heartbeat.workspace == *what || real.is_some() && heartbeat.workspace.canonicalize().ok() == real
    };
    // A workspace's own heartbeat comes first. Its settings also apply to the others.
    match known.iter().find(is_there) {
        Some(found) => Ok(Heartbeat { name: None, ..found.clone() }),
        None => Err(unknown(&typed, &known).into()),
    }
}

/// The heartbeat with this name, title or id, or the one that ran last. A workspace's path, which is the id of its own
/// heartbeat, stands for all of its heartbeats.
pub(super) fn named<'a>(
    name: &str,
    known: &'a [Heartbeat],
    dir: &DataDir,
) -> Result<Option<&'a Heartbeat>, Failure> {
    let last = if name == LAST { last(known, dir) } else { None };
    let mut candidates = candidates(known);
    if name.contains('/') && !Path::new(name).exists() {
        for (candidate, heartbeat) in candidates.iter_mut().zip(known) {
            let is_it = is_short_name(name, &heartbeat.workspace, heartbeat.name.as_deref());
            candidate.names.extend(is_it.then(|| name.to_owned()));
        }
    }
    let found = naming::find(Noun::Heartbeat, name, &candidates, last)?;
    let found = found.and_then(|index| known.get(index));
    Ok(found.filter(|found| found.name.is_some() || found.id.as_str() != name))
}

/// The error for an unknown name, with the nearest known one.
pub(super) fn unknown(name: &str, known: &[Heartbeat]) -> Failure {
    naming::unknown(Noun::Heartbeat, name, &candidates(known))
}

/// The names of heartbeats.
pub(super) fn candidates(known: &[Heartbeat]) -> Vec<Candidate> {
    let candidate = |heartbeat: &Heartbeat| {
        let short = short(&heartbeat.workspace.to_string_lossy(), heartbeat.name.as_deref());
        let names = heartbeat.name.iter().chain([&heartbeat.title]).map(ToString::to_string);
        Candidate { id: heartbeat.id.to_string(), names: names.chain([short]).collect() }
    };
    known.iter().map(candidate).collect()
}

/// The short name of a heartbeat: `site`, or `site::nightly` for a named one.
pub(super) fn short(workspace: &str, name: Option<&str>) -> String {
    let folder = Path::new(workspace).file_name().map_or(workspace.into(), OsStr::to_string_lossy);
    match name {
        Some(name) => format!("{folder}::{name}"),
        None => folder.into_owned(),
    }
}

/// Short names of heartbeats. Where several workspaces have the same folder name, with as many of the folders above as tell them
/// apart: `mine/site::nightly`.
#[derive(Debug, Default)]
pub(super) struct ShortNames(HashMap<String, String>);

impl ShortNames {
    /// Those of heartbeats in these workspaces.
    pub(super) fn of<'a>(workspaces: impl Iterator<Item = &'a str>) -> Self {
        let mut left: BTreeSet<&str> = workspaces.collect();
        let depth = left.iter().map(|path| Path::new(path).components().count()).max().unwrap_or_default();
        let mut folders = HashMap::new();
        for count in 1..=depth {
            let mut ends: HashMap<PathBuf, Vec<&str>> = HashMap::new();
            left.iter().for_each(|path| ends.entry(end(path, count)).or_default().push(path));
            for (end, paths) in ends {
                if let ([path], 2..) = (paths.as_slice(), count) {
                    folders.insert((*path).to_owned(), end.display().to_string());
                }
                if let [path] = paths.as_slice() {
                    left.remove(path);
                }
            }
        }
        Self(folders)
    }

    /// Those of heartbeats in these workspaces, next to the registered ones.
    pub(super) fn beside_registered<'a>(dir: &DataDir, workspaces: impl Iterator<Item = &'a str>) -> Self {
        // With a configuration that can't be read, they tell only these workspaces apart.
        let file = File::read(&dir.config(), &Crons::new(TimeZone::UTC));
        let registered = file.iter().flat_map(|file| file.workspaces.iter().flatten());
        let registered: Vec<String> = registered.map(|one| one.path.display().to_string()).collect();
        let mut all: Vec<&str> = workspaces.collect();
        all.extend(registered.iter().map(String::as_str));
        Self::of(all.into_iter())
    }

    /// The name of a heartbeat.
    pub(super) fn of_heartbeat(&self, workspace: &str, name: Option<&str>) -> String {
        match (self.0.get(workspace), name) {
            (Some(folder), Some(name)) => format!("{folder}::{name}"),
            (Some(folder), None) => folder.clone(),
            (None, _) => short(workspace, name),
        }
    }
}

/// The last `count` components of a path.
fn end(path: &str, count: usize) -> PathBuf {
    let parts: Vec<_> = Path::new(path).components().collect();
    parts[parts.len().saturating_sub(count)..].iter().collect()
}

/// Whether `what` is a short name of a heartbeat, with any number of the folders above its workspace.
fn is_short_name(what: &str, workspace: &Path, heartbeat: Option<&str>) -> bool {
    let (folder, name) = what.split_once("::").map_or((what, None), |(folder, name)| (folder, Some(name)));
    !folder.is_empty() && name == heartbeat && workspace.ends_with(folder)
}

/// Whether the beat of `entry` belongs to a heartbeat called `what`, which may not be registered.
pub(super) fn is_called(entry: &JournalEntry, what: &str) -> bool {
    let heartbeat = entry.heartbeat.as_deref();
    let is_it = heartbeat == Some(what) || is_short_name(what, Path::new(&entry.workspace), heartbeat);
    entry.kind.is_beat() && is_it
}

/// The heartbeat in `known` with the newest line in the journal.
fn last(known: &[Heartbeat], dir: &DataDir) -> Option<usize> {
    let mut entries = Entries::new(Backward::open(&dir.journal()).ok()?, None);
    while let Ok(Some(found)) = entries.next_entry(|_| true) {
        let entry = found.entry;
        let id = HeartbeatId::new(Path::new(&entry.workspace), entry.heartbeat.as_deref());
        let index = known.iter().position(|heartbeat| heartbeat.id == id);
        if entry.kind.is_beat() && index.is_some() {
            return index;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_above_are_named_only_where_they_tell_workspaces_apart() {
        let paths = ["/a/x/site", "/b/x/site", "/b/y/site", "/site", "/a/shop"];
        let names = ShortNames::of(paths.into_iter());
        let shown = paths.map(|path| names.of_heartbeat(path, None));
        assert_eq!(shown, ["a/x/site", "b/x/site", "y/site", "/site", "shop"]);
        assert_eq!(names.of_heartbeat("/b/y/site", Some("nightly")), "y/site::nightly");
        assert_eq!(names.of_heartbeat("/elsewhere/web", Some("nightly")), "web::nightly");
        for (what, name, expected) in [
            ("site", None, true),
            ("x/site", None, true),
            ("/a/x/site", None, true),
            ("x/site::n", Some("n"), true),
            ("x/site", Some("n"), false),
            ("ite", None, false),
            ("", None, false),
        ] {
            assert_eq!(is_short_name(what, Path::new("/a/x/site"), name), expected, "{what}");
        }
    }

    #[test]
    fn equal_paths_have_a_name_although_nothing_tells_them_apart() {
        let names = ShortNames::of(["/a/site", "/a/site/"].into_iter());
        assert_eq!(names.of_heartbeat("/a/site/", None), "site");
    }
}
