//! murmur's data folder: its location, its permissions, and the paths of its files.

mod name;
mod open;
mod settings;
mod state;

use super::shell;
use crate::error::Hinted;
use name::stem;
pub use name::{MAX_NAME, is_plain, readable, slug};
use rustix::process::getuid;
use serde::{Deserialize, Serialize};
pub use settings::SettingsDir;
use std::ffi::OsStr;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A problem with the data folder.
#[derive(Debug, thiserror::Error)]
pub enum PathsError {
    /// No variable names it.
    #[error("no data folder: neither HOME nor MURMUR_DIR is set")]
    NoHome,
    /// It cannot be created or read.
    #[error("cannot use the data folder {}", .path.display())]
    Unusable {
        /// The folder.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The path is not a folder.
    #[error("the data folder {} is not a folder", .path.display())]
    NotAFolder {
        /// The path.
        path: PathBuf,
    },
    /// It belongs to another user.
    #[error("the data folder {} belongs to another user (uid {owner})", .path.display())]
    Foreign {
        /// The folder.
        path: PathBuf,
        /// Its owner.
        owner: u32,
    },
    /// Other users can write to it.
    #[error("other users can write to {} (mode {mode:04o})", .path.display())]
    Writable {
        /// The folder, or an entry in it.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
        /// Whether `path` is a folder.
        is_folder: bool,
    },
    /// Other users can read it.
    #[error("the data folder {} is open to other users (mode {mode:04o})", .path.display())]
    Open {
        /// The folder.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// A project name that is not a valid folder name.
    #[error("{name:?} is not a valid project name")]
    Project {
        /// The given name.
        name: String,
    },
}

impl Hinted for PathsError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NoHome => "set one, or pass --data-dir".to_owned(),
            Self::Unusable { path, source } => usable(path, source),
            Self::NotAFolder { .. } => {
                "choose another with --data-dir or MURMUR_DIR, or move that file away".to_owned()
            }
            Self::Foreign { .. } => "choose another with --data-dir or MURMUR_DIR".to_owned(),
            Self::Open { path, .. } => format!("run: chmod 700 {}", shell::path(path)),
            Self::Writable { path, is_folder, .. } => {
                let mode = if *is_folder { 700 } else { 600 };
                format!("check what is there, then run: chmod {mode} {}", shell::path(path))
            }
            Self::Project { .. } => "name a folder in {data folder}/projects, such as \"site\"".to_owned(),
        })
    }
}

/// The hint for an unusable data folder: fix its permissions, or choose another.
fn usable(path: &Path, source: &io::Error) -> String {
    let is_closed = source.kind() == io::ErrorKind::PermissionDenied;
    let opened = is_closed.then(|| super::unreadable::opened(path)).flatten();
    let hint = opened.or_else(|| super::unreadable::uncommon(path, source));
    hint.unwrap_or_else(|| "choose another with --data-dir or MURMUR_DIR".to_owned())
}

/// The user that agents run for: home folder and settings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct User {
    /// The home folder.
    pub home: PathBuf,
    /// The settings.
    pub settings: SettingsDir,
}

/// The data folder: `$MURMUR_DIR`, by default `~/.murmur`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataDir {
    root: PathBuf,
}

impl DataDir {
    /// The subfolder for the daemon's socket if other users can enter the data folder. A symlink points to it.
    pub const PRIVATE_SOCKETS: &str = "sockets";

    /// Determines the folder from, in this order, `explicit`, `murmur_dir` and `home`. Empty variables count as
    /// unset.
    ///
    /// # Errors
    /// [`PathsError::NoHome`] if all are unset.
    pub fn find(
        explicit: Option<&Path>,
        murmur_dir: Option<&OsStr>,
        home: Option<&OsStr>,
    ) -> Result<Self, PathsError> {
        let set = |value: Option<&OsStr>| value.filter(|value| !value.is_empty()).map(PathBuf::from);
        let root = explicit
            .map(Path::to_path_buf)
            .or_else(|| set(murmur_dir))
            .or_else(|| set(home).map(|home| home.join(".murmur")))
            .ok_or(PathsError::NoHome)?;
        let root =
            std::path::absolute(&root).map_err(|source| PathsError::Unusable { path: root, source })?;
        Ok(Self { root })
    }

    /// Creates the folder with mode 0700 if it doesn't exist, and checks that we own it and can write to it. A
    /// folder that others can read is not an error here.
    pub fn prepare(&self) -> Result<(), PathsError> {
        let unusable = |source| PathsError::Unusable { path: self.root.clone(), source };
        let found = match self.root.metadata() {
            Ok(found) if found.is_dir() => found,
            _ => {
                self.check_is_folder()?;
                super::atomic::create_private_folder(&self.root).map_err(unusable)?;
                self.root.metadata().map_err(unusable)?
            }
        };
        if found.uid() != getuid().as_raw() {
            return Err(PathsError::Foreign { path: self.root.clone(), owner: found.uid() });
        }
        rustix::fs::access(&self.root, rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK)
            .map_err(|errno| unusable(errno.into()))
    }

    /// Checks that the path is a folder or doesn't exist yet.
    pub fn check_is_folder(&self) -> Result<(), PathsError> {
        // Check the innermost path that exists: a parent may be a file as well.
        let innermost = self.root.ancestors().find_map(|path| Some((path, path.metadata().ok()?)));
        match innermost {
            Some((path, found)) if !found.is_dir() => {
                Err(PathsError::NotAFolder { path: path.to_path_buf() })
            }
            _ => Ok(()),
        }
    }

    /// The data folder.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The user's configuration file.
    #[must_use]
    pub fn config(&self) -> PathBuf {
        self.root.join("config.json")
    }

    /// The lock for changes to config.json.
    #[must_use]
    pub fn config_lock(&self) -> PathBuf {
        self.root.join("config.lock")
    }

    /// The named heartbeats that the user has approved.
    #[must_use]
    pub fn approved(&self) -> PathBuf {
        self.root.join("approved.json")
    }

    /// The workspaces whose Claude files the user trusts.
    #[must_use]
    pub fn trust(&self) -> PathBuf {
        self.root.join("trust.json")
    }

    /// The lock for changes to [`Self::approved`].
    #[must_use]
    pub fn approved_lock(&self) -> PathBuf {
        self.root.join("approved.lock")
    }

    /// The lock for changes to [`Self::trust`].
    #[must_use]
    pub fn trust_lock(&self) -> PathBuf {
        self.root.join("trust.lock")
    }

    /// The rules of the project in `folder`, keyed by its real path, so that folders with the same name don't
    /// share rules.
    #[must_use]
    pub fn rules_of(&self, folder: &Path) -> PathBuf {
        let real = super::file::real_path(folder);
        self.rules_at(real.as_deref().unwrap_or(folder))
    }

    /// The rules of the project in the folder at `real`, a path without links.
    #[must_use]
    pub fn rules_at(&self, real: &Path) -> PathBuf {
        self.projects().join(name::of_folder(real)).join("permissions.toml")
    }

    /// The rules by project name, as older versions of murmur stored them.
    pub fn project_rules(&self, project: &str) -> Result<PathBuf, PathsError> {
        let is_name = !project.is_empty()
            && !project.contains(['/', '\\'])
            && !project.chars().any(char::is_control)
            && !matches!(project, "." | "..")
            && !project.contains(name::AT);
        if !is_name {
            return Err(PathsError::Project { name: project.to_owned() });
        }
        Ok(self.projects().join(project).join("permissions.toml"))
    }

    /// The parent folder of all project folders.
    #[must_use]
    pub fn projects(&self) -> PathBuf {
        self.root.join("projects")
    }

    /// The journal.
    #[must_use]
    pub fn journal(&self) -> PathBuf {
        self.root.join("heartbeats.jsonl")
    }

    /// The daemon's PID file, locked while it runs.
    #[must_use]
    pub fn pid(&self) -> PathBuf {
        self.root.join("murmur.pid")
    }

    /// The daemon's socket, as a name in [`Self::root`].
    #[must_use]
    pub fn socket_name(&self) -> &'static str {
        "murmur.sock"
    }

    /// The log of the daemon and its hosts.
    #[must_use]
    pub fn log(&self) -> PathBuf {
        self.root.join("murmur.log")
    }

    /// Beats that are not yet in the journal.
    #[must_use]
    pub fn beats(&self) -> PathBuf {
        self.root.join("beats")
    }

    /// Deferred requests.
    #[must_use]
    pub fn approvals(&self) -> PathBuf {
        self.root.join("approvals")
    }

    /// Decisions on agents' requests.
    #[must_use]
    pub fn decisions(&self) -> PathBuf {
        self.root.join("decisions.jsonl")
    }

    /// Notifications: what was reported, and what is still to be delivered.
    #[must_use]
    pub fn notify(&self) -> PathBuf {
        self.root.join("notify.json")
    }

    /// Deliveries, and answers that came from channels.
    #[must_use]
    pub fn notifications(&self) -> PathBuf {
        self.root.join("notifications.jsonl")
    }

    /// The files whose older parts are in `archive/`.
    #[must_use]
    pub fn rotated(&self) -> [PathBuf; 4] {
        [self.journal(), self.decisions(), self.log(), self.notifications()]
    }

    /// Agents' unknown output of the last week.
    #[must_use]
    pub fn unknown(&self) -> PathBuf {
        self.root.join("unknown.json")
    }

    /// The lock for changes to [`Self::unknown`].
    #[must_use]
    pub fn unknown_lock(&self) -> PathBuf {
        self.root.join("unknown.lock")
    }

    /// The sockets and records of hosts.
    #[must_use]
    pub fn hosts(&self) -> PathBuf {
        self.root.join("hosts")
    }

    /// The pulses: the last activity of each agent.
    #[must_use]
    pub fn pulses(&self) -> PathBuf {
        self.root.join("heartbeats")
    }

    /// The pulse of the agent with the id `agent`.
    #[must_use]
    pub fn pulse(&self, agent: &str) -> PathBuf {
        self.pulses().join(format!("{}.json", stem(agent)))
    }

    /// The folder for other data of agents, with a subfolder for each.
    #[must_use]
    pub fn agents(&self) -> PathBuf {
        self.root.join("agents")
    }

    /// The folder of the agent with the id `agent`.
    #[must_use]
    pub fn agent(&self, agent: &str) -> PathBuf {
        self.agents().join(stem(agent))
    }

    /// The lock that a beat holds on its workspace.
    #[must_use]
    pub fn workspace_lock(&self, workspace: &Path) -> PathBuf {
        self.root.join("locks").join(format!("{}.lock", slug(workspace, None)))
    }

    /// All subfolders that murmur creates.
    #[must_use]
    pub fn folders(&self) -> [PathBuf; 9] {
        let locks = self.root.join("locks");
        let projects = self.root.join("projects");
        let (pulses, sockets) = (self.pulses(), self.root.join(Self::PRIVATE_SOCKETS));
        let (beats, spares, hosts) = (self.beats(), self.spares(), self.hosts());
        [self.agents(), self.approvals(), beats, spares, pulses, hosts, locks, projects, sockets]
    }

    /// Reserved space for journal lines on a full disk.
    #[must_use]
    pub fn reserve(&self) -> PathBuf {
        self.root.join("journal.reserve")
    }

    /// Spare records, allocated in advance for beats that start on a full disk.
    #[must_use]
    pub fn spares(&self) -> PathBuf {
        self.root.join("beats.reserve")
    }

    /// The lock for changes to Claude Code's settings files.
    #[must_use]
    pub fn settings_lock(&self) -> PathBuf {
        self.root.join("setup.lock")
    }

    /// What a heartbeat's gates saw when its last beat succeeded.
    #[must_use]
    pub fn gates(&self, workspace: &Path, name: Option<&str>) -> PathBuf {
        self.root.join(format!("gates-{}.json", slug(workspace, name)))
    }

    /// The conversation of a heartbeat's last verbose beat.
    #[must_use]
    pub fn last_beat(&self, workspace: &Path, name: Option<&str>) -> PathBuf {
        self.root.join(format!("last-beat-{}.json", slug(workspace, name)))
    }
}

#[cfg(test)]
mod tests;
