//! Descriptors: async readiness of timers and watches, and the limit on open files.

use std::os::fd::{AsRawFd, OwnedFd};
use std::{io, sync::Arc};
use tokio::io::{Interest, unix::AsyncFd};

/// What owns a descriptor, or shares the ownership.
pub(super) trait Owner: AsRawFd {}

impl Owner for OwnedFd {}

impl Owner for Arc<OwnedFd> {}

/// Registers `descriptor` with the runtime.
pub(super) fn readable<D: Owner>(descriptor: D) -> io::Result<AsyncFd<D>> {
    // SAFETY: an `OwnedFd` is open, always refers to the same descriptor, and is closed only on drop, also in an
    // `Arc`. The `AsyncFd` that owns it deregisters it before that.
    #[expect(unsafe_code, reason = "the caller must guarantee that the descriptor stays open")]
    let registered = unsafe { AsyncFd::register_with_interest(descriptor, Interest::READABLE) };
    Ok(registered?)
}

/// The limit on open files for this process; `None` means unlimited.
#[must_use]
pub fn most_open() -> Option<u64> {
    rustix::process::getrlimit(rustix::process::Resource::Nofile).current
}
