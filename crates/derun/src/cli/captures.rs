//! The store of captures that the environment names.

use crate::store::{Store, StoreError};
use std::env::var_os;
use std::path::{PathBuf, absolute};

/// Opens it, and makes it where it does not exist.
pub fn store() -> Result<Store, StoreError> {
    Store::open(&root()?)
}

/// Opens it for who only reads: `None` where there is none yet, and none is made.
pub fn existing() -> Result<Option<Store>, StoreError> {
    if root()?.exists() { store().map(Some) } else { Ok(None) }
}

/// Where it is: an absolute path, also if the variable has one from the current folder.
pub fn root() -> Result<PathBuf, StoreError> {
    let root = found()?;
    Ok(absolute(&root).unwrap_or(root))
}

/// Whether the environment chooses another place than the usual one.
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
