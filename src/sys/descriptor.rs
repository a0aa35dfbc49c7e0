//! Waiting for a descriptor of the system's own kind (a timer, a watch) to become readable.

use std::io;
use std::os::fd::OwnedFd;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Registers `descriptor` with the runtime.
///
/// # Errors
/// What the system says of registering.
pub(super) fn readable(descriptor: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an `OwnedFd` is open, is always the same descriptor, and is closed only when it is dropped, which
    // the `AsyncFd` that owns it from here on does after it has deregistered it.
    #[expect(unsafe_code, reason = "tokio leaves it to the caller to say that the descriptor stays open")]
    let registered = unsafe { AsyncFd::register_with_interest(descriptor, Interest::READABLE) };
    Ok(registered?)
}
