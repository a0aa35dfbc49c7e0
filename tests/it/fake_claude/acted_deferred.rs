//! Deferred calls and resumed sessions; also questions, which are ordinary calls.

use serde_json::{Value, json};

use super::Stage;
use super::acted::{Run, bash, beat, command, hook, one_call, run, says, text};

fn decides(decision: &str) -> Value {
    hook(&says(&json!({"permissionDecision": decision, "permissionDecisionReason": "told so"})))
}

fn question() -> (Value, Value) {
    let input = json!({"questions": [{"question": "Which?", "header": "Pick", "multiSelect": false,
        "options": [{"label": "A", "description": ""}, {"label": "B", "description": ""}]}]});
    let call = json!({"type": "tool_use", "id": "toolu_01", "name": "AskUserQuestion", "input": input});
    (json!([[call], [text("done")]]), input)
}

fn answers(mut input: Value) -> Value {
    input["answers"] = json!({"Which?": "B"});
    hook(&says(&json!({"permissionDecision": "allow", "updatedInput": input})))
}

fn resumed(stage: &Stage, script: &Value, settings: &Value, before: &Run, more: &[&str]) -> Run {
    let id = before.result()["session_id"].as_str().unwrap();
    beat(command(stage, script, settings, &[&["--resume", id], more].concat()), "")
}

#[test]
fn a_deferred_call_ends_the_run_and_is_made_when_the_session_is_resumed() {
    for (decision, error, told) in [
        ("allow", false, "(Bash completed with no output)"),
        ("deny", true, "PreToolUse:Bash hook error: told so"),
    ] {
        let stage = Stage::new();
        let first = beat(command(&stage, &one_call(), &decides("defer"), &[]), "Go.\n");
        assert_eq!(first.kinds(), ["system", "tool_use", "result"]);
        let result = first.result();
        assert_eq!((&result["stop_reason"], &result["result"]), (&json!("tool_deferred"), &json!("")));
        let named = json!({"id": "toolu_01", "name": "Bash", "input": {"command": "touch ran"}});
        assert_eq!((&result["deferred_tool_use"], first.code), (&named, Some(0)));
        let again = resumed(&stage, &one_call(), &decides("defer"), &first, &[]);
        assert_eq!((&again.result()["deferred_tool_use"], again.results().len()), (&named, 0));
        let last = resumed(&stage, &one_call(), &decides(decision), &again, &[]);
        assert_eq!((last.only(), last.code), ((error, told), Some(0)));
        assert_eq!(last.result()["session_id"], result["session_id"]);
        assert_eq!(last.result()["result"], "HEARTBEAT_OK");
        let kinds: Vec<&str> = last.kinds().into_iter().filter(|kind| *kind != "attachment").collect();
        let order = ["command_lifecycle", "tool_result", "system", "text", "result", "command_lifecycle"];
        assert_eq!(kinds, order);
        let late = resumed(&stage, &one_call(), &decides(decision), &last, &[]);
        assert!(late.stderr.starts_with("Error: No deferred tool marker found"), "{}", late.stderr);
        assert_eq!((late.lines.len(), late.code), (0, Some(1)));
    }
}

#[test]
fn only_the_last_of_two_deferred_calls_is_made() {
    let script = json!([[bash("toolu_01", "touch 1"), bash("toolu_02", "echo two")], [text("done")]]);
    let stage = Stage::new();
    let first = beat(command(&stage, &script, &decides("defer"), &[]), "Go.\n");
    assert_eq!(first.result()["deferred_tool_use"]["id"], "toolu_02");
    let last = resumed(&stage, &script, &decides("allow"), &first, &[]);
    assert_eq!(last.only(), (false, "two"));
}

#[test]
fn a_prompt_comes_after_the_deferred_call() {
    let stage = Stage::new();
    let script = json!([[bash("toolu_01", "touch ran")], [text("one")], [text("two")]]);
    let first = beat(command(&stage, &script, &decides("defer"), &[]), "Go.\n");
    let id = first.result()["session_id"].as_str().unwrap();
    let both = beat(command(&stage, &script, &decides("allow"), &["--resume", id]), "And now?\n");
    let results: Vec<&Value> =
        both.lines.iter().filter(|line| line["type"] == "result").map(|line| &line["result"]).collect();
    assert_eq!(results, ["one", "two"]);
    let on = beat(command(&stage, &script, &decides("allow"), &["--resume", id]), "More?\n");
    assert_eq!(on.kinds(), ["system", "text", "result"]);
}

#[test]
fn a_missing_session_is_reported_with_claude_codes_message() {
    let id = "00000000-0000-4000-8000-000000000001";
    let acted = run(&one_call(), &json!({}), &["--resume", id]);
    let said = format!("No conversation found with session ID: {id}");
    assert_eq!((acted.stderr.trim_end(), acted.code), (said.as_str(), Some(1)));
    let result = acted.result();
    assert_eq!((&result["subtype"], &result["errors"]), (&json!("error_during_execution"), &json!([said])));
    let acted = run(&one_call(), &json!({}), &["--resume", "nope"]);
    assert!(acted.stderr.contains("\"nope\" is not a UUID"), "{}", acted.stderr);
}

#[test]
fn a_question_needs_somebody_to_answer_it() {
    let (script, input) = question();
    let asks = ["--permission-prompt-tool", "stdio"];
    let answered = "Your questions have been answered: \"Which?\"=\"B\". You can now continue with these answers in mind.";
    assert_eq!(run(&script, &answers(input.clone()), &asks).only(), (false, answered));
    let told = run(&script, &answers(input), &[]).only().1.to_owned();
    assert!(told.contains("No such tool available: AskUserQuestion"), "{told}");
    let closed = "Tool permission request failed: AbortError: Stream closed";
    for settings in [json!({}), decides("allow")] {
        assert_eq!(run(&script, &settings, &asks).only(), (true, closed));
    }
    let denied = run(&script, &decides("deny"), &asks);
    assert_eq!(denied.only(), (true, "PreToolUse:AskUserQuestion hook error: told so"));
}

#[test]
fn a_deferred_question_is_answered_in_the_resumed_session() {
    let (script, input) = question();
    let asks = ["--permission-prompt-tool", "stdio"];
    let stage = Stage::new();
    let first = beat(command(&stage, &script, &decides("defer"), &asks), "Go.\n");
    assert_eq!(first.result()["deferred_tool_use"]["name"], "AskUserQuestion");
    let last = resumed(&stage, &script, &answers(input), &first, &asks);
    assert!(last.only().1.contains("\"Which?\"=\"B\""), "{:?}", last.only());
}
