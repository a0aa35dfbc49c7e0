//! A process that restores the terminal if this one is killed.
//!
//! In: the terminal's settings, what gives the screen back, and whether the screen is ours. It does nothing else, and
//! ends with this process.

use super::pipe;
use super::signals;
use super::terminal::OuterTerminal;
use rustix::fd::{AsFd, OwnedFd};
use rustix::process::{Pid, WaitOptions};
use std::io;

/// What could end or stop it before this process ends.
const IGNORED: [i32; 7] =
    [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU];

/// The process. Dropping this ends it.
#[derive(Debug)]
pub struct TerminalGuard {
    /// Takes a byte whenever the screen becomes ours, or no longer is. `None` once it must end.
    state: Option<OwnedFd>,
    pid: Pid,
}

impl TerminalGuard {
    /// Starts it: it would restore `outer` and write `leave` to stdout. Call this while there is only one thread.
    pub fn start(outer: &OuterTerminal, leave: &str) -> io::Result<Self> {
        let (reader, state) = pipe::pair()?;
        // SAFETY: there is one thread, so the child is a complete copy of this process.
        #[expect(unsafe_code, reason = "there is no safe fork")]
        let forked = unsafe { libc::fork() };
        match Pid::from_raw(forked) {
            _ if forked < 0 => Err(io::Error::last_os_error()),
            Some(pid) => Ok(Self { state: Some(state), pid }),
            None => {
                drop(state);
                guard(reader, outer, leave);
                // SAFETY: ends the process without running the parent's handlers.
                #[expect(unsafe_code, reason = "there is no safe call for this")]
                unsafe {
                    libc::_exit(0)
                }
            }
        }
    }

    /// Says whether the screen is ours.
    pub fn tell(&self, is_ours: bool) {
        let _gone = self.state.as_ref().map(|state| rustix::io::write(state, &[u8::from(is_ours)]));
    }
}

impl Drop for TerminalGuard {
    fn drop(&mut self) {
        self.state = None;
        let _status = rustix::process::waitpid(Some(self.pid), WaitOptions::empty());
    }
}

/// Waits until the parent has ended, and cleans up unless it did so itself.
fn guard(reader: impl AsFd, outer: &OuterTerminal, leave: &str) {
    IGNORED.into_iter().for_each(signals::ignore);
    // What stops the parent's group must not stop it.
    let _leads = rustix::process::setpgid(None, None);
    let (mut is_ours, mut byte) = (0, [0]);
    while let Ok(1) = rustix::io::retry_on_intr(|| rustix::io::read(&reader, &mut byte[..])) {
        [is_ours] = byte;
    }
    if is_ours == 1 {
        outer.restore_if_raw();
        let _gone = rustix::io::write(rustix::stdio::stdout(), leave.as_bytes());
    }
}
