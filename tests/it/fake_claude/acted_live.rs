//! A live agent that plays a script: it asks its host whether a tool may run, and fails closed.

use serde_json::{Value, json};

use super::Stage;
use super::acted::{bash, command, hook, one_call, says, text};
use super::live::{Live, user, well};

fn live(stage: &Stage, script: &Value, settings: &Value) -> Live {
    let mut live = Live::spawn(command(stage, script, settings, &["--permission-prompt-tool", "stdio"]));
    live.write(&[&user("Go.")]);
    live
}

fn asks() -> Value {
    hook(&says(&json!({"permissionDecision": "ask", "permissionDecisionReason": "sure?"})))
}

fn answer(request: &Value, response: &Value) -> String {
    let response = json!({"subtype": "success", "request_id": request["request_id"], "response": response});
    json!({"type": "control_response", "response": response}).to_string()
}

/// The next line of this type.
fn until(live: &mut Live, kind: &str) -> Value {
    loop {
        let line = live.line();
        if line["type"] == kind {
            return line;
        }
    }
}

#[test]
fn the_hosts_answer_decides() {
    for (response, error, told) in [
        (json!({"behavior": "allow", "updatedInput": {"command": "echo changed"}}), false, "changed"),
        (json!({"behavior": "allow"}), false, "(Bash completed with no output)"),
        (json!({"behavior": "deny", "message": "not today"}), true, "not today"),
    ] {
        let stage = Stage::new();
        let mut live = live(&stage, &one_call(), &asks());
        let request = until(&mut live, "control_request");
        let asked = &request["request"];
        assert_eq!((&asked["subtype"], &asked["tool_name"]), (&json!("can_use_tool"), &json!("Bash")));
        assert_eq!(
            (&asked["input"], &asked["decision_reason"]),
            (&json!({"command": "touch ran"}), &json!("sure?"))
        );
        live.write(&[&answer(&request, &response)]);
        let block = until(&mut live, "user")["message"]["content"][0].clone();
        assert_eq!((block["is_error"] == true, &block["content"]), (error, &json!(told)));
        assert_eq!(
            until(&mut live, "result")["permission_denials"].as_array().unwrap().len(),
            usize::from(error)
        );
        assert_eq!(live.end(), well(0));
    }
}

#[test]
fn an_answer_to_another_request_and_a_malformed_one_allow_nothing() {
    let stage = Stage::new();
    let mut live = live(&stage, &one_call(), &asks());
    let request = until(&mut live, "control_request");
    let allow = json!({"behavior": "allow"});
    let other = answer(&json!({"request_id": "other"}), &allow);
    live.write(&[&other, &answer(&request, &json!({"x": 1})), &answer(&request, &allow)]);
    let block = until(&mut live, "user")["message"]["content"][0].clone();
    let told = block["content"].as_str().unwrap();
    assert!(told.starts_with("The canUseTool callback returned an invalid permission result."), "{told}");
    assert_eq!(until(&mut live, "result")["is_error"], false);
    assert_eq!(live.end(), well(0));
}

#[test]
fn a_closed_stdin_denies_the_call_and_the_run_ends_normally() {
    let stage = Stage::new();
    let script = json!([[bash("toolu_01", "touch 1"), bash("toolu_02", "touch 2")], [text("done")]]);
    let mut live = live(&stage, &script, &asks());
    until(&mut live, "control_request");
    drop(live.stdin.take());
    let mut told = Vec::new();
    for _ in 0..2 {
        told.push(until(&mut live, "user")["message"]["content"][0]["content"].as_str().unwrap().to_owned());
    }
    let failed = "Tool permission request failed: AbortError:";
    assert_eq!(told[0], format!("{failed} Tool permission stream closed before response received"));
    assert_eq!(told[1], format!("{failed} Stream closed"));
    let result = until(&mut live, "result");
    assert_eq!((&result["subtype"], &result["is_error"]), (&json!("success"), &json!(false)));
    assert_eq!(result["permission_denials"].as_array().unwrap().len(), 2);
    assert_eq!(live.child.0.wait().unwrap().code(), Some(0));
}

#[test]
fn each_message_continues_the_script() {
    let stage = Stage::new();
    let mut live = live(&stage, &json!([[text("one")], [text("two")]]), &json!({}));
    let first = until(&mut live, "result");
    live.write(&[&user("And?")]);
    let second = until(&mut live, "result");
    assert_eq!((&first["result"], &second["result"]), (&json!("one"), &json!("two")));
    assert_eq!(first["session_id"], second["session_id"]);
    assert_eq!(live.end(), well(0));
}

#[test]
fn a_deferred_call_in_a_live_session_is_lost_and_the_session_continues() {
    let stage = Stage::new();
    let defers = hook(&says(&json!({"permissionDecision": "defer"})));
    let mut live = live(&stage, &one_call(), &defers);
    assert_eq!(until(&mut live, "result")["stop_reason"], "tool_deferred");
    live.write(&[&user("And?")]);
    assert_eq!(until(&mut live, "result")["result"], "HEARTBEAT_OK");
    assert_eq!(live.end(), well(0));
}

#[test]
fn an_interrupt_ends_the_running_hook_and_the_pending_request() {
    let interrupt = r#"{"type":"control_request","request_id":"i","request":{"subtype":"interrupt"}}"#;
    for (settings, cancelled) in [(hook("echo $$ > started; exec sleep 1000"), false), (asks(), true)] {
        let stage = Stage::new();
        let started = stage.path().join("started");
        sys::fifo::make(&started).unwrap();
        let mut live = live(&stage, &one_call(), &settings);
        if cancelled {
            until(&mut live, "control_request");
        } else {
            std::fs::read_to_string(&started).unwrap();
        }
        live.write(&[interrupt]);
        let (kinds, result) = live.turn();
        assert_eq!(kinds.contains(&"control_cancel_request".to_owned()), cancelled, "{kinds:?}");
        assert_eq!((&result["subtype"], &result["num_turns"]), (&json!("error_during_execution"), &json!(3)));
        assert_eq!(result["terminal_reason"], "aborted_tools");
        assert_eq!(live.end(), well(1));
    }
}
