//! Standard output whose write errors say so.
//!
//! A closed pipe stays an ordinary error: a reader may exit, and nothing is reported.

use super::wrapped::{error_width, wrapped};
use std::io::{self, StdoutLock, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use sys::error::without_number;
use sys::text::Shown;

/// Whether standard output is dropped.
static HAS_NO_OUTPUT: AtomicBool = AtomicBool::new(false);
/// Whether notes are dropped.
static HAS_NO_NOTES: AtomicBool = AtomicBool::new(false);

/// What to drop that is only for information.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dropped {
    /// Notes on stderr.
    Notes,
    /// Notes, and standard output, which only confirms what a command did.
    Confirmations,
}

/// Makes this process quiet.
pub fn be_quiet(dropped: Dropped) {
    HAS_NO_NOTES.store(true, Ordering::Relaxed);
    HAS_NO_OUTPUT.store(dropped == Dropped::Confirmations, Ordering::Relaxed);
}

/// Whether this process is quiet.
#[must_use]
pub fn is_quiet() -> bool {
    HAS_NO_NOTES.load(Ordering::Relaxed)
}

/// Prints a note to stderr, unless the process is quiet.
pub fn note(text: impl std::fmt::Display) -> io::Result<()> {
    if is_quiet() { Ok(()) } else { tell(format_args!("note: {text}")) }
}

/// Prints a warning to stderr.
pub fn warn(text: impl std::fmt::Display) -> io::Result<()> {
    tell(format_args!("warning: {text}"))
}

/// Prints a line for people to stderr.
pub fn tell(text: impl std::fmt::Display) -> io::Result<()> {
    Shown(io::stderr()).write_all(wrapped(&format!("{text}\n"), error_width()).as_bytes())
}

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
        if HAS_NO_OUTPUT.load(Ordering::Relaxed) {
            return Ok(bytes.len());
        }
        self.0.write(bytes).map_err(named)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush().map_err(named)
    }
}

impl Write for Locked {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if HAS_NO_OUTPUT.load(Ordering::Relaxed) {
            return Ok(bytes.len());
        }
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
