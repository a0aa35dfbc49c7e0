//! Pipes, which no program that is started meanwhile inherits.

use std::io;
use std::os::fd::OwnedFd;

/// Makes a pipe: the end that is read from, and the one that is written to.
///
/// # Errors
/// What the system says, for example that too many are open.
pub fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let (from, to) = io::pipe()?;
    Ok((from.into(), to.into()))
}
