//! The capture store that the environment selects.

use crate::store::{Store, StoreError};
use std::env::var_os;
use std::path::{PathBuf, absolute};

/// Opens the store, creating it if necessary.
pub fn store() -> Result<Store, StoreError> {
    Store::open(&root()?)
}

/// Opens the store for reading; `None` if there is none.
pub fn existing() -> Result<Option<Store>, StoreError> {
    Store::open_existing(&root()?)
}

/// The path of the store, made absolute if the variable has a relative one.
pub fn root() -> Result<PathBuf, StoreError> {
    let root = found()?;
    Ok(absolute(&root).unwrap_or(root))
}

/// Whether the environment selects another place than the default.
pub fn is_chosen() -> bool {
    ["DERUN_STATE_ROOT", "XDG_STATE_HOME"].into_iter().filter_map(var_os).any(|value| !value.is_empty())
}

#[cfg(unix)]
fn found() -> Result<PathBuf, StoreError> {
    Store::find(
        var_os("DERUN_STATE_ROOT").as_deref(),
        var_os("XDG_STATE_HOME").as_deref(),
        var_os("HOME").as_deref(),
    )
}

#[cfg(windows)]
fn found() -> Result<PathBuf, StoreError> {
    Store::find(var_os("DERUN_STATE_ROOT").as_deref(), var_os("LOCALAPPDATA").as_deref())
}
