//! Beats that seem to hang: the journal names what noticed that.

use serde_json::{Value, json};

use super::doing::{lines, retry, says, sleeps};
use crate::env::Env;

/// The line of a beat with short limits, whose agent prints these lines and hangs.
fn hung(stdout: &str) -> Value {
    let env = Env::new();
    env.workspace("site", "---\nstartTimeout: 1s\nidleTimeout: 1s\ntoolTimeout: 1s\n---\nDo it.")
        .plays(&json!({ "stdout": stdout, "faults": ["hang"] }));
    assert_eq!(env.murmur(["beat", "site"]).output().status.code(), Some(1));
    assert_eq!(env.agents_alive(), [0; 0]);
    let line = env.journal().remove(0);
    assert_eq!((&line["outcome"], &line["timedOut"]), (&json!("error"), &Value::Null), "{line}");
    line
}

#[test]
fn a_beat_that_hangs_names_the_watchdog_that_ended_it() {
    let text = says("m1", &json!({ "type": "text", "text": "Let me think." }));
    let retries = "no output from the model for 1s (idleTimeout), while retrying the API: 1 retry, the last with status";
    for (stdout, watchdog, error, retryable) in [
        (
            String::new(),
            "startTimeout",
            "no output from the agent within 1s of its start (startTimeout)",
            false,
        ),
        (lines(&[text]), "idleTimeout", "no output from the model for 1s (idleTimeout)", true),
        (
            lines(&[sleeps("t1")]),
            "toolTimeout",
            "Bash ran for longer than 1s (toolTimeout): sleep 100",
            false,
        ),
        (lines(&[retry(1, Some(529))]), "idleTimeout", &format!("{retries} 529"), true),
        (lines(&[retry(1, Some(401))]), "idleTimeout", &format!("{retries} 401"), false),
    ] {
        let line = hung(&stdout);
        assert_eq!((&line["watchdog"], &line["error"]), (&json!(watchdog), &json!(error)));
        assert_eq!(line["retryable"].as_bool().unwrap_or(false), retryable, "{line}");
    }
}

#[test]
fn a_running_tool_is_not_silence() {
    let env = Env::new();
    env.workspace("site", "---\ntimeout: 2s\nidleTimeout: 1s\ntoolTimeout: 1h\n---\nDo it.")
        .plays(&json!({ "stdout": lines(&[sleeps("t1")]), "faults": ["hang"] }));
    env.murmur(["beat", "site"]).output();
    let line = env.journal().remove(0);
    assert_eq!((&line["timedOut"], &line["watchdog"]), (&json!(true), &Value::Null), "{line}");
}

#[test]
fn other_agents_are_watched_alike() {
    let input = json!({ "command": "sleep 30" });
    let call =
        json!([{ "type": "tool_use", "id": "1", "name": "Bash", "input": input, "ends_after_ms": null }]);
    for agent in ["codex", "acp:opencode"] {
        for (instructions, watchdog) in [
            (
                json!({ "script": [[{ "type": "text", "text": "HEARTBEAT_OK" }]], "faults": ["hang-before"] }),
                "startTimeout",
            ),
            (json!({ "script": [call] }), "toolTimeout"),
        ] {
            let env = Env::new();
            env.agent(agent.trim_start_matches("acp:"));
            let site = env.workspace("site", "Check the site.");
            let entry = json!({ "path": site.0, "agent": agent, "startTimeout": "1s", "toolTimeout": "1s" });
            env.configure(&json!({ "workspaces": [entry] }).to_string());
            site.plays(&instructions);
            env.run(["beat", "site"]);
            let line = env.journal().pop().unwrap();
            assert_eq!(
                (&line["outcome"], &line["watchdog"]),
                (&json!("error"), &json!(watchdog)),
                "{agent}: {line}"
            );
            assert_eq!(env.agents_alive(), [0; 0]);
        }
    }
}
