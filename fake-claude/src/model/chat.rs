//! A message from the model in the Chat Completions API, for OpenCode.
//!
//! Pure, but for a pause. Input: a turn's blocks. Output: chunks. Calls of Claude Code's tools become those of
//! OpenCode's.

use std::time::Duration;

use fake_claude::native;
use serde_json::{Value, json};
use sys::pause::pause;

/// A message to send.
pub(crate) struct Message<'a> {
    pub(crate) id: String,
    pub(crate) model: &'a Value,
    pub(crate) content: &'a [Value],
    pub(crate) end_delay: Duration,
}

impl Message<'_> {
    fn reason(&self) -> &'static str {
        let calls = self.content.iter().any(|block| block["type"] == "tool_use");
        if calls { "tool_calls" } else { "stop" }
    }

    fn calls(&self) -> Vec<Value> {
        let calls = self.content.iter().filter(|block| block["type"] == "tool_use");
        calls.enumerate().map(|(index, block)| call(index, block)).collect()
    }

    /// The response to a non-streaming request.
    pub(crate) fn whole(&self) -> Value {
        let texts: String = self.content.iter().filter_map(|block| block["text"].as_str()).collect();
        let mut message = json!({"role": "assistant", "content": texts});
        let calls = self.calls();
        if !calls.is_empty() {
            message["tool_calls"] = calls.into();
        }
        json!({"id": self.id, "object": "chat.completion", "created": 1, "model": self.model,
            "choices": [{"index": 0, "message": message, "finish_reason": self.reason()}], "usage": usage()})
    }

    /// The response to a streaming request: the data of its events.
    pub(crate) fn chunks(&self) -> impl Iterator<Item = String> {
        let chunk = |delta: Value, reason: Value| {
            json!({"id": self.id, "object": "chat.completion.chunk", "created": 1, "model": self.model,
                "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]})
        };
        let mut chunks = vec![chunk(json!({"role": "assistant", "content": ""}), Value::Null)];
        let mut calls = self.calls().into_iter();
        for block in self.content {
            let delta = match block["type"].as_str() {
                Some("tool_use") => json!({"tool_calls": [calls.next()]}),
                Some("thinking") => json!({"reasoning_content": block["thinking"]}),
                _ => json!({"content": block["text"]}),
            };
            chunks.push(chunk(delta, Value::Null));
        }
        let last = chunk(json!({}), self.reason().into());
        let counted = json!({"id": self.id, "object": "chat.completion.chunk", "created": 1, "model": self.model,
            "choices": [], "usage": usage()});
        let end = std::iter::once_with(move || {
            pause(self.end_delay);
            last.to_string()
        });
        chunks
            .into_iter()
            .map(|chunk| chunk.to_string())
            .chain(end)
            .chain([counted.to_string(), "[DONE]".into()])
    }
}

fn usage() -> Value {
    json!({"prompt_tokens": 10, "completion_tokens": 20, "total_tokens": 30,
        "prompt_tokens_details": {"cached_tokens": 0}})
}

fn call(index: usize, block: &Value) -> Value {
    let (name, input) = native::opencode(block["name"].as_str().unwrap_or_default(), &block["input"]);
    let arguments = block["input_json"].as_str().map_or_else(|| input.to_string(), str::to_owned);
    json!({"index": index, "id": block["id"], "type": "function",
        "function": {"name": name, "arguments": arguments}})
}
