//! The connection of a JSON-RPC agent: lines from stdin, lines to stdout, the gate and the faults.
//!
//! Input: stdin, the gate, and ends of hooks, each from its own thread, as one stream of events. Output: lines, one
//! message each. Knows nothing about the methods.

pub(crate) mod calls;
pub(crate) mod replay;

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Instant;

use fake_claude::replay::{End, Pace};
use serde_json::Value;

use crate::child;
use crate::ending;
use crate::faults::{self, Fault, Faults};
use crate::instructions::Instructions;
use crate::log;
use crate::player;
use sys::error::Failure;

/// Something that happened.
#[derive(Debug)]
pub(crate) enum RpcEvent {
    /// A line from the client.
    Message(Value),
    /// The gate releases a line.
    Released,
    /// The gate is closed and releases everything.
    Open,
    /// A hook has ended.
    Hook(HookEnd),
    /// Stdin has ended.
    End,
    /// The awaited time has come.
    Due,
}

/// How a hook ended: its exit code, if no signal killed it, its stdout and its stderr.
#[derive(Debug)]
pub(crate) struct HookEnd {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Why an agent stops what it is doing.
#[derive(Debug)]
pub(crate) enum Halt {
    /// Stdin has ended, or a fault says so.
    End,
    /// The turn was interrupted.
    Interrupted,
    Fatal(Failure),
}

impl From<Failure> for Halt {
    fn from(error: Failure) -> Self {
        Self::Fatal(error)
    }
}

/// The client.
pub(crate) struct Peer {
    events: Receiver<RpcEvent>,
    pub(crate) sender: Sender<RpcEvent>,
    /// The number of lines that the gate has released; `None` without one.
    released: Option<usize>,
    faults: Faults,
    written: usize,
    turns: usize,
}

/// What all of these agents do first: they apply faults, and write the log.
pub(crate) fn begin(instructions: &Instructions, argv: &[String]) -> Result<(), Failure> {
    let children = child::start_all(&instructions.faults)?;
    log::append(instructions, argv, &[], &children)?;
    for fault in &instructions.faults.0 {
        if let Fault::StderrFlood(size) = fault {
            faults::flood(*size);
        }
    }
    faults::hang_before(&instructions.faults);
    Ok(())
}

/// What they do last.
pub(crate) fn end(instructions: &Instructions, ended: Result<(), Halt>) -> Result<ExitCode, Failure> {
    if let Err(Halt::Fatal(error)) = ended {
        return Err(error);
    }
    if let Some(text) = &instructions.stderr {
        drop(io::stderr().write_all(text.as_bytes()));
    }
    Ok(ending::end(instructions.end(End::Code(0))))
}

impl Peer {
    /// Begins to listen.
    pub(crate) fn open(instructions: &Instructions) -> Result<Self, Failure> {
        let (sender, events) = channel();
        let stdin = sender.clone();
        thread::spawn(move || {
            let mut lines = io::stdin().lock();
            let mut line = Vec::new();
            while lines.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
                // The real agents ignore lines that are not JSON.
                if let Ok(message) = serde_json::from_slice(&line)
                    && stdin.send(RpcEvent::Message(message)).is_err()
                {
                    return;
                }
                line.clear();
            }
            // Nobody listens any more at the end of main.
            drop(stdin.send(RpcEvent::End));
        });
        let mut released = None;
        if let Pace::Gate(path) = &instructions.pace {
            released = Some(0);
            let (path, gate) = (path.clone(), sender.clone());
            thread::spawn(move || {
                let bytes = File::open(path).map(|file| BufReader::with_capacity(1, file).bytes());
                for _ in bytes.into_iter().flatten().take_while(Result::is_ok) {
                    drop(gate.send(RpcEvent::Released));
                }
                drop(gate.send(RpcEvent::Open));
            });
        }
        let faults = Faults(instructions.faults.0.clone());
        Ok(Self { events, sender, released, faults, written: 0, turns: 0 })
    }

    /// Waits for the next event, at most until `due`.
    pub(crate) fn hear(&mut self, due: Option<Instant>) -> RpcEvent {
        let message = match due {
            None => self.events.recv().unwrap_or(RpcEvent::End),
            Some(due) => match self.events.recv_timeout(due.saturating_duration_since(Instant::now())) {
                Ok(message) => message,
                Err(RecvTimeoutError::Timeout) => RpcEvent::Due,
                Err(RecvTimeoutError::Disconnected) => RpcEvent::End,
            },
        };
        match (&message, &mut self.released) {
            (RpcEvent::Released, Some(released)) => *released += 1,
            (RpcEvent::Open, released) => *released = None,
            _ => {}
        }
        message
    }

    /// Whether the gate lets a line through; if so, the next one needs another release.
    pub(crate) fn passes(&mut self) -> bool {
        match &mut self.released {
            Some(0) => false,
            Some(released) => {
                *released -= 1;
                true
            }
            None => true,
        }
    }

    /// Writes a message.
    pub(crate) fn say(&mut self, message: &Value) -> Result<(), Halt> {
        self.write(format!("{message}\n").as_bytes())
    }

    /// Writes the last message of a turn, which ends the process if a fault says so. `huge` makes a message of
    /// at least this size.
    pub(crate) fn say_last(&mut self, message: &Value, huge: impl Fn(usize) -> Value) -> Result<(), Halt> {
        self.turns += 1;
        if self.turns > 1 {
            return self.say(message);
        }
        for fault in self.faults.0.clone() {
            match fault {
                Fault::InvalidUtf8 => self.write(faults::INVALID_UTF8)?,
                Fault::Garbage => self.write(faults::GARBAGE)?,
                Fault::HugeLine(size) => self.say(&huge(size))?,
                _ => {}
            }
        }
        let mut line = format!("{message}\n").into_bytes();
        if self.faults.has(Fault::HalfLine) {
            line.truncate(line.len() / 2);
        }
        if self.faults.has(Fault::SuccessAfterTerm) {
            ending::print_on_term(&line);
        } else {
            self.write(&line)?;
        }
        faults::after(&self.faults);
        if self.faults.end().is_some() && self.faults.dies_at().is_none() { Err(Halt::End) } else { Ok(()) }
    }

    /// Stdin has ended: applies the faults after the lines, if no turn was played.
    pub(crate) fn ended(&self) {
        if self.turns == 0 {
            faults::after(&self.faults);
        }
    }

    /// Writes bytes as they are.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), Halt> {
        let left = self.faults.dies_at().map(|most| most.saturating_sub(self.written));
        let whole = left.is_none_or(|left| bytes.len() < left);
        let bytes = if whole { bytes } else { &bytes[..left.unwrap_or_default().min(bytes.len())] };
        self.written += bytes.len();
        player::print(bytes)?;
        if whole { Ok(()) } else { Err(Halt::End) }
    }
}
