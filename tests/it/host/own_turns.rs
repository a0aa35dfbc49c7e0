//! Unprompted turns, for example after a background task, and the state that shows such tasks.

use serde_json::{Value, json};

use super::{ID, Live, briefs, is_idle_after};
use crate::env::Env;

/// A hosted agent that starts a background command, which ends after so many milliseconds or never; the agent
/// reports its end.
fn building(env: &Env, ends_after_ms: Value) -> Live<'_> {
    let call = json!({ "type": "tool_use", "id": "toolu_1", "name": "Bash", "ends_after_ms": ends_after_ms,
        "input": { "command": "make", "description": "Build", "run_in_background": true } });
    let says = |text: &str| json!([{ "type": "text", "text": text }]);
    let script = json!([[call], says("It builds."), says("Built.")]);
    env.site(&json!({ "live": null, "script": script }));
    env.setting("config.toml", "permissions-checker = \"off\"\n");
    Live::of(env, env.spawning(ID, &["--json", "Build it"]))
}

fn position(events: &[String], wanted: &str) -> usize {
    let found = events.iter().position(|event| event == wanted);
    found.unwrap_or_else(|| panic!("no {wanted} in {events:#?}"))
}

#[test]
fn the_state_is_running_before_the_events_of_an_unprompted_turn() {
    let env = Env::new();
    let agent = building(&env, json!(20));
    let mut peer = agent.follow(0);
    let events = briefs(&peer.until(|event| is_idle_after(event, 2)));
    let over = position(&events, "result It builds.");
    let own = &events[over..];
    let running = position(own, "running 2 queued 0");
    assert_eq!(own[running + 1..], ["session", "assistant: Built.", "result Built.", "idle 2"], "{own:#?}");
    assert!(position(own, "idle 1") < running, "{own:#?}");
    agent.stop();
    let told = env.told_again(ID);
    let told: Vec<Value> = told.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(briefs(&told)[..events.len()], events);
    super::assert_seamless(&told, 0);
}

#[test]
fn the_state_shows_background_tasks() {
    let env = Env::new();
    let agent = building(&env, Value::Null);
    let events = agent.follow(0).until(|event| is_idle_after(event, 1));
    assert_eq!(events.last().unwrap()["payload"], json!({ "state": "idle", "turns": 1, "background": 1 }));
    let status = agent.status();
    assert_eq!((&status["state"], &status["background"]), (&json!("idle"), &json!(1)));
    let shown = |args: &[&str]| String::from_utf8(env.murmur(args).output().stdout).unwrap();
    for args in [&["host", "list"][..], &["host", "status", ID], &["agents"]] {
        assert!(shown(args).contains("idle, 1 background task"), "{}", shown(args));
    }
    agent.stop();
    let attached = shown(&["attach", ID, "--from", "0"]);
    assert!(attached.contains("[state] idle (1 turn), 1 background task\n"), "{attached}");
    let running = "[state] running (turn 1), 1 background task\n";
    assert!(attached.contains(running), "{attached}");
}

#[test]
fn output_of_a_background_subagent_starts_no_turn() {
    let env = Env::new();
    let said = |parent: Value, text: &str| {
        json!({ "type": "assistant", "parent_tool_use_id": parent,
            "message": { "id": text, "content": [{ "type": "text", "text": text }] } })
    };
    let result = json!({ "type": "result", "subtype": "success", "result": "Done" });
    let init = json!({ "type": "system", "subtype": "init", "session_id": "s" });
    let lines = [&init, &said(Value::Null, "begun"), &result, &said(json!("toolu_1"), "within")];
    let stdout: String = lines.iter().map(|line| format!("{line}\n")).collect();
    env.site(&json!({ "live": null, "stdout": stdout }));
    let agent = Live::of(&env, env.spawning(ID, &["--json", "Go"]));
    let mut peer = agent.follow(0);
    let events = peer.until(|event| event["payload"]["text"] == "within");
    assert_eq!(briefs(&events)[events.len() - 3..], ["result Done", "idle 1", "assistant: within"]);
    agent.stop();
    let rest = briefs(&peer.rest());
    assert_eq!(rest[0], "stopping force false grace 5000", "{rest:?}");
}
