//! How a command's output reaches the terminal and the recorder: through pipes, or through a pseudo terminal.

mod input;
mod leader;
mod pipe;
mod pty;
mod relay;

use super::record::TransportMode;
use super::recorder::Recorder;
use crate::sys::signals::{self, Sender, Signals};
use crate::sys::spawn::{CommandLine, NotStarted};
use crate::sys::terminal;
use std::io;

/// How a command ended.
#[derive(Debug)]
pub enum Ended {
    /// With this code.
    Exited(i32),
    /// By this signal.
    Signaled(i32),
    /// It never ran.
    NotStarted(NotStarted),
}

/// A command's end, and what went wrong on the way out.
#[derive(Debug)]
pub struct Finished {
    /// How it ended.
    pub ended: Ended,
    /// Why its output could not be passed on to the end, other than that nobody read it any more.
    pub trouble: Option<Trouble>,
}

/// A stream of ours that did not take what the command wrote.
#[derive(Debug, thiserror::Error)]
#[error("cannot write to {stream}: {source}")]
pub struct Trouble {
    /// Which.
    pub stream: &'static str,
    /// What the system said.
    #[source]
    pub source: io::Error,
}

/// How a command that is started here and now is to be connected: to a pseudo terminal when stdin and stdout are a
/// terminal, else to pipes (spec 4, "PTY eligibility").
#[must_use]
pub fn mode() -> TransportMode {
    let is_attached = terminal::is_terminal(io::stdin()) && terminal::is_terminal(io::stdout());
    if is_attached { TransportMode::PosixPty } else { TransportMode::Pipe }
}

/// Runs `command` to its end; calls `started` when it runs. Must be called while this process has one thread.
///
/// # Errors
/// What the system says of what had to be made before it could be started.
pub fn run(
    mode: TransportMode,
    command: &CommandLine,
    recorder: &Recorder,
    started: impl FnOnce(),
) -> io::Result<Finished> {
    match mode {
        TransportMode::PosixPty | TransportMode::WindowsConpty => pty::run(command, recorder, started),
        TransportMode::Pipe => pipe::run(command, recorder, started),
    }
}

/// Whether `came` is to be passed on to a command in our own process group and session: what the kernel sends to a
/// whole group has reached the command already, but a hang-up only reaches who leads the session.
fn is_for_command(came: signals::Came) -> bool {
    let leads = || rustix::process::getsid(None).is_ok_and(|session| session == rustix::process::getpid());
    match came.from {
        Sender::Other => true,
        Sender::Kernel => came.signal == libc::SIGHUP && leads(),
        Sender::Us => false,
    }
}

/// Takes the signals; see [`Signals::take`].
fn take_signals() -> io::Result<Signals> {
    Signals::take()
}
