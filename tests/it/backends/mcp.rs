//! Calls of MCP tools in beats of Codex, which asks about them with elicitations.

use serde_json::{Value, json};

use super::{beat, decisions, default_agent, said};
use crate::env::Env;

fn script() -> Value {
    let call =
        json!([{ "type": "tool_use", "id": "call_1", "name": "mcp__own__mark", "input": { "x": "1" } }]);
    json!([call, said("HEARTBEAT_OK")])
}

/// A site of Codex whose rules do this with calls of the MCP server.
fn with_rule(action: &str) -> (Env, Value) {
    let env = Env::new();
    env.agent("codex");
    default_agent(&env, "codex");
    let rule = format!("[[rules]]\ntool = \"mcp__own__*\"\naction = \"{action}\"\n");
    std::fs::write(env.data().join("config/permissions.toml"), rule).unwrap();
    let site = env.workspace("site", "---\npermissionsChecker: deny\n---\nDo it.");
    site.plays(&json!({ "script": script() }));
    let line = crate::permit::line(env.beat());
    (env, line)
}

#[test]
fn rules_allow_or_deny_a_call() {
    let (env, line) = with_rule("allow");
    assert_eq!((&line["outcome"], &line["denials"]), (&json!("ok"), &Value::Null), "{line}");
    let [[tool, decision, _]] = &decisions(&env)[..] else { panic!("{line}") };
    assert_eq!([tool, decision], ["mcp__own__mark", "allow"]);
    // It was asked about, and approved.
    let shown = env.run(["show"]);
    assert!(shown.contains("mark is done"), "{shown}");
    let (env, line) = with_rule("deny");
    assert_eq!(line["denials"], json!(["mcp__own__mark"]), "{line}");
    let [[_, decision, reason]] = &decisions(&env)[..] else { panic!("{line}") };
    assert!(decision == "deny" && reason.starts_with("rule 1 of "), "{reason}");
    let shown = env.run(["show"]);
    assert!(!shown.contains("mark is done") && shown.contains("denied: rule 1 of "), "{shown}");
}

#[test]
fn a_person_allows_or_denies_a_call() {
    for is_allowed in [true, false] {
        let env = Env::new();
        env.agent("codex");
        default_agent(&env, "codex");
        let site = env.workspace("site", "---\npermissionsChecker: manual\n---\nDo it.");
        site.plays(&json!({ "script": script() }));
        let daemon = env.daemon();
        let beat = env.beat();
        let request = env.opened();
        assert_eq!((&request["tool"], &request["input"]), (&json!("mcp__own__mark"), &json!({ "x": "1" })));
        env.run([if is_allowed { "allow" } else { "deny" }, request["id"].as_str().unwrap()]);
        let line = crate::permit::line(beat);
        daemon.stop();
        assert_eq!(line["outcome"], "ok", "{line}");
        let denials = if is_allowed { Value::Null } else { json!(["mcp__own__mark"]) };
        assert_eq!(line["denials"], denials, "{line}");
        // The elicitation gets the same answer: nobody is asked twice.
        assert_eq!(decisions(&env).len(), 1);
        let shown = env.run(["show"]);
        assert_eq!(shown.contains("mark is done"), is_allowed, "{shown}");
        assert_eq!(shown.contains("denied by you"), !is_allowed, "{shown}");
    }
}

#[test]
fn a_request_about_a_call_that_no_hook_saw_is_declined() {
    let meta =
        json!({ "codex_approval_kind": "mcp_tool_call", "tool_name": "mark", "tool_params": { "x": "1" } });
    let params = json!({ "serverName": "own", "mode": "form", "message": "Allow it?", "_meta": meta });
    let asks = json!([{ "type": "client", "method": "mcpServer/elicitation/request", "params": params }]);
    let (env, line) = beat("codex", &json!([asks, said("HEARTBEAT_OK")]));
    assert_eq!(line["summary"], "HEARTBEAT_OK, but the backend refused mcp__own__mark(x: 1)", "{line}");
    let [[_, decision, reason]] = &decisions(&env)[..] else { panic!("{line}") };
    assert!(decision == "deny" && reason == "Codex asks about a call that it has not announced", "{reason}");
    assert!(env.run(["show"]).contains(r#"{"action":"decline"}"#));
}

#[test]
fn nothing_runs_in_another_environment() {
    let env = Env::new();
    let site = super::site(&env, "codex");
    site.plays(&json!({ "script": script() }));
    let output = env.murmur(["beat", "site"]).set("CODEX_EXEC_SERVER_URL", "ws://127.0.0.1:9").output();
    assert!(!output.status.success(), "{output:?}");
    let line = env.journal().pop().unwrap();
    let error = line["error"].as_str().unwrap();
    assert!(error.contains(r#"the guard cannot check calls in the environment "remote" of Codex"#), "{line}");
    assert!(!env.data().join("decisions.jsonl").exists());
}
