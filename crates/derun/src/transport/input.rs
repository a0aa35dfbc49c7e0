//! What is typed, to the pseudo terminal.
//!
//! A job in the background must not read its terminal, or it is stopped. So nothing is read before there is
//! something and we are in the foreground: the wait is told of what *comes*, not of what the shell has not yet read.

use super::pty::Screen;
use super::relay;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use sys::arrival::Arrivals;
use sys::{signals, terminal};

/// The thread that passes input on.
#[derive(Debug)]
pub(super) struct Input {
    arrivals: Arc<Arrivals<BorrowedFd<'static>>>,
    over: Arc<AtomicBool>,
}

impl Input {
    /// Begins to pass what comes on stdin to `to`, whenever `screen` can be entered.
    pub(super) fn start(to: Arc<OwnedFd>, screen: Arc<Screen>) -> io::Result<Self> {
        let arrivals = Arc::new(Arrivals::on(rustix::stdio::stdin())?);
        let over = Arc::new(AtomicBool::new(false));
        let input = Self { arrivals: Arc::clone(&arrivals), over: Arc::clone(&over) };
        let read_on = move || {
            let mut block = vec![0; 4096];
            while !over.load(Ordering::Acquire) {
                if arrivals.wait().is_err() {
                    return;
                }
                while has_input() && screen.enter() && !over.load(Ordering::Acquire) {
                    match rustix::io::read(rustix::stdio::stdin(), &mut *block) {
                        Ok(read @ 1..) if pass_on(&block[..read], &to).is_ok() => {}
                        Err(Errno::INTR | Errno::AGAIN) => {}
                        // Our terminal or the command's is gone.
                        _ => return,
                    }
                }
            }
        };
        std::thread::Builder::new().name("input".to_owned()).spawn(read_on)?;
        Ok(input)
    }

    /// Has the thread look whether there is something, which it may read now.
    pub(super) fn look_again(&self) {
        self.arrivals.wake();
    }

    /// Reads nothing more: it is somebody else's.
    pub(super) fn end(&self) {
        self.over.store(true, Ordering::Release);
        self.look_again();
    }
}

/// Writes what was typed to the pseudo terminal. What a Ctrl-C or a Ctrl-\\ there does to the command, our terminal
/// would have done to all of our job: to the script, say, that we are a command of.
fn pass_on(typed: &[u8], to: &OwnedFd) -> Result<(), relay::Over> {
    for signal in terminal::signals_of(typed, to) {
        signals::send_to_group(signal);
    }
    relay::write(to.as_fd(), typed)
}

fn has_input() -> bool {
    let stdin = rustix::stdio::stdin();
    let mut watched = [PollFd::from_borrowed_fd(stdin, PollFlags::IN)];
    matches!(rustix::event::poll(&mut watched, Some(&Timespec::default())), Ok(1..))
}
