//! Finds registered heartbeats by the names that people use for them.

use super::style::plain_line;
use super::user_env::UserEnv;
use murmur_core::config::heartbeat::{Cache, Heartbeat};
use std::path::{Path, PathBuf};
use sys::error::Failure;
use sys::paths::DataDir;
use sys::{clock, failure, shell, spelling};

/// The workspace, and the name of the heartbeat in it, that `what` stands for: a folder, or else the name of a registered
/// heartbeat or workspace.
pub(super) fn workspace_or_heartbeat(
    what: &Path,
    dir: &DataDir,
    env: &UserEnv,
) -> anyhow::Result<(PathBuf, Option<String>)> {
    let Some(name) = what.to_str().filter(|_| !what.exists()) else {
        return Ok((env.workspace(what)?, None));
    };
    let known = Cache::new(env.time_zone()).load(&dir.config(), clock::now())?.heartbeats;
    match named(name, &known)?.first() {
        Some(found) => Ok((env.workspace(&found.workspace)?, found.name.as_deref().map(str::to_owned))),
        None if name.contains('/') => Ok((env.workspace(what)?, None)),
        None => Err(unknown(name, &known).into()),
    }
}

/// The heartbeat with this name, title or id. A workspace's path, which is the id of its own heartbeat, stands for all of its
/// heartbeats.
pub(super) fn named<'a>(name: &str, known: &'a [Heartbeat]) -> Result<Vec<&'a Heartbeat>, Failure> {
    let is_it = |heartbeat: &&Heartbeat| match &heartbeat.name {
        Some(own) => **own == *name || *heartbeat.title == *name || heartbeat.id.as_str() == name,
        None => *heartbeat.title == *name,
    };
    let found: Vec<&Heartbeat> = known.iter().filter(is_it).collect();
    if found.len() > 1 {
        let ids: Vec<String> = found.iter().map(|heartbeat| plain_line(heartbeat.id.as_str())).collect();
        return Err(
            failure!("{} heartbeats are called {name:?}", found.len(); "use one of: {}", ids.join(", ")),
        );
    }
    Ok(found)
}

/// The error for a name that nothing has, with the nearest one that something has.
pub(super) fn unknown(name: &str, known: &[Heartbeat]) -> Failure {
    let failure = failure!("no heartbeat or workspace {name:?}");
    let names =
        known.iter().flat_map(|heartbeat| heartbeat.name.as_deref().into_iter().chain([&*heartbeat.title]));
    let names: Vec<&str> = names.collect();
    failure.hint(match spelling::nearest(name, &names) {
        Some(meant) => format!("did you mean {}?", shell::word(meant)),
        None => "see: murmur workspaces list".to_owned(),
    })
}
