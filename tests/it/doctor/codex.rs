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
    let lacks =
        "it lacks deferred calls, questions to people, a turn limit, cost reporting, a choice of MCP servers";
    let found = finding(&env, "codex");
    assert_eq!(
        (&found["level"], &found["found"]),
        (&json!("warn"), &json!(format!("{version}, not logged in; {lacks}")))
    );
    let hint = "run: codex login, unless your Codex configuration sets a provider that needs no login";
    assert_eq!(found["hint"], hint);

    std::fs::create_dir(env.home().join(".codex")).unwrap();
    write(&env.home().join(".codex/auth.json"), "{}", 0o600);
    let found = finding(&env, "codex");
    let said = format!("{version}, logged in; {lacks}");
    assert_eq!((&found["level"], &found["found"]), (&json!("ok"), &json!(said)));
}
