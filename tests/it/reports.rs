//! What a journal line reports about its agent's session, and how MCP servers, empty answers and stops change the
//! outcome.

use serde_json::{Value, json};

use crate::env::Env;

/// The output of an agent whose MCP server `mail` has this status, and which answers `text`.
fn stream(status: &str, text: &str) -> String {
    let init = json!({ "type": "system", "subtype": "init", "session_id": "s", "model": "claude-model",
        "claude_code_version": "2.1.330", "mcp_servers": [{ "name": "mail", "status": status, "source": "project" }] });
    let result = json!({ "type": "result", "subtype": "success", "is_error": false, "result": text,
        "usage": { "input_tokens": 10, "output_tokens": 20 },
        "modelUsage": { "claude-model": { "inputTokens": 15, "outputTokens": 25,
            "cacheReadInputTokens": 300, "cacheCreationInputTokens": 40 } } });
    format!("{init}\n{result}\n")
}

/// The line of a beat of a heartbeat with `frontmatter` whose agent prints `stdout`.
fn line(env: &Env, frontmatter: &str, stdout: &str) -> Value {
    env.workspace("site", &format!("{frontmatter}Do it.")).plays(&json!({ "stdout": stdout }));
    env.run(["beat", "site"]);
    env.journal().pop().unwrap()
}

#[test]
fn an_ok_without_an_mcp_server_becomes_attention_or_an_error() {
    let env = Env::new();
    let requires = "---\nrequires: [mail]\n---\n";
    let servers = json!({ "mcpServers": { "mail": { "type": "http", "url": "http://127.0.0.1:9/" } } });
    std::fs::write(env.home().join(".claude.json"), servers.to_string()).unwrap();
    assert_eq!(line(&env, "", &stream("connected", "HEARTBEAT_OK"))["outcome"], "ok");
    assert_eq!(line(&env, requires, &stream("connected", "HEARTBEAT_OK"))["outcome"], "ok");
    let failed = line(&env, "", &stream("failed", "HEARTBEAT_OK"));
    assert_eq!(failed["outcome"], "attention");
    assert_eq!(failed["summary"], "HEARTBEAT_OK, but the MCP server \"mail\" did not start");
    for (status, why) in [("failed", "did not start"), ("needs-auth", "needs you to log in")] {
        let failed = line(&env, requires, &stream(status, "HEARTBEAT_OK"));
        assert_eq!(failed["outcome"], "error");
        assert_eq!(failed["error"], format!("a required MCP server is not available: \"mail\" {why}"));
    }
    let other = line(&env, "---\nrequires: [\"plugin:a:web\"]\n---\n", &stream("connected", "HEARTBEAT_OK"));
    assert_eq!(
        other["error"],
        "a required MCP server is not available: \"plugin:a:web\" is not configured for the agent"
    );
}

#[test]
fn a_line_has_the_model_and_the_tokens() {
    let env = Env::new();
    let line = line(&env, "", &stream("connected", "HEARTBEAT_OK"));
    assert_eq!(line["model"], "claude-model");
    assert_eq!(line["tokens"], json!({ "input": 15, "output": 25, "cacheRead": 300, "cacheWrite": 40 }));
    assert_eq!(line["apiErrorStatus"], Value::Null);
}

#[test]
fn a_line_has_the_http_status_of_an_api_refusal() {
    let env = Env::new();
    let refused = json!({ "type": "result", "subtype": "success", "is_error": true, "api_error_status": 429,
        "result": "You've hit your limit" });
    assert_eq!(line(&env, "", &format!("{refused}\n"))["apiErrorStatus"], 429);
}

#[test]
fn an_empty_answer_is_attention() {
    let env = Env::new();
    let line = line(&env, "", &stream("connected", ""));
    assert_eq!((&line["outcome"], &line["summary"]), (&json!("attention"), &json!("the agent said nothing")));
}

#[test]
fn a_stopped_beat_is_shown_as_stopped_by_you() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    site.plays(&json!({ "stdout": "", "faults": ["hang"] }));
    env.register(&[&site]);
    let daemon = env.daemon();
    env.wait_for_agents(1);
    env.run(["stop"]);
    assert!(daemon.ended().0.success());
    let line = env.wait_for_journal(1).remove(0);
    assert_eq!((&line["outcome"], &line["stopped"]), (&json!("error"), &json!(true)));
    let (log, status) = (env.run(["log"]), env.run(["status"]));
    assert!(log.contains("  stopped ") && log.contains("  by you after"), "{log}");
    assert!(status.contains("  last      stopped ") && status.contains(" ago by you after"), "{status}");
    for shown in [&log, &status] {
        assert_eq!(shown.matches("stopped").count(), 1, "{shown}");
    }
    assert!(!status.contains("error") && !log.contains("error"), "{status}{log}");
}
