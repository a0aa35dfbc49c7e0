//! Beats that murmur ran with the real agents (`record codex/beats acp/beats`, tests/conformance/agents/recorded.rs):
//! replayed, each has the outcome that is written here.

use std::path::Path;

use insta::assert_snapshot;
use serde_json::Value;

use super::site;
use crate::env::Env;

/// The keys of a journal line that a recording decides.
const KEYS: [&str; 11] = [
    "outcome",
    "summary",
    "error",
    "apiErrorStatus",
    "retryable",
    "numTurns",
    "denials",
    "unguarded",
    "model",
    "tokens",
    "costUsd",
];

/// Replays each recording of `agent`. Returns the journal lines, a recording per line.
fn replayed(agent: &str, fixtures: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/beats").join(fixtures);
    let mut names: Vec<String> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let mut lines = Vec::new();
    for name in names {
        let env = Env::new();
        let site = site(&env, agent);
        site.plays(&serde_json::json!({ "fixture": folder.join(&name) }));
        env.run(["beat", "site"]);
        let line = env.journal().pop().unwrap();
        let told = KEYS.iter().filter(|key| !line[**key].is_null());
        let told: Vec<String> = told.map(|key| format!("{key} {}", line[*key])).collect();
        lines.push(format!("{name}: {}", told.join(", ")));
        assert_eq!(unknown(&env), Value::Null, "{name}");
    }
    lines.join("\n")
}

/// What murmur didn't know.
fn unknown(env: &Env) -> Value {
    let text = std::fs::read_to_string(env.data().join("unknown.json")).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

#[test]
fn recorded_beats_of_codex_have_their_outcome() {
    assert_snapshot!(replayed("codex", "codex"), @r#"
    attention: outcome "attention", summary "ATTENTION: the disk is full", numTurns 1, model "gpt-5.5", tokens {"cacheRead":0,"cacheWrite":0,"input":10,"output":20}
    bad-request: outcome "error", error "reported an error: refused for a test", model "gpt-5.5"
    command: outcome "ok", numTurns 2, model "gpt-5.5", tokens {"cacheRead":0,"cacheWrite":0,"input":20,"output":40}
    denied: outcome "attention", summary "HEARTBEAT_OK, but the guard refused Bash(sudo ls)", numTurns 2, denials ["Bash"], model "gpt-5.5", tokens {"cacheRead":0,"cacheWrite":0,"input":20,"output":40}
    ok: outcome "ok", numTurns 1, model "gpt-5.5", tokens {"cacheRead":0,"cacheWrite":0,"input":10,"output":20}
    quota: outcome "error", error "reported an error: Quota exceeded. Check your plan and billing details.", model "gpt-5.5"
    rate-limit: outcome "error", error "reported an error: exceeded retry limit, last status: 429 Too Many Requests", apiErrorStatus 429, retryable true, model "gpt-5.5"
    server-error: outcome "error", error "reported an error: We’re currently experiencing high demand, which may cause temporary errors.", apiErrorStatus 500, retryable true, model "gpt-5.5"
    unauthorized: outcome "error", error "reported an error: unexpected status 401 Unauthorized: refused for a test, url: http://127.0.0.1:8080/v1/responses", apiErrorStatus 401, model "gpt-5.5"
    unreachable: outcome "error", error "reported an error: stream disconnected before completion: error sending request", retryable true, model "gpt-5.5"
    usage-limit: outcome "limited", summary "the five-hour limit is reached; its reset time is more than 6 hours away, so the account is not put on hold", apiErrorStatus 429, model "gpt-5.5"
    usage-limit-without-window: outcome "limited", summary "the usage limit is reached; its reset time is unknown, so the account is not put on hold", apiErrorStatus 429, model "gpt-5.5"
    "#);
}

#[test]
fn recorded_beats_of_opencode_have_their_outcome() {
    assert_snapshot!(replayed("acp:opencode", "acp"), @r#"
    attention: outcome "attention", summary "ATTENTION: the disk is full", numTurns 1, model "fake/m1", tokens {"cacheRead":0,"cacheWrite":0,"input":10,"output":20}, costUsd 0.00033
    bad-request: outcome "error", error "reported an error: refused for a test", model "fake/m1", costUsd 0.0
    command: outcome "ok", numTurns 2, model "fake/m1", tokens {"cacheRead":0,"cacheWrite":0,"input":10,"output":20}, costUsd 0.00066
    denied: outcome "attention", summary "HEARTBEAT_OK, but the guard refused Bash(sudo ls)", numTurns 2, denials ["Bash"], model "fake/m1", tokens {"cacheRead":0,"cacheWrite":0,"input":10,"output":20}, costUsd 0.00066
    ok: outcome "ok", numTurns 1, model "fake/m1", tokens {"cacheRead":0,"cacheWrite":0,"input":10,"output":20}, costUsd 0.00033
    rate-limit: outcome "error", error "reported an error: refused for a test", model "fake/m1", costUsd 0.0
    server-error: outcome "error", error "reported an error: refused for a test", model "fake/m1", costUsd 0.0
    unauthorized: outcome "error", error "reported an error: refused for a test", model "fake/m1", costUsd 0.0
    unreachable: outcome "error", error "reported an error: Cannot connect to API: The socket connection was closed unexpectedly. For more information, pass `verbose: true` in the second argument to fetch()", retryable true, model "fake/m1", costUsd 0.0
    "#);
}
