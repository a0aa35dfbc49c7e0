//! Pipes that child processes don't inherit.

use std::io;
use std::os::fd::OwnedFd;

/// Creates a pipe and returns its reading and writing ends.
pub fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let (from, to) = io::pipe()?;
    Ok((from.into(), to.into()))
}
