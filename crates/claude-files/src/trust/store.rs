//! What the user trusts: `trust.json` in the data folder, with the hashes of the relevant files of each workspace.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use sys::error::Hinted;
use sys::lock;
use sys::paths::DataDir;
use sys::unreadable::uncommon;
use sys::versioned::{self, ReadError};

/// The contents of `trust.json`.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Store {
    #[serde(default)]
    workspaces: BTreeMap<String, Trusted>,
}

/// A trusted workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Trusted {
    /// When the user trusted it, RFC 3339.
    pub trusted_at: String,
    /// The hash of each file, by its path in the workspace, or by its absolute path.
    pub files: BTreeMap<String, String>,
}

/// The store is not usable.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file can't be read or written.
    #[error("cannot {action} {}", .path.display())]
    Unusable {
        /// `read` or `write`.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The file has another format or version.
    #[error("{} is not a trust store that this version of murmur can read", .path.display())]
    Wrong {
        /// The file.
        path: PathBuf,
    },
}

impl Hinted for StoreError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Unusable { path, source, .. } => {
                uncommon(path, source).unwrap_or_else(|| "check its owner and mode".to_owned())
            }
            Self::Wrong { .. } => "move it away and run `murmur trust` for each workspace again".to_owned(),
        })
    }
}

impl Store {
    /// Reads the store; a missing file is an empty one.
    ///
    /// # Errors
    /// If the file is unreadable or has another format. Callers trust nothing.
    pub fn read(dir: &DataDir) -> Result<Self, StoreError> {
        let path = dir.trust();
        match versioned::read(&path) {
            Ok(store) => Ok(store.unwrap_or_default()),
            Err(ReadError::Io(source)) => Err(StoreError::Unusable { action: "read", path, source }),
            Err(ReadError::Foreign) => Err(StoreError::Wrong { path }),
        }
    }

    /// The trusted files of `workspace`.
    #[must_use]
    pub fn get(&self, workspace: &Path) -> Option<&Trusted> {
        self.workspaces.get(workspace.to_str()?)
    }

    /// Stores what is trusted in `workspace`, or with `None` that nothing is. Returns whether something was before.
    pub fn set(dir: &DataDir, workspace: &str, trusted: Option<Trusted>) -> Result<bool, StoreError> {
        let path = dir.trust();
        let unusable = |source| StoreError::Unusable { action: "write", path: path.clone(), source };
        let _lock = lock::lock(&dir.trust_lock()).map_err(unusable)?;
        let mut store = Self::read(dir)?;
        let before = match trusted {
            Some(trusted) => store.workspaces.insert(workspace.to_owned(), trusted),
            None => store.workspaces.remove(workspace),
        };
        versioned::write(&path, &store).map_err(unusable)?;
        Ok(before.is_some())
    }
}
