//! The location of a user's settings for all agents.

use super::{DataDir, PathsError};
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

/// The folders of a user's settings: `config` in the data folder and, if it is the default data folder,
/// `~/.config/murmur` for files that are missing there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Folders", into = "Folders")]
pub struct SettingsDir {
    root: PathBuf,
    further: Option<PathBuf>,
}

/// The serialized form, which is passed to other processes.
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
    /// Determines the folders from the arguments and the environment. Empty variables count as unset, and so does
    /// a relative `xdg_config_home`, as its specification requires.
    ///
    /// # Errors
    /// [`PathsError::NoHome`] if all are unset.
    pub fn find(
        explicit: Option<&Path>,
        murmur_dir: Option<&OsStr>,
        xdg_config_home: Option<&OsStr>,
        home: Option<&OsStr>,
    ) -> Result<Self, PathsError> {
        let data = DataDir::find(explicit, murmur_dir, home)?;
        let own = data.root.join("config");
        // Compare paths, not sources: an agent's environment names the default folder explicitly.
        let is_default = DataDir::find(None, None, home).is_ok_and(|default| default == data);
        if !is_default {
            return Ok(Self { root: own, further: None });
        }
        let set = |value: Option<&OsStr>| value.filter(|value| !value.is_empty()).map(PathBuf::from);
        let root = set(xdg_config_home)
            .filter(|folder| folder.is_absolute())
            .or_else(|| set(home).map(|home| home.join(".config")))
            .ok_or(PathsError::NoHome)?;
        let root =
            std::path::absolute(&root).map_err(|source| PathsError::Unusable { path: root, source })?;
        Ok(Self { root: own, further: Some(root.join("murmur")) })
    }

    /// Creates a value from the folder `root` and the fallback folder `further`.
    #[must_use]
    pub fn at(root: PathBuf, further: Option<PathBuf>) -> Self {
        Self { root, further }
    }

    /// The main folder.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The fallback folder for files that are missing in the main one.
    #[must_use]
    pub fn further(&self) -> Option<&Path> {
        self.further.as_deref()
    }

    /// Returns the path of `name` in the first folder that has it, or in the last folder.
    fn file(&self, name: &str) -> PathBuf {
        let own = self.root.join(name);
        let Some(further) = &self.further else { return own };
        match own.symlink_metadata() {
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                further.join(name)
            }
            // A file that cannot be checked may exist and may deny something, so it must not be skipped.
            _ => own,
        }
    }

    /// config.toml.
    #[must_use]
    pub fn settings(&self) -> PathBuf {
        self.file("config.toml")
    }

    /// The permission rules for every project.
    #[must_use]
    pub fn rules(&self) -> PathBuf {
        self.file("permissions.toml")
    }
}
