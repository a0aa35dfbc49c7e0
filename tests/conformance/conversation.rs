//! The host of a hosted agent: sends the next message once the last one is answered.
//!
//! Input: messages and, as a writer, the agent's output. Output: the messages, one per line, through a pipe
//! that is closed after the last answer.

use std::collections::VecDeque;
use std::io::{self, PipeWriter, Write};

use serde_json::{Value, json};

/// The remaining messages, and where to send them.
pub(crate) struct Conversation {
    messages: VecDeque<Value>,
    to: Option<PipeWriter>,
    line: Vec<u8>,
}

impl Conversation {
    /// Sends the first message.
    pub(crate) fn begin(messages: &[Value], to: PipeWriter) -> Self {
        let mut begun = Self { messages: messages.iter().cloned().collect(), to: Some(to), line: Vec::new() };
        begun.say_next();
        begun
    }

    fn say_next(&mut self) {
        let Some(content) = self.messages.pop_front() else {
            self.to = None;
            return;
        };
        let line = json!({"type": "user", "message": {"role": "user", "content": content}});
        // An agent that ended early shows in the recording.
        if let Some(to) = &mut self.to {
            drop(to.write_all(format!("{line}\n").as_bytes()));
        }
    }
}

impl Write for Conversation {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for piece in fake_claude::replay::lines(bytes) {
            self.line.extend_from_slice(piece);
            if piece.ends_with(b"\n") {
                let line: Value = serde_json::from_slice(&std::mem::take(&mut self.line)).unwrap_or_default();
                if line["type"] == "result" {
                    self.say_next();
                }
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
