//! The stdin of a live agent: its unanswered messages.
//!
//! Input: bytes from stdin, whenever the player polls. Output: messages, and whether the turn has to stop. Control
//! requests are answered here at once. Never blocks during a turn and has no thread, so everything written before
//! a turn's last line is known when the turn ends.

use std::collections::VecDeque;
use std::io::{self, Stdin};
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde_json::Value;
use sys::error::Failure;

use super::control;
use super::message::{Message, StdinLine};
use crate::player;

/// The reason why a live agent ends early.
#[derive(Debug)]
pub(crate) enum Halt {
    /// Claude Code's own error message.
    Refused(Failure),
    /// The instructions cannot be followed.
    Failed(Failure),
}

impl From<Failure> for Halt {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

/// The response to one of our control requests.
#[derive(Debug)]
pub(crate) enum Reply {
    /// The response, with its `subtype`.
    Said(Value),
    Interrupted,
    /// Stdin ended without a response.
    Closed,
}

/// The next event for a live agent.
#[derive(Debug)]
pub(crate) enum Next {
    /// A message to answer.
    Message(Message),
    /// The due time has come.
    Due,
    /// Stdin has ended.
    End,
}

#[derive(Debug, Default)]
pub(crate) struct Inbox {
    /// `None` after its end.
    stdin: Option<Stdin>,
    partial: Vec<u8>,
    queued: VecDeque<Message>,
    replies: Vec<Value>,
    phase: Phase,
    interrupted: bool,
}

#[derive(Debug, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    Idle,
    Busy,
    /// A turn has just ended: messages that came meanwhile are answered as one.
    Over,
}

impl Inbox {
    pub(crate) fn open() -> Self {
        Self { stdin: Some(io::stdin()), ..Self::default() }
    }

    /// An inbox without input, for a beat.
    pub(crate) fn closed() -> Self {
        Self::default()
    }

    /// The descriptor to poll in addition to the pace.
    pub(crate) fn stdin(&self) -> Option<PollFd<'_>> {
        self.stdin.as_ref().map(|stdin| PollFd::new(stdin, PollFlags::IN))
    }

    pub(crate) fn is_interrupted(&self) -> bool {
        self.interrupted
    }

    pub(crate) fn turn_is_over(&mut self) {
        (self.phase, self.interrupted) = (Phase::Over, false);
    }

    /// Waits for the next message, whose turn then runs; `None` at the end of stdin.
    pub(crate) fn next(&mut self) -> Result<Option<Message>, Halt> {
        match self.next_before(None)? {
            Next::Message(message) => Ok(Some(message)),
            Next::Due | Next::End => Ok(None),
        }
    }

    /// Waits for the next message, or for the time at which a turn starts without one.
    pub(crate) fn next_before(&mut self, due: Option<Instant>) -> Result<Next, Halt> {
        self.pump()?;
        if std::mem::take(&mut self.phase) == Phase::Over && !self.queued.is_empty() {
            self.phase = Phase::Busy;
            let joined = Message::join(self.queued.drain(..).collect());
            return Ok(joined.map_or(Next::End, Next::Message));
        }
        while self.queued.is_empty() {
            let timeout = due.map(|due| due.saturating_duration_since(Instant::now()));
            if timeout.is_some_and(|timeout| timeout.is_zero()) {
                self.phase = Phase::Busy;
                return Ok(Next::Due);
            }
            let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
            if !self.is_ready(timeout.as_ref())? {
                if self.stdin.is_some() {
                    continue;
                }
                return Ok(Next::End);
            }
            self.pump()?;
        }
        self.phase = Phase::Busy;
        Ok(self.queued.pop_front().map_or(Next::End, Next::Message))
    }

    /// Waits for the response to the request with this id.
    pub(crate) fn reply(&mut self, id: &str) -> Result<Reply, Halt> {
        loop {
            self.pump()?;
            if let Some(at) = self.replies.iter().position(|reply| reply["request_id"] == id) {
                return Ok(Reply::Said(self.replies.swap_remove(at)));
            }
            if self.interrupted {
                return Ok(Reply::Interrupted);
            }
            if !self.is_ready(None)? {
                return Ok(Reply::Closed);
            }
        }
    }

    /// Reads available input without blocking.
    pub(crate) fn pump(&mut self) -> Result<(), Halt> {
        let mut buffer = [0; 64 * 1024];
        while self.is_ready(Some(&Timespec { tv_sec: 0, tv_nsec: 0 }))? {
            let Some(stdin) = &self.stdin else { return Ok(()) };
            match rustix::io::read(stdin, &mut buffer[..]) {
                Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => {}
                Ok(read) if read > 0 => self.take(&buffer[..read])?,
                _ => {
                    self.stdin = None;
                    // The last line may lack a newline.
                    let last = std::mem::take(&mut self.partial);
                    self.hear(&last)?;
                }
            }
        }
        Ok(())
    }

    /// Whether stdin has input or is at its end; false after the end was read.
    fn is_ready(&self, timeout: Option<&Timespec>) -> Result<bool, Failure> {
        let Some(stdin) = self.stdin() else { return Ok(false) };
        loop {
            match poll(&mut [stdin.clone()], timeout) {
                Ok(ready) => return Ok(ready > 0),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(Failure::new("cannot read stdin").because(&error)),
            }
        }
    }

    fn take(&mut self, bytes: &[u8]) -> Result<(), Halt> {
        for piece in fake_claude::replay::lines(bytes) {
            self.partial.extend_from_slice(piece);
            if piece.ends_with(b"\n") {
                let line = std::mem::take(&mut self.partial);
                self.hear(&line)?;
            }
        }
        Ok(())
    }

    fn hear(&mut self, line: &[u8]) -> Result<(), Halt> {
        match StdinLine::read(line).map_err(Halt::Refused)? {
            StdinLine::Nothing => {}
            StdinLine::Reply(reply) => self.replies.push(reply),
            StdinLine::Message(message) => self.queued.push_back(message),
            StdinLine::Control { id, request } => {
                player::print(&control::answer(&id, &request))?;
                // A queued message will have started its turn by then.
                let something_runs = self.phase == Phase::Busy || !self.queued.is_empty();
                self.interrupted |= request["subtype"] == "interrupt" && something_runs;
            }
        }
        Ok(())
    }
}
