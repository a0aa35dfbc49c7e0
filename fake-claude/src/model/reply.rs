//! A message from the model, as one object or as a stream of events.

use std::time::Duration;

use serde_json::{Value, json};
use sys::pause::pause;

/// The number of messages from the model in a request, here and in the Chat Completions API.
pub(crate) fn messages_in(request: &Value) -> usize {
    let messages = request["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    messages.iter().filter(|message| message["role"] == "assistant").count()
}

/// A message to send.
pub(crate) struct Message<'a> {
    pub(crate) id: String,
    pub(crate) model: &'a Value,
    pub(crate) content: &'a [Value],
    /// A delay between the last block and the end of a stream.
    pub(crate) end_delay: Duration,
}

impl Message<'_> {
    fn stop_reason(&self) -> &'static str {
        let calls = self.content.iter().any(|block| block["type"] == "tool_use");
        if calls { "tool_use" } else { "end_turn" }
    }

    /// The response to a non-streaming request.
    pub(crate) fn whole(&self) -> Value {
        json!({"id": self.id, "type": "message", "role": "assistant", "model": self.model,
            "content": self.content.iter().map(clean).collect::<Vec<_>>(), "stop_reason": self.stop_reason(), "stop_sequence": null,
            "usage": {"input_tokens": 10, "output_tokens": 20}})
    }

    /// The response to a streaming request.
    pub(crate) fn events(&self) -> impl Iterator<Item = Value> {
        let start = json!({"type": "message_start", "message": {"id": self.id, "type": "message",
            "role": "assistant", "model": self.model, "content": [], "stop_reason": null,
            "stop_sequence": null, "usage": {"input_tokens": 10, "output_tokens": 1}}});
        let blocks = self.content.iter().enumerate().flat_map(|(index, block)| block_events(index, block));
        let end = json!({"type": "message_delta", "usage": {"output_tokens": 20},
            "delta": {"stop_reason": self.stop_reason(), "stop_sequence": null}});
        let end = std::iter::once_with(move || {
            pause(self.end_delay);
            end
        });
        [start].into_iter().chain(blocks).chain(end).chain([json!({"type": "message_stop"})])
    }
}

/// Removes fake-claude's fields from a block.
fn clean(block: &Value) -> Value {
    let mut block = block.clone();
    if let (true, Some(fields)) = (block["type"] == "tool_use", block.as_object_mut()) {
        fields.remove("result");
        fields.remove("is_error");
        fields.remove("input_json");
        fields.remove("ends_after_ms");
    }
    if block["type"] == "thinking" {
        block["signature"] = "signed".into();
    }
    block
}

fn block_events(index: usize, block: &Value) -> Vec<Value> {
    let (start, deltas) = if block["type"] == "thinking" {
        let start = json!({"type": "thinking", "thinking": "", "signature": ""});
        let thought = json!({"type": "thinking_delta", "thinking": block["thinking"]});
        (start, vec![thought, json!({"type": "signature_delta", "signature": "signed"})])
    } else if block["type"] == "tool_use" {
        let mut start = clean(block);
        start["input"] = json!({});
        // Raw JSON text, because a script's own JSON cannot contain half a surrogate pair.
        let input = block["input_json"].as_str().map_or_else(|| block["input"].to_string(), str::to_owned);
        (start, vec![json!({"type": "input_json_delta", "partial_json": input})])
    } else {
        let start = json!({"type": "text", "text": ""});
        (start, vec![json!({"type": "text_delta", "text": block["text"]})])
    };
    let mut events = vec![json!({"type": "content_block_start", "index": index, "content_block": start})];
    events.extend(
        deltas
            .into_iter()
            .map(|delta| json!({"type": "content_block_delta", "index": index, "delta": delta})),
    );
    events.push(json!({"type": "content_block_stop", "index": index}));
    events
}
