//! Plays a fixture: writes what a run once wrote, at the pace that is asked for.
//!
//! In come a fixture and two writers; out go its bytes and how the run ended, for the caller to end alike.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::time::Duration;

use thiserror::Error;

use super::fixture::{End, Fixture, lines};
use crate::sys::pause::pause;

/// When the next line comes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pace {
    /// At once.
    Instant,
    /// With the gaps it was recorded with.
    Recorded,
    /// One byte read from this FIFO releases one line; its end releases all that are left.
    Gate(PathBuf),
}

/// Why a fixture was not played to its end.
#[derive(Debug, Error)]
pub enum PlayError {
    /// The gate cannot be opened or read.
    #[error("cannot read the gate: {}", path.display())]
    Gate {
        /// The FIFO.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// Nobody takes the bytes any more.
    #[error("cannot write {stream}")]
    Write {
        /// `stdout` or `stderr`.
        stream: &'static str,
        /// What the system says.
        source: io::Error,
    },
}

/// Writes the fixture's stdout line by line, each flushed, then its stderr, and says how the run ended.
///
/// # Errors
/// The gate cannot be read, or a writer fails.
pub fn play(
    fixture: &Fixture,
    pace: &Pace,
    stdout: &mut dyn Write,
    stderr: &mut dyn Write,
) -> Result<End, PlayError> {
    let mut gate = Gate::open(pace)?;
    let mut before = 0;
    for (line, at) in lines(&fixture.stdout).zip(&fixture.times) {
        if *pace == Pace::Recorded {
            pause(Duration::from_millis(at.saturating_sub(before)));
            before = *at;
        }
        gate.wait()?;
        write("stdout", stdout, line)?;
    }
    write("stderr", stderr, &fixture.stderr)?;
    Ok(fixture.run.end)
}

fn write(stream: &'static str, to: &mut dyn Write, bytes: &[u8]) -> Result<(), PlayError> {
    to.write_all(bytes).and_then(|()| to.flush()).map_err(|source| PlayError::Write { stream, source })
}

/// An open FIFO, or nothing to wait for.
struct Gate(Option<(PathBuf, File)>);

impl Gate {
    fn open(pace: &Pace) -> Result<Self, PlayError> {
        let Pace::Gate(path) = pace else { return Ok(Self(None)) };
        let file = File::open(path).map_err(|source| PlayError::Gate { path: path.clone(), source })?;
        Ok(Self(Some((path.clone(), file))))
    }

    fn wait(&mut self) -> Result<(), PlayError> {
        let Some((path, file)) = &mut self.0 else { return Ok(()) };
        let mut byte = [0];
        let read = loop {
            match file.read(&mut byte) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read,
            }
        };
        match read {
            Ok(0) => self.0 = None,
            Ok(_) => {}
            Err(source) => return Err(PlayError::Gate { path: path.clone(), source }),
        }
        Ok(())
    }
}
