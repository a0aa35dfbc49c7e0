//! What a host says of its account's usage limits.

use serde_json::{Value, json};

use super::ID;
use crate::env::Env;

/// Replaces limits.json, as a beat does.
fn write_limits(env: &Env, hold: &Value) {
    let account = format!("claude {} (login)", env.home().join(".claude").display());
    let limits = json!({ "version": 1, "accounts": { account: { "windows": {}, "hold": hold } } });
    let new = env.data().join("limits.json.new");
    std::fs::write(&new, limits.to_string()).unwrap();
    std::fs::rename(new, env.data().join("limits.json")).unwrap();
}

#[test]
fn a_host_tells_of_its_accounts_hold_and_of_its_end() {
    let env = Env::new();
    let agent = env.live(&json!({}));
    let mut live = agent.follow(0);
    live.until(|event| event["payload"]["state"] == "idle");
    let at = |seconds| sys::clock::rfc3339(sys::clock::now() + jiff::SignedDuration::from_secs(seconds));
    let (resets, until) = (at(7200), at(7230));
    write_limits(&env, &json!({ "window": "five_hour", "resetsAt": resets, "until": until }));
    let told = live.until(|event| event["event_type"] == "hold").pop().unwrap();
    assert_eq!(told["payload"], json!({ "window": "five_hour", "until": until }));
    super::page::assert_shape_of_example(&told);
    assert_eq!(agent.status()["hold"], json!(until));
    let listed = env.run(["agents"]);
    assert!(listed.contains("idle, on hold until "), "{listed}");
    let listed: Value = serde_json::from_slice(&env.murmur(["agents", "--json"]).output().stdout).unwrap();
    assert_eq!(listed["agents"][0]["hold_until"], json!(until), "{listed}");
    let status = env.run(["host", "status", ID]);
    let ends = until.parse::<jiff::Timestamp>().unwrap();
    let local = ends.strftime("%F %H:%M UTC").to_string();
    assert!(status.contains(&format!("On hold until: {local}")), "{status}");
    let other = env.workspace("other", "");
    other.plays(&json!({ "live": "echo" }));
    let started = env.run(["host", "spawn", "--agent-id", "held", "--worktree", other.path(), "Go."]);
    let warning = format!(
        "is on hold until {}: its five-hour limit is reached; the agent can do little until then",
        ends.strftime("%F %T")
    );
    assert!(started.contains(&warning) && started.contains("agent held is running"), "{started}");
    assert!(env.run(["host", "stop", "held"]).ends_with("[exit 0]"));
    // It ends early: another report says that the account can be used.
    write_limits(&env, &Value::Null);
    let told = live.until(|event| event["event_type"] == "hold_over").pop().unwrap();
    super::page::assert_shape_of_example(&told);
    assert_eq!(agent.status()["hold"], Value::Null);
    // It ends by itself.
    write_limits(&env, &json!({ "window": "five_hour", "resetsAt": at(1), "until": at(1) }));
    live.until(|event| event["event_type"] == "hold");
    live.until(|event| event["event_type"] == "hold_over");
    agent.stop();
    agent.wait_for_end();
    let shown = env.run(["attach", ID, "--from", "0"]);
    let line = format!("[hold] the five-hour limit is reached; the account is on hold until {local}");
    assert!(shown.contains(&line) && shown.contains("[hold] the account is no longer on hold"), "{shown}");
}
