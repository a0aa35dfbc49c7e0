//! The events that write pulses, as fake-claude fires them: failed turns, and hooks configured in several places.

use serde_json::{Value, json};

use super::Stage;
use super::acted::{bash, beat, command, one_call, text};

/// Settings with this hook for these events.
fn at(events: &[&str], command: &str) -> Value {
    let entry = json!([{"hooks": [{"type": "command", "command": command}]}]);
    let hooks: serde_json::Map<String, Value> =
        events.iter().map(|event| ((*event).to_owned(), entry.clone())).collect();
    json!({ "hooks": hooks })
}

#[test]
fn a_failed_turn_fires_stop_failure_instead_of_stop() {
    for (status, error, said) in [
        (400, "unknown", "API Error: 400 no"),
        (403, "authentication_failed", "Failed to authenticate. API Error: 403 no"),
        (429, "rate_limit", "API Error: Request rejected (429) · no"),
    ] {
        let script = json!([{"status": status, "error": {"type": "a", "message": "no"}}]);
        let settings = at(&["Stop", "StopFailure", "SessionEnd"], "cat >> told; echo no >&2; exit 2");
        let stage = Stage::new();
        let acted = beat(command(&stage, &script, &settings, &[]), "Go.\n");
        assert_eq!((acted.code, &acted.result()["result"]), (Some(1), &json!(said)));
        let told = std::fs::read_to_string(stage.path().join("told")).unwrap();
        let told: Vec<Value> = told.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let names: Vec<&Value> = told.iter().map(|told| &told["hook_event_name"]).collect();
        assert_eq!(names, ["StopFailure", "SessionEnd"]);
        assert_eq!((&told[0]["error"], &told[0]["last_assistant_message"]), (&json!(error), &json!(said)));
        assert_eq!(told[0].get("permission_mode"), None);
        assert_eq!(acted.stderr, "SessionEnd hook [cat >> told; echo no >&2; exit 2] failed: no\n\n");
    }
}

#[test]
fn a_command_runs_once_however_many_settings_name_it() {
    let stage = Stage::new();
    let folder = stage.path().join("home/.claude");
    std::fs::create_dir_all(&folder).unwrap();
    let events = ["UserPromptSubmit", "PostToolUse", "PostToolUseFailure", "SessionEnd"];
    let settings = at(&events, "echo once >> told");
    std::fs::write(folder.join("settings.json"), settings.to_string()).unwrap();
    let script = json!([[bash("toolu_01", "touch ran")], [bash("toolu_02", "exit 3")], [text("done")]]);
    beat(command(&stage, &script, &settings, &[]), "Go.\n");
    let told = std::fs::read_to_string(stage.path().join("told")).unwrap();
    assert_eq!(told.lines().count(), events.len());
}

#[test]
fn if_two_files_name_one_command_the_later_files_entry_counts() {
    let stage = Stage::new();
    let folder = stage.path().join("home/.claude");
    std::fs::create_dir_all(&folder).unwrap();
    let settings = at(&["PreToolUse"], "exit 1");
    std::fs::write(folder.join("settings.json"), settings.to_string()).unwrap();
    let mut blocks = settings;
    blocks["hooks"]["PreToolUse"][0]["hooks"][0]["onFailure"] = "block".into();
    let acted = beat(command(&stage, &one_call(), &blocks, &[]), "Go.\n");
    assert!(acted.only().0, "{:?}", acted.only());
}
