//! Standard output whose write errors say so.
//!
//! A closed pipe stays an ordinary error: a reader may exit, and nothing is reported.

use std::io::{self, StdoutLock, Write};
use sys::error::without_number;

/// The standard output of this process.
pub fn stdout() -> Stdout {
    Stdout(io::stdout())
}

/// Flushes standard output: an error at exit would be lost.
pub fn finish() -> io::Result<()> {
    stdout().flush()
}

/// Standard output whose errors name it.
#[derive(Debug)]
pub struct Stdout(io::Stdout);

impl Stdout {
    /// Locks it for this thread.
    #[must_use]
    pub fn lock(&self) -> Locked {
        Locked(self.0.lock())
    }
}

/// Locked standard output.
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

/// An error of the same kind that names standard output.
pub fn named(error: io::Error) -> io::Error {
    if matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::Interrupted) {
        return error;
    }
    io::Error::new(error.kind(), StdoutError(without_number(&error)))
}

/// Standard output could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write to standard output: {0}")]
struct StdoutError(String);

/// Whether `error` is a failure to write to standard output.
#[cfg(unix)]
pub fn is_stdout_error(error: &anyhow::Error) -> bool {
    let error = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
    error.is_some_and(|error| error.is::<StdoutError>())
}
