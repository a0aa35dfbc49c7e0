//! Control requests to a live agent, especially interrupts.

use std::io::Write;

use fake_claude::replay::Fixture;
use serde_json::{Value, json};

use super::live::{ECHO, Live, user, well};
use super::{Stage, fixture};

pub(super) const INTERRUPT: &str =
    r#"{"type":"control_request","request_id":"i1","request":{"subtype":"interrupt"}}"#;

#[test]
fn an_interrupt_ends_the_turn_and_the_next_message_starts_another() {
    let stage = Stage::new();
    let gate = stage.fifo();
    let mut live = Live::start(&stage, &[ECHO, ("PACE", &format!("gate:{}", gate.display()))]);
    let mut gate = std::fs::File::options().write(true).open(gate).unwrap();
    live.write(&[&user("one")]);
    gate.write_all(b".").unwrap();
    live.line();
    live.write(&[INTERRUPT]);
    let answer = live.line();
    let wanted = json!({"subtype": "success", "request_id": "i1", "response": {"still_queued": []}});
    assert_eq!((&answer["type"], &answer["response"]), (&json!("control_response"), &wanted));
    let (types, result) = live.turn();
    assert_eq!(
        (types, &result["subtype"]),
        (vec!["user".into(), "result".into()], &json!("error_during_execution"))
    );
    assert_eq!((&result["is_error"], &result["result"]), (&json!(true), &Value::Null));
    drop(gate);
    live.write(&[&user("two")]);
    assert_eq!(live.answer(), "turn 2: two (before: one)");
    assert_eq!(live.end(), well(0));
}

#[test]
fn an_interrupted_last_turn_exits_with_1_and_an_idle_agent_only_responds() {
    let stage = Stage::new();
    let mut live = Live::start(&stage, &[ECHO]);
    live.write(&[INTERRUPT]);
    assert_eq!(live.line()["response"]["subtype"], "success");
    live.write(&[&user("one")]);
    assert_eq!(live.answer(), "turn 1: one");
    live.write(&[&user("two"), INTERRUPT]);
    let (types, _) = live.turn();
    assert_eq!(types, ["control_response", "system", "user", "result"]);
    assert_eq!(live.end(), well(1));
}

#[test]
fn other_control_requests_are_answered_and_unknown_ones_refused() {
    let stage = Stage::new();
    let mut live = Live::start(&stage, &[ECHO]);
    let mut ask = |request: Value| {
        live.write(&[&json!({"type": "control_request", "request_id": "c", "request": request}).to_string()]);
        live.line()["response"].clone()
    };
    assert_eq!(ask(json!({"subtype": "initialize"}))["subtype"], "success");
    assert_eq!(ask(json!({"subtype": "set_model", "model": "x"}))["response"], json!({"model": "x"}));
    let refused = json!({"subtype": "error", "request_id": "c",
        "error": "Unsupported control request subtype: nope", "error_code": "unsupported_request"});
    assert_eq!(ask(json!({"subtype": "nope"})), refused);
}

#[test]
fn an_interrupt_is_handled_before_the_next_recorded_line_is_due() {
    let stage = Stage::new();
    let mut recorded = Fixture::load(fixture("live").as_ref()).unwrap();
    // Each line comes an hour after the previous one, except the first two.
    recorded.times =
        (0..).map(|number: u64| number.saturating_sub(1) * 3_600_000).take(recorded.times.len()).collect();
    let folder = stage.path().join("slow");
    recorded.save(&folder).unwrap();
    let mut live = Live::start(&stage, &[("FIXTURE", folder.to_str().unwrap()), ("PACE", "recorded")]);
    live.write(&[&user("one")]);
    assert_eq!(
        (live.line()["type"].clone(), live.line()["type"].clone()),
        (json!("system"), json!("assistant"))
    );
    live.write(&[INTERRUPT]);
    assert_eq!(live.turn().0, ["control_response", "user", "result"]);
    assert_eq!(live.end(), well(1));
}
