//! One direction of a stream: reads, captures and writes on.

use super::super::record::Channel;
use super::super::recorder::Recorder;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

/// How much is read at once, at most.
pub(super) const BLOCK: usize = 256 * 1024;

/// How long to read from a descendant that holds the pipe open after the command's end.
const DRAIN: Duration = Duration::from_millis(250);

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

/// Passes everything from `from` to `to` and captures it, until all writers close it, the reader goes away, or the
/// command has ended (`ended` hangs up) and its remaining output was passed on.
///
/// `from` is closed on return, so that the command's next write fails.
pub(super) fn pass_on(
    from: OwnedFd,
    to: BorrowedFd<'_>,
    ended: BorrowedFd<'_>,
    channel: Channel,
    recorder: &Recorder,
) -> RelayEnd {
    let mut block = vec![0; BLOCK];
    loop {
        match wait(&from, to, ended) {
            Ok(Next::Bytes) => {}
            Ok(Next::Ended) => return drain(&from, to, channel, recorder, &mut block),
            Ok(Next::ReaderGone) => return RelayEnd::ReaderGone,
            Err(error) => return RelayEnd::Trouble(error.into()),
        }
        match step(&from, to, channel, recorder, &mut block) {
            Ok(_) => {}
            Err(over) => return over,
        }
    }
}

/// Reads once and passes it on. Returns the number of bytes.
fn step(
    from: &OwnedFd,
    to: BorrowedFd<'_>,
    channel: Channel,
    recorder: &Recorder,
    block: &mut [u8],
) -> Result<usize, RelayEnd> {
    let read = match rustix::io::retry_on_intr(|| rustix::io::read(from, &mut *block)) {
        Ok(0) | Err(Errno::IO) => return Err(RelayEnd::End),
        Ok(read) => read,
        Err(error) => return Err(RelayEnd::Trouble(error.into())),
    };
    recorder.capture(channel, &block[..read]);
    write(to, &block[..read]).map(|()| read)
}

/// Writes all of `bytes`, however long that takes.
pub(super) fn write(to: BorrowedFd<'_>, mut bytes: &[u8]) -> Result<(), RelayEnd> {
    while !bytes.is_empty() {
        match rustix::io::write(to, bytes) {
            Ok(written) => bytes = &bytes[written..],
            Err(Errno::INTR) => {}
            // A process that shares the stream has made it non-blocking.
            Err(Errno::AGAIN) => {
                let _again = rustix::event::poll(&mut [PollFd::from_borrowed_fd(to, PollFlags::OUT)], None);
            }
            Err(Errno::PIPE) => return Err(RelayEnd::ReaderGone),
            Err(error) => return Err(RelayEnd::Trouble(error.into())),
        }
    }
    Ok(())
}

enum Next {
    Bytes,
    Ended,
    ReaderGone,
}

/// Waits for bytes, for the command's end, or for the reader to go away, which the command notices at its next write.
fn wait(from: &OwnedFd, to: BorrowedFd<'_>, ended: BorrowedFd<'_>) -> Result<Next, Errno> {
    loop {
        let mut watched = [
            PollFd::new(from, PollFlags::IN),
            PollFd::from_borrowed_fd(ended, PollFlags::empty()),
            PollFd::from_borrowed_fd(to, PollFlags::empty()),
        ];
        match rustix::event::poll(&mut watched, None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
        let [bytes, end, reader] = watched.each_ref().map(PollFd::revents);
        // Bytes in the pipe come first.
        if reader.intersects(PollFlags::ERR) {
            return Ok(Next::ReaderGone);
        }
        if end.intersects(PollFlags::HUP) {
            return Ok(Next::Ended);
        }
        if !bytes.is_empty() {
            return Ok(Next::Bytes);
        }
    }
}

/// The command has ended: passes on what remains in the pipe, and what else arrives for a short time.
fn drain(
    from: &OwnedFd,
    to: BorrowedFd<'_>,
    channel: Channel,
    recorder: &Recorder,
    block: &mut [u8],
) -> RelayEnd {
    let mut left = rustix::io::ioctl_fionread(from).unwrap_or_default();
    let until = Instant::now() + DRAIN;
    loop {
        let rest = until.saturating_duration_since(Instant::now());
        let timeout = if left > 0 { Duration::ZERO } else { rest };
        let timeout = Timespec::try_from(timeout).unwrap_or_default();
        match rustix::event::poll(
            &mut [PollFd::from_borrowed_fd(from.as_fd(), PollFlags::IN)],
            Some(&timeout),
        ) {
            Err(Errno::INTR) => continue,
            Ok(1..) if left > 0 || !rest.is_zero() => {}
            _ => return RelayEnd::End,
        }
        match step(from, to, channel, recorder, block) {
            Ok(read) => left = left.saturating_sub(read as u64),
            Err(over) => return over,
        }
    }
}
