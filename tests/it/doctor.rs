//! `murmur doctor`: a line a check, what to do, and nothing changed.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use insta::{Settings, assert_snapshot};

use crate::env::Env;

/// What differs from machine to machine.
fn shown(env: &Env) -> String {
    let mut settings = Settings::clone_current();
    settings.add_filter(r"\d+ MiB free", "[N] MiB free");
    settings.add_filter(r"\d+ bytes", "[N] bytes");
    settings.add_filter(r"(ok   hook  *)\S+", "$1[HOOK]");
    let _bound = settings.bind_to_scope();
    let shown = env.run(["doctor"]);
    assert_snapshot!(std::thread::current().name().unwrap().rsplit("::").next().unwrap(), shown);
    shown
}

/// A `claude` that says it is `version`.
fn claude_is(env: &Env, version: &str) {
    let _fake = std::fs::remove_file(env.claude());
    write(&env.claude(), &format!("#!/bin/sh\necho '{version}'\n"), 0o755);
}

fn write(path: &Path, text: &str, mode: u32) {
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn all_is_well() {
    let env = Env::new();
    claude_is(&env, "2.1.329 (Claude Code)");
    std::fs::create_dir(env.home().join(".claude")).unwrap();
    write(&env.home().join(".claude/.credentials.json"), "{\"very\":\"secret\"}", 0o600);
    let _daemon = env.daemon();
    let shown = shown(&env);
    assert!(shown.ends_with("[exit 0]") && !shown.contains("warn") && !shown.contains("secret"), "{shown}");
    let object = env.murmur(["doctor", "--json"]).json();
    assert_eq!(object["worst"], "ok");
    assert!(
        object["findings"].as_array().unwrap().iter().all(|finding| finding["hint"].is_null()),
        "{object:#}"
    );
}

#[test]
fn what_is_missing_or_old_is_said_with_what_to_do() {
    let env = Env::new();
    claude_is(&env, "2.1.197 (Claude Code)");
    std::fs::create_dir(env.home().join(".claude")).unwrap();
    let flat = r#"{"permissions":{"deny":["Read"]},"hooks":{"Stop":[{"matcher":".*","command":"x"}]}}"#;
    write(&env.home().join(".claude/settings.json"), flat, 0o600);
    let shown = shown(&env);
    assert!(shown.ends_with("[exit 0]"), "{shown}");
    // Looking changes nothing: not even the folder is made.
    assert!(!env.data().exists());
    assert_eq!(env.murmur(["doctor", "--json"]).json()["worst"], "warn");
}

#[test]
fn what_does_not_work_is_a_failure() {
    let env = Env::new();
    std::fs::remove_file(env.claude()).unwrap();
    env.made_data();
    std::fs::create_dir(env.home().join(".claude")).unwrap();
    write(&env.home().join(".claude/settings.json"), "{\n  \"a\": 1,\n}", 0o600);
    write(&env.data().join("config.json"), "{ \"workspaces\": [,] }", 0o644);
    write(&env.data().join("heartbeats.jsonl"), "{}\ntorn", 0o600);
    std::fs::create_dir_all(env.data().join("config")).unwrap();
    write(&env.data().join("config/config.toml"), "permissions-checker = \"of\"\n", 0o600);
    write(&env.data().join("config/permissions.toml"), "[[", 0o600);
    let shown = shown(&env);
    assert!(shown.ends_with("[exit 1]"), "{shown}");
}
