//! One direction of a stream: reads, captures and writes on.

use super::super::record::Channel;
use super::super::recorder::Recorder;
use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::os::windows::io::BorrowedHandle;
use std::time::{Duration, Instant};
use sys::pipe::{Read, Reader};

/// How much is read at once, at most.
pub(super) const BLOCK: usize = 64 * 1024;

/// How long to read from a process that holds the pipe open after the command's end.
const DRAIN: Duration = Duration::from_millis(250);
/// How many bytes to read from it, more than a pipe holds.
const DRAIN_BYTES: usize = 2 * BLOCK;

/// Why a relay ended.
#[derive(Debug)]
pub(super) enum RelayEnd {
    /// The pipe was closed by all writers.
    End,
    /// The reader of our output has gone.
    ReaderGone,
    /// Writing failed.
    Trouble(io::Error),
}

impl From<io::Error> for RelayEnd {
    fn from(error: io::Error) -> Self {
        if error.kind() == ErrorKind::BrokenPipe { Self::ReaderGone } else { Self::Trouble(error) }
    }
}

/// Passes everything from `from` to `to` and captures it, until all writers close it, the reader goes away, or the
/// command has ended (`ended`) and its remaining output was passed on.
///
/// `from` is closed on return, so that the command's next write fails.
pub(super) fn pass_on(
    mut from: Reader,
    mut to: File,
    ended: BorrowedHandle<'_>,
    channel: Channel,
    recorder: &Recorder,
) -> RelayEnd {
    let mut take = |bytes: &[u8]| {
        recorder.capture(channel, bytes);
        to.write_all(bytes).map_err(RelayEnd::from)
    };
    let passed = until_end(&mut from, ended, &mut take).and_then(|is_over| match is_over {
        true => Ok(()),
        false => drain(&mut from, &mut take),
    });
    passed.err().unwrap_or(RelayEnd::End)
}

/// Passes bytes on until all writers have closed the pipe (`true`) or the command has ended (`false`).
fn until_end(
    from: &mut Reader,
    ended: BorrowedHandle<'_>,
    take: &mut impl FnMut(&[u8]) -> Result<(), RelayEnd>,
) -> Result<bool, RelayEnd> {
    loop {
        match from.read(&[ended], None)? {
            Read::Bytes(bytes) => take(bytes)?,
            Read::End => return Ok(true),
            Read::Other | Read::Nothing => return Ok(false),
        }
    }
}

/// The command has ended: passes on what remains in the pipe, and what else arrives for a short time.
fn drain(from: &mut Reader, take: &mut impl FnMut(&[u8]) -> Result<(), RelayEnd>) -> Result<(), RelayEnd> {
    let until = Instant::now() + DRAIN;
    let mut drained = 0;
    loop {
        let rest = until.saturating_duration_since(Instant::now());
        match from.read(&[], Some(rest))? {
            Read::Bytes(bytes) if !rest.is_zero() || drained < DRAIN_BYTES => {
                drained += bytes.len();
                take(bytes)?;
            }
            _ => return Ok(()),
        }
    }
}
