//! Named pipes, by which one process lets another go on.

use std::io;
use std::path::Path;

use rustix::fs::{CWD, Mode};

/// Makes a FIFO at `path`, mode 0600.
///
/// # Errors
/// What the system says, for example that something is there already.
pub fn make(path: &Path) -> io::Result<()> {
    Ok(rustix::fs::mkfifoat(CWD, path, Mode::RUSR | Mode::WUSR)?)
}
