//! Standard output: an error says that it could not be written, and why.
//!
//! A closed pipe stays as it is: a reader may leave, and nobody complains.

use std::io::{self, StdoutLock, Write};
use sys::error::without_number;

/// The standard output of this process, whose errors name it.
pub fn stdout() -> Stdout {
    Stdout(io::stdout())
}

/// Writes what is still buffered: nobody would hear of an error when the process ends.
pub fn finish() -> io::Result<()> {
    stdout().flush()
}

/// Standard output, whose errors name it.
#[derive(Debug)]
pub struct Stdout(io::Stdout);

impl Stdout {
    /// Locks it for this thread.
    #[must_use]
    pub fn lock(&self) -> Locked {
        Locked(self.0.lock())
    }
}

/// The same, for one thread alone.
#[derive(Debug)]
pub struct Locked(StdoutLock<'static>);

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes).map_err(named)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush().map_err(named)
    }
}

impl Write for Locked {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes).map_err(named)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush().map_err(named)
    }
}

/// An error of the same kind that says what could not be written.
pub fn named(error: io::Error) -> io::Error {
    if matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::Interrupted) {
        return error;
    }
    io::Error::new(error.kind(), Unwritten(without_number(&error)))
}

/// That standard output could not be written, and why.
#[derive(Debug, thiserror::Error)]
#[error("cannot write to standard output: {0}")]
struct Unwritten(String);

/// Whether `error` says that standard output could not be written.
#[cfg(unix)]
pub fn is_unwritten(error: &anyhow::Error) -> bool {
    let error = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
    error.is_some_and(|error| error.is::<Unwritten>())
}
