//! Connects a command's output to the terminal and the recorder, through pipes or a pseudoterminal.

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
pub enum CommandEnd {
    /// It exited with this code.
    Exited(i32),
    /// This signal killed it.
    #[cfg(unix)]
    Signaled(i32),
    /// It was never started.
    NotStarted(NotStarted),
}

impl CommandEnd {
    /// Whether it died of writing to a closed pipe.
    #[must_use]
    pub fn is_broken_pipe(&self) -> bool {
        #[cfg(unix)]
        return matches!(self, Self::Signaled(libc::SIGPIPE));
        #[cfg(not(unix))]
        false
    }
}

/// The end of a command, and errors while passing on its output.
#[derive(Debug)]
pub struct Finished {
    /// How it ended.
    pub ended: CommandEnd,
    /// Why its output could not be passed on completely, unless its reader exited.
    pub trouble: Option<StreamError>,
}

/// A stream of ours that could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write to {}: {}", named(.stream), without_number(.error))]
pub struct StreamError {
    /// The stream.
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

/// How to connect a command that is started now: with a pseudoterminal if stdin and stdout are a terminal, otherwise
/// with pipes (spec 4, "PTY eligibility").
#[must_use]
pub fn mode() -> TransportMode {
    let is_attached = terminal::is_terminal(io::stdin()) && terminal::is_terminal(io::stdout());
    if !is_attached {
        return TransportMode::Pipe;
    }
    #[cfg(unix)]
    return TransportMode::PosixPty;
    // A pseudoconsole has a single output, so a separate stderr would be lost.
    #[cfg(windows)]
    return match terminal::is_terminal(io::stderr()) {
        true => TransportMode::WindowsConpty,
        false => TransportMode::Pipe,
    };
}

/// Runs `command` to its end; calls `started` once it runs. Must be called while this process has a single thread.
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

/// Whether to pass this signal on to a command in our own process group and session: signals to the whole group have
/// already reached it, but a hang-up only reaches the session leader.
#[cfg(unix)]
fn is_for_command(received: signals::ReceivedSignal) -> bool {
    match received.from {
        Sender::Other => true,
        Sender::Kernel => received.signal == libc::SIGHUP && sys::process::leads_session(),
        Sender::Us => false,
    }
}
