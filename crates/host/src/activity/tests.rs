//! What an agent was doing, and how many turns it took.

use super::*;
use murmur_agent::parser::Parser;
use serde_json::{Value, json};

const SECOND: Duration = Duration::from_secs(1);

/// An agent that printed these lines, one per second.
fn seen(lines: &[Value]) -> (Activity, Duration) {
    let (mut activity, mut parser, mut at) =
        (Activity::new(AgentKind::Beat), Parser::default(), Duration::ZERO);
    for line in lines {
        at += SECOND;
        parser.feed(format!("{line}\n").as_bytes(), &mut |event| {
            activity.see(&event, at);
        });
    }
    (activity, at)
}

fn doing(lines: &[Value]) -> LastActivity {
    let (activity, at) = seen(lines);
    activity.doing(at + SECOND * 9)
}

fn init() -> Value {
    json!({ "type": "system", "subtype": "init", "session_id": "s" })
}

fn says(message: &str) -> Value {
    json!({ "type": "assistant", "message": { "id": message, "content": [{ "type": "text", "text": "hello" }] } })
}

fn calls(message: &str, id: &str, command: &str) -> Value {
    let block = json!({ "type": "tool_use", "id": id, "name": "Bash", "input": { "command": command } });
    json!({ "type": "assistant", "message": { "id": message, "content": [block] } })
}

fn answers(id: &str) -> Value {
    json!({ "type": "user", "message": { "content": [{ "type": "tool_result", "tool_use_id": id, "content": "" }] } })
}

fn result() -> Value {
    json!({ "type": "result", "subtype": "success", "result": "HEARTBEAT_OK" })
}

fn retry(attempt: u64, status: Option<u64>) -> Value {
    json!({ "type": "system", "subtype": "api_retry", "attempt": attempt, "max_retries": 10, "error_status": status })
}

fn wait(request: &str) -> Wait {
    Wait { request: RequestId::parse(request).unwrap(), call: None }
}

#[test]
fn current_activity_is_tracked() {
    let time = SECOND * 9;
    assert_eq!(doing(&[]), LastActivity::Model { time });
    assert_eq!(doing(&[init(), says("m1")]), LastActivity::Model { time });
    let retries = |retries, status| LastActivity::Retries { retries, status };
    assert_eq!(doing(&[init(), retry(1, None), retry(2, Some(529))]), retries(2, Some(529)));
    assert_eq!(doing(&[init(), retry(1, None)]), retries(1, None));
    assert_eq!(doing(&[init(), retry(1, Some(529)), says("m1")]), LastActivity::Model { time });
    let tool = LastActivity::Tool { tool: "Bash".to_owned(), action: "sleep 100".to_owned(), time };
    assert_eq!(doing(&[init(), calls("m1", "t1", "sleep 100")]), tool);
    assert_eq!(doing(&[init(), calls("m1", "t1", "sleep 100"), answers("t1")]), LastActivity::Model { time });
    assert_eq!(doing(&[init(), says("m1"), result()]), LastActivity::Nothing);
    assert_eq!(doing(&[init(), says("m1"), result(), init()]), LastActivity::Model { time });
    let background =
        |tasks: &Value| json!({ "type": "system", "subtype": "background_tasks_changed", "tasks": tasks });
    let task = json!([{ "task_id": "b1", "task_type": "local_bash", "description": "sleep 100" }]);
    let begun = [init(), calls("m1", "t1", "sleep 100"), background(&task), answers("t1"), says("m2")];
    assert_eq!(doing(&begun), LastActivity::Model { time });
    let ended = [&begun[..], &[result()]].concat();
    assert_eq!(doing(&ended), LastActivity::Background { tasks: vec!["sleep 100".to_owned()] });
    assert_eq!(doing(&[&ended[..], &[background(&json!([]))]].concat()), LastActivity::Nothing);
}

#[test]
fn an_agent_waits_for_the_person_it_asked() {
    let (mut activity, at) = seen(&[init(), calls("m1", "t1", "git push")]);
    activity.waits(1, wait("7ggs733k"), at);
    activity.waits(2, wait("39kvtd0y"), at);
    assert!(activity.stop_waiting(1, false).is_some());
    let request = RequestId::parse("39kvtd0y").unwrap();
    assert_eq!(activity.doing(at + SECOND), LastActivity::Waits { request, time: SECOND });
    assert!(activity.is_waiting());
    assert!(activity.stop_waiting(2, false).is_some());
    assert!(!activity.is_waiting());
}

#[test]
fn turns_started_by_the_agent_count_with_earlier_ones() {
    let overruns = |lines: &[Value], most| seen(lines).0.overruns(Turns { most, is_set: true });
    let first = [init(), calls("m1", "t1", "ls"), answers("t1"), says("m2"), says("m2"), result()];
    // Claude Code itself limits the first turn.
    assert!(!overruns(&first, 1));
    let again = [&first[..], &[init()]].concat();
    assert!(overruns(&again, 2) && !overruns(&again, 3));
    let spoken = [&again[..], &[says("m3")]].concat();
    assert!(!overruns(&spoken, 3));
    assert!(overruns(&[&spoken[..], &[says("m4")]].concat(), 3));
    // A turn that ended within the limit does not exceed it.
    assert!(!overruns(&[&spoken[..], &[result()]].concat(), 3));
    let of_subagent = json!({ "type": "assistant", "parent_tool_use_id": "t1",
        "message": { "id": "s1", "content": [{ "type": "text", "text": "inner" }] } });
    assert!(!overruns(&[&first[..], &[of_subagent]].concat(), 2));
}

#[test]
fn a_turn_started_within_the_default_limit_may_finish() {
    let overruns = |lines: &[Value]| seen(lines).0.overruns(Turns { most: 3, is_set: false });
    let first = [init(), calls("m1", "t1", "ls"), answers("t1"), says("m2"), result()];
    let second = [&first[..], &[init(), says("m3"), calls("m4", "t2", "ls")]].concat();
    assert!(!overruns(&second));
    let ended = [&second[..], &[result()]].concat();
    assert!(!overruns(&ended));
    assert!(overruns(&[&ended[..], &[init()]].concat()));
    // Its first line may be lost.
    assert!(overruns(&[&ended[..], &[says("m5")]].concat()));
}
