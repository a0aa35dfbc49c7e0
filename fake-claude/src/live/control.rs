//! A live agent's responses to control requests, and the end of an interrupted turn.

use serde_json::{Value, json};

use crate::echo::SESSION;

/// Returns the response to a request, as a line.
pub(super) fn answer(id: &Value, request: &Value) -> Vec<u8> {
    let subtype = request["subtype"].as_str().unwrap_or("undefined");
    let answer = match subtype {
        "interrupt" => json!({"still_queued": []}),
        "initialize" => json!({"commands": [], "agents": [], "models": [], "account": {},
            "output_style": "default", "available_output_styles": ["default"]}),
        "set_model" => json!({"model": request["model"]}),
        "set_permission_mode" => json!({"mode": request["mode"]}),
        _ => {
            let error = format!("Unsupported control request subtype: {subtype}");
            return line(&json!({"type": "control_response", "response": {"subtype": "error",
                "request_id": id, "error": error, "error_code": "unsupported_request"}}));
        }
    };
    line(&json!({"type": "control_response",
        "response": {"subtype": "success", "request_id": id, "response": answer}}))
}

/// The last lines of a turn that was interrupted while the model was speaking.
pub(super) fn interrupted() -> Vec<u8> {
    let user = json!({"type": "user", "parent_tool_use_id": null, "session_id": SESSION,
        "message": {"role": "user",
            "content": [{"type": "text", "text": "[Request interrupted by user]"}]}});
    let why = "[ede_diagnostic] result_type=user last_content_type=n/a stop_reason=null";
    let result = json!({"type": "result", "subtype": "error_during_execution", "is_error": true,
        "num_turns": 2, "stop_reason": null, "terminal_reason": "aborted_streaming", "errors": [why],
        "session_id": SESSION, "duration_ms": 1, "duration_api_ms": 0, "total_cost_usd": 0,
        "usage": {"input_tokens": 0, "output_tokens": 0}, "permission_denials": []});
    [line(&user), line(&result)].concat()
}

fn line(value: &Value) -> Vec<u8> {
    format!("{value}\n").into_bytes()
}
