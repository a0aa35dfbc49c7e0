//! What is checked before a beat: nothing is spent if it can't work.

use serde_json::{Value, json};

use crate::env::{Env, MURMUR, Workspace, fake_claude, result};

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
    assert!(error.starts_with("only ") && error.contains("less than \"minFree\", 9999 TiB"), "{error}");
    let shown = env.run(["beat", "site", "--dry-run"]);
    assert!(shown.contains("minFree: 9999TiB  (HEARTBEAT.md)"), "{shown}");
}

#[test]
fn a_read_only_workspace_is_an_error() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    site.plays(&json!({ "stdout": "" }));
    let script =
        r#"mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && echo mounted && exec "$2" beat "$1""#;
    let beat = env.program("unshare", ["-rm", "sh", "-c", script, "sh", site.path(), MURMUR]).run();
    if !beat.starts_with("mounted\n") {
        eprintln!("not tested: mounting is not possible here: {beat}");
        return;
    }
    let line = env.journal().pop().unwrap();
    let error = format!(
        "cannot write to the workspace {}: Read-only file system; let the user who runs murmur write to it",
        site.path()
    );
    assert_eq!((&line["error"], &line["exit"]), (&json!(error), &Value::Null));
    assert!(env.agents().is_empty());
}

#[test]
fn claude_code_does_not_wait_for_the_reset_of_a_usage_limit_itself() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    site.plays(&json!({ "stdout": "" }));
    let dry = || env.murmur(["beat", "site", "--dry-run"]);
    assert!(!dry().run().contains("RETRY_WATCHDOG"));
    let shown = dry().set("CLAUDE_CODE_RETRY_WATCHDOG", "1").run();
    assert!(shown.contains("\n  CLAUDE_CODE_RETRY_WATCHDOG=\n"), "{shown}");
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

/// The journal line of a beat.
fn line(env: &Env) -> Value {
    env.run(["beat", "site"]);
    env.journal().pop().unwrap()
}

/// A site that requires the server `mail`, a script, and whose agent lists it as connected.
fn with_mail(script: &str) -> (Env, Workspace) {
    let env = Env::new();
    let site = env.workspace("site", "---\nrequires: [mail]\n---\nDo it.");
    let init = json!({ "type": "system", "subtype": "init", "session_id": "s", "model": "claude-model",
        "mcp_servers": [{ "name": "mail", "status": "connected" }] });
    site.plays(&json!({ "stdout": format!("{init}\n{}", result("HEARTBEAT_OK")) }));
    let mail = json!({ "command": "sh", "args": ["-c", script], "env": { "KEY": "k" } });
    std::fs::write(env.home().join(".claude.json"), json!({ "mcpServers": { "mail": mail } }).to_string())
        .unwrap();
    (env, site)
}

/// Reads the request and answers it.
const ANSWERS: &str = r#"read request; echo Ready; echo '{"jsonrpc":"2.0","id":"murmur-initialize","result":{}}'; cat >/dev/null"#;

#[test]
fn a_required_mcp_server_that_does_not_start_is_an_error_and_nothing_of_it_is_left() {
    let refusal =
        r#"read request; echo '{"id":"murmur-initialize","error":{"code":-1,"message":"no account"}}'; cat"#;
    for (script, why) in [
        (
            "echo 'no mail here' >&2; exit 3",
            "it ended with exit status: 3 instead of answering `initialize`: no mail here",
        ),
        (refusal, "it answered with an error: no account"),
        ("setsid sleep 1000 & sleep 1000", "it did not answer within 300ms"),
    ] {
        let (env, _site) = with_mail(script);
        let shown = env.murmur(["beat", "site"]).set("MCP_TIMEOUT", "300").run();
        assert!(shown.starts_with("error") && env.agents().is_empty(), "{shown}");
        let expected = format!(
            "the required MCP server \"mail\" cannot start: {why}; check it with claude mcp list, or remove it from \"requires\""
        );
        let line = env.journal().pop().unwrap();
        assert_eq!((&line["error"], &line["exit"]), (&json!(expected), &Value::Null));
        assert_eq!(env.alive(), [0; 0]);
    }
}

#[test]
fn a_required_mcp_server_is_started_once_a_day_and_after_an_error() {
    let (env, site) = with_mail(&format!(r#"echo "$KEY $PWD" >>starts; {ANSWERS}"#));
    let starts = || std::fs::read_to_string(site.0.join("starts")).unwrap();
    let once = format!("k {}\n", site.path());
    for _ in 0..2 {
        assert_eq!(line(&env)["outcome"], "ok");
        assert_eq!(starts(), once);
    }
    // A day later, and after the clock was set back.
    let file = env.data().join("mcp-servers.json");
    let known: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    let key = known["started"].as_object().unwrap().keys().next().unwrap();
    for (at, count) in [("2020-01-01T00:00:00Z", 2), ("2100-01-01T00:00:00Z", 3)] {
        std::fs::write(&file, json!({ "version": 1, "started": { key: at } }).to_string()).unwrap();
        line(&env);
        assert_eq!(starts(), once.repeat(count), "{at}");
    }
    site.plays(&json!({ "stdout": result("HEARTBEAT_OK"), "faults": ["exit:1"] }));
    for count in [3, 4] {
        assert_eq!(line(&env)["outcome"], "error");
        assert_eq!(starts(), once.repeat(count));
    }
}

#[test]
fn an_untrusted_repositorys_mcp_server_is_not_started() {
    let (env, site) = with_mail(ANSWERS);
    std::fs::remove_file(env.home().join(".claude.json")).unwrap();
    let server = json!({ "mcpServers": { "mail": { "command": "touch", "args": ["started"] } } });
    std::fs::write(site.0.join(".mcp.json"), server.to_string()).unwrap();
    line(&env);
    assert!(!site.0.join("started").exists() && env.agents().len() == 1);
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
