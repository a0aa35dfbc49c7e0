//! What is checked before a beat: nothing is spent if it can't work.

use serde_json::{Value, json};

use crate::env::Env;

/// The error of a beat, which started no agent.
fn error(env: &Env) -> String {
    let before = env.agents().len();
    assert!(env.run(["beat", "site"]).starts_with("error"));
    let line = env.journal().pop().unwrap();
    assert_eq!((env.agents().len(), &line["exit"]), (before, &Value::Null), "{line}");
    line["error"].as_str().unwrap().to_owned()
}

#[test]
fn a_disk_with_too_little_space_is_an_error() {
    let env = Env::new();
    let site = env.workspace("site", "---\nminFree: 9999TiB\n---\nDo it.");
    site.plays(&json!({ "stdout": "" }));
    let error = error(&env);
    assert!(
        error.starts_with("only ") && error.contains("fewer than \"minFree\", 10484711424 MiB"),
        "{error}"
    );
    let shown = env.run(["beat", "site", "--dry-run"]);
    assert!(shown.contains("minFree: 9999TiB  (HEARTBEAT.md)"), "{shown}");
}

#[test]
fn a_required_mcp_server_without_a_program_is_an_error() {
    let env = Env::new();
    let site = env.workspace("site", "---\nrequires: [mail]\n---\nDo it.");
    site.plays(&json!({ "stdout": "" }));
    let server = |command: &str| {
        let servers = json!({ "mcpServers": { "mail": { "command": command } } });
        std::fs::write(env.home().join(".claude.json"), servers.to_string()).unwrap();
    };
    server("/nonexistent/mail-server");
    assert_eq!(
        error(&env),
        "the required MCP server \"mail\" cannot start: /nonexistent/mail-server: No such file or directory; install its program, or correct its command"
    );
    server("no-such-mail-server");
    let missing = error(&env);
    assert!(missing.contains("no-such-mail-server not found on PATH"), "{missing}");
    // What only the agent knows is left to it.
    server("${MAIL_SERVER}");
    let before = env.agents().len();
    env.run(["beat", "site"]);
    assert_eq!(env.agents().len(), before + 1);
}
