//! Passes typed input on to the pseudoterminal.
//!
//! A background job is stopped if it reads its terminal. So input is only read when there is some and we are in the
//! foreground: polling reports *new* input, not input that the shell has left unread.

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

/// The thread that passes on input.
#[derive(Debug)]
pub(super) struct Input {
    arrivals: Arc<Arrivals<BorrowedFd<'static>>>,
    over: Arc<AtomicBool>,
}

impl Input {
    /// Starts passing stdin on to `to`, whenever `screen` can be entered.
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

    /// Makes the thread check for input that it may read now.
    pub(super) fn look_again(&self) {
        self.arrivals.wake();
    }

    /// Stops reading: further input belongs to others.
    pub(super) fn end(&self) {
        self.over.store(true, Ordering::Release);
        self.look_again();
    }
}

/// Writes typed input to the pseudoterminal. When Ctrl-C or Ctrl-\\ signals the command there, our own job gets the
/// signal too, as it would without us: for example, the script that runs us.
fn pass_on(typed: &[u8], to: &OwnedFd) -> Result<(), relay::RelayEnd> {
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
