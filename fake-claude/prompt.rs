//! Reads stdin as the real one does: to its end, but it waits only 3 seconds for the first byte.

use std::io::{self, Read};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

const WARNING: &str = "Warning: no stdin data received in 3s, proceeding without it. If piping from a slow \
command, redirect stdin explicitly: < /dev/null to skip, or wait longer.";

/// All of stdin; nothing of a terminal.
pub(crate) fn read() -> Vec<u8> {
    let mut stdin = io::stdin();
    if io::IsTerminal::is_terminal(&stdin) {
        return Vec::new();
    }
    let patience = Timespec { tv_sec: 3, tv_nsec: 0 };
    let waited = loop {
        match poll(&mut [PollFd::new(&stdin, PollFlags::IN)], Some(&patience)) {
            Err(rustix::io::Errno::INTR) => {}
            waited => break waited,
        }
    };
    if waited == Ok(0) {
        crate::complain(WARNING);
        return Vec::new();
    }
    let mut bytes = Vec::new();
    // What could be read before a failure counts.
    drop(stdin.read_to_end(&mut bytes));
    bytes
}
