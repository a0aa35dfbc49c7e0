//! Descriptors: waiting until one of the system's own kind (a timer, a watch) is readable, and how many there may be.

#[cfg(target_os = "linux")]
use std::{io, os::fd::OwnedFd};
#[cfg(target_os = "linux")]
use tokio::io::{Interest, unix::AsyncFd};

/// Registers `descriptor` with the runtime.
///
/// # Errors
/// What the system says of registering.
#[cfg(target_os = "linux")]
pub(super) fn readable(descriptor: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an `OwnedFd` is open, is always the same descriptor, and is closed only when it is dropped, which
    // the `AsyncFd` that owns it from here on does after it has deregistered it.
    #[expect(unsafe_code, reason = "tokio leaves it to the caller to say that the descriptor stays open")]
    let registered = unsafe { AsyncFd::register_with_interest(descriptor, Interest::READABLE) };
    Ok(registered?)
}

/// How many files this process may have open at once; `None` if any number.
#[must_use]
pub fn most_open() -> Option<u64> {
    rustix::process::getrlimit(rustix::process::Resource::Nofile).current
}
