//! What is counted as unknown, and the program's version.

use super::{events, response, unknown, update};
use crate::acp::{AcpDialog, parse};
use crate::dialog::{Conversation, Dialog};
use crate::event::Event;
use crate::unknown::Unknown;
use serde_json::{Value, json};

#[test]
fn unknown_methods_and_updates_are_counted() {
    let chunk = |content: Value| {
        let update = json!({ "sessionUpdate": "agent_message_chunk", "content": content });
        json!({ "method": "session/update", "params": { "update": update } })
    };
    let lines = [
        json!({ "method": "session/new_thing", "params": {} }),
        json!({ "method": "terminal/create", "id": 1, "params": {} }),
        json!({ "method": "_program/own", "params": {} }),
        json!({ "method": "session/update", "params": { "update": { "sessionUpdate": "plan" } } }),
        json!({ "method": "session/update", "params": { "update": { "sessionUpdate": "dance", "x": 1 } } }),
        chunk(json!({ "type": "resource_link", "uri": "file:///x", "name": "x", "title": "x", "size": 1 })),
        chunk(json!({ "type": "smell", "data": "x" })),
        json!({ "type": "session" }),
        json!({ "id": 5, "result": {} }),
    ];
    let seen = unknown(&lines.map(|line| line.to_string()));
    let chunk = "session/update/agent_message_chunk.content/smell";
    assert_eq!(seen, ["no-method", "session/new_thing", chunk, "session/update/dance"]);
}

#[test]
fn unknown_fields_of_what_is_read_are_counted() {
    let chunk = json!({ "type": "text", "text": "hi", "tune": 1, "_meta": { "own": 1 } });
    let cost = json!({ "amount": 1, "currency": "USD", "tax": 1 });
    let info = json!({ "name": "x", "version": "1", "birthday": 1 });
    let call = json!({ "toolCallId": "c", "title": "bash", "rawInput": { "command": "ls" }, "aim": 1,
        "content": [{ "type": "content", "content": { "type": "smell" } }], "locations": [{ "path": "/w", "town": 1 }] });
    let option = json!({ "optionId": "a", "name": "Allow", "kind": "allow_once", "price": 1 });
    let asks = json!({ "toolCall": call, "options": [option], "_own": 1, "until": 1 });
    let known = json!([{ "type": "diff", "path": "/w/a", "oldText": null, "newText": "" }, { "type": "terminal",
        "terminalId": "t" }, { "type": "content", "content": { "type": "text", "text": "x" } }]);
    let lines = [
        update(&json!({ "sessionUpdate": "agent_message_chunk", "content": chunk, "_meta": {}, "voice": 1 })),
        update(
            &json!({ "sessionUpdate": "tool_call_update", "toolCallId": "c", "rawInput": { "any": 1 }, "aim": 1 }),
        ),
        update(&json!({ "sessionUpdate": "tool_call", "toolCallId": "c", "content": known })),
        update(
            &json!({ "sessionUpdate": "tool_call", "toolCallId": "c", "content": [{ "type": "dance", "steps": 1 },
            { "type": "diff", "path": "/w/a", "newText": "", "mood": 1 }, { "type": "content", "content": {
            "type": "text", "text": "x", "tune": 1 } }] }),
        ),
        update(&json!({ "sessionUpdate": "usage_update", "used": 1, "size": 1, "cost": cost })),
        update(&json!({ "sessionUpdate": "plan", "entries": [], "not": "read" })),
        json!({ "method": "session/request_permission", "id": 1, "params": asks }).to_string(),
        response(
            "murmur-initialize",
            "result",
            &json!({ "protocolVersion": 1, "agentInfo": info, "agentCapabilities": { "any": 1 } }),
        ),
        response("murmur-session", "result", &json!({ "sessionId": "s", "mood": 1, "_meta": {} })),
        response(
            "murmur-prompt:1",
            "result",
            &json!({ "stopReason": "end_turn", "usage": { "outputTokens": 1, "dreamTokens": 1 } }),
        ),
        response("murmur-mode:x", "result", &json!({ "any": 1 })),
        response("other", "result", &json!({ "any": 1 })),
    ];
    insta::assert_snapshot!(unknown(&lines).join("\n"), @"
    initialize.agentInfo.birthday
    session/new.mood
    session/prompt.usage.dreamTokens
    session/request_permission.options.price
    session/request_permission.toolCall.aim
    session/request_permission.toolCall.content/content.content/smell
    session/request_permission.toolCall.locations.town
    session/request_permission.until
    session/update/agent_message_chunk.content.tune
    session/update/agent_message_chunk.voice
    session/update/tool_call.content/content.content.tune
    session/update/tool_call.content/dance
    session/update/tool_call.content/diff.mood
    session/update/tool_call_update.aim
    session/update/usage_update.cost.tax
    ");
}

/// The request for a conversation with a program that introduces itself as this.
fn session_id(info: &Value, resume: Option<&str>) -> String {
    let conversation = Conversation { resume: resume.map(str::to_owned), ..Conversation::default() };
    let mut dialog = AcpDialog::new("opencode", conversation);
    dialog.open();
    let introduced = json!({ "protocolVersion": 1, "agentInfo": info });
    let sent = dialog.read(format!("{}\n", response("murmur-initialize", "result", &introduced)).as_bytes());
    let sent: Value = serde_json::from_slice(&sent).unwrap();
    sent["id"].as_str().unwrap().to_owned()
}

#[test]
fn the_session_has_the_version_that_the_program_says_it_is() {
    let version = |id: &str| {
        let mut seen = Vec::new();
        let line = response(id, "result", &json!({ "sessionId": "s1" }));
        let mut sink = |event: Event<'_>| {
            if let Event::Session { id, version, .. } = event {
                seen.push(format!("{id} {version}"));
            }
        };
        parse(line.as_bytes(), &mut sink, &mut Unknown::default());
        seen.join(", ")
    };
    for (info, resume, id, shown) in [
        (json!({ "name": "OpenCode", "version": "1.18.33" }), None, "murmur-session@1.18.33", "s1 1.18.33"),
        (
            json!({ "version": "2.0.0-rc.1+b" }),
            Some("s:9@2"),
            "murmur-session@2.0.0-rc.1+b:s:9@2",
            "s1 2.0.0-rc.1+b",
        ),
        (json!({ "version": "1\u{1b}[31m:x" }), None, "murmur-session@1", "s1 1"),
        (json!({ "version": 3 }), Some("s9"), "murmur-session:s9", "s1 "),
        (Value::Null, None, "murmur-session", "s1 "),
    ] {
        assert_eq!(session_id(&info, resume), id);
        assert_eq!(version(id), shown, "{id}");
    }
    let long = session_id(&json!({ "version": "1".repeat(1000) }), None);
    assert_eq!(long.len(), "murmur-session@".len() + 40);
    let failed = json!({ "code": -32002, "message": "Resource not found" });
    let failed = events(&[response("murmur-session@1.18.33:s9", "error", &failed)]);
    assert!(failed[0].contains("cannot resume conversation s9: Resource not found"), "{failed:?}");
}
