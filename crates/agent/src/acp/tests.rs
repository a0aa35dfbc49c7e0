//! The parser and the dialog on lines of real programs: opencode 1.18.33, claude-agent-acp 0.101.0, codex-acp 2.6.0,
//! goose 1.34.0 and gemini-cli 0.61.0.

mod client;
mod dialog;
mod fields;
mod line;

use super::super::event::Event;
use super::super::parser::{Dialect, Parser};
use serde_json::{Value, json};

/// The line of an update.
fn update(update: &Value) -> String {
    let params = json!({ "sessionId": "s1", "update": update });
    json!({ "jsonrpc": "2.0", "method": "session/update", "params": params }).to_string()
}

/// The line of a request for permission, with the options that opencode offers.
fn asks(id: &Value, call: &Value) -> String {
    let options = json!([
        { "optionId": "once", "kind": "allow_once", "name": "Allow once" },
        { "optionId": "always", "kind": "allow_always", "name": "Always allow" },
        { "optionId": "reject", "kind": "reject_once", "name": "Reject" },
    ]);
    let params = json!({ "sessionId": "s1", "toolCall": call, "options": options });
    json!({ "jsonrpc": "2.0", "id": id, "method": "session/request_permission", "params": params })
        .to_string()
}

/// The line of a response.
fn response(id: &str, part: &str, value: &Value) -> String {
    json!({ "jsonrpc": "2.0", "id": id, part: value }).to_string()
}

/// The events of `lines`, as `{:?}` has them.
fn events(lines: &[String]) -> Vec<String> {
    let mut seen = Vec::new();
    let mut parser = Parser::new(Dialect::Acp);
    for line in lines {
        parser.feed(format!("{line}\n").as_bytes(), &mut |event: Event<'_>| seen.push(short(&event)));
    }
    seen
}

/// What is unknown in `lines`.
fn unknown(lines: &[String]) -> Vec<String> {
    let mut parser = Parser::new(Dialect::Acp);
    for line in lines {
        parser.feed(format!("{line}\n").as_bytes(), &mut |_| {});
    }
    parser.unknown().iter().map(|(name, _)| name.to_owned()).collect()
}

/// An event in few words.
fn short(event: &Event<'_>) -> String {
    match event {
        Event::Text { message, parent, text, is_chunk } => {
            assert!(is_chunk);
            format!("text {message}/{parent}: {text}")
        }
        Event::ToolUse { message, parent, id, name, input } => {
            assert!(message.is_empty());
            format!("call {id}/{parent}: {name} {}", input.0.get())
        }
        Event::ToolResult { parent, id, output, is_error } => {
            format!("result {id}/{parent}: {output:?}{}", if *is_error { " failed" } else { "" })
        }
        Event::PermissionRequest(asks) => {
            let cwd = asks.cwd.as_deref().map(|cwd| format!(" in {cwd}")).unwrap_or_default();
            format!("asks {} {}: {} {}{cwd}", asks.request_id, asks.tool_use_id, asks.tool, asks.input)
        }
        Event::Session { id, model, permission_mode, .. } => {
            format!("session {id} {model} {permission_mode}")
        }
        Event::Result(result) => {
            let text = if result.is_error { result.errors.join("; ") } else { String::new() };
            let usage = result.usage.map(|usage| {
                format!(" {}+{}+{}+{}", usage.input, usage.output, usage.cache_read, usage.cache_write)
            });
            let status =
                result.api_error_status.map(|status| format!(" status {status}")).unwrap_or_default();
            let reason = result.stop_reason.as_deref().unwrap_or("-");
            format!("end {} {reason}{}{status} {text}", result.subtype, usage.unwrap_or_default())
                .trim_end()
                .to_owned()
        }
        other => format!("{other:?}"),
    }
}
