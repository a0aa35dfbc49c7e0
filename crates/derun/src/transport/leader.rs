//! The session leader of a command's pseudoterminal, a process between us and the command, like a shell.
//!
//! If the command led the session itself, Ctrl-Z could not stop it, since its process group would be orphaned. The
//! leader starts the command in its own group and reports its state changes. If we are killed, it lives just long
//! enough to restore our terminal and hang up.

use rustix::process::{Pid, Signal, kill_process_group};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use sys::signals::{self, Signals};
use sys::spawn::{self, Change, CommandLine, NotStarted, Streams};
use sys::terminal::{self, OuterTerminal};

/// A report of the leader.
#[derive(Debug)]
pub(super) enum Report {
    /// The command is running.
    Started(Pid),
    /// The command could not be started.
    NotStarted(NotStarted),
    /// The command's state changed.
    Changed(Change),
}

/// The size of a report: its kind, and a number.
const LENGTH: usize = 5;

/// Signals that a leader waits for: a change of the command, and the hang-up of its terminal.
const AWAITED: [i32; 2] = [libc::SIGCHLD, libc::SIGHUP];

impl Report {
    fn encoded(&self) -> [u8; LENGTH] {
        let errno = |error: &io::Error| error.raw_os_error().unwrap_or_default();
        let (kind, number) = match self {
            Self::Started(pid) => (b'p', pid.as_raw_nonzero().get()),
            Self::NotStarted(NotStarted::Command(error)) => (b'n', errno(error)),
            Self::NotStarted(NotStarted::Trouble(error)) => (b't', errno(error)),
            Self::Changed(Change::Exited(code)) => (b'e', *code),
            Self::Changed(Change::Signaled(signal)) => (b'k', *signal),
            Self::Changed(Change::Stopped(signal)) => (b's', *signal),
            Self::Changed(Change::Continued) => (b'c', 0),
        };
        let [a, b, c, d] = number.to_le_bytes();
        [kind, a, b, c, d]
    }

    /// The next report; `None` if the leader is gone.
    pub(super) fn read(mut reports: &File) -> io::Result<Option<Self>> {
        let mut report = [0; LENGTH];
        match reports.read_exact(&mut report) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            Err(error) => return Err(error),
        }
        let [kind, number @ ..] = report;
        let number = i32::from_le_bytes(number);
        let errno = || io::Error::from_raw_os_error(number);
        Ok(match kind {
            b'p' => Pid::from_raw(number).map(Self::Started),
            b'n' => Some(Self::NotStarted(NotStarted::Command(errno()))),
            b't' => Some(Self::NotStarted(NotStarted::Trouble(errno()))),
            b'e' => Some(Self::Changed(Change::Exited(number))),
            b'k' => Some(Self::Changed(Change::Signaled(number))),
            b's' => Some(Self::Changed(Change::Stopped(number))),
            b'c' => Some(Self::Changed(Change::Continued)),
            _ => None,
        })
    }
}

/// The parts that a leader needs.
pub(super) struct Leader<'a> {
    /// The terminal of its session.
    pub(super) terminal: OwnedFd,
    /// The command's stderr, if that is not the terminal.
    pub(super) stderr: Option<OwnedFd>,
    /// Where to write reports.
    pub(super) reports: File,
    /// The command to start.
    pub(super) command: &'a CommandLine,
    /// Our original signal settings.
    pub(super) signals: &'a Signals,
    /// Our terminal's original settings, restored if we are killed.
    pub(super) outer: &'a OuterTerminal,
}

impl Leader<'_> {
    /// Leads until the command has ended. Runs in a process of its own.
    pub(super) fn lead(mut self) {
        match self.start() {
            Ok(child) => self.follow(child),
            Err(error) => self.report(&Report::NotStarted(error)),
        }
    }

    fn start(&mut self) -> Result<Pid, NotStarted> {
        let terminal = || self.terminal.try_clone().map_err(NotStarted::Trouble);
        terminal::lead_session_on(&self.terminal).map_err(NotStarted::Trouble)?;
        let stderr = match self.stderr.take() {
            Some(stderr) => stderr,
            None => terminal()?,
        };
        let streams = Streams { stdin: Some(terminal()?), stdout: Some(terminal()?), stderr: Some(stderr) };
        let foreground = || terminal::lead_foreground_group(&self.terminal);
        spawn::spawn(self.command, streams, self.signals, foreground)
    }

    fn follow(&self, child: Pid) {
        // The terminal's signals go to the command's group. Of ours, only a hang-up matters: it means that the other
        // end was closed.
        for signal in signals::PASSED_ON.into_iter().chain([libc::SIGPIPE, libc::SIGTTOU, libc::SIGTTIN]) {
            signals::ignore(signal);
        }
        // Both are blocked while we don't wait for them: otherwise one that comes early would be missed.
        signals::interrupt_on(libc::SIGCHLD);
        signals::interrupt_on(libc::SIGHUP);
        self.signals.unblock();
        signals::hold_back(&AWAITED);
        self.report(&Report::Started(child));
        loop {
            match spawn::change(child, false) {
                Ok(Some(change)) => {
                    let is_over = matches!(change, Change::Exited(_) | Change::Signaled(_));
                    if is_over {
                        // Otherwise the kernel would hang up on the command's remaining processes when we exit.
                        terminal::take_foreground(&self.terminal);
                        if terminal::is_hung_up(&self.terminal) {
                            self.outer.restore();
                        }
                    }
                    self.report(&Report::Changed(change));
                    if is_over {
                        return;
                    }
                }
                Ok(None) if terminal::is_hung_up(&self.terminal) => return self.hang_up(child),
                Ok(None) => signals::wait_for(&AWAITED),
                Err(_) => return,
            }
        }
    }

    /// Handles our death: restores the terminal and signals the command as if its terminal were closed.
    fn hang_up(&self, child: Pid) {
        self.outer.restore();
        for signal in [Signal::HUP, Signal::CONT] {
            let _gone = kill_process_group(child, signal);
        }
    }

    fn report(&self, report: &Report) {
        let _nobody_there = (&self.reports).write_all(&report.encoded());
    }
}
