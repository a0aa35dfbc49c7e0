//! Where a user's own files are that hold for all agents.

use super::{DataDir, PathsError};
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

/// Where it is that a user sets what holds for all agents: `config` in the data folder, so that a data folder has all of
/// its own; for files that the default data folder has not there, `~/.config/murmur`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Folders", into = "Folders")]
pub struct SettingsDir {
    root: PathBuf,
    further: Option<PathBuf>,
}

/// The same, as it is handed to other processes.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Folders {
    One(PathBuf),
    Two([PathBuf; 2]),
}

impl From<Folders> for SettingsDir {
    fn from(folders: Folders) -> Self {
        match folders {
            Folders::One(root) => Self { root, further: None },
            Folders::Two([root, further]) => Self { root, further: Some(further) },
        }
    }
}

impl From<SettingsDir> for Folders {
    fn from(SettingsDir { root, further }: SettingsDir) -> Self {
        match further {
            None => Self::One(root),
            Some(further) => Self::Two([root, further]),
        }
    }
}

impl SettingsDir {
    /// The folder that the arguments and the environment name. An empty variable counts as unset, and so does an
    /// `xdg_config_home` that is not absolute, as its specification says.
    ///
    /// # Errors
    /// [`PathsError::Homeless`] if there is none of them.
    pub fn find(
        explicit: Option<&Path>,
        murmur_dir: Option<&OsStr>,
        xdg_config_home: Option<&OsStr>,
        home: Option<&OsStr>,
    ) -> Result<Self, PathsError> {
        let data = DataDir::find(explicit, murmur_dir, home)?;
        let own = data.root.join("config");
        // By what it is and not by who named it: an agent's environment names the default as well.
        let is_default = DataDir::find(None, None, home).is_ok_and(|default| default == data);
        if !is_default {
            return Ok(Self { root: own, further: None });
        }
        let set = |value: Option<&OsStr>| value.filter(|value| !value.is_empty()).map(PathBuf::from);
        let root = set(xdg_config_home)
            .filter(|folder| folder.is_absolute())
            .or_else(|| set(home).map(|home| home.join(".config")))
            .ok_or(PathsError::Homeless)?;
        let root =
            std::path::absolute(&root).map_err(|source| PathsError::Unusable { path: root, source })?;
        Ok(Self { root: own, further: Some(root.join("murmur")) })
    }

    /// The folder at `root`, and where a file is looked for that it has not.
    #[must_use]
    pub fn at(root: PathBuf, further: Option<PathBuf>) -> Self {
        Self { root, further }
    }

    /// The folder itself.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Where a file is looked for that the folder has not.
    #[must_use]
    pub fn further(&self) -> Option<&Path> {
        self.further.as_deref()
    }

    /// The first `name` that is there, each file for itself; else the last place where it could be.
    fn file(&self, name: &str) -> PathBuf {
        let own = self.root.join(name);
        let Some(further) = &self.further else { return own };
        match own.symlink_metadata() {
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                further.join(name)
            }
            // What cannot be looked at may be there, and may forbid something.
            _ => own,
        }
    }

    /// The settings: config.toml.
    #[must_use]
    pub fn settings(&self) -> PathBuf {
        self.file("config.toml")
    }

    /// The rules for every project.
    #[must_use]
    pub fn rules(&self) -> PathBuf {
        self.file("permissions.toml")
    }
}
