//! The location of the sessions: a state root that may not exist yet. A server only reads, so it doesn't create it.

use super::fail::ToolError;
use crate::session::Session;
use crate::store::{Store, StoreError};
use std::path::{Path, PathBuf};

/// A state root, looked up at every call.
#[derive(Debug, Clone)]
pub struct StateRoot {
    root: PathBuf,
}

impl StateRoot {
    /// The state root `root`.
    #[must_use]
    pub fn new(root: &Path) -> Self {
        Self { root: root.to_path_buf() }
    }

    /// Opens the store, if it exists.
    pub fn open(&self) -> Result<Option<Store>, StoreError> {
        Store::open_existing(&self.root)
    }

    /// Opens a session to read it.
    pub(super) fn session(&self, id: &str) -> Result<Session, ToolError> {
        match self.open()? {
            Some(store) => Ok(store.session(id)?),
            None => Err(ToolError::NotFound(id.to_owned())),
        }
    }
}
