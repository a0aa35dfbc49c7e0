//! Copies bytes from a pipe as they arrive, until the pipe or the child ends.
//!
//! A grandchild may hold the pipe open forever, so its end is not required.

use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::fixture::lines;

/// The copied bytes, with the time in milliseconds at which each line ended.
#[derive(Debug, Default)]
pub(super) struct Kept {
    pub(super) bytes: Vec<u8>,
    pub(super) times: Vec<u64>,
}

/// Copies `from` to `to` and keeps a copy. With `drain`, bytes that are available when the child ends are still
/// copied.
///
/// Ends, without dropping a borrowed descriptor, when `from` ends, when `to` fails (the child must notice that its
/// reader is gone), or when `gone` ends.
pub(super) fn pump(
    from: BorrowedFd<'_>,
    to: &mut dyn Write,
    gone: BorrowedFd<'_>,
    drain: bool,
    start: Instant,
) -> Kept {
    let mut kept = Kept::default();
    let mut buffer = vec![0; 64 * 1024];
    while let Ok((ready, is_gone)) = wait(from, gone) {
        if is_gone && !(drain && ready) {
            break;
        }
        let read = match rustix::io::read(from, &mut buffer[..]) {
            Ok(0) => break,
            Ok(read) => read,
            Err(rustix::io::Errno::INTR) => continue,
            Err(_) => break,
        };
        let at = u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX);
        kept.add(&buffer[..read], at);
        if to.write_all(&buffer[..read]).and_then(|()| to.flush()).is_err() {
            break;
        }
    }
    kept
}

impl Kept {
    fn add(&mut self, bytes: &[u8], at: u64) {
        // A chunk that continues a line updates that line's time.
        if self.bytes.last().is_some_and(|last| *last != b'\n') {
            self.times.pop();
        }
        self.bytes.extend_from_slice(bytes);
        let finished = self.times.len();
        let total = finished + lines_after(&self.bytes, bytes.len());
        self.times.resize(total, at);
    }
}

/// The number of lines that end or start in the last `new` bytes.
fn lines_after(bytes: &[u8], new: usize) -> usize {
    lines(&bytes[bytes.len() - new..]).count()
}

fn wait(from: BorrowedFd<'_>, gone: BorrowedFd<'_>) -> io::Result<(bool, bool)> {
    let mut fds = [PollFd::new(&from, PollFlags::IN), PollFd::new(&gone, PollFlags::IN)];
    loop {
        match poll(&mut fds, None) {
            Ok(_) => break,
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok((!fds[0].revents().is_empty(), !fds[1].revents().is_empty()))
}

/// Waits until `gone` ends, and at most for `limit`. Returns whether it ended.
pub(super) fn ends_within(gone: BorrowedFd<'_>, limit: Duration) -> bool {
    let deadline = Instant::now() + limit;
    loop {
        let left = Timespec::try_from(deadline.saturating_duration_since(Instant::now())).ok();
        match poll(&mut [PollFd::new(&gone, PollFlags::IN)], left.as_ref()) {
            Ok(ready) => return ready > 0,
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return false,
        }
    }
}

/// Waits until one of `sources` is readable and returns its index; `None` if `gone` ends.
pub(super) fn wait_for_any(sources: &[impl AsFd], gone: BorrowedFd<'_>) -> Option<usize> {
    let mut fds: Vec<PollFd<'_>> =
        sources.iter().map(|source| PollFd::from_borrowed_fd(source.as_fd(), PollFlags::IN)).collect();
    fds.push(PollFd::new(&gone, PollFlags::IN));
    loop {
        match poll(&mut fds, None) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => continue,
            Err(_) => return None,
        }
        return fds.iter().take(sources.len()).position(|fd| !fd.revents().is_empty());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_has_the_time_its_end_arrived() {
        let mut kept = Kept::default();
        for (bytes, at) in [("a\nb", 1), ("c\n", 2), ("d\n\n", 3), ("e", 4), ("f", 5)] {
            kept.add(bytes.as_bytes(), at);
        }
        assert_eq!(kept.bytes, b"a\nbc\nd\n\nef");
        assert_eq!(kept.times, [1, 2, 3, 3, 5]);
    }
}
