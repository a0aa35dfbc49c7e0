//! What agents and requests are called besides their ids: by their heartbeat or folder.

use super::heartbeat_name::is_short_name;
use super::user_env::UserEnv;
use murmur_core::config::heartbeat::{Cache, HeartbeatId};
use murmur_core::naming::{Candidate, LAST};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use sys::clock;
use sys::paths::DataDir;

/// Whether `typed` is the path of an existing folder. A word without `/` is a name.
pub(super) fn is_folder(typed: &str) -> bool {
    (typed.contains('/') || matches!(typed, "." | "..")) && Path::new(typed).is_dir()
}

/// What was typed, and what it may stand for.
pub(super) struct Called<'a> {
    typed: &'a str,
    folder: Option<PathBuf>,
    /// The registered heartbeats with this title.
    titled: Vec<HeartbeatId>,
}

impl<'a> Called<'a> {
    /// Looks `typed` up. A configuration that can't be read has no titles.
    pub(super) fn of(typed: &'a str, dir: &DataDir, env: &UserEnv) -> Self {
        let folder = Path::new(typed).canonicalize().ok().filter(|_| is_folder(typed));
        let known = Cache::new(env.time_zone()).load(&dir.config(), clock::now());
        let known = known.map(|loaded| loaded.heartbeats).unwrap_or_default();
        let titled = known.into_iter().filter(|heartbeat| *heartbeat.title == *typed);
        Self { typed, folder, titled: titled.map(|heartbeat| heartbeat.id).collect() }
    }

    /// Whether it stands for this heartbeat, or for the folder.
    pub(super) fn is(&self, folder: &Path, heartbeat: Option<&str>) -> bool {
        heartbeat == Some(self.typed)
            || is_short_name(self.typed, folder, heartbeat)
            || self.folder.as_deref() == Some(folder)
            || !self.titled.is_empty() && self.titled.contains(&HeartbeatId::new(folder, heartbeat))
    }

    /// The agent `id` of this project and heartbeat, in this folder.
    pub(super) fn agent(
        &self,
        id: &str,
        project: Option<&str>,
        folder: &Path,
        heartbeat: Option<&str>,
    ) -> Candidate {
        let names = project.into_iter().chain(folder.file_name().and_then(OsStr::to_str));
        let names = names.chain(self.is(folder, heartbeat).then_some(self.typed)).map(str::to_owned);
        Candidate { id: id.to_owned(), names: names.filter(|name| name != LAST).collect() }
    }
}
