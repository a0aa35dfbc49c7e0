//! The lines of the stream, as far as Claude Code's were measured.
//!
//! Pure except for ids. Input: the parts. Output: one object per line.

use serde_json::{Value, json};

use super::session::Session;
use super::{plan, tools};

pub(super) const MODEL: &str = "claude-opus-5-5";
const TIME: &str = "2026-01-01T00:00:00.000Z";

/// Claude Code's message about a call that was interrupted.
pub(crate) const REJECTED: &str = "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. \
if it was a file edit, the new_string was NOT written to the file). STOP what you are doing and wait for the user to \
tell you how to proceed.";

/// The first line of a turn.
pub(crate) fn init(session: &Session, asks: bool, logged_in: bool) -> Value {
    let key = if logged_in { "ANTHROPIC_API_KEY" } else { "none" };
    json!({"type": "system", "subtype": "init", "cwd": session.cwd.to_string_lossy(), "session_id": session.id,
        "tools": tools::names(asks, &session.version), "mcp_servers": session.servers, "model": MODEL,
        "permissionMode": session.mode(), "slash_commands": [], "apiKeySource": key,
        "claude_code_version": session.version.text(), "output_style": "default", "agents": [], "skills": []})
}

/// The model's message that contains one of its blocks.
pub(crate) fn message(number: usize, block: &Value, stop: Option<&str>) -> Value {
    json!({"id": format!("msg_{number:03}"), "type": "message", "role": "assistant", "model": MODEL,
        "content": [block], "stop_reason": stop, "stop_sequence": null,
        "usage": {"input_tokens": 10, "output_tokens": 1}})
}

/// A progress line while the model thinks.
pub(crate) fn thinking(session: &Session, thought: &str) -> Value {
    let tokens = thought.chars().count().div_ceil(4);
    system(session, "thinking_tokens", &json!({"estimated_tokens": tokens, "estimated_tokens_delta": tokens}))
}

/// One block of the model's message.
pub(crate) fn assistant(session: &Session, message: &Value) -> Value {
    json!({"type": "assistant", "message": message, "parent_tool_use_id": null, "session_id": session.id,
        "timestamp": TIME})
}

/// A message to the model other than its prompt: a tool result, or a text.
pub(crate) fn user(session: &Session, content: &Value, result: &Value) -> Value {
    let mut line = json!({"type": "user", "message": {"role": "user", "content": content},
        "parent_tool_use_id": null, "session_id": session.id, "timestamp": TIME});
    if !result.is_null() {
        line["tool_use_result"] = result.clone();
    }
    line
}

/// The block with the result of a call.
pub(crate) fn tool_result(call: &Value, said: &Value, is_error: bool) -> Value {
    let mut block = json!({"tool_use_id": call["id"], "type": "tool_result", "content": said});
    // Only commands report success explicitly.
    if is_error || call["name"] == "Bash" {
        block["is_error"] = is_error.into();
    }
    block
}

/// A line about the run itself.
pub(crate) fn system(session: &Session, subtype: &str, more: &Value) -> Value {
    let mut line = json!({"type": "system", "subtype": subtype, "session_id": session.id});
    for (name, value) in more.as_object().into_iter().flatten() {
        line[name] = value.clone();
    }
    line
}

/// The lines around a resumed call, if the version prints them.
pub(crate) fn lifecycle(session: &Session, command: &str) -> Option<[Value; 2]> {
    let line = |state: &str| {
        json!({"type": "command_lifecycle", "command_uuid": command, "state": state,
            "session_id": session.id})
    };
    session.version.is_new().then(|| ["started", "completed"].map(line))
}

/// A line that says that the hooks of a call start.
pub(crate) fn progress(session: &Session, call: &Value, event: &str) -> Value {
    json!({"type": "progress", "data": {"type": "hook_progress", "hookEvent": event},
        "toolUseID": call["id"], "session_id": session.id})
}

/// The conversation's record of a hook. Claude Code prints it only when it resumes a call.
pub(crate) fn attachment(session: &Session, attachment: &Value) -> Value {
    json!({"attachment": attachment, "type": "attachment", "timestamp": TIME, "session_id": session.id,
        "parent_tool_use_id": null})
}

/// The end of a turn: the common fields, and `more`.
pub(crate) fn result(session: &Session, turns: usize, denials: &[Value], more: &Value) -> Value {
    let mut line = json!({"type": "result", "subtype": "success", "is_error": false, "num_turns": turns,
        "session_id": session.id, "duration_ms": 1, "duration_api_ms": 1, "total_cost_usd": 0,
        "usage": {"input_tokens": 10, "output_tokens": 20}, "permission_denials": denials});
    for (name, value) in more.as_object().into_iter().flatten() {
        line[name] = value.clone();
    }
    line
}

/// The request to the host whether a tool may run.
pub(crate) fn can_use_tool(session: &Session, request: &str, call: &Value, reason: Option<&str>) -> Value {
    let name = &call["name"];
    let mut asked = json!({"subtype": "can_use_tool", "tool_name": name, "display_name": name,
        "input": call["input"], "tool_use_id": call["id"]});
    if let Some(description) = call["input"].get("description") {
        asked["description"] = description.clone();
    }
    if matches!(name.as_str(), Some(tools::QUESTION | plan::EXIT)) && session.version.is_new() {
        asked["requires_user_interaction"] = true.into();
    }
    if let Some(reason) = reason {
        asked["decision_reason"] = reason.into();
        asked["decision_reason_type"] = "hook".into();
        asked["decision_reason_hook_event"] = "PreToolUse".into();
        asked["decision_reason_hook_source"] = "settings".into();
    } else if name != tools::QUESTION {
        asked["permission_suggestions"] = suggestions();
    }
    json!({"type": "control_request", "request_id": request, "request": asked})
}

/// The permanent permissions that the user could grant.
pub(crate) fn suggestions() -> Value {
    json!([{"type": "setMode", "mode": "acceptEdits", "destination": "session"}])
}
