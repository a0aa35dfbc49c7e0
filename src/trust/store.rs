//! What the user trusts: `trust.json` in the data folder, by workspace the hash of each file that counts.

use crate::error::Hinted;
use crate::sys::paths::DataDir;
use crate::sys::{atomic, file, lock};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

/// The version of the file that this murmur writes.
const VERSION: u32 = 1;

/// The file.
#[derive(Debug, Serialize, Deserialize)]
pub struct Store {
    version: u32,
    #[serde(default)]
    workspaces: BTreeMap<String, Trusted>,
}

/// One workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Trusted {
    /// When somebody said so, RFC 3339.
    pub trusted_at: String,
    /// The hash of each file, by its path in the workspace, or an absolute one.
    pub files: BTreeMap<String, String>,
}

/// Why it is not known what is trusted.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file cannot be read or written.
    #[error("cannot {what} {}: {source}", .path.display())]
    Unusable {
        /// What was to be done.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Something else is in it.
    #[error("{} is not a record of trust of this murmur", .path.display())]
    Wrong {
        /// The file.
        path: PathBuf,
    },
}

impl Hinted for StoreError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Unusable { .. } => "check its owner and mode".to_owned(),
            Self::Wrong { .. } => "move it away, and run murmur trust for each workspace again".to_owned(),
        })
    }
}

impl Store {
    /// What is in it; nothing where it is not there.
    ///
    /// # Errors
    /// [`StoreError`]; trust nothing then.
    pub fn read(dir: &DataDir) -> Result<Self, StoreError> {
        let path = dir.trust();
        let unusable = |source| StoreError::Unusable { what: "read", path: path.clone(), source };
        let Some(bytes) = file::read_regular(&path).map_err(unusable)? else {
            return Ok(Self { version: VERSION, workspaces: BTreeMap::new() });
        };
        let read: Option<Self> = serde_json::from_slice(&bytes).ok();
        read.filter(|read| read.version == VERSION).ok_or(StoreError::Wrong { path })
    }

    /// What is trusted of `workspace`.
    #[must_use]
    pub fn get(&self, workspace: &Path) -> Option<&Trusted> {
        self.workspaces.get(workspace.to_str()?)
    }

    /// Writes down that `workspace` is trusted so, or with `None` that it is not; returns whether it was.
    ///
    /// # Errors
    /// [`StoreError`]
    pub fn set(dir: &DataDir, workspace: &str, trusted: Option<Trusted>) -> Result<bool, StoreError> {
        let path = dir.trust();
        let unusable = |source| StoreError::Unusable { what: "write", path: path.clone(), source };
        let _alone = lock::lock(&dir.trust_lock()).map_err(unusable)?;
        let mut store = Self::read(dir)?;
        let before = match trusted {
            Some(trusted) => store.workspaces.insert(workspace.to_owned(), trusted),
            None => store.workspaces.remove(workspace),
        };
        let mut bytes = serde_json::to_vec_pretty(&store).map_err(|error| unusable(error.into()))?;
        bytes.push(b'\n');
        atomic::write(&path, &bytes).map_err(unusable)?;
        Ok(before.is_some())
    }
}
