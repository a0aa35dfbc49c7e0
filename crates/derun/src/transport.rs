//! How a command's output reaches the terminal and the recorder: through pipes, or through a pseudo terminal.

#[cfg(windows)]
#[path = "transport/windows/conpty.rs"]
mod conpty;
#[cfg(unix)]
mod input;
#[cfg(unix)]
mod leader;
#[cfg_attr(windows, path = "transport/windows/pipe.rs")]
mod pipe;
#[cfg(unix)]
mod pty;
#[cfg_attr(windows, path = "transport/windows/relay.rs")]
mod relay;

use super::record::TransportMode;
use super::recorder::Recorder;
use std::io;
use sys::error::without_number;
#[cfg(unix)]
use sys::signals::{self, Sender};
use sys::spawn::{CommandLine, NotStarted};
use sys::terminal;

/// How a command ended.
#[derive(Debug)]
pub enum Ended {
    /// With this code.
    Exited(i32),
    /// By this signal.
    #[cfg(unix)]
    Signaled(i32),
    /// It never ran.
    NotStarted(NotStarted),
}

impl Ended {
    /// Whether it died of writing to a pipe that nobody read.
    #[must_use]
    pub fn is_broken_pipe(&self) -> bool {
        #[cfg(unix)]
        return matches!(self, Self::Signaled(libc::SIGPIPE));
        #[cfg(not(unix))]
        false
    }
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
#[error("cannot write to {}: {}", named(.stream), without_number(.error))]
pub struct Trouble {
    /// Which.
    pub stream: &'static str,
    /// The underlying error.
    pub error: io::Error,
}

fn named(stream: &'static str) -> &'static str {
    match stream {
        "stdout" => "standard output",
        "stderr" => "standard error",
        other => other,
    }
}

/// How a command that is started here and now is to be connected: to a pseudo terminal when stdin and stdout are a
/// terminal, else to pipes (spec 4, "PTY eligibility").
#[must_use]
pub fn mode() -> TransportMode {
    let is_attached = terminal::is_terminal(io::stdin()) && terminal::is_terminal(io::stdout());
    if !is_attached {
        return TransportMode::Pipe;
    }
    #[cfg(unix)]
    return TransportMode::PosixPty;
    // A pseudo console has one output: a stderr that is somewhere else could not stay there.
    #[cfg(windows)]
    return match terminal::is_terminal(io::stderr()) {
        true => TransportMode::WindowsConpty,
        false => TransportMode::Pipe,
    };
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
        #[cfg(unix)]
        TransportMode::PosixPty | TransportMode::WindowsConpty => pty::run(command, recorder, started),
        #[cfg(windows)]
        TransportMode::PosixPty | TransportMode::WindowsConpty => conpty::run(command, recorder, started),
        TransportMode::Pipe => pipe::run(command, recorder, started),
    }
}

/// Whether `came` is to be passed on to a command in our own process group and session: what the kernel sends to a
/// whole group has reached the command already, but a hang-up only reaches who leads the session.
#[cfg(unix)]
fn is_for_command(came: signals::Came) -> bool {
    match came.from {
        Sender::Other => true,
        Sender::Kernel => came.signal == libc::SIGHUP && sys::process::leads_session(),
        Sender::Us => false,
    }
}
