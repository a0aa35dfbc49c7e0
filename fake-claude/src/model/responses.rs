//! A message from the model in the Responses API, for Codex.
//!
//! Pure, but for a pause. Input: a turn's blocks. Output: events. Calls of Claude Code's tools become those of Codex's.

use std::time::Duration;

use fake_claude::native;
use serde_json::{Value, json};
use sys::pause::pause;

/// The number of messages from the model in a request. Their own ids distinguish them.
pub(crate) fn messages_in(request: &Value) -> usize {
    let items = request["input"].as_array().map(Vec::as_slice).unwrap_or_default();
    let own = items.iter().filter(|item| match item["type"].as_str() {
        Some("message") => item["role"] == "assistant",
        Some("function_call" | "custom_tool_call") => true,
        _ => false,
    });
    let numbers = own.filter_map(|item| item["id"].as_str()?.split('_').nth(1)?.parse::<usize>().ok());
    numbers.max().map_or(0, |last| last + 1)
}

/// The events of the message with this number.
pub(crate) fn events(content: &[Value], number: usize, end_delay: Duration) -> impl Iterator<Item = Value> {
    let id = format!("resp_{number}");
    let start = json!({"type": "response.created", "response": {"id": id}});
    let items = content.iter().enumerate().flat_map(move |(index, block)| item_events(block, number, index));
    let end = std::iter::once_with(move || {
        pause(end_delay);
        json!({"type": "response.completed", "response": {"id": id, "usage": {"input_tokens": 10,
            "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 20,
            "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 30}}})
    });
    [start].into_iter().chain(items).chain(end)
}

fn item_events(block: &Value, number: usize, index: usize) -> Vec<Value> {
    let event = |kind: &str, item: &Value| json!({"type": format!("response.output_item.{kind}"), "output_index": index, "item": item});
    match block["type"].as_str() {
        Some("tool_use") => {
            let item = call(block, &format!("fc_{number}_{index}"));
            vec![event("added", &item), event("done", &item)]
        }
        Some("thinking") => {
            let item = json!({"type": "reasoning", "id": format!("rs_{number}_{index}"), "summary": []});
            vec![event("added", &item), event("done", &item)]
        }
        _ => {
            let mut item = json!({"type": "message", "id": format!("msg_{number}_{index}"), "role": "assistant",
                "content": []});
            let delta = json!({"type": "response.output_text.delta", "item_id": item["id"], "output_index": index,
                "content_index": 0, "delta": block["text"]});
            let added = event("added", &item);
            item["content"] = json!([{"type": "output_text", "text": block["text"]}]);
            vec![added, delta, event("done", &item)]
        }
    }
}

fn call(block: &Value, id: &str) -> Value {
    let (name, input) = native::codex(block["name"].as_str().unwrap_or_default(), &block["input"]);
    if name == "apply_patch" {
        return json!({"type": "custom_tool_call", "id": id, "call_id": block["id"], "name": name,
            "input": input["input"]});
    }
    // Raw JSON text, because a script's own JSON cannot contain half a surrogate pair.
    let arguments = block["input_json"].as_str().map_or_else(|| input.to_string(), str::to_owned);
    let mut item = json!({"type": "function_call", "id": id, "call_id": block["id"], "name": name,
        "arguments": arguments});
    if let Some((server, tool)) = name.strip_prefix("mcp__").and_then(|rest| rest.split_once("__")) {
        item["name"] = tool.into();
        item["namespace"] = format!("mcp__{server}").into();
    }
    item
}
