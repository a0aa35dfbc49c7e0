//! murmur's data folder: which it is, that it is ours alone, and what stands where in it.

mod name;
mod open;
mod settings;

use super::shell;
use crate::error::Hinted;
use name::stem;
pub use name::{LONGEST_NAME, is_plain, readable, slug};
use rustix::process::getuid;
use serde::{Deserialize, Serialize};
pub use settings::SettingsDir;
use std::ffi::OsStr;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What is wrong with the data folder.
#[derive(Debug, thiserror::Error)]
pub enum PathsError {
    /// No variable says where it is.
    #[error("no data folder: neither HOME nor MURMUR_DIR is set")]
    Homeless,
    /// It cannot be made or read.
    #[error("cannot use the data folder {}: {source}", .path.display())]
    Unusable {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It is not the user's own.
    #[error("the data folder {} belongs to another user (uid {owner})", .path.display())]
    Foreign {
        /// The folder.
        path: PathBuf,
        /// Its owner.
        owner: u32,
    },
    /// Others can change what is in it.
    #[error("other users can write to {} (mode {mode:04o})", .path.display())]
    Writable {
        /// The folder, or what is in it.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
        /// Whether it is a folder.
        is_folder: bool,
    },
    /// Others can look into it.
    #[error("the data folder {} is open to other users (mode {mode:04o})", .path.display())]
    Open {
        /// The folder.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// A project whose name is no name of a folder.
    #[error("{name:?} cannot be a project")]
    Project {
        /// What was given.
        name: String,
    },
}

impl Hinted for PathsError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Homeless => "set one, or pass --data-dir".to_owned(),
            Self::Unusable { path, source } => usable(path, source),
            Self::Foreign { .. } => "choose another with --data-dir or MURMUR_DIR".to_owned(),
            Self::Open { path, .. } => format!("run: chmod 700 {}", shell::path(path)),
            Self::Writable { path, is_folder, .. } => {
                let mode = if *is_folder { 700 } else { 600 };
                format!("check what is there, then run: chmod {mode} {}", shell::path(path))
            }
            Self::Project { .. } => "name a folder of {data folder}/projects, such as \"site\"".to_owned(),
        })
    }
}

/// What makes a data folder usable: its owner opens it, or there is to be another.
fn usable(path: &Path, source: &io::Error) -> String {
    let is_closed = source.kind() == io::ErrorKind::PermissionDenied;
    let opened = is_closed.then(|| super::unreadable::opened(path)).flatten();
    opened.unwrap_or_else(|| "choose another with --data-dir or MURMUR_DIR".to_owned())
}

/// Whose agents they are: where this user has what holds for all of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct User {
    /// The home folder.
    pub home: PathBuf,
    /// The settings.
    pub settings: SettingsDir,
}

/// `$MURMUR_DIR`, by default `~/.murmur`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataDir {
    root: PathBuf,
}

impl DataDir {
    /// The folder, within [`Self::root`], of the daemon's socket where others can look into the root; a link leads there.
    pub const PRIVATE_SOCKETS: &str = "sockets";

    /// The folder that the arguments and the environment name, in this order: `explicit`, `murmur_dir`, `home`.
    ///
    /// # Errors
    /// [`PathsError::Homeless`] if there is none of them; an empty variable counts as unset.
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
            .ok_or(PathsError::Homeless)?;
        let root =
            std::path::absolute(&root).map_err(|source| PathsError::Unusable { path: root, source })?;
        Ok(Self { root })
    }

    /// Makes the folder, with mode 0700, where it does not exist, and sees that it is ours and that we can write.
    ///
    /// # Errors
    /// [`PathsError::Unusable`] or [`PathsError::Foreign`]. A folder that others can read is no error here.
    pub fn prepare(&self) -> Result<(), PathsError> {
        let unusable = |source| PathsError::Unusable { path: self.root.clone(), source };
        super::atomic::create_private_folder(&self.root).map_err(unusable)?;
        let found = self.root.metadata().map_err(unusable)?;
        if found.uid() != getuid().as_raw() {
            return Err(PathsError::Foreign { path: self.root.clone(), owner: found.uid() });
        }
        rustix::fs::access(&self.root, rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK)
            .map_err(|errno| unusable(errno.into()))
    }

    /// The folder itself.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The user's configuration.
    #[must_use]
    pub fn config(&self) -> PathBuf {
        self.root.join("config.json")
    }

    /// The lock under which config.json is changed.
    #[must_use]
    pub fn config_lock(&self) -> PathBuf {
        self.root.join("config.lock")
    }

    /// The named heartbeats that a person has approved.
    #[must_use]
    pub fn approved(&self) -> PathBuf {
        self.root.join("approved.json")
    }

    /// Which workspaces' Claude files the user trusts.
    #[must_use]
    pub fn trust(&self) -> PathBuf {
        self.root.join("trust.json")
    }

    /// The lock under which that is changed.
    #[must_use]
    pub fn approved_lock(&self) -> PathBuf {
        self.root.join("approved.lock")
    }

    /// The lock under which that is changed.
    #[must_use]
    pub fn trust_lock(&self) -> PathBuf {
        self.root.join("trust.lock")
    }

    /// When every heartbeat last began, as the daemon knows it.
    #[must_use]
    pub fn last_runs(&self) -> PathBuf {
        self.root.join("last-runs.json")
    }

    /// The rules of the project in `folder`, which is known by its real path: another of the same name has others.
    #[must_use]
    pub fn rules_of(&self, folder: &Path) -> PathBuf {
        let real = folder.canonicalize();
        self.projects().join(name::of_folder(real.as_deref().unwrap_or(folder))).join("permissions.toml")
    }

    /// The rules of every project of this name, as murmur kept them once.
    ///
    /// # Errors
    /// [`PathsError::Project`] where `project` cannot be the name of a folder.
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

    /// The folder with a folder for each project.
    #[must_use]
    pub fn projects(&self) -> PathBuf {
        self.root.join("projects")
    }

    /// The journal.
    #[must_use]
    pub fn journal(&self) -> PathBuf {
        self.root.join("heartbeats.jsonl")
    }

    /// The running daemon's PID; locked for as long as it runs.
    #[must_use]
    pub fn pid(&self) -> PathBuf {
        self.root.join("murmur.pid")
    }

    /// The daemon's socket, as a name within [`Self::root`].
    #[must_use]
    pub fn socket_name(&self) -> &'static str {
        "murmur.sock"
    }

    /// What the daemon and its hosts have to say.
    #[must_use]
    pub fn log(&self) -> PathBuf {
        self.root.join("murmur.log")
    }

    /// Beats that are not yet in the journal.
    #[must_use]
    pub fn beats(&self) -> PathBuf {
        self.root.join("beats")
    }

    /// Calls of beats that were put off until somebody answers.
    #[must_use]
    pub fn approvals(&self) -> PathBuf {
        self.root.join("approvals")
    }

    /// What was decided on agents' calls.
    #[must_use]
    pub fn decisions(&self) -> PathBuf {
        self.root.join("decisions.jsonl")
    }

    /// The sockets and records of hosts.
    #[must_use]
    pub fn hosts(&self) -> PathBuf {
        self.root.join("hosts")
    }

    /// The pulses: what each agent did last.
    #[must_use]
    pub fn pulses(&self) -> PathBuf {
        self.root.join("heartbeats")
    }

    /// The pulse of the agent that calls itself `agent`.
    #[must_use]
    pub fn pulse(&self, agent: &str) -> PathBuf {
        self.pulses().join(format!("{}.json", stem(agent)))
    }

    /// What is kept of agents beside their pulses, a folder each.
    #[must_use]
    pub fn agents(&self) -> PathBuf {
        self.root.join("agents")
    }

    /// The folder of the agent that calls itself `agent`.
    #[must_use]
    pub fn agent(&self, agent: &str) -> PathBuf {
        self.agents().join(stem(agent))
    }

    /// The lock that a beat holds on its workspace.
    #[must_use]
    pub fn workspace_lock(&self, workspace: &Path) -> PathBuf {
        self.root.join("locks").join(format!("{}.lock", slug(workspace, None)))
    }

    /// Every folder that murmur makes in this one.
    #[must_use]
    pub fn folders(&self) -> [PathBuf; 9] {
        let locks = self.root.join("locks");
        let projects = self.root.join("projects");
        let (pulses, sockets) = (self.pulses(), self.root.join(Self::PRIVATE_SOCKETS));
        let (beats, spares, hosts) = (self.beats(), self.spares(), self.hosts());
        [self.agents(), self.approvals(), beats, spares, pulses, hosts, locks, projects, sockets]
    }

    /// Room for journal lines that find none.
    #[must_use]
    pub fn reserve(&self) -> PathBuf {
        self.root.join("journal.reserve")
    }

    /// Records that are made while there is room, for beats that begin when there is none.
    #[must_use]
    pub fn spares(&self) -> PathBuf {
        self.root.join("beats.reserve")
    }

    /// The lock under which Claude Code's settings files are changed.
    #[must_use]
    pub fn settings_lock(&self) -> PathBuf {
        self.root.join("setup.lock")
    }

    /// The conversation of a heartbeat's last verbose beat.
    #[must_use]
    pub fn last_beat(&self, workspace: &Path, name: Option<&str>) -> PathBuf {
        self.root.join(format!("last-beat-{}.json", slug(workspace, name)))
    }
}

#[cfg(test)]
mod tests;
