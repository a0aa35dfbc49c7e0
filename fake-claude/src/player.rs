//! Plays a turn while reading stdin: line by line, at the configured pace, with a burst before the result.
//!
//! Input: a turn and the inbox of a live agent, or a closed inbox. Output: the lines, and whether they were
//! interrupted. Beats are played by `fake_claude::replay`, with the same paces.

use std::fs::File;
use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

use fake_claude::replay::{Asking, Fixture, Pace, lines};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use sys::error::Failure;
use sys::failure;

use crate::burst::Burst;
use crate::instructions::Instructions;
use crate::live::inbox::{Halt, Inbox};
use crate::turns;

/// The pacing of lines for the whole run.
#[derive(Debug)]
pub(crate) struct Player {
    burst: Option<Burst>,
    recorded: bool,
    gate: Option<File>,
    asking: Asking,
}

/// Writes to stdout and flushes.
pub(crate) fn print(bytes: &[u8]) -> Result<(), Failure> {
    let mut stdout = io::stdout();
    let written = stdout.write_all(bytes).and_then(|()| stdout.flush());
    written.map_err(|error| Failure::new("cannot write stdout").because(&error))
}

impl Player {
    pub(crate) fn open(instructions: &Instructions) -> Result<Self, Failure> {
        let gate = match &instructions.pace {
            // Don't block until the FIFO has a writer.
            Pace::Gate(path) => {
                rustix::fs::open(path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty())
                    .map(|file| Some(File::from(file)))
                    .map_err(|error| failure!("cannot read the gate: {}", path.display()).because(&error))?
            }
            _ => None,
        };
        Ok(Self {
            burst: instructions.burst,
            recorded: instructions.pace == Pace::Recorded,
            gate,
            asking: crate::asking(),
        })
    }

    /// Prints one line of a scripted turn, unless the turn is interrupted while it waits at the gate.
    pub(crate) fn line(&mut self, line: &[u8], inbox: &mut Inbox) -> Result<(), Halt> {
        self.wait(Duration::ZERO, inbox)?;
        Ok(print(line)?)
    }

    /// Waits for `time`, or until the turn is interrupted.
    pub(crate) fn pass(&mut self, time: Duration, inbox: &mut Inbox) -> Result<(), Halt> {
        let mut clock = Self { burst: None, recorded: true, gate: None, asking: Asking::default() };
        clock.wait(time, inbox)
    }

    /// Plays `turn` and returns whether it was completed.
    pub(crate) fn play(&mut self, turn: &Fixture, inbox: &mut Inbox) -> Result<bool, Halt> {
        let burst_at = self.burst.map(|_| turns::before_result(turn));
        let mut before = 0;
        for (number, (line, at)) in lines(&turn.stdout).zip(&turn.times).enumerate() {
            if burst_at == Some(number) && !self.burst(inbox)? {
                return Ok(false);
            }
            self.wait(Duration::from_millis(at.saturating_sub(before)), inbox)?;
            before = *at;
            if inbox.is_interrupted() {
                // Claude Code prints `init` even for an interrupted turn.
                if number == 0 && turns::is_init(line) {
                    print(line)?;
                }
                return Ok(false);
            }
            self.asking.ask(line);
            print(line)?;
        }
        if burst_at.is_some_and(|at| at >= turn.times.len()) {
            return self.burst(inbox);
        }
        Ok(true)
    }

    fn burst(&self, inbox: &mut Inbox) -> Result<bool, Halt> {
        let Some(burst) = self.burst else { return Ok(true) };
        burst.each(|piece| {
            inbox.pump()?;
            if inbox.is_interrupted() {
                return Ok(false);
            }
            print(piece)?;
            Ok(true)
        })
    }

    /// Waits until the next line is due or the turn is interrupted.
    fn wait(&mut self, gap: Duration, inbox: &mut Inbox) -> Result<(), Halt> {
        let start = Instant::now();
        inbox.pump()?;
        while !inbox.is_interrupted() {
            let left = if self.recorded { gap.saturating_sub(start.elapsed()) } else { Duration::ZERO };
            if self.gate.is_none() && left.is_zero() {
                break;
            }
            let (gate, has_input) = {
                let stdin = inbox.stdin();
                let mut fds: Vec<PollFd<'_>> =
                    [self.gate.as_ref().map(|gate| PollFd::new(gate, PollFlags::IN)), stdin]
                        .into_iter()
                        .flatten()
                        .collect();
                let timeout = Timespec::try_from(left).ok().filter(|_| self.gate.is_none());
                match poll(&mut fds, timeout.as_ref()) {
                    Ok(_) | Err(rustix::io::Errno::INTR) => {}
                    Err(error) => return Err(Failure::new("cannot wait for a line").because(&error).into()),
                }
                let ready = |index: usize| fds.get(index).is_some_and(|fd| !fd.revents().is_empty());
                let gated = self.gate.is_some();
                (gated && ready(0), ready(usize::from(gated)))
            };
            if has_input {
                inbox.pump()?;
            } else if gate && self.released()? {
                break;
            }
        }
        Ok(())
    }

    /// Reads one byte from the gate. At its end the gate stays open.
    fn released(&mut self) -> Result<bool, Failure> {
        let Some(gate) = &mut self.gate else { return Ok(true) };
        match gate.read(&mut [0]) {
            Ok(0) => self.gate = None,
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(false),
            Err(error) => return Err(Failure::new("cannot read the gate").because(&error)),
        }
        Ok(true)
    }
}
