//! decisions.jsonl: every decision, by whom, and without secrets.

use std::os::unix::fs::PermissionsExt;

use insta::assert_snapshot;
use serde_json::json;

use super::{bash, call, line, text, told_to_hook};
use crate::env::Env;

#[test]
fn every_decision_is_one_private_line_that_names_who_decided() {
    let env = Env::new();
    let calls =
        [bash("t1", "git push"), bash("t2", "sudo ls"), call("t3", "Read", &json!({ "file_path": "/x" }))];
    env.workspace_calling("permissionsChecker: manual", &calls);
    env.setting("permissions.toml", "[[rules]]\ntool = \"Read\"\naction = \"allow\"\n");
    let daemon = env.daemon();
    let beat = env.beat();
    let row = env.opened();
    env.run(["permission", "respond", text(&row, "id"), "allow"]);
    let beat = line(beat);
    daemon.stop();
    let decisions = env.decisions();
    let who: Vec<String> =
        decisions.iter().map(|line| format!("{} {}", line["decision"], line["by"])).collect();
    assert_snapshot!(who.join("\n"), @r#"
    "allow" {"kind":"person"}
    "deny" {"kind":"guard","which":"sudo"}
    "allow" {"kind":"rule","which":{"file":"[ENV]/data/config/permissions.toml","number":1}}
    "#);
    let log = env.run(["rules", "log"]);
    assert!(log.contains("Read(/x)  rule 1 of ") && !log.contains(": rule 1 of "), "{log}");
    let first = &decisions[0];
    assert_eq!((&first["agent"], &first["beat"]), (&beat["agent"], &beat["beat"]));
    assert_eq!((&first["session"], &first["toolUseId"]), (&beat["sessionId"], &json!("t1")));
    assert_eq!((&first["project"], &first["request"]), (&json!("site"), &row["id"]));
    assert_eq!((text(first, "tool"), text(first, "input")), ("Bash", r#"{"command":"git push"}"#));
    assert_eq!(text(first, "cwd"), env.root().join("site").to_str().unwrap());
    let mode = std::fs::metadata(env.data().join("decisions.jsonl")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn secrets_are_masked_in_decisions() {
    let env = Env::new();
    let secrets = [
        "curl -H 'Authorization: Bearer abcdefghijklmnop0123456789'",
        "export TOKEN=ghp_0123456789abcdefghijklmnopqrstuvwxyz",
        "aws configure set key AKIAIOSFODNN7EXAMPLE",
        "psql postgres://me:hunter2hunter2@db/x",
    ];
    for secret in secrets {
        let input = told_to_hook("Bash", &json!({ "command": secret })).to_string();
        env.hook("PreToolUse", input).output();
    }
    let text = std::fs::read_to_string(env.data().join("decisions.jsonl")).unwrap();
    assert_eq!(text.lines().count(), secrets.len());
    for secret in ["abcdefghijklmnop", "ghp_", "AKIA", "hunter2"] {
        assert!(!text.contains(secret), "{secret}: {text}");
    }
}

#[test]
fn concurrent_hooks_write_whole_lines() {
    let env = Env::new();
    env.create_data();
    let policy = r#"{"guard":true,"checker":"off","approval":"wait","approvalWait":1,"approvalExpiry":1,"questions":"deny"}"#;
    let long = "x".repeat(3000);
    let hooks: Vec<_> = (0..24)
        .map(|_| {
            let input = told_to_hook("Bash", &json!({ "command": format!("echo {long}") })).to_string();
            env.hook("PreToolUse", input).set("MURMUR_PERMISSIONS", policy).start()
        })
        .collect();
    for hook in hooks {
        crate::env::ended(hook).success();
    }
    let decisions = env.decisions();
    assert_eq!(decisions.len(), 24);
    assert!(decisions.iter().all(|line| line["decision"] == "allow"));
}
