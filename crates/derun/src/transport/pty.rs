//! Runs the command in a pseudoterminal like ours, while ours passes all bytes through unchanged.

use super::super::record::Channel;
use super::super::recorder::Recorder;
use super::input::Input;
use super::leader::{Leader, Report};
use super::relay::{self, BLOCK, RelayEnd};
use super::{CommandEnd, Finished, StreamError};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, kill_process, kill_process_group};
use std::borrow::Cow;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use sys::pipe;
use sys::signals::{self, Sender, Signals};
use sys::spawn::{self, Change, CommandLine};
use sys::terminal::{self, OuterTerminal, Pseudo};

/// How long to read from other processes that hold the terminal open after the command's end.
const DRAIN: Duration = Duration::from_millis(250);
/// How many bytes to read from them.
const DRAIN_BYTES: usize = 1 << 20;

/// Our terminal: raw while we are in its foreground, and always restored at the end.
#[derive(Debug)]
pub(super) struct Screen {
    outer: OuterTerminal,
    raw: Mutex<bool>,
}

impl Screen {
    /// Makes the terminal raw if we are in its foreground; returns whether we are.
    pub(super) fn enter(&self) -> bool {
        let mut raw = self.raw.lock().unwrap_or_else(PoisonError::into_inner);
        if !OuterTerminal::is_foreground() {
            return false;
        }
        if !*raw {
            *raw = self.outer.make_raw().is_ok();
        }
        true
    }

    fn is_raw(&self) -> bool {
        *self.raw.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Restores the terminal.
    pub(super) fn leave(&self) {
        let mut raw = self.raw.lock().unwrap_or_else(PoisonError::into_inner);
        if std::mem::take(&mut *raw) {
            self.outer.restore();
        }
    }
}

/// Restores the terminal on drop, also if this thread panics.
struct Leave<'a>(&'a Screen);

impl Drop for Leave<'_> {
    fn drop(&mut self) {
        self.0.leave();
    }
}

/// Runs `command`. See [`super::run`].
pub(super) fn run(
    command: &CommandLine,
    recorder: &Recorder,
    started: impl FnOnce(),
) -> io::Result<Finished> {
    let signals = Signals::take()?;
    let outer = OuterTerminal::look()?;
    let Pseudo { ours, theirs } = Pseudo::open(&outer)?;
    let (reports, tell) = pipe::pair()?;
    let reports = File::from(reports);
    // A separate stderr stays separate, as a channel of its own.
    let apart = !terminal::is_terminal(io::stderr()) && !sys::inherited::was_closed(2);
    let (from_stderr, stderr) = match apart {
        true => pipe::pair().map(|(from, to)| (Some(from), Some(to)))?,
        false => (None, None),
    };
    let leader =
        Leader { terminal: theirs, stderr, reports: tell.into(), command, signals: &signals, outer: &outer };
    let ours_alone = [Some(ours.as_fd()), Some(reports.as_fd()), from_stderr.as_ref().map(OwnedFd::as_fd)];
    let ours_alone: Vec<_> = ours_alone.into_iter().flatten().collect();
    let leader = spawn::apart(&ours_alone, move || leader.lead())?;
    let child = match Report::read(&reports)? {
        Some(Report::Started(child)) => child,
        Some(Report::NotStarted(spawn::NotStarted::Trouble(error))) => return Err(error),
        Some(Report::NotStarted(error)) => {
            return Ok(Finished { ended: CommandEnd::NotStarted(error), trouble: None });
        }
        _ => return Err(io::Error::other("the terminal's session leader died")),
    };
    recorder.started(child.as_raw_nonzero().get().unsigned_abs());
    started();
    let ours = Arc::new(ours);
    let screen = Arc::new(Screen { outer, raw: Mutex::new(false) });
    let (ended, ends) = pipe::pair()?;
    std::thread::scope(|scope| {
        let _leave = Leave(&screen);
        screen.enter();
        let ended = ended.as_fd();
        let stderr = from_stderr.map(|from| {
            scope.spawn(move || {
                relay::pass_on(from, rustix::stdio::stderr(), ended, Channel::Stderr, recorder)
            })
        });
        let input = Input::start(Arc::clone(&ours), Arc::clone(&screen))?;
        signals.unblock();
        let goes_on = Arc::new(AtomicBool::new(false));
        pass_signals_on(signals, child, Arc::clone(&ours), Arc::clone(&goes_on))?;
        let mut pump = Pump {
            ours: &ours,
            reports: &reports,
            screen: &screen,
            input: &input,
            goes_on: &goes_on,
            recorder,
            child,
            to: true,
        };
        let how = pump.run();
        input.end();
        drop(ends);
        let _reaped = rustix::process::waitpid(Some(leader), WaitOptions::empty());
        let trouble = match stderr.map(std::thread::ScopedJoinHandle::join) {
            Some(Ok(RelayEnd::Trouble(source))) => Some(StreamError { stream: "stderr", error: source }),
            _ => None,
        };
        Ok(Finished { ended: how?, trouble })
    })
}

/// Passes on all signals from now on, on a thread of its own. A change of size is applied to the pseudoterminal,
/// whose foreground job the kernel notifies.
fn pass_signals_on(
    signals: Signals,
    child: Pid,
    ours: Arc<OwnedFd>,
    goes_on: Arc<AtomicBool>,
) -> io::Result<()> {
    let pass_on = move || {
        while let Ok(received) = signals.next() {
            match received.signal {
                // Typed; the command gets it from its own terminal.
                _ if received.from == Sender::Us => {}
                libc::SIGWINCH => terminal::resize(&*ours),
                libc::SIGCHLD => {}
                libc::SIGCONT if goes_on.swap(false, Ordering::AcqRel) => {}
                // A shell resumes the whole job.
                libc::SIGCONT => {
                    let _gone = kill_process_group(child, Signal::CONT);
                }
                other => {
                    if let Some(signal) = Signal::from_named_raw(other) {
                        let _gone = kill_process(child, signal);
                    }
                }
            }
        }
    };
    std::thread::Builder::new().name("signals".to_owned()).spawn(pass_on)?;
    Ok(())
}

/// Passes the command's output on and handles the leader's reports.
struct Pump<'a> {
    ours: &'a OwnedFd,
    reports: &'a File,
    screen: &'a Screen,
    input: &'a Input,
    /// Whether the next SIGCONT ends our own stop; then the code that stopped us passes it on.
    goes_on: &'a AtomicBool,
    recorder: &'a Recorder,
    child: Pid,
    /// Whether our terminal still accepts output.
    to: bool,
}

/// The result of reading output.
enum Output {
    Bytes(usize),
    Nothing,
    /// The other end is closed.
    Over,
}

impl Pump<'_> {
    fn run(&mut self) -> io::Result<CommandEnd> {
        let mut block = vec![0; BLOCK];
        let mut is_over = false;
        loop {
            let mut watched = [
                PollFd::new(self.reports, PollFlags::IN),
                PollFd::new(self.ours, if is_over { PollFlags::empty() } else { PollFlags::IN }),
            ];
            // The closed end would make every poll return at once.
            let watched = if is_over { &mut watched[..1] } else { &mut watched[..] };
            match rustix::event::poll(watched, None) {
                Ok(_) => {}
                Err(Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            }
            let has_report = !watched[0].revents().is_empty();
            if watched.get(1).is_some_and(|ours| !ours.revents().is_empty()) {
                is_over = matches!(self.step(&mut block)?, Output::Over);
            }
            if has_report && let Some(ended) = self.handle_report(&mut block)? {
                return Ok(ended);
            }
        }
    }

    /// Handles the next report. If the command has ended, passes on its last output and returns how it ended.
    fn handle_report(&mut self, block: &mut [u8]) -> io::Result<Option<CommandEnd>> {
        let ended = match Report::read(self.reports)? {
            Some(Report::Changed(Change::Stopped(signal))) => {
                self.stop(signal, block)?;
                return Ok(None);
            }
            Some(Report::Changed(Change::Exited(code))) => CommandEnd::Exited(code),
            Some(Report::Changed(Change::Signaled(signal))) => CommandEnd::Signaled(signal),
            Some(_) => return Ok(None),
            None => return Err(io::Error::other("the terminal's session leader was killed")),
        };
        let until = Instant::now() + DRAIN;
        let mut drained = 0;
        loop {
            match self.step_within(until.saturating_duration_since(Instant::now()), block)? {
                Output::Bytes(bytes) if drained < DRAIN_BYTES => drained += bytes,
                _ => return Ok(Some(ended)),
            }
        }
    }

    /// Handles a stopped command: shows its last output, restores the terminal and stops us too, so that a shell sees
    /// the same as without us. Returns when we resume.
    fn stop(&mut self, signal: i32, block: &mut [u8]) -> io::Result<()> {
        while let Output::Bytes(_) = self.step_within(Duration::ZERO, block)? {}
        self.screen.leave();
        self.goes_on.store(true, Ordering::Release);
        signals::stop_ourselves(signal, true);
        self.screen.enter();
        terminal::resize(self.ours);
        self.input.look_again();
        let _gone = kill_process_group(self.child, Signal::CONT);
        Ok(())
    }

    fn step_within(&mut self, timeout: Duration, block: &mut [u8]) -> io::Result<Output> {
        let timeout = Timespec::try_from(timeout).unwrap_or_default();
        // Polling first makes the kernel deliver earlier output.
        match rustix::event::poll(&mut [PollFd::new(self.ours, PollFlags::IN)], Some(&timeout)) {
            Ok(0) => Ok(Output::Nothing),
            Ok(_) => self.step(block),
            Err(Errno::INTR) => Ok(Output::Bytes(0)),
            Err(error) => Err(error.into()),
        }
    }

    /// Reads once and passes it on.
    fn step(&mut self, block: &mut [u8]) -> io::Result<Output> {
        let read = match rustix::io::read(self.ours, &mut *block) {
            // The other end is closed; Linux reports it like this.
            Ok(0) | Err(Errno::IO) => return Ok(Output::Over),
            Ok(read) => read,
            Err(Errno::INTR | Errno::AGAIN) => return Ok(Output::Bytes(0)),
            Err(error) => return Err(error.into()),
        };
        self.recorder.capture(Channel::Pty, &block[..read]);
        if !self.screen.is_raw() {
            self.screen.enter();
        }
        let shown = self.for_screen(&block[..read]);
        if self.to && relay::write(rustix::stdio::stdout(), &shown).is_err() {
            // Our terminal is gone. The command learns it like without us.
            self.to = false;
            let _gone = kill_process_group(self.child, Signal::HUP);
        }
        Ok(Output::Bytes(read))
    }

    /// The bytes to write so that `bytes` are shown. In the background, our terminal has the shell's settings and
    /// would repeat the output processing of the pseudoterminal.
    fn for_screen<'a>(&self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        let is_done_twice =
            || terminal::adds_returns(self.ours) && terminal::adds_returns(rustix::stdio::stdout());
        if self.screen.is_raw() || !is_done_twice() {
            return Cow::Borrowed(bytes);
        }
        let is_added = |place: usize| bytes[place] == b'\r' && bytes.get(place + 1) == Some(&b'\n');
        Cow::Owned((0..bytes.len()).filter(|place| !is_added(*place)).map(|place| bytes[place]).collect())
    }
}
