//! Replays a recorded conversation: responses get the ids of the client's own requests.
//!
//! Input: a fixture, and the client's messages. Output: the fixture's lines. A recorded response waits for the client's
//! request with the same method, in order; whatever follows a recorded request to the client waits for the
//! client's response, whatever it contains.

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, Write};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use fake_claude::replay::{Fixture, Pace, lines};
use serde_json::Value;

use super::{Halt, Peer, RpcEvent};
use crate::ending;
use crate::instructions::Instructions;
use sys::error::Failure;

/// Plays the fixture and ends as recorded. Passes each line to `played` before it is printed.
pub(crate) fn run(
    instructions: &Instructions,
    fixture: &Fixture,
    played: &dyn Fn(&Value),
) -> Result<ExitCode, Failure> {
    let mut replay =
        Replay { peer: Peer::open(instructions)?, requests: BTreeMap::new(), replies: Vec::new() };
    match replay.play(instructions, fixture, played) {
        Ok(()) | Err(Halt::End | Halt::Interrupted) => {}
        Err(Halt::Fatal(error)) => return Err(error),
    }
    drop(io::stderr().write_all(&fixture.stderr));
    Ok(ending::end(instructions.end(fixture.run.end)))
}

struct Replay {
    peer: Peer,
    /// The ids of received requests, by method.
    requests: BTreeMap<String, VecDeque<Value>>,
    /// The ids of received responses.
    replies: Vec<Value>,
}

impl Replay {
    fn play(
        &mut self,
        instructions: &Instructions,
        fixture: &Fixture,
        played: &dyn Fn(&Value),
    ) -> Result<(), Halt> {
        let read = |line: &[u8]| serde_json::from_slice::<Value>(line).unwrap_or_default();
        let recorded: Vec<Value> = lines(&fixture.stdin).map(read).collect();
        let method = |id: &Value| {
            let asked = recorded.iter().find(|line| line["id"] == *id && line["method"].is_string());
            asked.and_then(|line| line["method"].as_str()).map(str::to_owned)
        };
        let is_answered =
            |id: &Value| recorded.iter().any(|line| line["id"] == *id && line["method"].is_null());
        let last = lines(&fixture.stdout).count();
        let mut before = 0;
        for (number, (text, at)) in lines(&fixture.stdout).zip(&fixture.times).enumerate() {
            let gap = if instructions.pace == Pace::Recorded { at.saturating_sub(before) } else { 0 };
            before = *at;
            let mut line = read(text);
            let id = line["id"].clone();
            let asks = line["method"].is_string() && !id.is_null();
            let asked = if line["method"].is_null() { method(&id) } else { None };
            if let Some(method) = &asked {
                line["id"] = self.request(method)?;
            }
            self.pass(Duration::from_millis(gap))?;
            while !self.peer.passes() {
                self.step(None)?;
            }
            played(&line);
            let bytes = if asked.is_some() { format!("{line}\n").into_bytes() } else { text.to_vec() };
            if number + 1 == last && asked.is_some() {
                self.peer.say_last(&line, |size| "x".repeat(size).into())?;
            } else {
                self.peer.write(&bytes)?;
            }
            while asks && is_answered(&id) && !self.replies.contains(&id) {
                self.step(None)?;
            }
        }
        // It runs until its stdin ends.
        loop {
            self.step(None)?;
        }
    }

    /// Waits for a request with this method and returns its id.
    fn request(&mut self, method: &str) -> Result<Value, Halt> {
        loop {
            if let Some(id) = self.requests.get_mut(method).and_then(VecDeque::pop_front) {
                return Ok(id);
            }
            self.step(None)?;
        }
    }

    fn pass(&mut self, time: Duration) -> Result<(), Halt> {
        let due = Instant::now() + time;
        while Instant::now() < due {
            self.step(Some(due))?;
        }
        Ok(())
    }

    fn step(&mut self, due: Option<Instant>) -> Result<(), Halt> {
        match self.peer.hear(due) {
            RpcEvent::Message(message) => match message["method"].as_str() {
                Some(method) if !message["id"].is_null() => {
                    self.requests.entry(method.to_owned()).or_default().push_back(message["id"].clone());
                }
                None => self.replies.push(message["id"].clone()),
                Some(_) => {}
            },
            RpcEvent::End => {
                self.peer.ended();
                return Err(Halt::End);
            }
            _ => {}
        }
        Ok(())
    }
}
