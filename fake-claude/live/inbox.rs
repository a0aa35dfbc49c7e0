//! The stdin of a live agent: what was said to it and not yet answered.
//!
//! In come stdin's bytes, whenever the player has a moment; out go messages, and whether the turn is to stop.
//! Control requests are answered here, at once. It never waits while a turn is played, and has no thread, so
//! that what was written before a turn's last line is released is known when the turn is over.

use std::collections::VecDeque;
use std::io::{self, Stdin};
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde_json::Value;

use super::control;
use super::message::{Line, Message};
use crate::instructions::Wrong;
use crate::player;

/// Why a live agent ends at once.
#[derive(Debug)]
pub(crate) enum Halt {
    /// As the real one does, saying this.
    Refused(String),
    /// The instructions cannot be followed.
    Wrong(Wrong),
}

impl From<Wrong> for Halt {
    fn from(wrong: Wrong) -> Self {
        Self::Wrong(wrong)
    }
}

/// What came of a request of ours.
#[derive(Debug)]
pub(crate) enum Reply {
    /// The answer, with its `subtype`.
    Said(Value),
    Interrupted,
    /// Stdin has ended without an answer.
    Closed,
}

/// What a live agent does next.
#[derive(Debug)]
pub(crate) enum Next {
    /// It answers this.
    Message(Message),
    /// The time has come that it was to wait for.
    Due,
    /// Stdin has ended.
    End,
}

#[derive(Debug, Default)]
pub(crate) struct Inbox {
    /// Until its end.
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
    /// A turn has just ended: what came meanwhile is answered as one.
    Over,
}

impl Inbox {
    pub(crate) fn open() -> Self {
        Self { stdin: Some(io::stdin()), ..Self::default() }
    }

    /// One that hears nothing, for a beat.
    pub(crate) fn closed() -> Self {
        Self::default()
    }

    /// What there is to wait for besides the pace.
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

    /// Waits for the next message, or for a moment at which a turn begins without one.
    pub(crate) fn next_before(&mut self, due: Option<Instant>) -> Result<Next, Halt> {
        self.pump()?;
        if std::mem::take(&mut self.phase) == Phase::Over && !self.queued.is_empty() {
            self.phase = Phase::Busy;
            let joined = Message::join(self.queued.drain(..).collect());
            return Ok(joined.map_or(Next::End, Next::Message));
        }
        while self.queued.is_empty() {
            let patience = due.map(|due| due.saturating_duration_since(Instant::now()));
            if patience.is_some_and(|patience| patience.is_zero()) {
                self.phase = Phase::Busy;
                return Ok(Next::Due);
            }
            let patience = patience.and_then(|patience| Timespec::try_from(patience).ok());
            if !self.is_ready(patience.as_ref())? {
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

    /// Waits for the answer to the request of this id.
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

    /// Takes what has been written to stdin, without waiting.
    pub(crate) fn pump(&mut self) -> Result<(), Halt> {
        let mut buffer = [0; 64 * 1024];
        while self.is_ready(Some(&Timespec { tv_sec: 0, tv_nsec: 0 }))? {
            let Some(stdin) = &self.stdin else { return Ok(()) };
            match rustix::io::read(stdin, &mut buffer[..]) {
                Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => {}
                Ok(read) if read > 0 => self.take(&buffer[..read])?,
                _ => {
                    self.stdin = None;
                    // A last line needs no newline.
                    let last = std::mem::take(&mut self.partial);
                    self.hear(&last)?;
                }
            }
        }
        Ok(())
    }

    /// Whether stdin has something, or its end; false also where it has ended.
    fn is_ready(&self, patience: Option<&Timespec>) -> Result<bool, Wrong> {
        let Some(stdin) = self.stdin() else { return Ok(false) };
        loop {
            match poll(&mut [stdin.clone()], patience) {
                Ok(ready) => return Ok(ready > 0),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(Wrong(format!("cannot read stdin: {error}"))),
            }
        }
    }

    fn take(&mut self, bytes: &[u8]) -> Result<(), Halt> {
        for piece in murmur::replay::lines(bytes) {
            self.partial.extend_from_slice(piece);
            if piece.ends_with(b"\n") {
                let line = std::mem::take(&mut self.partial);
                self.hear(&line)?;
            }
        }
        Ok(())
    }

    fn hear(&mut self, line: &[u8]) -> Result<(), Halt> {
        match Line::read(line).map_err(Halt::Refused)? {
            Line::Nothing => {}
            Line::Reply(reply) => self.replies.push(reply),
            Line::Message(message) => self.queued.push_back(message),
            Line::Control { id, request } => {
                player::print(&control::answer(&id, &request))?;
                // A message that waits will have begun its turn by then.
                let something_runs = self.phase == Phase::Busy || !self.queued.is_empty();
                self.interrupted |= request["subtype"] == "interrupt" && something_runs;
            }
        }
        Ok(())
    }
}
