//! The process between us and a command in a pseudo terminal: it leads the terminal's session, as a shell does.
//!
//! A command that led the session itself could not be stopped by Ctrl-Z, since its process group would be orphaned.
//! The leader starts the command in a group of its own, reports what becomes of it, and outlives us for the moment
//! it takes to make our terminal what it was and to hang up, should we be killed.

use rustix::process::{Pid, Signal, kill_process_group};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use sys::signals::{self, Signals};
use sys::spawn::{self, Change, CommandLine, NotStarted, Streams};
use sys::terminal::{self, Outer};

/// What the leader tells us.
#[derive(Debug)]
pub(super) enum Report {
    /// The command runs.
    Started(Pid),
    /// It does not.
    NotStarted(NotStarted),
    /// Something became of it.
    Changed(Change),
}

/// How long a report is: what it is about, and a number.
const LENGTH: usize = 5;

/// What a leader waits for: a change of the command, and that its terminal is hung up.
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

/// What a leader needs.
pub(super) struct Leader<'a> {
    /// The terminal to lead a session on.
    pub(super) terminal: OwnedFd,
    /// Where the command's stderr goes, if not to the terminal.
    pub(super) stderr: Option<OwnedFd>,
    /// Where to report to.
    pub(super) reports: File,
    /// What to start.
    pub(super) command: &'a CommandLine,
    /// What our signals were.
    pub(super) signals: &'a Signals,
    /// What our terminal was, to be put back if we are killed.
    pub(super) outer: &'a Outer,
}

impl Leader<'_> {
    /// Leads until the command is over. Runs in a process of its own.
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
        // The terminal's signals go to the command's group. Of ours, only a hang-up matters: it says that nobody
        // holds the other end any more.
        for signal in signals::PASSED_ON.into_iter().chain([libc::SIGPIPE, libc::SIGTTOU, libc::SIGTTIN]) {
            signals::ignore(signal);
        }
        // Both are held back while we do not wait for them: one that came before would have us wait for ever.
        signals::interrupt_on(libc::SIGCHLD);
        signals::interrupt_on(libc::SIGHUP);
        self.signals.let_come();
        signals::hold_back(&AWAITED);
        self.report(&Report::Started(child));
        loop {
            match spawn::change(child, false) {
                Ok(Some(change)) => {
                    let is_over = matches!(change, Change::Exited(_) | Change::Signaled(_));
                    if is_over {
                        // Else the kernel would hang up on what the command has left in its group when we end.
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

    /// We are gone: the terminal becomes what it was, and the command is told as by a terminal that is closed.
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
