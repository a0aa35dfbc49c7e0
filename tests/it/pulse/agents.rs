//! Agents that murmur starts leave pulses without any setup: a beat and a hosted agent.

use std::path::Path;

use serde_json::{Value, json};

use crate::env::Env;

/// Instructions for an agent that makes one call that succeeds and one that fails, and then answers.
fn acts() -> Value {
    let bash = |id: &str, command: &str| json!([{ "type": "tool_use", "id": id, "name": "Bash", "input": { "command": command } }]);
    let done = json!([{ "type": "text", "text": "ATTENTION: done" }]);
    json!({ "script": [bash("t1", "echo hi"), bash("t2", "exit 3"), done] })
}

/// The essence of each line of the agent's last actions.
fn steps(env: &Env, agent: &str) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let step = |pulse: &Value| {
        ["state", "tool_name", "last_action", "error"].map(|name| text(&pulse[name])).join(" | ")
    };
    env.activity(agent).iter().map(step).collect()
}

/// Checks that every line of `agent` has the process of the only agent, in `session`, at `site`.
fn is_about(env: &Env, agent: &str, session: &Value, site: &Path) {
    for pulse in env.activity(agent) {
        assert_eq!(pulse["agent_id"], agent);
        assert_eq!(pulse["pid"], env.agents()[0]["pid"]);
        assert_eq!(&pulse["session_id"], session);
        assert_eq!(pulse["workspace"], site.to_str().unwrap());
    }
}

/// The pulse of an ended agent: its last event, with the last call kept.
fn ended(activity: &[Value]) -> Value {
    let mut pulse = activity[5].clone();
    for kept in ["tool_name", "last_action", "tool_use_id", "duration_ms"] {
        pulse[kept] = activity[3][kept].clone();
    }
    pulse
}

#[test]
fn a_beat_leaves_a_pulse_at_every_step() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    site.plays(&acts());
    let line = env.murmur(["beat", "site", "--json"]).json();
    let agent = line["agent"].as_str().unwrap();
    let steps = steps(&env, agent);
    assert_eq!(
        steps[2..],
        [
            "running | Bash | echo hi | -",
            "running | Bash | exit 3 | Exit code 3",
            "idle |  | ATTENTION: done | -",
            "exited |  | session ended (other) | -"
        ]
    );
    assert_eq!(steps[0], "starting |  | session began (startup) | -");
    assert!(
        steps[1].starts_with("running |  | ") && steps[1].contains("You are a heartbeat agent."),
        "{steps:?}"
    );
    is_about(&env, agent, &line["sessionId"], &site.0);
    assert_eq!(env.pulse(agent), ended(&env.activity(agent)));
    assert_eq!(env.noted(), [] as [&str; 0]);
}

#[test]
fn a_hosted_agent_leaves_a_pulse_at_every_step() {
    let env = Env::new();
    let site = env.workspace("site", "");
    site.plays(&acts());
    // It can't be watched before it exists.
    let pulses = env.create_data().join("heartbeats");
    std::fs::create_dir(&pulses).unwrap();
    let settings = env.data().join("config");
    std::fs::create_dir(&settings).unwrap();
    std::fs::write(settings.join("config.toml"), "permissions-checker = \"off\"\n").unwrap();
    let args = ["host", "spawn", "--agent-id", "site-1", "--worktree", site.path(), "--json", "Go."];
    env.murmur(args).json();
    let idle = env.wait(&pulses, || {
        let text = std::fs::read_to_string(pulses.join("site-1.json")).ok()?;
        let pulse: Value = serde_json::from_str(&text).unwrap();
        (pulse["state"] == "idle").then_some(pulse)
    });
    assert_eq!((&idle["tool_name"], &idle["last_action"]), (&json!("Bash"), &json!("exit 3")));
    assert!(env.run(["host", "stop", "site-1"]).ends_with("[exit 0]"));
    assert_eq!(
        steps(&env, "site-1"),
        [
            "starting |  | session began (startup) | -",
            "running |  | Go. | -",
            "running | Bash | echo hi | -",
            "running | Bash | exit 3 | Exit code 3",
            "idle |  | ATTENTION: done | -",
            "exited |  | session ended (other) | -"
        ]
    );
    is_about(&env, "site-1", &idle["session_id"], &site.0);
    assert_eq!(env.pulse("site-1")["state"], "exited");
}
