//! A message from the model in the Gemini API, for Gemini CLI.
//!
//! Pure, but for a pause. Input: a turn's blocks. Output: responses. Calls of Claude Code's tools become those of
//! Gemini CLI.

use std::time::Duration;

use fake_claude::native;
use serde_json::{Value, json};
use sys::pause::pause;

/// The number of messages from the model in a request.
pub(crate) fn messages_in(request: &Value) -> usize {
    let contents = request["contents"].as_array().map(Vec::as_slice).unwrap_or_default();
    contents.iter().filter(|content| content["role"] == "model").count()
}

/// The response to a non-streaming request.
pub(crate) fn whole(content: &[Value]) -> Value {
    response(content.iter().map(part).collect(), true)
}

/// The response to a streaming request: the data of its events.
pub(crate) fn chunks(content: &[Value], end_delay: Duration) -> impl Iterator<Item = String> {
    let parts = content.iter().map(|block| response(vec![part(block)], false).to_string());
    let end = std::iter::once_with(move || {
        pause(end_delay);
        response(vec![json!({"text": ""})], true).to_string()
    });
    parts.chain(end)
}

fn response(parts: Vec<Value>, is_last: bool) -> Value {
    let mut candidate = json!({"index": 0, "content": {"role": "model", "parts": parts}});
    if is_last {
        candidate["finishReason"] = "STOP".into();
    }
    json!({"candidates": [candidate], "modelVersion": "scripted",
        "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 20, "totalTokenCount": 30}})
}

fn part(block: &Value) -> Value {
    match block["type"].as_str() {
        Some("tool_use") => {
            let (name, input) = native::gemini(block["name"].as_str().unwrap_or_default(), &block["input"]);
            json!({"functionCall": {"id": block["id"], "name": name, "args": input}})
        }
        Some("thinking") => json!({"text": block["thinking"], "thought": true}),
        _ => json!({"text": block["text"]}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_has_a_part_for_each_block() {
        let content = [
            json!({"type": "thinking", "thinking": "hm"}),
            json!({"type": "tool_use", "id": "call_1", "name": "Bash", "input": {"command": "ls é"}}),
        ];
        let thought = json!({"text": "hm", "thought": true});
        let args = json!({"command": "ls é"});
        let call = json!({"functionCall": {"id": "call_1", "name": "run_shell_command", "args": args}});
        let message = whole(&content);
        assert_eq!(message["candidates"][0]["content"]["parts"], json!([thought, call]));
        let chunks: Vec<Value> =
            chunks(&content, Duration::ZERO).map(|data| serde_json::from_str(&data).unwrap()).collect();
        let parts: Vec<&Value> =
            chunks.iter().map(|chunk| &chunk["candidates"][0]["content"]["parts"][0]).collect();
        assert_eq!(parts, [&thought, &call, &json!({"text": ""})]);
        let ends = chunks.iter().filter(|chunk| chunk["candidates"][0]["finishReason"] == "STOP");
        assert_eq!(ends.count(), 1);
    }

    #[test]
    fn messages_of_the_model_are_counted() {
        let content = |role: &str| json!({"role": role, "parts": [{"text": "x"}]});
        let contents = [content("user"), content("model"), content("user")];
        assert_eq!(messages_in(&json!({"contents": contents})), 1);
        assert_eq!(messages_in(&json!({})), 0);
    }
}
