//! Where gates are defined: config.json, and a HEARTBEAT.md only if config.json allows it.

use insta::assert_snapshot;
use serde_json::json;

use super::site;
use crate::env::Env;

const HEARTBEAT: &str =
    "---\nwhen: ./own.sh\nverify:\n  - run: [sh, check.sh]\n    timeout: 10h\n---\nDo it.";

/// The lines about gates in a dry run, and its notices.
fn rows(env: &Env) -> String {
    let shown = env.murmur(["beat", "site", "--dry-run"]).quiet();
    let is_about =
        |line: &&str| ["  when:", "  verify:", "  notice:"].iter().any(|key| line.starts_with(key));
    shown.lines().filter(is_about).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_heartbeat_defines_no_gates_unless_config_json_allows_it() {
    let env = Env::new();
    let own = site(&env, HEARTBEAT, json!({ "when": "./users.sh" }));
    for script in ["own.sh", "users.sh", "check.sh"] {
        own.script(script, "echo \"${0##*/}\" >> ran");
    }
    assert_snapshot!(env.run(["beat", "site"]), @r#"
    error [S] [ENV]/site/HEARTBEAT.md:2:7: when in HEARTBEAT.md is not allowed by config.json; add "gates": "workspace" to the workspace in config.json, or move when there
    [exit 1]
    "#);
    assert!(!own.0.join("ran").exists());
    site(&env, HEARTBEAT, json!({ "when": "./users.sh", "gates": "workspace" }));
    assert_snapshot!(rows(&env), @"
    when: ./users.sh, at most 30s  (config.json)
    when: ./own.sh, at most 30s  (HEARTBEAT.md)
    verify: sh check.sh, at most 6h  (HEARTBEAT.md)
    notice: verify: 10h in HEARTBEAT.md exceeds 6h, the maximum for HEARTBEAT.md; 6h applies
    ");
    assert_snapshot!(env.run(["beat", "site"]), @"
    ok [S]
    | warning: verify: 10h in HEARTBEAT.md exceeds 6h, the maximum for HEARTBEAT.md; 6h applies
    [exit 0]
    ");
    assert_eq!(std::fs::read_to_string(own.0.join("ran")).unwrap(), "users.sh\nown.sh\ncheck.sh\n");
}

#[test]
fn a_workspace_that_is_not_registered_has_no_gates() {
    let env = Env::new();
    env.workspace("site", HEARTBEAT);
    assert_snapshot!(env.run(["beat", "site"]), @r#"
    error [S] [ENV]/site/HEARTBEAT.md:2:7: when in HEARTBEAT.md is not allowed by config.json; add "gates": "workspace" to the workspace in config.json, or move when there
    [exit 1]
    "#);
}

#[test]
fn no_gate_runs_where_no_agent_may() {
    let env = Env::new();
    let site = site(&env, "Do it.", json!({ "when": ["sh", "-c", "echo > ran"] }));
    env.setting("permissions.toml", "rules = 1");
    assert!(env.run(["beat", "site"]).starts_with("error "));
    assert_eq!(env.journal()[0]["outcome"], "error");
    assert!(!site.0.join("ran").exists());
}
