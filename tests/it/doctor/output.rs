//! What agents write that murmur doesn't know: counted, and shown by the doctor.

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::{finding, write};
use crate::env::{Env, result};

/// The doctor's finding about it, if there is one.
fn output(env: &Env) -> Option<Value> {
    let object = env.murmur(["doctor", "--json"]).json();
    let findings = object["findings"].as_array().unwrap();
    findings.iter().find(|one| one["check"] == "agent output").cloned()
}

/// The output of an agent of version 2.1.999 with these lines before its answer.
fn output_with(lines: &[Value]) -> String {
    let init = json!({
        "type": "system", "subtype": "init", "session_id": "s", "model": "m", "claude_code_version": "2.1.999",
    });
    let lines = lines.iter().map(|line| format!("{line}\n")).collect::<String>();
    format!("{init}\n{lines}{}", result("HEARTBEAT_OK"))
}

#[test]
fn unknown_types_and_fields_of_beats_are_counted_and_shown_for_a_week() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    assert_snapshot!(env.run(["beat", "site"]), @"
    ok [S]
    [exit 0]
    ");
    assert!(!env.data().join("unknown.json").exists() && output(&env).is_none());

    let text = json!({ "type": "text", "text": "Well.", "mood": "good" });
    let said = json!({ "type": "assistant", "message": { "id": "m", "content": [text] } });
    site.plays(&json!({ "stdout": output_with(&[said]) }));
    env.run(["beat", "site"]);
    let fields = finding(&env, "agent output");
    assert_eq!((&fields["level"], &fields["hint"]), (&json!("ok"), &Value::Null));
    assert_snapshot!(fields["found"].as_str().unwrap(), @"unknown in the last week: claude 2.1.999: assistant.content/text.mood");

    let dawn = json!({ "type": "system", "subtype": "dawn\u{1b}[31m" });
    site.plays(&json!({ "stdout": output_with(&[dawn.clone(), dawn]) }));
    env.run(["beat", "site"]);
    let types = finding(&env, "agent output");
    assert_eq!(types["hint"], "update murmur; report it if yours is the newest");
    assert_eq!(types["level"], "warn");
    assert_snapshot!(types["found"].as_str().unwrap(), @"unknown in the last week: claude 2.1.999: system/dawn?u001b?31m (2 times), assistant.content/text.mood");

    let path = env.data().join("unknown.json");
    let week: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    let today = week["seen"][0]["day"].as_str().unwrap().to_owned();
    write(&path, &week.to_string().replace(&today, "2026-01-01"), 0o600);
    assert_eq!(output(&env), None, "it was longer ago");
}
