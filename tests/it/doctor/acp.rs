//! What the doctor says about agents that speak the Agent Client Protocol.

use serde_json::json;

use super::{finding, write};
use crate::env::Env;

/// Registers a workspace whose beats run OpenCode.
pub(super) fn uses_opencode(env: &Env) {
    env.agent("opencode");
    let site = env.workspace("site", "Look.");
    let entry = json!({ "path": site.path(), "interval": "1h", "agent": "acp:opencode" });
    env.configure(&json!({ "workspaces": [entry] }).to_string());
}

#[test]
fn an_agent_that_is_used_introduces_itself_and_is_ended() {
    let env = Env::new();
    uses_opencode(&env);
    let config = env.data().join("config");
    std::fs::create_dir_all(&config).unwrap();
    let script = env.root().join("script.json");
    write(&script, "[[]]", 0o600);
    let own = format!("args = [\"acp\"]\nenv = {{ FAKE_CLAUDE_SCRIPT = \"{}\" }}", script.display());
    write(
        &config.join("config.toml"),
        &format!("[acp.opencode]\ncommand = \"opencode\"\noffer = [\"fs\"]\n{own}\n"),
        0o600,
    );
    let found = finding(&env, "acp agents");
    let opencode = env.home().join("bin/opencode");
    let expected = format!(
        "acp:opencode: {} is OpenCode 1.18.33, protocol 1; session capabilities: close, fork, list, load, resume; \
         offered: fs; it lacks hooks, deferred calls, user questions, a turn limit, a cost limit, token \
         reporting, usage limits, background tasks, API error codes, and a choice of MCP servers; \
         calls that it does not ask about run without a decision, and murmur only reports them",
        opencode.display()
    );
    assert_eq!((&found["level"], &found["found"]), (&json!("ok"), &json!(expected)), "{found}");
    assert_eq!(env.alive(), Vec::<i64>::new());
    write(&config.join("config.toml"), "[acp.opencode]\ncommand = \"false\"\n", 0o600);
    let found = finding(&env, "acp agents");
    assert_eq!(found["level"], "fail");
    let replaced = "acp:opencode: config.toml starts acp:opencode with \"false\", which is not opencode";
    assert_eq!(found["found"], replaced);
    let other = env.home().join("other/opencode");
    std::fs::create_dir_all(other.parent().unwrap()).unwrap();
    write(&other, "#!/bin/sh\nexit 1\n", 0o755);
    write(&config.join("config.toml"), &format!("[acp.opencode]\ncommand = {other:?}\n"), 0o600);
    let found = finding(&env, "acp agents");
    assert_eq!(found["level"], "fail");
    let ended = "opencode ended with exit status: 1 instead of answering `initialize`";
    assert!(found["found"].as_str().unwrap().ends_with(ended), "{found}");
    assert_eq!(found["hint"], "run it yourself and see what it prints");
}

#[test]
fn an_agent_that_cannot_be_started_is_told_of_with_what_to_do() {
    let env = Env::new();
    uses_opencode(&env);
    std::fs::remove_file(env.home().join("bin/opencode")).unwrap();
    let found = finding(&env, "acp agents");
    assert_eq!(found["level"], "fail");
    assert!(
        found["found"].as_str().unwrap().starts_with("acp:opencode: opencode not found on PATH ("),
        "{found}"
    );
    assert_eq!(found["hint"], "install opencode, or add its folder to the PATH of your login shell");
    let site = env.root().join("site");
    let entry = json!({ "path": site, "interval": "1h", "agent": "acp:nonesuch" });
    env.configure(&json!({ "workspaces": [entry] }).to_string());
    let found = finding(&env, "acp agents");
    assert_eq!(found["found"], "acp:nonesuch: agent acp:nonesuch is not configured");
    assert_eq!(found["hint"], "add [acp.nonesuch] with its command to config.toml");
}

#[test]
fn an_agent_that_is_installed_introduces_itself_although_nothing_uses_it() {
    let env = Env::new();
    let opencode = env.agent("opencode");
    env.create_data();
    let script = env.root().join("script.json");
    write(&script, "[[]]", 0o600);
    let examined = || {
        let object = env.murmur(["doctor", "--json"]).set("FAKE_CLAUDE_SCRIPT", &script).json();
        let findings = object["findings"].as_array().unwrap().clone();
        findings.into_iter().find(|one| one["check"] == "acp agents").unwrap()
    };
    let found = examined();
    let said = found["found"].as_str().unwrap();
    assert!(found["level"] == "ok" && said.contains("is OpenCode 1.18.33, protocol 1"), "{found}");
    assert_eq!(env.alive(), Vec::<i64>::new());
    // One that doesn't start is no failure, since nothing needs it.
    std::fs::remove_file(&opencode).unwrap();
    write(&opencode, "#!/bin/sh\nexit 1\n", 0o755);
    let found = examined();
    assert_eq!(found["level"], "warn", "{found}");
}
