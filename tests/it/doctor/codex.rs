//! What the doctor says about Codex.

use serde_json::json;

use super::{finding, write};
use crate::env::Env;

#[test]
fn codex_is_examined_once_a_heartbeat_uses_it() {
    let env = Env::new();
    let site = env.workspace("site", "Look.");
    let checks = || env.murmur(["doctor", "--json"]).json()["findings"].to_string();
    assert!(!checks().contains(r#""codex""#));

    env.agent("codex");
    let entry = json!({ "path": site.path(), "interval": "1h", "agent": "codex" });
    env.configure(&json!({ "workspaces": [entry] }).to_string());
    let version = format!("{} is codex-cli 0.169.0", env.home().join("bin/codex").display());
    let lacks = "it lacks deferred calls, user questions, a turn limit, cost reporting, background tasks, and a choice of MCP servers; its sandboxed calls and read-only MCP calls run without a decision if a hook's shell is killed";
    let script = env.root().join("script.json");
    write(&script, "[[]]", 0o600);
    let checked = || {
        let doctor = env.murmur(["doctor", "--json"]).set("FAKE_CLAUDE_SCRIPT", &script).json();
        let findings = doctor["findings"].as_array().unwrap().clone();
        findings.into_iter().find(|one| one["check"] == "codex").unwrap()
    };
    let found = checked();
    assert_eq!(
        (&found["level"], &found["found"]),
        (&json!("warn"), &json!(format!("{version}, not logged in; {lacks}")))
    );
    let hint = "run: codex login, unless your Codex configuration sets a provider that needs no login";
    assert_eq!(found["hint"], hint);

    std::fs::create_dir(env.home().join(".codex")).unwrap();
    write(&env.home().join(".codex/auth.json"), "{}", 0o600);
    let found = checked();
    let said = format!("{version}, logged in; {lacks}");
    assert_eq!((&found["level"], &found["found"]), (&json!("ok"), &json!(said)));
    assert_eq!(env.alive(), Vec::<i64>::new());

    let hint = "unset CODEX_EXEC_SERVER_URL and remove environments.toml from Codex's folder";
    let url = env.murmur(["doctor", "--json"]).set("FAKE_CLAUDE_SCRIPT", &script);
    let url = url.set("CODEX_EXEC_SERVER_URL", "ws://127.0.0.1:9").json();
    let url = url["findings"].as_array().unwrap().iter().find(|one| one["check"] == "codex").unwrap().clone();
    let file = env.home().join(".codex/environments.toml");
    write(&file, "", 0o600);
    for (found, place) in [(url, "CODEX_EXEC_SERVER_URL".to_owned()), (checked(), file.display().to_string())]
    {
        let said = format!("{said}; calls would run in the environment of {place}, so murmur runs none");
        assert_eq!((&found["level"], &found["found"]), (&json!("warn"), &json!(said)));
        assert_eq!(found["hint"], hint);
    }
    std::fs::remove_file(file).unwrap();

    // The stand-in ends without a script.
    let found = finding(&env, "codex");
    assert_eq!(
        (&found["level"], &found["hint"]),
        (&json!("fail"), &json!("update it, or choose another agent"))
    );
    let why = format!("{version}, but its app-server does not work: ");
    assert!(found["found"].as_str().unwrap().starts_with(&why), "{found}");
}
