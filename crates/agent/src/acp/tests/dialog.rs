//! What murmur writes, and when.

use super::super::super::parser::{Dialect, Parser};
use super::super::AcpDialog;
use super::{asks, response, update};
use crate::dialog::{CallDecision, Conversation, Dialog, Overruled};
use crate::event::{Event, PermissionRequest};
use serde_json::{Value, json};

const ALLOW: CallDecision = CallDecision::Allow { input: None };

fn dialog(program: &str, resume: Option<&str>, model: Option<&str>) -> AcpDialog {
    let text = |text: &str| text.to_owned();
    AcpDialog::new(
        program,
        Conversation {
            cwd: "/w".into(),
            model: model.map(text),
            resume: resume.map(text),
            ..Conversation::default()
        },
    )
}

/// The messages in `bytes`.
fn messages(bytes: &[u8]) -> Vec<Value> {
    bytes
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect()
}

/// The methods, outcomes or errors in `bytes`.
fn words(bytes: &[u8]) -> Vec<String> {
    let word = |message: &Value| match (message.get("method"), message.get("id")) {
        (Some(method), _) => method.as_str().unwrap().to_owned(),
        (None, Some(id)) => {
            let outcome = message.pointer("/result/outcome");
            let said = outcome.map(|outcome| outcome.get("optionId").unwrap_or(&outcome["outcome"]));
            format!("{id}: {}", said.unwrap_or_else(|| &message["error"]["code"]))
        }
        _ => message.to_string(),
    };
    messages(bytes).iter().map(word).collect()
}

fn read(dialog: &mut AcpDialog, line: &str) -> Vec<u8> {
    dialog.read(format!("{line}\n").as_bytes())
}

fn initialized(capabilities: &Value) -> String {
    response(
        "murmur-initialize",
        "result",
        &json!({ "protocolVersion": 1, "agentCapabilities": capabilities }),
    )
}

/// A dialog after the handshake, with prompt 1 sent.
fn busy(program: &str) -> AcpDialog {
    let mut dialog = dialog(program, None, None);
    dialog.open();
    dialog.send("go");
    read(&mut dialog, &initialized(&json!({})));
    let modes = json!({ "currentModeId": dialog.program.mode });
    read(&mut dialog, &response("murmur-session", "result", &json!({ "sessionId": "s1", "modes": modes })));
    assert!(dialog.has_begun());
    dialog
}

/// The request in `line`.
fn request(line: &str) -> PermissionRequest {
    let mut found = None;
    Parser::new(Dialect::Acp).feed(format!("{line}\n").as_bytes(), &mut |event| {
        if let Event::PermissionRequest(asks) = event {
            found = Some(*asks);
        }
    });
    found.unwrap()
}

#[test]
fn an_untrusted_repository_has_no_claude_files_for_claude_agent_acp() {
    let options = |hides_claude_files| {
        let conversation = Conversation { hides_claude_files, ..Conversation::default() };
        let mut dialog = AcpDialog::new("claude-agent-acp", conversation);
        let _opening = dialog.open();
        let begun = messages(&read(&mut dialog, &initialized(&json!({}))));
        let options = begun[0]["params"]["_meta"]["claudeCode"]["options"].clone();
        (options["settingSources"].clone(), options["strictMcpConfig"].clone())
    };
    assert_eq!(options(true), (json!(["user"]), json!(true)));
    assert_eq!(options(false), (Value::Null, Value::Null));
}

#[test]
fn a_prompt_waits_for_the_handshake_whatever_the_chunks() {
    let mut dialog = dialog("claude-agent-acp", None, Some("opus"));
    let opening = messages(&dialog.open());
    assert_eq!(opening[0]["params"]["clientCapabilities"], json!({}));
    assert_eq!(dialog.send("go"), b"");
    assert!(!dialog.has_begun());
    let line = initialized(&json!({})) + "\n";
    let begun: Vec<u8> = line.bytes().flat_map(|byte| dialog.read(&[byte])).collect();
    let begun = messages(&begun);
    assert_eq!(begun[0]["method"], "session/new");
    assert_eq!(
        begun[0]["params"]["_meta"]["claudeCode"]["options"]["settings"]["permissions"]["ask"],
        json!(["*"])
    );
    let options = json!([{ "id": "model", "category": "model", "currentValue": "default" }]);
    let session =
        json!({ "sessionId": "s1", "modes": { "currentModeId": "auto" }, "configOptions": options });
    let session = response("murmur-session", "result", &session);
    assert_eq!(words(&read(&mut dialog, &session)), ["session/set_mode"]);
    // A second response changes nothing.
    assert_eq!(read(&mut dialog, &session), b"");
    let set = messages(&read(&mut dialog, &response("murmur-mode:default", "result", &json!({}))));
    assert_eq!(set[0]["params"], json!({ "sessionId": "s1", "configId": "model", "value": "opus" }));
    let prompt = messages(&read(&mut dialog, &response("murmur-model:opus", "result", &json!({}))));
    assert_eq!(prompt[0]["id"], "murmur-prompt:1");
    assert_eq!(
        prompt[0]["params"],
        json!({ "sessionId": "s1", "prompt": [{ "type": "text", "text": "go" }] })
    );
}

#[test]
fn one_prompt_runs_at_a_time() {
    let mut dialog = busy("goose");
    assert_eq!(dialog.send("next"), b"");
    let end = response("murmur-counted:1", "result", &json!({ "stopReason": "end_turn" }));
    assert_eq!(messages(&read(&mut dialog, &end))[0]["id"], "murmur-counted:2");
    assert_eq!(read(&mut dialog, &end), b"");
    read(&mut dialog, &response("murmur-counted:2", "error", &json!({ "code": 1 })));
    assert_eq!(words(&dialog.send("again")), ["session/prompt"]);
}

#[test]
fn a_conversation_is_resumed_without_replay_if_possible() {
    let method = |capabilities: Value| {
        let mut dialog = dialog("opencode", Some("s9"), None);
        dialog.open();
        let sent = messages(&read(&mut dialog, &initialized(&capabilities)));
        assert_eq!(sent[0]["params"]["sessionId"], "s9");
        assert_eq!(sent[0]["id"], "murmur-session:s9");
        sent[0]["method"].as_str().unwrap().to_owned()
    };
    assert_eq!(
        method(json!({ "loadSession": true, "sessionCapabilities": { "resume": {} } })),
        "session/resume"
    );
    assert_eq!(method(json!({ "loadSession": true, "sessionCapabilities": {} })), "session/load");
    assert_eq!(method(json!({})), "session/resume");
    let mut dialog = dialog("opencode", Some("s9"), None);
    dialog.open();
    read(&mut dialog, &initialized(&json!({ "loadSession": true })));
    let repeated = json!({ "sessionUpdate": "tool_call", "toolCallId": "c1", "title": "bash", "rawInput": { "command": "ls" } });
    read(&mut dialog, &update(&repeated));
    assert!(!dialog.has_begun());
    read(&mut dialog, &response("murmur-session:s9", "result", &in_mode("build")));
    assert!(dialog.has_begun() && dialog.calls.is_empty());
}

/// OpenCode's description of a conversation with this agent.
fn in_mode(agent: &str) -> Value {
    json!({ "sessionId": "s1", "configOptions": [{ "id": "mode", "category": "mode", "currentValue": agent }] })
}

#[test]
fn a_conversation_with_another_agent_of_opencode_goes_on_with_murmurs() {
    let mut dialog = dialog("opencode", Some("s1"), None);
    dialog.open();
    dialog.send("/review it");
    read(&mut dialog, &initialized(&json!({ "loadSession": true })));
    let sent = messages(&read(&mut dialog, &response("murmur-session:s1", "result", &in_mode("mine"))));
    let params = json!({ "sessionId": "s1", "modeId": "build" });
    assert_eq!((&sent[0]["method"], &sent[0]["params"]), (&json!("session/set_mode"), &params));
    let sent = messages(&read(&mut dialog, &response("murmur-mode:build", "result", &json!({}))));
    assert_eq!(sent[0]["params"]["prompt"][0]["text"], "Message: /review it");
}

#[test]
fn gemini_repeats_a_conversation_after_its_response() {
    let mut dialog = dialog("gemini", Some("s9"), None);
    dialog.open();
    dialog.send("Go on");
    let sent = messages(&read(&mut dialog, &initialized(&json!({ "loadSession": true }))));
    assert_eq!((&sent[0]["method"], &sent[0]["id"]), (&json!("session/load"), &json!("murmur-load:s9")));
    let begun = json!({ "modes": { "currentModeId": "default" } });
    let sent = messages(&read(&mut dialog, &response("murmur-load:s9", "result", &begun)));
    let params = json!({ "sessionId": "s9", "modeId": "default" });
    assert_eq!((&sent[0]["method"], &sent[0]["params"]), (&json!("session/set_mode"), &params));
    let repeated =
        json!({ "sessionUpdate": "tool_call", "toolCallId": "c1", "title": "ls", "status": "pending" });
    read(&mut dialog, &update(&repeated));
    assert!(!dialog.has_begun());
    let sent = messages(&read(&mut dialog, &response("murmur-loaded:s9", "result", &json!({}))));
    assert_eq!(sent[0]["params"]["prompt"][0]["text"], "Go on");
    assert!(dialog.has_begun() && dialog.calls.is_empty());
}

#[test]
fn a_failed_handshake_is_retried_for_the_next_message() {
    let mut dialog = dialog("opencode", None, None);
    dialog.open();
    dialog.send("lost");
    assert_eq!(read(&mut dialog, &response("murmur-initialize", "error", &json!({ "code": -32603 }))), b"");
    assert_eq!(words(&dialog.send("go")), ["initialize"]);
    read(&mut dialog, &initialized(&json!({})));
    let sent = read(&mut dialog, &response("murmur-session", "result", &in_mode("build")));
    assert_eq!(messages(&sent)[0]["params"]["prompt"][0]["text"], "go");
}

#[test]
fn requests_are_answered_once_and_by_kind() {
    let deny = CallDecision::Deny { reason: "no".to_owned() };
    let changed = CallDecision::Allow { input: Some(json!({ "command": "other" })) };
    let call = json!({ "toolCallId": "c1", "kind": "execute", "rawInput": { "command": "ls" } });
    for (decision, expected) in [(&ALLOW, "once"), (&deny, "reject"), (&changed, "reject")] {
        let mut dialog = busy("opencode");
        let line = asks(&json!("a-1"), &call);
        assert_eq!(read(&mut dialog, &line), b"");
        assert_eq!(words(&dialog.answer(&request(&line), decision)), [format!("\"a-1\": \"{expected}\"")]);
        assert_eq!(dialog.answer(&request(&line), decision), b"");
    }
    // A call that can only be allowed forever is not allowed.
    let mut dialog = busy("opencode");
    let line = asks(&json!(0), &call).replace("allow_once", "other");
    read(&mut dialog, &line);
    assert_eq!(words(&dialog.answer(&request(&line), &ALLOW)), ["0: \"reject\""]);
    let [Overruled { tool_use_id, reason }] = &dialog.overruled()[..] else { panic!() };
    assert!(tool_use_id == "c1" && reason.contains("allow_once"), "{reason}");
    assert_eq!(dialog.overruled(), []);
}

#[test]
fn an_interrupt_cancels_the_turn_and_what_it_asks() {
    let mut dialog = busy("opencode");
    let line = asks(&json!(7), &json!({ "toolCallId": "c1" }));
    read(&mut dialog, &line);
    assert_eq!(words(&dialog.interrupt()), ["session/cancel", "7: \"cancelled\""]);
    assert_eq!(dialog.answer(&request(&line), &ALLOW), b"");
    read(&mut dialog, &response("murmur-prompt:1", "result", &json!({ "stopReason": "cancelled" })));
    assert_eq!(dialog.interrupt(), b"");
}

#[test]
fn an_interrupt_before_the_conversation_exists_drops_the_message() {
    let steps = [
        initialized(&json!({})),
        response("murmur-session", "result", &in_mode("plan")),
        response("murmur-mode:build", "result", &json!({})),
    ];
    for stage in 0..3 {
        let mut dialog = dialog("opencode", None, None);
        dialog.open();
        dialog.send("go");
        for line in &steps[..stage] {
            read(&mut dialog, line);
        }
        assert!(dialog.withdraw() && !dialog.withdraw(), "{stage}");
        let next: Vec<u8> = steps[stage..].iter().flat_map(|line| read(&mut dialog, line)).collect();
        assert!(dialog.has_begun() && !words(&next).contains(&"session/prompt".to_owned()));
        assert_eq!(words(&dialog.send("more")), ["session/prompt"]);
        // A message that waits for the turn stays.
        dialog.send("later");
        assert!(!dialog.withdraw());
        assert_eq!(words(&dialog.interrupt()), ["session/cancel"]);
    }
}

#[test]
fn earlier_updates_of_a_call_complete_the_request() {
    let mut dialog = busy("opencode");
    let call = |fields: Value| {
        let mut call = json!({ "sessionUpdate": "tool_call_update", "toolCallId": "c1" });
        call.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        update(&call)
    };
    read(
        &mut dialog,
        &call(
            json!({ "sessionUpdate": "tool_call", "title": "bash", "kind": "execute", "rawInput": { "cwd": "/w" } }),
        ),
    );
    let line = asks(
        &json!(0),
        &json!({ "toolCallId": "c1", "title": "pwd", "kind": "other", "rawInput": { "command": "pwd", "directories": ["/etc"] } }),
    );
    read(&mut dialog, &line);
    let mut asked = request(&line);
    assert!(!dialog.complete(&mut asked));
    read(&mut dialog, &call(json!({ "title": "pwd", "rawInput": { "command": "pwd", "workdir": "/etc" } })));
    assert!(dialog.complete(&mut asked));
    assert_eq!(
        (asked.tool.as_str(), &asked.input, asked.cwd.as_deref()),
        ("Bash", &json!({ "command": "pwd" }), Some("/etc"))
    );

    read(
        &mut dialog,
        &call(
            json!({ "toolCallId": "c2", "sessionUpdate": "tool_call", "title": "pokey_poke", "kind": "other", "rawInput": {} }),
        ),
    );
    read(
        &mut dialog,
        &call(json!({ "toolCallId": "c2", "title": "pokey_poke", "rawInput": { "target": "T" } })),
    );
    let line = asks(
        &json!(1),
        &json!({ "toolCallId": "c2", "title": "pokey_poke", "kind": "other", "rawInput": {} }),
    );
    read(&mut dialog, &line);
    let mut asked = request(&line);
    assert!(dialog.complete(&mut asked));
    assert_eq!((asked.tool.as_str(), &asked.input), ("pokey_poke", &json!({ "target": "T" })));

    // Nothing was said about this one.
    let line = asks(&json!(2), &json!({ "toolCallId": "c3", "kind": "execute" }));
    read(&mut dialog, &line);
    assert!(dialog.complete(&mut request(&line)));
}

#[test]
fn other_requests_and_hostile_lines_do_no_harm() {
    let mut dialog = busy("opencode");
    let write = r#"{"jsonrpc":"2.0","id":6,"method":"fs/write_text_file","params":{"path":"/etc/passwd"}}"#;
    assert_eq!(words(&read(&mut dialog, write)), ["6: -32601"]);
    for line in [
        "",
        "x",
        "[]",
        "{\"id\":\"murmur-prompt:9\",\"result\":{}}",
        "{\"method\":\"session/update\",\"params\":5}",
    ] {
        assert_eq!(read(&mut dialog, line), b"", "{line}");
    }
    dialog.read(&vec![b'x'; 17 << 20]);
    assert_eq!(words(&dialog.read(format!("\n{write}\n").as_bytes())), ["6: -32601"]);
    for number in 0..1000 {
        read(
            &mut dialog,
            &update(&json!({ "sessionUpdate": "tool_call", "toolCallId": number.to_string() })),
        );
        let answer = words(&read(&mut dialog, &asks(&json!(number), &json!({}))));
        assert_eq!(answer.is_empty(), number < 256);
    }
    assert!(dialog.calls.len() <= 256 && dialog.asked.len() <= 256);
}
