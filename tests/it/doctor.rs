//! `murmur doctor`: one line per check, with hints, and without changes.

mod acp;
mod claude;
mod codex;
mod files;
mod model;
mod notifications;
mod output;

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use insta::{Settings, assert_snapshot};
use murmur::doctor::{Check, Hint};
use serde_json::{Value, json};

use crate::env::Env;

/// What differs from machine to machine.
fn shown(env: &Env) -> String {
    let mut settings = Settings::clone_current();
    settings.add_filter(r"[\d.]+ [KMGT]?i?B free", "[N] MiB free");
    settings.add_filter(r"\d+ bytes", "[N] bytes");
    // What a login shell adds depends on the system.
    settings.add_filter(r"(on PATH \(\[ENV\]/home/bin):[^)]*", "$1:[PATH]");
    let _bound = settings.bind_to_scope();
    let shown = env.run(["doctor"]);
    assert_snapshot!(std::thread::current().name().unwrap().rsplit("::").next().unwrap(), shown);
    shown
}

/// A `claude` that reports `version`.
fn claude_is(env: &Env, version: &str) {
    let _fake = std::fs::remove_file(env.claude());
    write(&env.claude(), &format!("#!/bin/sh\necho '{version}'\n"), 0o755);
}

fn write(path: &Path, text: &str, mode: u32) {
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_working_installation_passes_every_check() {
    let env = Env::new();
    claude_is(&env, "2.1.329 (Claude Code)");
    std::fs::create_dir(env.home().join(".claude")).unwrap();
    let login = r#"{"claudeAiOauth":{"accessToken":"very-secret"}}"#;
    write(&env.home().join(".claude/.credentials.json"), login, 0o600);
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
fn missing_and_outdated_parts_are_reported_with_hints() {
    let env = Env::new();
    claude_is(&env, "2.1.197 (Claude Code)");
    std::fs::create_dir(env.home().join(".claude")).unwrap();
    let flat = r#"{"permissions":{"deny":["Read"]},"hooks":{"Stop":[{"matcher":".*","command":"x"}]}}"#;
    write(&env.home().join(".claude/settings.json"), flat, 0o600);
    let shown = shown(&env);
    assert!(shown.ends_with("[exit 0]"), "{shown}");
    // Checking changes nothing: not even the folder is created.
    assert!(!env.data().exists());
    assert_eq!(env.murmur(["doctor", "--json"]).json()["worst"], "warn");
}

#[test]
fn broken_parts_are_failures() {
    let env = Env::new();
    std::fs::remove_file(env.claude()).unwrap();
    env.create_data();
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

/// The result of one check, with finding and hint.
fn finding(env: &Env, check: &str) -> Value {
    let object = env.murmur(["doctor", "--json"]).json();
    let mut findings = object["findings"].as_array().unwrap().iter().filter(|one| one["check"] == check);
    let finding = findings.next().unwrap().clone();
    assert_eq!(findings.count(), 0);
    finding
}

#[test]
fn a_mistake_in_config_json_is_a_warning_and_one_that_stops_beats_a_failure() {
    let env = Env::new();
    let site = env.workspace("site", "Look.");
    env.configure(
        &json!({ "workspaces": [{ "path": site.path(), "interval": "1h", "colour": 1 }] }).to_string(),
    );
    let slip = finding(&env, "config.json");
    assert_eq!(slip["level"], "warn", "{slip}");
    std::fs::remove_file(site.0.join("HEARTBEAT.md")).unwrap();
    let wrong = finding(&env, "config.json");
    assert_eq!(wrong["level"], "fail", "{wrong}");
    assert!(wrong["found"].as_str().unwrap().ends_with(" (and 1 more)"), "{wrong}");
}

#[test]
fn a_last_run_in_the_future_is_reported_as_a_clock_problem() {
    let env = Env::new();
    let site = env.workspace("site", "Look.");
    let last = "2999-01-01T00:00:00Z";
    env.configure(
        &json!({ "workspaces": [{ "path": site.path(), "interval": "1h", "lastRun": last }] }).to_string(),
    );
    let clock = finding(&env, "clock");
    assert_eq!(clock["level"], "fail");
    assert!(
        clock["found"].as_str().unwrap().ends_with("behind a heartbeat's last run at 2999-01-01T00:00:00Z"),
        "{clock}"
    );
}

#[test]
fn unreadable_files_are_reported_with_cause_and_hint() {
    let env = Env::new();
    std::fs::create_dir_all(env.create_data().join("config.json")).unwrap();
    let config = finding(&env, "config.json");
    assert_eq!(config["level"], "fail");
    assert!(config["found"].as_str().unwrap().ends_with("/config.json is a folder, not a file"), "{config}");
    assert_eq!(config["hint"], "move it away; murmur writes a file there");
    // A folder is not a file that others could read.
    assert_eq!(finding(&env, "data folder")["level"], "ok");
}

#[test]
fn credentials_are_found_where_claude_looks_and_never_shown() {
    let env = Env::new();
    let claude = env.home().join(".claude");
    std::fs::create_dir(&claude).unwrap();
    assert_eq!(finding(&env, "credentials")["level"], "warn");
    // What remains when a user has logged out.
    for none in ["{}", r#"{"claudeAiOauth":{}}"#, r#"{"mcpOAuth":{"server":{"accessToken":"very-secret"}}}"#]
    {
        write(&claude.join(".credentials.json"), none, 0o600);
        assert_eq!(finding(&env, "credentials")["level"], "warn", "{none}");
    }
    write(&claude.join("settings.json"), r#"{"env":{"ANTHROPIC_API_KEY":"very-secret"}}"#, 0o600);
    let found = finding(&env, "credentials");
    assert_eq!(found["found"], "set in claude's settings");
    let shown = env.murmur(["doctor"]).set("ANTHROPIC_API_KEY", "very-secret").run();
    assert!(!shown.contains("very-secret"), "{shown}");
}

/// Hints send their readers to this page.
#[test]
fn every_check_and_hint_is_on_the_troubleshooting_page() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/guide/troubleshooting.md"))
        .unwrap();
    let flat = page.split_whitespace().collect::<Vec<_>>().join(" ");
    let headings: Vec<&str> = page.lines().filter_map(|line| line.strip_prefix("### ")).collect();
    let checks: Vec<&str> = Check::ALL.iter().map(|check| check.name()).collect();
    let missing: Vec<&&str> = checks.iter().filter(|check| !headings.contains(check)).collect();
    assert!(missing.is_empty(), "checks without a section: {missing:?}");
    let order: Vec<&&str> = headings.iter().filter(|heading| checks.contains(heading)).collect();
    assert_eq!(order, checks.iter().collect::<Vec<_>>(), "sections stand in the order of the checks");
    let missing: Vec<&str> =
        Hint::ALL.iter().map(Hint::as_str).filter(|hint| !flat.contains(&format!("**{hint}**"))).collect();
    assert!(missing.is_empty(), "hints that are not explained: {missing:#?}");
}

#[test]
fn claude_code_is_checked_only_if_something_uses_it() {
    let env = Env::new();
    acp::uses_opencode(&env);
    let checks = || {
        let object = env.murmur(["doctor", "--json"]).json();
        let findings = object["findings"].as_array().unwrap().iter();
        findings.map(|one| one["check"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    for check in ["login PATH", "claude", "credentials"] {
        assert!(!checks().iter().any(|found| found == check), "{check}");
    }
    env.configure("{}");
    for check in ["login PATH", "claude", "credentials"] {
        assert!(checks().iter().any(|found| found == check), "{check}");
    }
}

#[test]
fn the_doctor_prints_all_of_its_checks() {
    let env = Env::new();
    env.agent("opencode");
    let entries = ["claude", "acp:opencode"].map(|agent| {
        let site = env.workspace(agent.trim_start_matches("acp:"), "Look.");
        json!({ "path": site.path(), "interval": "1h", "agent": agent })
    });
    env.configure(&json!({ "workspaces": entries }).to_string());
    let config = env.data().join("config");
    std::fs::create_dir_all(&config).unwrap();
    write(
        &config.join("config.toml"),
        "agent = \"codex\"\n[notify.channels.x]\ntype = \"webhook\"\nurl = \"http://127.0.0.1:1/\"\n",
        0o600,
    );
    // Without anything unknown there is nothing to say about it.
    let unknown =
        json!({ "day": "9999-01-01", "backend": "claude", "backendVersion": "", "name": "new", "count": 1 });
    let unknown = json!({ "version": 1, "seen": [unknown] });
    write(&env.data().join("unknown.json"), &unknown.to_string(), 0o600);
    let object = env.murmur(["doctor", "--json"]).json();
    let printed: Vec<&str> =
        object["findings"].as_array().unwrap().iter().map(|one| one["check"].as_str().unwrap()).collect();
    assert_eq!(printed, Check::ALL.iter().map(|check| check.name()).collect::<Vec<_>>());
}

/// The result of checking Claude Code's settings: level, finding and hint.
fn of_settings(env: &Env) -> Vec<[String; 3]> {
    let object = env.murmur(["doctor", "--json"]).json();
    let findings = object["findings"].as_array().unwrap().iter();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let of = |one: &Value| [text(&one["level"]), text(&one["found"]), text(&one["hint"])];
    findings.filter(|one| one["check"] == "claude settings").map(of).collect()
}

#[test]
fn an_entry_with_a_missing_hook_is_a_failure_and_a_misspelled_event_a_warning() {
    let env = Env::new();
    let claude = env.home().join(".claude");
    std::fs::create_dir(&claude).unwrap();
    let entry = |event: &str, command: &str| {
        let hook = json!({ "type": "command", "command": command });
        let settings = json!({ "hooks": { event: [{ "matcher": "*", "hooks": [hook] }] } });
        write(&claude.join("settings.json"), &settings.to_string(), 0o600);
    };
    entry("PreToolUse", "'/gone/bin/murmur-hook' PreToolUse || exit 2");
    let found = of_settings(&env);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0][0], "fail");
    assert!(found[0][1].contains("/gone/bin/murmur-hook does not exist"), "{found:?}");
    let hook = env!("CARGO_BIN_EXE_murmur-hook");
    entry("PreTolUse", &format!("'{hook}' PreToolUse || exit 2"));
    let found = of_settings(&env);
    assert_eq!(found[0][0], "warn", "{found:?}");
    assert!(found[0][1].contains("hooks.PreTolUse: unknown event, so "), "{found:?}");
    for fine in [format!("'{hook}' Stop"), "other-program Stop".to_owned()] {
        entry("Stop", &fine);
        assert_eq!(of_settings(&env)[0][0], "ok", "{fine}");
    }
}

#[test]
fn a_flat_hook_is_reported_with_the_command_that_fixes_it() {
    let env = Env::new();
    let site = env.workspace("my site", "Look.");
    env.configure(&json!({ "workspaces": [{ "path": site.path(), "interval": "1h" }] }).to_string());
    let flat = r#"{"hooks":{"Stop":[{"matcher":".*","command":"x"}]}}"#;
    for (name, scope) in [("settings.json", "project"), ("settings.local.json", "local")] {
        let folder = site.0.join(".claude");
        let _old = std::fs::remove_dir_all(&folder);
        std::fs::create_dir(&folder).unwrap();
        write(&folder.join(name), flat, 0o600);
        let found = of_settings(&env);
        let hint = format!("run: cd '{}' && murmur setup hooks --scope {scope} --fix-flat", site.0.display());
        assert_eq!(found[0][2], hint);
    }
}

#[test]
fn a_missing_home_is_a_finding() {
    let env = Env::new();
    let without_home = || env.murmur(["doctor", "--json"]).unset("HOME").unset("MURMUR_DIR");
    let object = without_home().json();
    assert_eq!(object["worst"], "fail");
    assert_eq!(object["findings"][0]["check"], "data folder");
    assert_eq!(without_home().output().status.code(), Some(1));
}

#[test]
fn checks_that_need_an_unusable_data_folder_are_skipped() {
    let env = Env::new();
    let place = env.root().join("a file");
    write(&place, "", 0o600);
    let object = env.murmur(["doctor", "--json"]).set("MURMUR_DIR", &place).json();
    let findings = object["findings"].as_array().unwrap();
    let of = |found: &str| findings.iter().filter(|one| one["found"] == found).count();
    let failed: Vec<&Value> = findings.iter().filter(|one| one["level"] == "fail").collect();
    assert_eq!(failed.len(), 1, "{failed:#?}");
    assert_eq!(failed[0]["check"], "data folder");
    assert_eq!(of("skipped"), 9);
}

#[test]
fn a_service_that_starts_another_murmur_is_reported() {
    let env = Env::new();
    let config = env.root().join("xdg");
    let service = |text: &[u8]| {
        let folder = if cfg!(target_os = "macos") {
            env.home().join("Library/LaunchAgents")
        } else {
            config.join("systemd/user")
        };
        std::fs::create_dir_all(&folder).unwrap();
        let name = if cfg!(target_os = "macos") { "murmur.plist" } else { "murmur.service" };
        std::fs::write(folder.join(name), text).unwrap();
        let object = env.murmur(["doctor", "--json"]).set("XDG_CONFIG_HOME", &config).json();
        let findings = object["findings"].as_array().unwrap();
        findings.iter().find(|one| one["check"] == "service").unwrap().clone()
    };
    assert_eq!(finding(&env, "service")["found"], "none installed");
    let ours = env.murmur(["service", "install", "--print"]).set("XDG_CONFIG_HOME", &config).output().stdout;
    assert_eq!(service(&ours)["level"], "ok");
    let text = String::from_utf8(ours).unwrap();
    let other = service(text.replace(&*env.data().to_string_lossy(), "/other").as_bytes());
    assert_eq!(other["level"], "warn");
    assert_eq!(other["hint"], "run: murmur service install, which rewrites it");
}
