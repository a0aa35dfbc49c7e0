//! Replays a fixture's output at a given pace.
//!
//! Input: a fixture and two writers. Output: its bytes and exit status, for the caller to exit the same way.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::time::Duration;

use thiserror::Error;

use super::fixture::{End, Fixture, lines};
use sys::pause::pause;

/// The pacing of lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pace {
    /// No delay.
    Instant,
    /// The recorded delays.
    Recorded,
    /// Each byte read from this FIFO releases one line; its end releases all remaining lines.
    Gate(PathBuf),
}

/// An error during a replay.
#[derive(Debug, Error)]
pub enum PlayError {
    /// The gate FIFO cannot be opened or read.
    #[error("cannot read the gate: {}", path.display())]
    Gate {
        /// The FIFO.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The reader of the output is gone.
    #[error("cannot write {stream}")]
    Write {
        /// `stdout` or `stderr`.
        stream: &'static str,
        /// The cause.
        source: io::Error,
    },
}

/// Writes the fixture's stdout line by line, flushing each, then its stderr. Returns how the run ended.
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

/// An open FIFO, or `None` for no delay.
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
