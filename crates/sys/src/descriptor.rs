//! Descriptors: async readiness of timers and watches, and the limit on open files.

use std::{io, os::fd::OwnedFd};
use tokio::io::{Interest, unix::AsyncFd};

/// Registers `descriptor` with the runtime.
pub(super) fn readable(descriptor: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an `OwnedFd` is open, always refers to the same descriptor, and is closed only on drop. The
    // `AsyncFd` that owns it deregisters it before that.
    #[expect(unsafe_code, reason = "the caller must guarantee that the descriptor stays open")]
    let registered = unsafe { AsyncFd::register_with_interest(descriptor, Interest::READABLE) };
    Ok(registered?)
}

/// The limit on open files for this process; `None` means unlimited.
#[must_use]
pub fn most_open() -> Option<u64> {
    rustix::process::getrlimit(rustix::process::Resource::Nofile).current
}
