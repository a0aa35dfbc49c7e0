//! The store of captures that the environment names.

use crate::capture::store::{Store, StoreError};
use std::env::var_os;

/// Opens it, and makes it where it does not exist.
pub(super) fn store() -> Result<Store, StoreError> {
    let root = Store::find(
        var_os("DERUN_STATE_ROOT").as_deref(),
        var_os("XDG_STATE_HOME").as_deref(),
        var_os("HOME").as_deref(),
    )?;
    Store::open(&root)
}
