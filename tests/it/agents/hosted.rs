//! Hosted agents, whose hosts report what they are doing.

use insta::assert_snapshot;
use serde_json::json;

use super::{pulse, with};
use crate::env::{Env, kill, wait_for_end};

/// Starts the agent `site-1` in a folder with these instructions; returns its host's process.
fn spawn(env: &Env, instructions: &serde_json::Value) -> i64 {
    let site = env.root().join("site");
    std::fs::create_dir_all(&site).unwrap();
    std::fs::write(site.join(".fake-claude.json"), instructions.to_string()).unwrap();
    let args = ["host", "spawn", "--agent-id", "site-1", "--worktree", site.to_str().unwrap()];
    // Without a daemon, there is a warning, too.
    let spawned = env.murmur(args.iter().chain(&["--json", "Mend the build\nand the docs"])).output();
    let spawned: serde_json::Value = serde_json::from_slice(&spawned.stdout).unwrap();
    spawned["pid"].as_i64().unwrap()
}

/// Waits until `is_it` holds for the agent in `murmur agent list --watch`, and returns that agent.
pub(super) fn watched(env: &Env, is_it: impl Fn(&serde_json::Value) -> bool) -> serde_json::Value {
    let mut child = env.murmur(["agents", "--watch", "--json"]).start();
    let mut lines = super::watch::Lines::of(&mut child);
    let found = lines.until(|line| is_it(&line["agent"]))["agent"].clone();
    child.kill().unwrap();
    child.wait().unwrap();
    found
}

#[test]
fn a_hosted_agent_shows_its_current_action_and_then_its_end() {
    let env = Env::new();
    let call = json!({ "type": "assistant", "message": { "id": "m", "content": [{ "type": "tool_use",
        "id": "toolu_1", "name": "Bash", "input": { "command": "cargo test" } }] } });
    let init = json!({ "type": "system", "subtype": "init", "session_id": "s-1", "model": "m" });
    let host = spawn(&env, &json!({ "stdout": format!("{init}\n{call}\n"), "faults": ["hang"] }));
    let mut agent = watched(&env, |agent| agent["tool_name"] == "Bash");
    for key in ["age_ms", "pid"] {
        assert!(agent[key].take().is_u64(), "{agent}");
    }
    assert_snapshot!(serde_json::to_string_pretty(&agent).unwrap());
    // Older reports about it don't contradict that.
    env.beats(&with(pulse("site-1", 4000), &json!({ "state": "exited" })));
    assert_eq!(env.in_short(), "site-1 running active host");
    kill(host, rustix::process::Signal::KILL);
    wait_for_end(host);
    assert_eq!(env.in_short(), "site-1 dead dead host");
    env.run(["host", "discover"]);
    assert_eq!(env.in_short(), "site-1 dead dead host");
}

#[test]
fn a_transcript_has_what_a_person_said() {
    let env = Env::new();
    let host = spawn(&env, &json!({ "live": "echo" }));
    watched(&env, |agent| agent["state"] == "idle");
    env.run(["agent", "send", "site-1", "Now the tests"]);
    let mut follow = env.murmur(["show", "site-1", "--follow"]).start();
    let mut lines = super::watch::Lines::of(&mut follow);
    while lines.text() != "> Now the tests\n" {}
    // The answer.
    lines.text();
    follow.kill().unwrap();
    follow.wait().unwrap();
    env.run(["host", "stop", "site-1"]);
    wait_for_end(host);
    let shown = env.run(["show", "site-1"]);
    let conversation: Vec<&str> = shown.lines().skip_while(|line| !line.starts_with("> ")).collect();
    assert_snapshot!(conversation.join("\n"), @"
    > Mend the build
    > and the docs
    turn 1: Mend the build
    and the docs
    > Now the tests
    turn 2: Now the tests (before: Mend the build
    and the docs)
    [exit 0]
    ");
    let items = env.murmur(["show", "site-1", "--json"]).json()["items"].clone();
    assert_eq!(items[0], json!({ "type": "message", "text": "Mend the build\nand the docs" }));
}

#[test]
fn an_idle_agent_is_idle_and_an_ended_one_is_listed_even_without_a_pulse() {
    let env = Env::new();
    let host = spawn(&env, &json!({ "live": "echo" }));
    let agent = watched(&env, |agent| agent["state"] == "idle");
    assert_eq!((&agent["health"], &agent["current_task"]), (&json!("active"), &json!("Mend the build")));
    env.run(["host", "stop", "site-1"]);
    wait_for_end(host);
    std::fs::remove_dir_all(env.pulses()).unwrap();
    assert_eq!(env.in_short(), "site-1 exited exited host");
    env.beats(&with(pulse("site-1", 60), &json!({ "pid": super::dead() })));
    assert_eq!(env.in_short(), "site-1 exited exited host");
}

#[test]
fn a_host_that_recovers_is_queried_again() {
    let env = Env::new();
    let host = spawn(&env, &json!({ "live": "echo" }));
    watched(&env, |agent| agent["state"] == "idle");
    kill(host, rustix::process::Signal::STOP);
    let mut child = env.murmur(["agents", "--watch", "--json"]).start();
    let mut lines = super::watch::Lines::of(&mut child);
    lines.until(|line| line["agent"]["state"] == "unresponsive");
    kill(host, rustix::process::Signal::CONT);
    lines.until(|line| line["agent"]["state"] == "idle");
    child.kill().unwrap();
    child.wait().unwrap();
}
