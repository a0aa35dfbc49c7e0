//! Timeouts and stops name what they interrupted.

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::env::{Env, kill, result};

pub(super) fn lines(lines: &[Value]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

pub(super) fn says(message: &str, block: &Value) -> Value {
    json!({ "type": "assistant", "parent_tool_use_id": null,
        "message": { "id": message, "role": "assistant", "content": [block] } })
}

pub(super) fn sleeps(id: &str) -> Value {
    says("m1", &json!({ "type": "tool_use", "id": id, "name": "Bash", "input": { "command": "sleep 100" } }))
}

pub(super) fn retry(attempt: u64, status: Option<u64>) -> Value {
    json!({ "type": "system", "subtype": "api_retry", "attempt": attempt, "max_retries": 10,
        "retry_delay_ms": 39_000.5, "error_status": status })
}

/// The error of a beat that hangs for a second after these lines.
fn timed_out(stdout: &str, retryable: bool) -> String {
    let env = Env::new();
    env.workspace("site", "---\ntimeout: 1s\n---\nDo it.")
        .plays(&json!({ "stdout": stdout, "faults": ["hang"] }));
    assert_eq!(env.murmur(["beat", "site"]).output().status.code(), Some(1));
    let line = env.journal().remove(0);
    assert_eq!((&line["outcome"], &line["timedOut"]), (&json!("error"), &json!(true)));
    assert_eq!(line["retryable"], if retryable { json!(true) } else { Value::Null }, "{line}");
    line["error"].as_str().unwrap().to_owned()
}

#[test]
fn a_timeout_names_the_tool_that_ran() {
    let error = timed_out(&lines(&[sleeps("t1")]), false);
    let rest = error.strip_prefix("timed out after 1s, while Bash was running (");
    assert!(rest.is_some_and(|rest| rest.ends_with("s): sleep 100")), "{error}");
}

#[test]
fn a_timeout_names_the_api_status_and_the_number_of_retries() {
    let error = timed_out(&lines(&[retry(1, None), retry(2, Some(529))]), true);
    assert_eq!(error, "timed out after 1s, while retrying the API: 2 retries, the last with status 529");
    let error = timed_out(&lines(&[retry(1, None)]), true);
    assert!(error.ends_with(": 1 retry, the last with no answer"), "{error}");
}

#[test]
fn a_stop_names_the_tool_that_ran() {
    let env = Env::new();
    let (pace, mut gate) = env.gate("gate");
    let stdout = lines(&[sleeps("t1")]);
    env.workspace("site", "Do it.").plays(&json!({ "stdout": stdout, "faults": ["hang"], "pace": pace }));
    let mut beat = env.murmur(["beat", "site", "--verbose"]).start();
    let shown = beat.stdout.take().unwrap();
    std::io::Write::write_all(&mut gate, b".").unwrap();
    // It was read once it is shown.
    let mut shown = std::io::BufReader::new(shown);
    std::io::BufRead::read_line(&mut shown, &mut String::new()).unwrap();
    kill(beat.id().into(), Signal::TERM);
    beat.wait().unwrap();
    let error = env.journal()[0]["error"].as_str().unwrap().to_owned();
    assert!(error.contains(", while Bash was running ("), "{error}");
    assert!(error.ends_with(": sleep 100"), "{error}");
}

#[test]
fn a_beat_that_continues_after_its_answer_is_ended_and_the_answer_decides() {
    for (answer, outcome) in [("HEARTBEAT_OK", "ok"), ("2 tests fail", "attention")] {
        let env = Env::new();
        env.workspace("site", "---\nbackgroundWait: 1s\n---\nDo it.")
            .plays(&json!({ "stdout": result(answer), "faults": ["hang"] }));
        env.murmur(["beat", "site"]).output();
        let line = env.journal().remove(0);
        assert_eq!((&line["outcome"], &line["timedOut"]), (&json!(outcome), &Value::Null), "{line}");
        assert_eq!((&line["backgroundEnded"], &line["exit"]), (&json!(0), &json!({ "code": 143 })), "{line}");
        assert_eq!(env.agents_alive(), [0; 0]);
    }
}

fn background(tasks: &Value) -> Value {
    json!({ "type": "system", "subtype": "background_tasks_changed", "tasks": tasks })
}

/// Two running background tasks.
fn goes_on() -> String {
    let task =
        |id: &str| json!({ "task_id": id, "task_type": "local_bash", "description": format!("sleep {id}") });
    lines(&[background(&json!([task("1"), task("2")]))])
}

#[test]
fn background_tasks_are_ended_and_counted() {
    let env = Env::new();
    env.workspace("site", "---\nbackgroundWait: 1s\n---\nDo it.")
        .plays(&json!({ "stdout": goes_on() + &result("HEARTBEAT_OK"), "faults": ["hang", "setsid-child"] }));
    let shown = env.run(["beat", "site"]);
    assert!(shown.contains(" 2 background tasks ended"), "{shown}");
    let log = env.run(["log"]);
    assert!(log.contains(" 2 background tasks ended"), "{log}");
    let line = env.journal().remove(0);
    assert_eq!((&line["outcome"], &line["backgroundEnded"]), (&json!("ok"), &json!(2)), "{line}");
    assert_eq!(env.agents_alive(), [0; 0]);
}

#[test]
fn the_answer_decides_when_the_time_is_up_while_only_background_tasks_remain() {
    for (answer, outcome) in [("HEARTBEAT_OK", "ok"), ("2 tests fail", "attention")] {
        let env = Env::new();
        let stdout = goes_on() + &result(answer);
        env.workspace("site", "---\ntimeout: 1s\n---\nDo it.")
            .plays(&json!({ "stdout": stdout, "faults": ["hang"] }));
        env.murmur(["beat", "site"]).output();
        let line = env.journal().remove(0);
        assert_eq!((&line["outcome"], &line["timedOut"]), (&json!(outcome), &Value::Null), "{line}");
        assert_eq!(line["backgroundEnded"], 2, "{line}");
        assert_eq!(env.agents_alive(), [0; 0]);
    }
}

#[test]
fn an_unprompted_turn_times_out() {
    let init = json!({ "type": "system", "subtype": "init", "session_id": "s" });
    let error = timed_out(&(goes_on() + &result("HEARTBEAT_OK") + &lines(&[init, sleeps("t1")])), false);
    assert!(error.contains(", while Bash was running ("), "{error}");
}

#[test]
fn a_background_task_that_ends_in_time_gets_its_turn() {
    let env = Env::new();
    env.workspace("site", "Do it.").plays(&json!({ "fixture": crate::env::fixture("background-bash") }));
    env.murmur(["beat", "site"]).output();
    let line = env.journal().remove(0);
    assert_eq!((&line["backgroundEnded"], &line["exit"]), (&Value::Null, &json!({ "code": 0 })), "{line}");
}

#[test]
fn an_unprompted_turn_cannot_improve_the_outcome() {
    let env = Env::new();
    let failed =
        json!({ "type": "result", "subtype": "success", "is_error": true, "result": "API Error: 529" });
    env.workspace("site", "Do it.")
        .plays(&json!({ "stdout": format!("{failed}\n{}", result("HEARTBEAT_OK")) }));
    env.murmur(["beat", "site"]).output();
    let line = env.journal().remove(0);
    assert_eq!(
        (&line["outcome"], &line["error"]),
        (&json!("error"), &json!("reported an error: API Error: 529"))
    );
}

#[test]
fn unprompted_turns_count_toward_the_limit() {
    let init = json!({ "type": "system", "subtype": "init", "session_id": "s" });
    let text = |message: &str| says(message, &json!({ "type": "text", "text": "Nothing new." }));
    let turn = |message: &str| lines(&[init.clone(), text(message)]) + &result("HEARTBEAT_OK");
    let beat = |front: &str, turns: &[&str]| {
        let env = Env::new();
        let stdout: String = turns.iter().map(|message| turn(message)).collect();
        env.workspace("site", &format!("---\n{front}backgroundWait: 1s\n---\nDo it."))
            .plays(&json!({ "stdout": goes_on() + &stdout, "faults": ["hang"] }));
        env.murmur(["beat", "site"]).output();
        assert_eq!(env.agents_alive(), [0; 0]);
        env.journal().remove(0)
    };
    let line = beat("maxTurns: 2\n", &["m1", "m2", "m3"]);
    assert_eq!(line["error"], "exceeded its limit of 2 turns and was stopped");
    assert_eq!((&line["outOfTurns"], &line["backgroundEnded"]), (&json!(true), &Value::Null), "{line}");
    let line = beat("maxTurns: 3\n", &["m1", "m2", "m3"]);
    assert_eq!((&line["outcome"], &line["outOfTurns"]), (&json!("ok"), &Value::Null), "{line}");
    // Nobody set the default limit: it ends the beat, and the answers decide.
    let line = beat("", &["m1", "m2", "m3", "m4", "m5"]);
    assert_eq!((&line["outcome"], &line["outOfTurns"]), (&json!("ok"), &json!(true)), "{line}");
    assert_eq!(line["backgroundEnded"], 2, "{line}");
}

#[test]
fn a_suspended_host_is_resumed_when_its_beat_is_late() {
    let env = Env::new();
    let site = env.workspace("site", "---\ninterval: 1h\ntimeout: 1s\n---\nDo it.");
    site.plays(&json!({ "stdout": "", "faults": ["hang"] }));
    env.register(&[&site]);
    let daemon = env.daemon();
    env.wait_for_agents(1);
    let beat = std::fs::read_dir(env.data().join("beats")).unwrap().next().unwrap().unwrap().path();
    let record: Value = serde_json::from_slice(&std::fs::read(beat).unwrap()).unwrap();
    kill(record["pid"].as_i64().unwrap(), Signal::STOP);
    let line = env.wait_for_journal(1).remove(0);
    assert_eq!((&line["outcome"], &line["timedOut"]), (&json!("error"), &json!(true)), "{line}");
    daemon.stop();
}

/// A beat whose agent prints this and exits with 0, with its journal line.
fn beat(front: &str, stdout: &str, args: &[&str]) -> (Env, String, Value) {
    let env = Env::new();
    env.workspace("site", &format!("---\n{front}---\nDo it.")).plays(&json!({ "stdout": stdout }));
    let shown = env.run(["beat", "site"].iter().chain(args));
    let line = env.journal().remove(0);
    (env, shown, line)
}

fn init() -> Value {
    json!({ "type": "system", "subtype": "init", "session_id": "s" })
}

fn text(message: &str) -> Value {
    says(message, &json!({ "type": "text", "text": message }))
}

#[test]
fn an_unfinished_unprompted_turn_is_an_error() {
    let unfinished = lines(&[init(), text("m2")]);
    let (_, _, line) = beat("", &(result("HEARTBEAT_OK") + &unfinished), &[]);
    let why = "ended without a result, in a turn that it had started by itself";
    assert_eq!((&line["outcome"], &line["error"]), (&json!("error"), &json!(why)));
    let (_, _, line) = beat("", &(result("2 tests fail") + &unfinished), &[]);
    assert_eq!(line["error"], format!("{why}; before that, it had said: 2 tests fail"));
    // It may report once more that it is running, and exit.
    let (_, _, line) = beat("", &(result("HEARTBEAT_OK") + &lines(&[init()])), &[]);
    assert_eq!(line["outcome"], "ok");
}

#[test]
fn more_messages_than_turns_are_an_error_in_the_first_turn_too() {
    let stdout = lines(&[init(), text("m1"), text("m2"), text("m3")]) + &result("HEARTBEAT_OK");
    let (_, _, line) = beat("maxTurns: 2\n", &stdout, &[]);
    assert_eq!(line["error"], "exceeded its limit of 2 turns and was stopped");
    let (_, _, line) = beat("maxTurns: 3\n", &stdout, &[]);
    assert_eq!(line["outcome"], "ok");
}

#[test]
fn unprompted_turns_have_numbers_and_states() {
    let turn = |message: &str| lines(&[init(), text(message)]) + &result("HEARTBEAT_OK");
    let ended = lines(&[background(&json!([]))]);
    let (env, shown, line) = beat("", &(goes_on() + &turn("m1") + &ended + &turn("m2")), &["--verbose"]);
    let messages: Vec<&str> = shown.lines().filter(|line| ["m1", "m2"].contains(line)).collect();
    assert_eq!(messages, ["m1", "m2"], "{shown}");
    let events = env.run(["attach", line["agent"].as_str().unwrap(), "--from", "0"]);
    let (before, after) = events.split_once("\n[state] running (turn 2)\n").unwrap();
    let last = before.lines().rfind(|line| line.starts_with("[state]"));
    assert_eq!(last, Some("[state] running (turn 1)"), "{events}");
    assert!(before.contains("\nm1\n") && before.contains("[state] running (turn 1), 2 background tasks"));
    assert!(after.contains("\nm2\n") && !after.contains("background"), "{events}");
}
