//! Parses a line of a live agent's stdin like Claude Code does.
//!
//! Input: the line. Output: the request in it, or the error message before exit code 1.

use serde_json::Value;
use sys::error::Failure;
use sys::failure;

/// A parsed line.
#[derive(Debug, PartialEq)]
pub(super) enum StdinLine {
    Message(Message),
    Control {
        id: Value,
        request: Value,
    },
    /// The response to one of our control requests.
    Reply(Value),
    Nothing,
}

/// The content that a turn answers: a string, or blocks.
#[derive(Debug, PartialEq)]
pub(crate) struct Message {
    pub(crate) content: Value,
}

impl StdinLine {
    pub(super) fn read(line: &[u8]) -> Result<Self, Failure> {
        if line.trim_ascii().is_empty() {
            return Ok(Self::Nothing);
        }
        let text = String::from_utf8_lossy(line);
        let text = text.trim_end_matches('\n');
        let failed = |what| {
            // JavaScript counts UTF-16 units.
            let length = text.encode_utf16().count();
            failure!("Error parsing streaming input line (type=unknown, {length} chars): {what}")
        };
        let mut value: Value = serde_json::from_str(text).map_err(|_| failed("SyntaxError"))?;
        match value["type"].as_str() {
            _ if value.is_null() => Err(failed("TypeError")),
            Some("user") if value["message"]["role"] == "user" => {
                Ok(Self::Message(Message { content: value["message"]["content"].take() }))
            }
            Some("user") => {
                let role = value["message"]["role"].as_str().unwrap_or("undefined");
                Err(failure!("Error: Expected message role 'user', got '{role}'"))
            }
            Some("control_request") if value["request"].is_null() => {
                Err("Error: Missing request on control_request".into())
            }
            Some("control_request") => {
                Ok(Self::Control { id: value["request_id"].take(), request: value["request"].take() })
            }
            Some("control_response") => Ok(Self::Reply(value["response"].take())),
            _ => Ok(Self::Nothing),
        }
    }
}

impl Message {
    /// Its text blocks, one per line.
    pub(crate) fn text(&self) -> String {
        let blocks = self.content.as_array().map(Vec::as_slice).unwrap_or_default();
        let texts: Vec<&str> = match self.content.as_str() {
            Some(text) => vec![text],
            None => blocks.iter().filter_map(|block| block["text"].as_str()).collect(),
        };
        texts.join("\n")
    }

    /// Merges the messages that came during a turn into one for the next turn.
    pub(super) fn join(mut messages: Vec<Self>) -> Option<Self> {
        if messages.len() < 2 {
            return messages.pop();
        }
        let texts: Vec<String> = messages.iter().map(Self::text).collect();
        Some(Self { content: texts.join("\n").into() })
    }
}
