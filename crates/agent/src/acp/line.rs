//! Turns one line from an agent into events.
//!
//! A call may be announced several times, with more of its input each time: as pending, when the program has all of it,
//! and in the request for permission. What is pending and has no input yet is skipped.

use super::call::{Call, Fields};
use super::message::{Message, text_at};
use super::{fields, outcome};
use crate::event::{Event, Json, PermissionRequest};
use crate::unknown::Unknown;
use serde_json::Value;
use std::borrow::Cow;

/// The ids of codex-acp's own reviews of calls, which it shows as calls.
const REVIEW: &str = "guardian_assessment:";

/// What opencode shows instead of a call of a tool that the model does not have.
const INVALID: &str = "invalid";

/// Updates of version 1 of the protocol that murmur doesn't read.
const SKIPPED: [&str; 13] = [
    // Other content than text, which murmur doesn't show.
    "agent_message_chunk",
    "agent_thought_chunk",
    "available_commands_update",
    "compaction_summary_chunk",
    "compaction_update",
    "config_option_update",
    "notice",
    "plan",
    "plan_removed",
    "plan_update",
    "session_info_update",
    "usage_update",
    "user_message_chunk",
];

/// Its other requests and notifications, which the dialog answers or nobody needs.
const OTHERS: [&str; 12] = [
    "elicitation/complete",
    "elicitation/create",
    "fs/read_text_file",
    "fs/write_text_file",
    "mcp/connect",
    "mcp/disconnect",
    "mcp/message",
    "terminal/create",
    "terminal/kill",
    "terminal/output",
    "terminal/release",
    "terminal/wait_for_exit",
];

/// Passes the events of `line` to `sink`; only [`Event::Garbled`] if it is not a JSON object. Counts what is unknown:
/// methods, updates and content, fields of what murmur reads, and objects without a method or id. Methods that begin
/// with `_` are a program's own.
pub(crate) fn parse(line: &[u8], sink: &mut impl FnMut(Event<'_>), unknown: &mut Unknown) {
    match Message::read(line) {
        None => sink(Event::Garbled),
        Some(Message::Update(update)) => emit_update(&update, sink, unknown),
        Some(Message::Request { id, method, params }) if method == "session/request_permission" => {
            fields::of_request(&params, unknown);
            let nothing = Fields::new();
            let asked = params.get("toolCall").and_then(Value::as_object).unwrap_or(&nothing);
            // gemini announces a call that it asks about only here.
            let is_gemini =
                !asked.contains_key("rawInput") && text_at(asked.get("toolCallId"), &[]).contains("__");
            if is_gemini {
                emit_call(asked, &Call::read(&[asked]), sink);
            }
            sink(Event::PermissionRequest(Box::new(request(&id, &[asked]))));
        }
        Some(Message::Notification { method, params }) if method == "$/cancel_request" => {
            if let Some(id) = params.get("requestId").filter(|id| !id.is_null()) {
                sink(Event::PermissionRequestCancelled { request_id: id.to_string() });
            }
        }
        Some(Message::Response(own, response)) => {
            if let Ok(result) = &response {
                fields::of_result(&own, result, unknown);
            }
            outcome::emit(&own, &response, sink);
        }
        Some(Message::Request { method, .. } | Message::Notification { method, .. }) => {
            if !method.starts_with('_') && !OTHERS.contains(&&*method) {
                unknown.add(&[method.as_bytes()]);
            }
        }
        Some(Message::UnknownResponse) => {}
        Some(Message::Other) => unknown.add(&[b"no-method"]),
    }
}

/// The request `id` for a call that `descriptions` describes, the most important first.
pub(super) fn request(id: &Value, descriptions: &[&Fields]) -> PermissionRequest {
    let Call { tool, input, cwd, .. } = Call::read(descriptions);
    let call_id =
        descriptions.iter().map(|fields| text_at(fields.get("toolCallId"), &[])).find(|id| !id.is_empty());
    PermissionRequest {
        request_id: id.to_string(),
        tool,
        input,
        tool_use_id: call_id.unwrap_or_default().to_owned(),
        cwd,
    }
}

fn emit_update(update: &Fields, sink: &mut impl FnMut(Event<'_>), unknown: &mut Unknown) {
    let text =
        |path: &[&str]| path.split_first().map_or("", |(first, rest)| text_at(update.get(*first), rest));
    fields::of_update(text(&["sessionUpdate"]), update, unknown);
    match text(&["sessionUpdate"]) {
        "agent_message_chunk" if text(&["content", "type"]) == "text" => sink(Event::Text {
            message: text(&["messageId"]).into(),
            parent: parent(update),
            text: text(&["content", "text"]).into(),
            is_chunk: true,
        }),
        kind @ ("tool_call" | "tool_call_update") => emit_call_update(kind == "tool_call", update, sink),
        "usage_update" if text(&["cost", "currency"]) == "USD" => {
            let amount = update.get("cost").and_then(|cost| cost.get("amount")?.as_f64());
            if let Some(usd) = amount.filter(|amount| *amount >= 0.0) {
                sink(Event::Cost { usd });
            }
        }
        "current_mode_update" => sink(Event::PermissionMode { mode: text(&["currentModeId"]).into() }),
        kind if SKIPPED.contains(&kind) => {}
        kind => unknown.add(&[b"session/update/", kind.as_bytes()]),
    }
}

fn emit_call_update(is_new: bool, update: &Fields, sink: &mut impl FnMut(Event<'_>)) {
    let id = text_at(update.get("toolCallId"), &[]);
    if id.is_empty() || id.starts_with(REVIEW) || text_at(update.get("title"), &[]) == INVALID {
        return;
    }
    let status = text_at(update.get("status"), &[]);
    let is_over = ["completed", "failed"].contains(&status);
    let call = Call::read(&[update]);
    let is_described = is_new || update.get("rawInput").is_some_and(Value::is_object);
    let is_pending = is_over || status == "pending" || (is_new && status.is_empty());
    if call.is_shown || (is_described && !is_pending) {
        emit_call(update, &call, sink);
    }
    if is_over {
        let output = output(update);
        sink(Event::ToolResult {
            parent: parent(update),
            id: id.into(),
            output,
            is_error: status == "failed",
        });
    }
}

fn emit_call(fields: &Fields, call: &Call, sink: &mut impl FnMut(Event<'_>)) {
    let Ok(input) = serde_json::value::to_raw_value(&call.input) else { return sink(Event::Garbled) };
    sink(Event::ToolUse {
        message: "".into(),
        parent: parent(fields),
        id: text_at(fields.get("toolCallId"), &[]).into(),
        name: call.tool.as_str().into(),
        input: Json(&input),
    });
}

/// The call of a subagent that this is part of.
fn parent(fields: &Fields) -> Cow<'_, str> {
    text_at(fields.get("_meta"), &["claudeCode", "parentToolUseId"]).into()
}

/// What a call returned: as the program has it, or as it shows it.
fn output(update: &Fields) -> Cow<'_, str> {
    let raw = update.get("rawOutput");
    if let Some(text) = raw.and_then(Value::as_str).filter(|text| !text.is_empty()) {
        return text.into();
    }
    let contents = update.get("content").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let texts = contents.iter().map(|item| text_at(Some(item), &["content", "text"]));
    let texts: Vec<&str> = texts.filter(|text| !text.is_empty()).collect();
    match texts[..] {
        [only] => only.into(),
        [] => {
            let raws = ["output", "error", "stdout", "stderr"].map(|key| text_at(raw, &[key]));
            let shown = text_at(update.get("_meta"), &["terminal_output_delta", "data"]);
            raws.into_iter().find(|text| !text.is_empty()).unwrap_or(shown).into()
        }
        _ => texts.join("\n").into(),
    }
}
