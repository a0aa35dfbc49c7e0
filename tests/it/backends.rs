//! Beats of agents other than Claude Code, which fake-claude imitates under their names, and what
//! docs/reference/backends.md says about them.

use serde_json::{Value, json};

use crate::env::{Env, Workspace};
use murmur_core::config::backend::{Backend, Capability};

const AGENTS: [&str; 2] = ["codex", "acp:opencode"];

/// A workspace whose beats run `agent`.
fn site(env: &Env, agent: &str) -> Workspace {
    let program = agent.trim_start_matches("acp:");
    env.agent(program);
    let site = env.workspace("site", "Check the site.");
    let entry = json!({ "path": site.0, "interval": "30m", "agent": agent });
    env.configure(&json!({ "workspaces": [entry] }).to_string());
    site
}

fn said(text: &str) -> Value {
    json!([{ "type": "text", "text": text }])
}

fn call(command: &str) -> Value {
    json!([{ "type": "tool_use", "id": "call_1", "name": "Bash", "input": { "command": command } }])
}

/// Runs a beat of `agent` with this script. Returns its journal line.
fn beat(agent: &str, script: &Value) -> (Env, Value) {
    let env = Env::new();
    let site = site(&env, agent);
    site.plays(&json!({ "script": script }));
    env.run(["beat", "site"]);
    let line = env.journal().pop().unwrap();
    assert_eq!(line["backend"], agent, "{line}");
    (env, line)
}

#[test]
fn the_answer_decides_the_outcome() {
    for agent in AGENTS {
        let (_env, line) = beat(agent, &json!([said("HEARTBEAT_OK")]));
        assert_eq!(line["outcome"], "ok", "{line}");
        assert!(line["sessionId"].is_string() && line["tokens"]["output"].is_u64(), "{line}");
        let (_env, line) = beat(agent, &json!([said("ATTENTION: the backup is old")]));
        assert_eq!(
            (&line["outcome"], &line["summary"]),
            (&json!("attention"), &json!("ATTENTION: the backup is old"))
        );
    }
}

#[test]
fn the_guard_refuses_calls_of_every_agent() {
    for agent in AGENTS {
        let (env, line) = beat(agent, &json!([call("sudo ls"), said("HEARTBEAT_OK")]));
        assert_eq!(line["summary"], "HEARTBEAT_OK, but the guard refused Bash(sudo ls)", "{line}");
        let decisions = std::fs::read_to_string(env.data().join("decisions.jsonl")).unwrap();
        assert!(decisions.contains("\"verdict\":\"deny\"") && decisions.contains("\"toolUseId\":\"call_1\""));
    }
}

#[test]
fn a_heartbeat_that_needs_more_than_its_agent_can_do_is_an_error() {
    let env = Env::new();
    let site = site(&env, "codex");
    let entry = json!({ "path": site.0, "interval": "30m", "agent": "codex", "maxTurns": 5 });
    env.configure(&json!({ "workspaces": [entry] }).to_string());
    env.run(["beat", "site"]);
    let error = env.journal().pop().unwrap()["error"].as_str().unwrap().to_owned();
    assert!(error.contains("maxTurns needs a turn limit, which codex doesn't have"), "{error}");
}

#[test]
fn the_page_lists_what_each_backend_can_do() {
    let page = include_str!("../../docs/reference/backends.md");
    for (shown, name) in [("claude", "claude"), ("codex", "codex"), ("acp", "acp:opencode")] {
        let backend: Backend = name.parse().unwrap();
        let has = Capability::ALL.into_iter().filter(|capability| backend.has(*capability));
        let names: Vec<&str> = has.map(Capability::name).collect();
        let line = format!("- `{shown}`: {}\n", names.join(", "));
        assert!(page.contains(&line), "{line}");
    }
}
