//! One direction of one stream: reads what there is, has it kept, and writes it on.

use super::super::record::Channel;
use super::super::recorder::Recorder;
use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::os::windows::io::BorrowedHandle;
use std::time::{Duration, Instant};
use sys::pipe::{Read, Reader};

/// What is read at once, at most.
pub(super) const BLOCK: usize = 64 * 1024;

/// A process that holds the pipe is listened to for this long after the command's end,
const DRAIN: Duration = Duration::from_millis(250);
/// or until this much was read, which is more than a pipe holds.
const DRAIN_BYTES: usize = 2 * BLOCK;

/// Why a relay ended.
#[derive(Debug)]
pub(super) enum Over {
    /// Nobody can write any more.
    End,
    /// Whoever read what we write has gone.
    ReaderGone,
    /// It could not be written.
    Trouble(io::Error),
}

impl From<io::Error> for Over {
    fn from(error: io::Error) -> Self {
        if error.kind() == ErrorKind::BrokenPipe { Self::ReaderGone } else { Self::Trouble(error) }
    }
}

/// Passes on all that comes from `from` to `to` and keeps it, until nobody writes any more, nobody reads any more, or
/// the command is over (`ended`) and what it left has been passed on.
///
/// `from` is closed on return, by which the command is told that writing is of no use.
pub(super) fn pass_on(
    mut from: Reader,
    mut to: File,
    ended: BorrowedHandle<'_>,
    channel: Channel,
    recorder: &Recorder,
) -> Over {
    let mut take = |bytes: &[u8]| {
        recorder.keep(channel, bytes);
        to.write_all(bytes).map_err(Over::from)
    };
    let passed = until_end(&mut from, ended, &mut take).and_then(|is_over| match is_over {
        true => Ok(()),
        false => drain(&mut from, &mut take),
    });
    passed.err().unwrap_or(Over::End)
}

/// Passes bytes on until nobody writes any more (`true`), or the command is over (`false`).
fn until_end(
    from: &mut Reader,
    ended: BorrowedHandle<'_>,
    take: &mut impl FnMut(&[u8]) -> Result<(), Over>,
) -> Result<bool, Over> {
    loop {
        match from.read(&[ended], None)? {
            Read::Bytes(bytes) => take(bytes)?,
            Read::End => return Ok(true),
            Read::Other | Read::Nothing => return Ok(false),
        }
    }
}

/// The command is over: passes on what was in the pipe when it ended, and for a short time what else comes.
fn drain(from: &mut Reader, take: &mut impl FnMut(&[u8]) -> Result<(), Over>) -> Result<(), Over> {
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
