//! Processes that unit tests start. Until its exec, a child has every file that is open for writing, also those of
//! other tests in this process, which then can't take a lease.

use std::io;
use std::process::{Child, Command};
use std::sync::{PoisonError, RwLock, RwLockWriteGuard};

static STARTING: RwLock<()> = RwLock::new(());

/// Starts `command`; returns after its exec.
pub(crate) fn start(command: &mut Command) -> io::Result<Child> {
    let _guard = STARTING.read().unwrap_or_else(PoisonError::into_inner);
    command.spawn()
}

/// No process is started while the guard exists.
pub(crate) fn none_starts() -> RwLockWriteGuard<'static, ()> {
    STARTING.write().unwrap_or_else(PoisonError::into_inner)
}
