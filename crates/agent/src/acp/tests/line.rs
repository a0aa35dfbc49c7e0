//! What lines mean.

use super::{asks, events, response, update};
use serde_json::{Value, json};

/// The events of one update.
fn of_update(fields: &Value) -> Vec<String> {
    events(&[update(fields)])
}

#[test]
fn text_comes_in_chunks_and_thoughts_are_skipped() {
    let chunk = |kind: &str| json!({ "sessionUpdate": kind, "messageId": "msg_1", "content": { "type": "text", "text": "HEART" } });
    assert_eq!(of_update(&chunk("agent_message_chunk")), ["text msg_1/: HEART"]);
    assert_eq!(of_update(&chunk("agent_thought_chunk")), [""; 0]);
    assert_eq!(of_update(&chunk("user_message_chunk")), [""; 0]);
    let image =
        json!({ "sessionUpdate": "agent_message_chunk", "content": { "type": "image", "data": "x" } });
    assert_eq!(of_update(&image), [""; 0]);
    let cost = json!({ "sessionUpdate": "usage_update", "used": 1000, "size": 200_000, "cost": { "amount": 0.0032, "currency": "USD" } });
    assert_eq!(of_update(&cost), ["Cost { usd: 0.0032 }"]);
    let euros = json!({ "sessionUpdate": "usage_update", "cost": { "amount": 1, "currency": "EUR" } });
    assert_eq!(of_update(&euros), [""; 0]);
    let mode = json!({ "sessionUpdate": "current_mode_update", "currentModeId": "plan" });
    assert_eq!(of_update(&mode), ["PermissionMode { mode: \"plan\" }"]);
}

#[test]
fn a_call_of_opencode_is_announced_when_it_has_its_input() {
    let call = |fields: Value| {
        let mut call = json!({ "sessionUpdate": "tool_call_update", "toolCallId": "c1" });
        call.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        update(&call)
    };
    let lines = [
        call(
            json!({ "sessionUpdate": "tool_call", "title": "bash", "kind": "execute", "status": "pending", "locations": [{ "path": "/w" }], "rawInput": { "cwd": "/w" } }),
        ),
        call(
            json!({ "status": "in_progress", "kind": "execute", "title": "ls -l", "rawInput": { "command": "ls -l", "description": "d", "cwd": "/w" } }),
        ),
        asks(
            &json!(0),
            &json!({ "toolCallId": "c1", "title": "ls -l", "kind": "execute", "status": "pending", "locations": [], "rawInput": { "command": "ls -l" } }),
        ),
        call(
            json!({ "status": "completed", "title": "ls -l", "content": [{ "type": "content", "content": { "type": "text", "text": "a\n" } }], "rawOutput": { "output": "a\n", "metadata": { "exit": 0 } } }),
        ),
        call(
            json!({ "status": "in_progress", "kind": "other", "title": "invalid", "rawInput": { "tool": "task", "error": "no task" } }),
        ),
    ];
    assert_eq!(
        events(&lines),
        [
            r#"call c1/: Bash {"command":"ls -l","description":"d"}"#,
            r#"asks 0 c1: Bash {"command":"ls -l"}"#,
            r#"result c1/: "a\n""#,
        ]
    );
    let lines = [
        call(
            json!({ "sessionUpdate": "tool_call", "title": "write", "kind": "edit", "status": "pending", "rawInput": {} }),
        ),
        call(
            json!({ "status": "in_progress", "kind": "edit", "title": "write", "rawInput": { "filePath": "/w/n", "content": "x" } }),
        ),
        asks(
            &json!("r"),
            &json!({ "toolCallId": "c1", "title": "/w/n", "kind": "edit", "rawInput": { "filepath": "/w/n", "diff": "@@" }, "content": [{ "type": "diff", "path": "/w/n", "oldText": "", "newText": "x" }] }),
        ),
        call(
            json!({ "status": "failed", "kind": "edit", "title": "write", "rawInput": { "filePath": "/w/n", "content": "x" }, "content": [{ "type": "content", "content": { "type": "text", "text": "rejected" } }] }),
        ),
    ];
    assert_eq!(
        events(&lines),
        [
            r#"call c1/: Write {"content":"x","file_path":"/w/n"}"#,
            r#"asks "r" c1: Edit {"file_path":"/w/n","new_string":"x","old_string":""}"#,
            r#"call c1/: Write {"content":"x","file_path":"/w/n"}"#,
            r#"result c1/: "rejected" failed"#,
        ]
    );
}

#[test]
fn a_call_of_claude_has_its_own_name() {
    let lines = [
        update(
            &json!({ "_meta": { "claudeCode": { "toolName": "Bash", "parentToolUseId": "t0" } }, "toolCallId": "t1", "sessionUpdate": "tool_call", "name": "Bash", "rawInput": {}, "status": "pending", "title": "Terminal", "kind": "execute", "content": [] }),
        ),
        update(
            &json!({ "_meta": { "claudeCode": { "toolName": "Bash", "parentToolUseId": "t0" } }, "toolCallId": "t1", "sessionUpdate": "tool_call_update", "rawInput": { "command": "exit 3" }, "title": "exit 3" }),
        ),
        update(
            &json!({ "_meta": { "claudeCode": { "toolName": "Bash", "toolResponse": {} } }, "toolCallId": "t1", "sessionUpdate": "tool_call_update" }),
        ),
        update(
            &json!({ "_meta": { "claudeCode": { "toolName": "Bash" } }, "toolCallId": "t1", "sessionUpdate": "tool_call_update", "status": "failed", "rawOutput": "Exit code 3", "content": [{ "type": "content", "content": { "type": "text", "text": "```\nExit code 3\n```" } }] }),
        ),
        asks(
            &json!(1),
            &json!({ "toolCallId": "t2", "name": "mcp__pokey__poke", "rawInput": { "target": "T" }, "title": "mcp__pokey__poke", "kind": "other" }),
        ),
        asks(
            &json!(2),
            &json!({ "toolCallId": "t3", "name": "ExitPlanMode", "rawInput": {}, "title": "Approve Plan", "kind": "switch_mode" }),
        ),
        r#"{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":2}}"#.to_owned(),
    ];
    assert_eq!(
        events(&lines),
        [
            r#"call t1/t0: Bash {"command":"exit 3"}"#,
            r#"result t1/: "Exit code 3" failed"#,
            r#"asks 1 t2: mcp__pokey__poke {"target":"T"}"#,
            "asks 2 t3: ExitPlanMode {}",
            r#"PermissionRequestCancelled { request_id: "2" }"#,
        ]
    );
}

#[test]
fn calls_of_codex_goose_and_gemini_are_understood() {
    let call = |fields: Value| {
        let mut call = json!({ "sessionUpdate": "tool_call", "toolCallId": "c1" });
        call.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        of_update(&call).join("; ")
    };
    for (fields, expected) in [
        (
            json!({ "kind": "execute", "title": "make", "status": "in_progress", "rawInput": { "command": "make", "cwd": "/w/a" } }),
            r#"call c1/: Bash {"command":"make"}"#,
        ),
        (
            json!({ "name": "exec_command", "kind": "read", "title": "Read file '/w/a'", "status": "in_progress", "locations": [{ "path": "/w/a" }] }),
            "call c1/: Bash {}",
        ),
        (
            json!({ "kind": "edit", "title": "Editing files", "status": "in_progress", "content": [{ "type": "diff", "oldText": null, "newText": "x", "path": "/w/n" }, { "type": "diff", "path": "/w/m" }] }),
            r#"call c1/: Edit {"file_path":"/w/n","file_paths":["/w/n","/w/m"],"new_string":"x"}"#,
        ),
        (
            json!({ "kind": "execute", "title": "mcp.pokey.poke", "status": "in_progress", "rawInput": { "server": "pokey", "tool": "poke", "arguments": { "target": "T" } }, "_meta": { "is_mcp_tool_call": true } }),
            r#"call c1/: mcp__pokey__poke {"target":"T"}"#,
        ),
        (
            json!({ "title": "shell · ls", "rawInput": { "command": "ls" }, "_meta": { "goose": { "toolCall": { "toolName": "shell", "extensionName": "developer" } } } }),
            r#"call c1/: Bash {"command":"ls"}"#,
        ),
        (
            json!({ "title": "edit · /w/a", "rawInput": { "path": "/w/a", "before": "1", "after": "2" }, "_meta": { "goose": { "toolCall": { "toolName": "edit" } } } }),
            r#"call c1/: Edit {"file_path":"/w/a","new_string":"2","old_string":"1"}"#,
        ),
        (
            json!({ "title": "pokey: poke", "rawInput": { "target": "T" }, "_meta": { "goose": { "toolCall": { "toolName": "pokey__poke" } } } }),
            r#"call c1/: mcp__pokey__poke {"target":"T"}"#,
        ),
        (json!({ "toolCallId": "guardian_assessment:1", "kind": "think", "status": "in_progress" }), ""),
        (
            json!({ "toolCallId": "run_shell_command__g_1", "status": "in_progress", "title": "ls", "kind": "execute", "locations": [] }),
            r#"call run_shell_command__g_1/: Bash {"command":"ls"}"#,
        ),
    ] {
        assert_eq!(call(fields), expected);
    }
    let shell = json!({ "toolCallId": "run_shell_command__g_1", "title": "rm a", "kind": "execute", "content": [{ "type": "content", "content": { "type": "text", "text": "[current working directory /w/b] (d)" } }] });
    assert_eq!(
        events(&[asks(&json!(0), &shell)]),
        [
            r#"call run_shell_command__g_1/: Bash {"command":"rm a"}"#,
            r#"asks 0 run_shell_command__g_1: Bash {"command":"rm a"} in /w/b"#,
        ]
    );
    let mcp = json!({ "toolCallId": "mcp_pokey_poke__g_9", "title": "poke (pokey MCP Server)", "content": [{ "type": "content", "content": { "type": "text", "text": "{\"target\":\"T\"}" } }], "kind": "other" });
    assert_eq!(
        events(&[asks(&json!(0), &mcp)])[1],
        r#"asks 0 mcp_pokey_poke__g_9: mcp__pokey__poke {"target":"T"}"#
    );
}

#[test]
fn a_call_that_is_not_shown_is_named_by_what_it_may_do() {
    for (call, expected) in [
        (json!({ "toolCallId": "c", "kind": "execute", "status": "pending" }), "asks 0 c: Bash {}"),
        (json!({ "toolCallId": "c", "kind": "edit", "title": "Edit files" }), "asks 0 c: Edit {}"),
        // The title of an unknown program may be a model's summary.
        (json!({ "toolCallId": "c", "kind": "execute", "title": "List files" }), "asks 0 c: Bash {}"),
        (
            json!({ "toolCallId": "c", "kind": "delete", "locations": [{ "path": "/a" }, { "path": "/b" }] }),
            r#"asks 0 c: Edit {"file_path":"/a","file_paths":["/a","/b"]}"#,
        ),
        (json!({ "toolCallId": "c", "title": "read", "kind": "read", "rawInput": {} }), "asks 0 c: Read {}"),
        (
            json!({ "toolCallId": "c", "title": "pokey_poke", "kind": "other", "rawInput": {} }),
            "asks 0 c: pokey_poke {}",
        ),
        (
            json!({ "toolCallId": "c", "title": "/etc", "kind": "other", "rawInput": { "filepath": "/etc/a", "parentDir": "/etc" } }),
            r#"asks 0 c: Edit {"file_path":"/etc/a"}"#,
        ),
        // A command called like a tool is still a command.
        (
            json!({ "toolCallId": "c", "title": "task", "kind": "other", "rawInput": { "command": "task" } }),
            r#"asks 0 c: Bash {"command":"task"}"#,
        ),
        (
            json!({ "toolCallId": "c", "title": "edit", "kind": "execute", "rawInput": { "command": "edit" } }),
            r#"asks 0 c: Bash {"command":"edit"}"#,
        ),
        (json!({}), "asks 0 : unknown {}"),
        (json!([1]), "asks 0 : unknown {}"),
    ] {
        assert_eq!(events(&[asks(&json!(0), &call)]), [expected], "{call}");
    }
}

#[test]
fn responses_tell_how_turns_ended() {
    let turn = |id: &str, result: Value| events(&[response(id, "result", &result)]).join("; ");
    for (id, result, expected) in [
        (
            "murmur-prompt:1",
            json!({ "stopReason": "end_turn", "usage": { "inputTokens": 800, "outputTokens": 50, "cachedReadTokens": 200 } }),
            "end success end_turn 800+50+200+0",
        ),
        (
            "murmur-prompt:1",
            json!({ "stopReason": "end_turn", "_meta": { "quota": { "token_count": { "input_tokens": 20, "output_tokens": 10 } } } }),
            "end success end_turn 20+10+0+0",
        ),
        ("murmur-prompt:1", json!({ "stopReason": "end_turn" }), "end success end_turn"),
        // Such a turn of codex-acp or goose has failed.
        (
            "murmur-counted:1",
            json!({ "stopReason": "end_turn", "usage": null, "_meta": { "quota": { "token_count": null } } }),
            "end error_in_message end_turn",
        ),
        ("murmur-counted:1", json!({ "stopReason": "end_turn" }), "end error_in_message end_turn"),
        (
            "murmur-counted:1",
            json!({ "stopReason": "cancelled" }),
            "end error_during_execution cancelled the turn was canceled",
        ),
        (
            "murmur-prompt:1",
            json!({ "stopReason": "max_tokens" }),
            "end error_during_execution max_tokens the model reached its token limit",
        ),
        (
            "murmur-prompt:1",
            json!({ "stopReason": "refusal" }),
            "end error_during_execution refusal the model refused to continue",
        ),
        (
            "murmur-prompt:1",
            json!({}),
            "end error_during_execution - the turn ended for an unknown reason: \"\"",
        ),
        (
            "murmur-prompt:1",
            json!(5),
            "end error_during_execution - the turn ended for an unknown reason: \"\"",
        ),
        ("murmur-initialize", json!({ "protocolVersion": 1 }), ""),
        (
            "murmur-initialize",
            json!({ "protocolVersion": 2 }),
            "end error_during_execution - the agent uses version 2 of the Agent Client Protocol, but murmur needs version 1",
        ),
        (
            "murmur-session",
            json!({ "sessionId": "s1", "modes": { "currentModeId": "auto" }, "configOptions": [{ "id": "model", "category": "model", "currentValue": "a/b" }] }),
            "session s1 a/b auto",
        ),
        ("murmur-session:s2", json!({ "models": { "currentModelId": "m" } }), "session s2 m"),
        ("murmur-session", json!({}), "end error_during_execution - the agent did not return a session id"),
        ("murmur-mode:default", json!({}), "PermissionMode { mode: \"default\" }"),
        ("5", json!({ "stopReason": "end_turn" }), ""),
        ("murmur-what", json!({ "stopReason": "end_turn" }), ""),
    ] {
        assert_eq!(turn(id, result.clone()).trim_end(), expected, "{result}");
    }
}

#[test]
fn errors_are_explained() {
    let error = |id: &str, error: Value| events(&[response(id, "error", &error)]).last().cloned().unwrap();
    for (id, code, expected) in [
        (
            "murmur-prompt:1",
            json!({ "code": -32603, "message": "Internal error: invalid key", "data": { "service": "session", "errorName": "APIError" } }),
            "invalid key",
        ),
        (
            "murmur-session",
            json!({ "code": -32603, "message": "Internal error", "data": { "details": "not found at /x" } }),
            "cannot begin a conversation: not found at /x",
        ),
        (
            "murmur-session:s9",
            json!({ "code": -32002, "message": "Resource not found", "data": "Session not found: s9" }),
            "cannot resume conversation s9: Resource not found: Session not found: s9",
        ),
        (
            "murmur-model:x",
            json!({ "code": -32602, "message": "Invalid params" }),
            "cannot set the model x: Invalid params",
        ),
        (
            "murmur-prompt:1",
            json!({ "code": -32000, "message": "Authentication required" }),
            "the agent is not logged in (Authentication required); log in with its own program, or set its API key",
        ),
        ("murmur-initialize", json!("x"), "the handshake failed: \"x\""),
    ] {
        assert_eq!(error(id, code), format!("end error_during_execution - {expected}"));
    }
    for (data, status) in [
        (json!({ "errorKind": "rate_limit" }), "429"),
        (json!({ "errorKind": "overloaded" }), "529"),
        (json!({ "errorKind": "server_error" }), "500"),
        (json!({ "statusCode": 503 }), "503"),
    ] {
        let error = json!({ "code": -32603, "message": "no", "data": data });
        let end = format!("end error_during_execution - status {status} no");
        assert_eq!(events(&[response("murmur-prompt:1", "error", &error)]).pop(), Some(end));
    }
    let unreachable = |name: &str, message: &str| {
        let data = json!({ "service": "session", "errorName": name });
        let error = json!({ "code": -32603, "message": message, "data": data });
        let events = events(&[response("murmur-prompt:1", "error", &error)]);
        events[0].contains("ApiError { error: \"unreachable\", status: None")
    };
    assert!(unreachable("APIError", "Internal error: Cannot connect to API: Unable to connect."));
    assert!(!unreachable("APIError", "Internal error: no, Cannot connect to API: x"));
    assert!(!unreachable("UnknownError", "Internal error: Cannot connect to API: x"));
    // gemini's code is the API's status.
    let api = json!({ "code": 401, "message": "{\"error\":{\"code\":401,\"message\":\"invalid key\"}}" });
    assert_eq!(
        events(&[response("murmur-prompt:1", "error", &api)]),
        [
            r#"ApiError(ApiError { error: "", status: Some(401), limit: None })"#,
            "end error_during_execution - status 401 invalid key",
        ]
    );
}

#[test]
fn hostile_lines_are_garbled_or_skipped() {
    for line in ["x", "[]", "{", "\"a\"", "{\"jsonrpc\":\"2.0\",}"] {
        assert_eq!(events(&[line.to_owned()]), ["Garbled"], "{line}");
    }
    let deep = format!("{}{}", "[".repeat(50_000), "]".repeat(50_000));
    let line = update(&json!({ "sessionUpdate": "tool_call", "toolCallId": "c", "rawInput": "DEEP" }))
        .replace("\"DEEP\"", &deep);
    assert_eq!(events(&[line]), ["Garbled"]);
    for fields in [
        json!({}),
        json!({ "sessionUpdate": 5 }),
        json!({ "sessionUpdate": "agent_message_chunk", "content": "x" }),
        json!({ "sessionUpdate": "tool_call", "toolCallId": 5 }),
        json!({ "sessionUpdate": "tool_call", "toolCallId": "" }),
        json!({ "sessionUpdate": "tool_call_update", "toolCallId": "c", "rawInput": [1] }),
        json!({ "sessionUpdate": "usage_update", "cost": { "amount": "x", "currency": "USD" } }),
        json!({ "sessionUpdate": "usage_update", "cost": { "amount": -1, "currency": "USD" } }),
        json!({ "sessionUpdate": "plan", "entries": [] }),
    ] {
        assert_eq!(of_update(&fields), [""; 0], "{fields}");
    }
    let odd = json!({ "sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "completed", "kind": 5, "title": [], "content": { "a": 1 }, "rawOutput": 7, "locations": "x", "_meta": "y" });
    assert_eq!(of_update(&odd), [r#"result c/: """#]);
    let huge = "x".repeat(1 << 20);
    let line = update(
        &json!({ "sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "completed", "rawOutput": huge }),
    );
    assert_eq!(events(&[line])[0].len(), huge.len() + 13);
}
