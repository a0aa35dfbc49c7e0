//! Reads the prompt from stdin like Claude Code: to its end, but waits only 3 seconds for the first byte.

use std::io::{self, Read};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

const WARNING: &str = "Warning: no stdin data received in 3s, proceeding without it. If piping from a slow \
command, redirect stdin explicitly: < /dev/null to skip, or wait longer.";

/// Returns all of stdin, or nothing if it is a terminal.
pub(crate) fn read() -> Vec<u8> {
    let mut stdin = io::stdin();
    if io::IsTerminal::is_terminal(&stdin) {
        return Vec::new();
    }
    let timeout = Timespec { tv_sec: 3, tv_nsec: 0 };
    let waited = loop {
        match poll(&mut [PollFd::new(&stdin, PollFlags::IN)], Some(&timeout)) {
            Err(rustix::io::Errno::INTR) => {}
            waited => break waited,
        }
    };
    if waited == Ok(0) {
        crate::print_error(WARNING);
        return Vec::new();
    }
    let mut bytes = Vec::new();
    // Keep what was read before a failure.
    drop(stdin.read_to_end(&mut bytes));
    bytes
}
