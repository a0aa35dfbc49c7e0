//! The client of an agent: sends the next message once the agent has sent the expected line.
//!
//! Input: the agent's lines. Output: messages, through a pipe that is closed at the end or if the agent takes too long.

use std::collections::VecDeque;
use std::io::{self, PipeWriter, Write};
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;

use super::scenario::Scenario;

/// Longer than any scenario takes.
const DEADLINE: Duration = Duration::from_secs(120);

/// The parts that differ between protocols.
pub(super) trait Protocol: Send {
    fn argv(&self, scenario: &Scenario, port: u16) -> Vec<String>;
    fn env(&self, scenario: &Scenario, port: u16) -> Vec<(&'static str, String)>;
    /// The first messages.
    fn open(&mut self, state: &mut State) -> Vec<Value>;
    /// The messages to send after this line; `None` to end.
    fn receive(&mut self, line: &Value, state: &mut State) -> Option<Vec<Value>>;
    /// The part of a line that is compared.
    fn shape(&self, line: &Value) -> Option<String>;
}

/// The state of a conversation.
#[derive(Debug)]
pub(super) struct State {
    pub(super) cwd: String,
    pub(super) prompts: VecDeque<String>,
    pub(super) answers: VecDeque<Value>,
    pub(super) interrupt: Option<String>,
    pub(super) asks: Value,
    /// The conversation to resume.
    pub(super) resume: Option<String>,
    /// The current conversation and turn.
    pub(super) conversation: Option<String>,
    pub(super) turn: Option<String>,
}

/// The client.
pub(super) struct Talk {
    protocol: Box<dyn Protocol>,
    state: State,
    to: Arc<Mutex<Option<PipeWriter>>>,
    line: Vec<u8>,
    _in_time: Sender<()>,
}

impl Talk {
    /// Sends the first messages.
    pub(super) fn begin(
        protocol: Box<dyn Protocol>,
        scenario: &Scenario,
        cwd: &Path,
        resume: Option<String>,
        to: PipeWriter,
    ) -> Self {
        let prompts = match (&resume, &scenario.resume) {
            (Some(_), Some(prompt)) => vec![prompt.clone()],
            _ => scenario.prompts.clone(),
        };
        let state = State {
            cwd: cwd.display().to_string(),
            prompts: prompts.into(),
            answers: scenario.answers.clone().into(),
            interrupt: scenario.interrupt.clone(),
            asks: scenario.asks.clone(),
            resume,
            conversation: None,
            turn: None,
        };
        let to = Arc::new(Mutex::new(Some(to)));
        let (in_time, late) = channel();
        let doomed = Arc::clone(&to);
        std::thread::spawn(move || {
            if late.recv_timeout(DEADLINE) == Err(RecvTimeoutError::Timeout) {
                drop(doomed.lock().unwrap_or_else(PoisonError::into_inner).take());
            }
        });
        let mut talk = Self { protocol, state, to, line: Vec::new(), _in_time: in_time };
        let first = talk.protocol.open(&mut talk.state);
        talk.say(Some(first));
        talk
    }

    /// The conversation's id.
    pub(super) fn conversation(&self) -> Option<String> {
        self.state.conversation.clone()
    }

    fn say(&self, messages: Option<Vec<Value>>) {
        let mut to = self.to.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(messages) = messages else {
            *to = None;
            return;
        };
        if let Some(to) = to.as_mut() {
            let text: String = messages.iter().map(|message| format!("{message}\n")).collect();
            // An agent that ended early shows in the recording.
            drop(to.write_all(text.as_bytes()));
        }
    }
}

impl Write for Talk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for piece in fake_claude::replay::lines(bytes) {
            self.line.extend_from_slice(piece);
            if piece.ends_with(b"\n") {
                let line: Value = serde_json::from_slice(&std::mem::take(&mut self.line)).unwrap_or_default();
                let next = self.protocol.receive(&line, &mut self.state);
                self.say(next);
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
