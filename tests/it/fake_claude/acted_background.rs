//! fake-claude playing work that outlives its turn: background commands and subagents.

use serde_json::{Value, json};

use super::Stage;
use super::acted::{Run, bash, beat, command, run, text};
use super::live::{Live, user, well};

fn build(more: &Value) -> Value {
    let mut call = bash("toolu_01", "sleep 2; make");
    call["input"]["run_in_background"] = true.into();
    call["input"]["description"] = "Build".into();
    call.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    call
}

fn script(more: &Value) -> Value {
    json!([[build(more)], [text("It builds.")], [text("HEARTBEAT_OK")]])
}

fn results(run: &Run) -> Vec<&Value> {
    run.lines.iter().filter(|line| line["type"] == "result").collect()
}

/// The subtypes of `system` lines about tasks.
fn tasks(run: &Run) -> Vec<&str> {
    let subtypes = run.lines.iter().filter_map(|line| line["subtype"].as_str());
    subtypes.filter(|subtype| subtype.contains("task")).collect()
}

fn notified(run: &Run) -> &Value {
    run.lines.iter().find(|line| line["subtype"] == "task_notification").unwrap()
}

#[test]
fn a_background_command_starts_a_turn_when_it_ends() {
    let acted = run(&script(&json!({})), &json!({}), &[]);
    let kinds = [
        "system",
        "tool_use",
        "system",
        "system",
        "tool_result",
        "text",
        "result",
        "system",
        "system",
        "system",
        "system",
        "text",
        "result",
    ];
    assert_eq!(acted.kinds(), kinds);
    let lines = [
        "background_tasks_changed",
        "task_started",
        "task_updated",
        "task_notification",
        "background_tasks_changed",
    ];
    assert_eq!(tasks(&acted), lines);
    assert!(
        acted.only().1.starts_with("Command running in background with ID: b00000001. "),
        "{:?}",
        acted.only()
    );
    assert_eq!(notified(&acted)["summary"], "Background command \"Build\" completed (exit code 0)");
    let results = results(&acted);
    assert_eq!((&results[0]["result"], &results[0]["num_turns"]), (&json!("It builds."), &json!(2)));
    assert_eq!((&results[1]["result"], &results[1]["num_turns"]), (&json!("HEARTBEAT_OK"), &json!(1)));
    assert_eq!(
        (&results[0]["origin"], &results[1]["origin"]["kind"]),
        (&Value::Null, &json!("task-notification"))
    );
    assert_eq!(acted.code, Some(0));
}

#[test]
fn a_failed_background_command_is_reported_and_the_last_turn_decides_the_exit_code() {
    let failed = json!({"result": "Exit code 3", "is_error": true});
    let script =
        json!([[build(&failed)], [text("HEARTBEAT_OK")], {"status": 400, "error": {"message": "no"}}]);
    let acted = run(&script, &json!({}), &[]);
    assert_eq!(notified(&acted)["summary"], "Background command \"Build\" failed with exit code 3");
    assert_eq!(notified(&acted)["status"], "failed");
    assert_eq!((results(&acted)[0]["is_error"].as_bool(), acted.code), (Some(false), Some(1)));
}

#[test]
fn an_endless_background_command_is_stopped_and_older_versions_do_not_report_it() {
    for (version, results_wanted) in [("2.1.330", 2), ("2.1.197", 1)] {
        let stage = Stage::new();
        let mut command = command(&stage, &script(&json!({"ends_after_ms": null})), &json!({}), &[]);
        command.env("FAKE_CLAUDE_VERSION", version).env("FAKE_CLAUDE_SCALE", "0");
        let acted = beat(command, "Go.\n");
        assert_eq!((results(&acted).len(), acted.code), (results_wanted, Some(0)), "{version}");
        if results_wanted == 2 {
            let summary = "Background command \"Build\" was stopped after reaching its background time limit";
            assert_eq!(
                (&notified(&acted)["status"], &notified(&acted)["summary"]),
                (&json!("stopped"), &json!(summary))
            );
        }
    }
}

#[test]
fn without_background_tasks_the_parameter_is_unknown() {
    let stage = Stage::new();
    let mut command = command(&stage, &script(&json!({})), &json!({}), &[]);
    command.env("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS", "1");
    let acted = beat(command, "Go.\n");
    assert!(
        acted.only().1.contains("An unexpected parameter `run_in_background` was provided"),
        "{:?}",
        acted.only()
    );
    assert!(tasks(&acted).is_empty());
}

#[test]
fn a_live_agent_is_notified_between_two_messages() {
    let stage = Stage::new();
    let mut live = Live::spawn(command(&stage, &script(&json!({})), &json!({}), &[]));
    live.write(&[&user("Go.")]);
    let mut said = Vec::new();
    while said.len() < 2 {
        let line = live.line();
        if line["type"] == "result" {
            said.push(line["result"].clone());
        }
    }
    assert_eq!(said, ["It builds.", "HEARTBEAT_OK"]);
    assert_eq!(live.end(), well(0));
}

fn agent(more: &Value) -> Value {
    let mut call = json!({"type": "tool_use", "id": "toolu_01", "name": "Agent",
        "input": {"description": "Count", "prompt": "Count.", "subagent_type": "general-purpose"}});
    call["input"].as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    call
}

fn delegated(more: &Value) -> Value {
    json!({
        "main": [[agent(more)], [text("Waiting.")], [text("HEARTBEAT_OK")]],
        "subagent": [[bash("toolu_02", "echo 1")], [text("There is 1.")]]
    })
}

#[test]
fn a_background_subagent_delays_the_results() {
    let acted = run(&delegated(&json!({})), &json!({}), &[]);
    let within: Vec<&Value> =
        acted.lines.iter().filter(|line| line["parent_tool_use_id"] == "toolu_01").collect();
    assert_eq!(within.len(), 3, "{within:?}");
    assert!(within.iter().all(|line| line["agent_id"] == "a0000000000000001"), "{within:?}");
    assert_eq!(
        (&notified(&acted)["status"], &notified(&acted)["summary"]),
        (&json!("completed"), &json!("There is 1."))
    );
    let last: Vec<&str> =
        acted.lines.iter().rev().take(2).filter_map(|line| line["result"].as_str()).collect();
    assert_eq!(last, ["HEARTBEAT_OK", "Waiting."]);
    assert_eq!(acted.code, Some(0));
}

#[test]
fn a_foreground_subagent_returns_its_report() {
    let script = delegated(&json!({"run_in_background": false}));
    let stage = Stage::new();
    let mut old = command(&stage, &delegated(&json!({})), &json!({}), &[]);
    old.env("FAKE_CLAUDE_VERSION", "2.1.197");
    for acted in [run(&script, &json!({}), &[]), beat(old, "Go.\n")] {
        assert_eq!(tasks(&acted), ["task_started", "task_updated", "task_notification"]);
        let blocks = acted
            .lines
            .iter()
            .filter_map(|line| line["message"]["content"][0]["content"][0]["text"].as_str());
        let handed: Vec<&str> = blocks.collect();
        assert!(
            handed.len() == 1 && handed[0].contains("\n  There is 1.\nagentId: a0000000000000001"),
            "{handed:?}"
        );
        assert_eq!((results(&acted).len(), acted.code), (1, Some(0)));
    }
}
