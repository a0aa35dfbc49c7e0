//! Where the sessions are: a state root that may not be there yet, since a server that only reads makes none.

use super::fail::ToolError;
use crate::session::Session;
use crate::store::{Store, StoreError};
use std::path::{Path, PathBuf};

/// A state root. It is looked for at every call.
#[derive(Debug, Clone)]
pub struct Place {
    root: PathBuf,
}

impl Place {
    /// The state root `root`.
    #[must_use]
    pub fn new(root: &Path) -> Self {
        Self { root: root.to_path_buf() }
    }

    /// The store there, if there is one by now.
    ///
    /// # Errors
    /// [`StoreError::Unusable`].
    pub fn open(&self) -> Result<Option<Store>, StoreError> {
        match self.root.join("sessions").try_exists() {
            Ok(false) => Ok(None),
            // What is wrong is found by opening it.
            Ok(true) | Err(_) => Store::open(&self.root).map(Some),
        }
    }

    /// Opens a session to read it.
    pub(super) fn session(&self, id: &str) -> Result<Session, ToolError> {
        match self.open()? {
            Some(store) => Ok(store.session(id)?),
            None => Err(ToolError::NotFound(id.to_owned())),
        }
    }
}
