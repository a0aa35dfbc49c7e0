//! What is checked before a beat: nothing is spent if it can't work.

use serde_json::{Value, json};

use crate::env::{Env, fake_claude};

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
        error.starts_with("only ") && error.contains("less than \"minFree\", 10484711424 MiB"),
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

#[test]
fn a_required_mcp_server_that_is_not_configured_is_an_error() {
    let env = Env::new();
    let site = env.workspace("site", "---\nrequires: [mail]\n---\nDo it.");
    site.plays(&json!({ "stdout": "" }));
    assert_eq!(
        error(&env),
        "the required MCP server \"mail\" is not configured; add it with claude mcp add, or remove it from \"requires\""
    );
    // One of the repository is configured, trusted or not.
    std::fs::write(site.0.join(".mcp.json"), r#"{"mcpServers":{"mail":{"command":"true"}}}"#).unwrap();
    let before = env.agents().len();
    env.run(["beat", "site"]);
    assert_eq!(env.agents().len(), before + 1);
}

/// Installs the stand-in like Claude Code itself.
fn install(env: &Env) {
    let package = env.home().join("lib/node_modules/@anthropic-ai/claude-code");
    std::fs::create_dir_all(&package).unwrap();
    std::fs::copy(fake_claude(), package.join("claude")).unwrap();
    std::fs::remove_file(env.claude()).unwrap();
    std::os::unix::fs::symlink(package.join("claude"), env.claude()).unwrap();
}

#[cfg(target_os = "linux")]
#[test]
fn an_agent_that_is_certainly_not_logged_in_is_an_error_before_gates_run() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    let entry = json!({ "path": site.0, "interval": "30m", "when": ["touch", "asked"] });
    env.configure(&json!({ "workspaces": [entry] }).to_string());
    site.plays(&json!({ "script": [[{ "type": "text", "text": "HEARTBEAT_OK" }]] }));
    install(&env);
    let beat = || env.murmur(["beat", "site"]).unset("ANTHROPIC_API_KEY").run();
    let said = beat();
    let folder = env.home().join(".claude");
    let expected = format!("Claude Code is not logged in: there are no credentials in {}", folder.display());
    assert!(said.starts_with("error") && said.contains(&expected), "{said}");
    assert!(!site.0.join("asked").exists() && env.agents().is_empty());
    // Whatever may supply credentials is left to the agent.
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("settings.json"), r#"{"apiKeyHelper":"./key"}"#).unwrap();
    let said = beat();
    assert!(site.0.join("asked").exists() && env.agents().len() == 1, "{said}");
}

#[test]
fn an_agent_without_a_program_is_an_error_before_gates_run() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    let entry = json!({ "path": site.0, "interval": "30m", "when": ["touch", "asked"] });
    env.configure(&json!({ "workspaces": [entry] }).to_string());
    site.plays(&json!({ "stdout": "" }));
    std::fs::remove_file(env.claude()).unwrap();
    let missing = error(&env);
    assert!(missing.starts_with("claude not found on PATH"), "{missing}");
    assert!(!site.0.join("asked").exists());
}
