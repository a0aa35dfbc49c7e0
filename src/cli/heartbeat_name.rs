//! Finds registered heartbeats by the names that people use for them.

use super::show::latest;
use super::user_env::UserEnv;
use murmur_core::config::heartbeat::{Cache, Heartbeat, HeartbeatId};
pub(super) use murmur_core::config::short_names::{ShortNames, short};
use murmur_core::naming::{self, Candidate, LAST, Noun};
use murmur_store::journal::entry::JournalEntry;
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

/// The heartbeat with this name, title or id, or the one that started last. A workspace's path, which is the id of its
/// own heartbeat, stands for all of its heartbeats.
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

/// Whether `what` is a short name of a heartbeat, with any number of the folders above its workspace.
pub(super) fn is_short_name(what: &str, workspace: &Path, heartbeat: Option<&str>) -> bool {
    let (folder, name) = what.split_once("::").map_or((what, None), |(folder, name)| (folder, Some(name)));
    !folder.is_empty() && name == heartbeat && workspace.ends_with(folder)
}

/// Whether the beat of `entry` belongs to a heartbeat called `what`, which may not be registered.
pub(super) fn is_called(entry: &JournalEntry, what: &str) -> bool {
    let heartbeat = entry.heartbeat.as_deref();
    let is_it = heartbeat == Some(what) || is_short_name(what, Path::new(&entry.workspace), heartbeat);
    entry.kind.is_beat() && is_it
}

/// The heartbeat in `known` whose beat started last.
fn last(known: &[Heartbeat], dir: &DataDir) -> Option<usize> {
    let index = |entry: &JournalEntry| {
        let id = HeartbeatId::new(Path::new(&entry.workspace), entry.heartbeat.as_deref());
        known.iter().position(|heartbeat| heartbeat.id == id)
    };
    let found = latest(dir, None, |entry| index(entry).is_some()).ok()??;
    index(&found.entry)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_name_has_any_number_of_folders_above() {
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
}
