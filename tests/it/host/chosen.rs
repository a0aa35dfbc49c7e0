//! The backend of a hosted agent: the default, and what it lacks.

use serde_json::json;

use super::{ID, Live};
use crate::env::Env;

/// Makes Codex the default agent.
fn codex_by_default(env: &Env) {
    env.agent("codex");
    let folder = env.data().join("config");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("config.toml"), "agent = \"codex\"\n").unwrap();
}

#[test]
fn the_default_agent_is_that_of_the_settings() {
    let env = Env::new();
    codex_by_default(&env);
    env.site(&json!({}));
    let started = env.spawning(ID, &[]).output();
    let lacks = "deferred calls, user questions, a turn limit, cost reporting, background tasks, and a choice \
                 of MCP servers; its sandboxed calls and read-only MCP calls run without a decision if a hook's shell is killed";
    let said = String::from_utf8(started.stderr).unwrap();
    assert!(said.contains(&format!("\nnote: codex lacks {lacks}\n")), "{said}");
    // Another one can still be chosen.
    env.spawning("site-2", &["--backend", "claude"]).output();
    let agents = env.murmur(["host", "list", "--json"]).json()["agents"].clone();
    let backends: Vec<_> = agents.as_array().unwrap().iter().map(|agent| agent["backend"].clone()).collect();
    assert_eq!(backends, ["codex", "claude"]);
    env.run(["host", "stop", "--all"]);
}

#[test]
fn the_daemon_starts_the_default_agent_of_the_settings() {
    let env = Env::new();
    codex_by_default(&env);
    let site = env.site(&json!({}));
    let first = env.workspace("first", "Do it.");
    let entry = json!({ "path": first.0, "interval": "30m", "agent": "claude" });
    env.configure(&json!({ "workspaces": [entry] }).to_string());
    let daemon = env.daemon();
    // By then, it knows the PATH of agents.
    env.wait_for_agents(1);
    env.ask("host.spawn", &json!({ "agent_id": ID, "worktree": site }));
    assert_eq!(env.ask("host.status", &json!({ "agent_id": ID }))["backend"], "codex");
    env.run(["host", "stop", ID]);
    daemon.stop();
}

#[test]
fn an_agent_that_cannot_be_restricted_as_its_workspace_asks_does_not_start() {
    let table = [
        (
            "permissionsChecker",
            json!("manual"),
            "permissionsChecker: manual needs guaranteed approval requests",
        ),
        (
            "permissions",
            json!({ "deny": ["WebFetch"] }),
            "permissions.deny needs guaranteed approval requests",
        ),
        ("mcp", json!([]), "mcp needs a choice of MCP servers"),
    ];
    let env = Env::new();
    env.agent("gemini");
    let site = env.site(&json!({}));
    for (key, value, needs) in table {
        let entry = json!({ "path": site, "interval": "30m", "maxTurns": 5, key: value });
        env.configure(&json!({ "workspaces": [entry] }).to_string());
        let refused = env.spawning(ID, &["--backend", "acp:gemini"]).output();
        let said = String::from_utf8(refused.stderr).unwrap();
        assert!(!refused.status.success());
        assert!(said.contains(&format!(": {needs}, which acp:gemini doesn't have\n")), "{said}");
    }
    // A limit of beats doesn't concern hosted agents.
    let entry = json!({ "path": site, "interval": "30m", "maxTurns": 5 });
    env.configure(&json!({ "workspaces": [entry] }).to_string());
    let agent = Live::of(&env, env.spawning(ID, &["--backend", "acp:gemini", "--json"]));
    agent.stop();
    agent.wait_for_end();
}
