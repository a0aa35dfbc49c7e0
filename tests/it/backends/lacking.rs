//! Keys of a heartbeat that its backend can or can't honor.

use murmur_core::config::backend::{Backend, Capability};
use serde_json::json;

use super::{default_agent, site};
use crate::env::Env;

#[test]
fn every_key_that_its_agent_lacks_is_refused_whichever_file_chose_the_agent() {
    let table = [
        ("maxTurns", json!(5), "maxTurns needs a turn limit"),
        ("maxBudgetUsd", json!(1), "maxBudgetUsd needs cost reporting"),
        ("budget", json!({ "day": "5 USD" }), "budget needs cost reporting"),
        ("mcp", json!([]), "mcp needs a choice of MCP servers"),
        ("requires", json!(["files"]), "requires needs a choice of MCP servers"),
        ("approval", json!("defer"), "approval: defer needs deferred calls"),
        ("questions", json!("broker"), "questions: broker needs user questions"),
        ("reserve", json!("10%"), "reserve needs usage limits"),
        ("onLimit", json!("skip"), "onLimit needs usage limits"),
        ("approvalExpiry", json!("1h"), "approvalExpiry needs deferred calls"),
        ("backgroundWait", json!("1m"), "backgroundWait needs background tasks"),
        ("retry", json!({ "max": 1 }), "retry needs API error codes"),
        ("budget", json!({ "day": "5000 tokens" }), "budget needs token reporting"),
        (
            "permissions",
            json!({ "deny": ["WebFetch"] }),
            "permissions.deny needs guaranteed approval requests",
        ),
        ("permissionsChecker", json!("llm"), "permissionsChecker: llm needs guaranteed approval requests"),
        (
            "permissionsChecker",
            json!("manual"),
            "permissionsChecker: manual needs guaranteed approval requests",
        ),
        ("permissionsChecker", json!("deny"), "permissionsChecker: deny needs guaranteed approval requests"),
    ];
    for (key, value, error) in table {
        for agent in ["codex", "acp:opencode", "acp:gemini"] {
            let has: &[&str] = match agent {
                "codex" => {
                    &["usage limits", "API error codes", "token reporting", "guaranteed approval requests"]
                }
                "acp:opencode" => &["budget needs cost reporting", "guaranteed approval requests"],
                _ => &["API error codes", "token reporting"],
            };
            if has.iter().any(|nouns| error.ends_with(nouns)) {
                continue;
            }
            for is_default in [false, true] {
                let env = Env::new();
                let site = site(&env, agent);
                let mut entry = json!({ "path": site.0, "interval": "30m", key: value });
                if is_default {
                    default_agent(&env, agent);
                } else {
                    entry["agent"] = agent.into();
                }
                env.configure(&json!({ "workspaces": [entry] }).to_string());
                let said = env.murmur(["beat", "--dry-run", "site"]).output();
                let said = String::from_utf8(said.stderr).unwrap();
                // OpenCode reports a run's cost, but can't stop at a limit.
                let error = match agent {
                    "acp:opencode" => {
                        error.replace("maxBudgetUsd needs cost reporting", "maxBudgetUsd needs a cost limit")
                    }
                    _ => error.to_owned(),
                };
                assert!(said.contains(&format!("{error}, which {agent} doesn't have")), "{said}");
            }
        }
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
    let place = format!("{}:1:", env.data().join("config.json").display());
    let said =
        ": maxTurns needs a turn limit, which codex doesn't have; remove maxTurns, or choose another agent";
    let column = error.strip_prefix(&place).and_then(|rest| rest.strip_suffix(said));
    let column: usize = column.unwrap_or_else(|| panic!("{error}")).parse().unwrap();
    assert_eq!(env.config()[column - 1..].split(|c: char| !c.is_ascii_digit()).next(), Some("5"));
}

#[test]
fn what_a_backend_has_is_not_refused() {
    for agent in ["codex", "acp:claude-agent-acp"] {
        let env = Env::new();
        let site = site(&env, agent);
        let keys = json!({
            "path": site.0, "interval": "30m", "agent": agent, "permissionsChecker": "manual",
            "permissions": { "deny": ["WebFetch"] }, "retry": { "max": 1 }, "budget": { "day": "5000 tokens" },
            "approvalWait": "1m", "timeout": "1h", "startTimeout": "1m", "idleTimeout": "5m", "toolTimeout": "5m",
            "model": "m", "breaker": 3, "minFree": "1MiB", "verify": ["true"], "overlap": "skip"
        });
        env.configure(&json!({ "workspaces": [keys] }).to_string());
        env.run(["config", "check"]);
    }
}

#[test]
fn the_page_lists_what_each_backend_can_do() {
    let page = include_str!("../../../docs/reference/backends.md").replace("\n  ", " ");
    for (shown, name) in
        [("claude", "claude"), ("codex", "codex"), ("acp", "acp:opencode"), ("acp", "acp:gemini")]
    {
        let backend: Backend = name.parse().unwrap();
        let has = Capability::ALL.into_iter().filter(|capability| backend.has(*capability));
        // Only some ACP agents have these.
        let some = ["asks", "cost", "tokens", "errors", "trust"];
        let is_some = |name: &&str| shown == "acp" && some.contains(name);
        let names: Vec<&str> = has.map(Capability::name).filter(|name| !is_some(name)).collect();
        let names = names.join(", ");
        let and_some =
            if shown == "acp" { format!("; some also: {}", some.join(", ")) } else { String::new() };
        let line = format!("- `{shown}`: {names}{and_some}\n");
        assert!(page.contains(&line), "{line}");
    }
}
