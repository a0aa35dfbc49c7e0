//! Nothing that an agent can write into its own workspace loosens its restrictions: the user's files set the upper
//! limit.

mod approval;
mod changed;
mod files;

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::env::Env;

/// The lines of a dry run's settings that a heartbeat without settings doesn't have, and its notices.
fn settings(env: &Env) -> String {
    let unset = Env::new();
    configured(&unset, "Do it.", json!({ "interval": "9d" }));
    let unset = all_settings(&unset);
    let differing = |line: &&str| !unset.lines().skip(1).any(|known| known == *line);
    all_settings(env).split_inclusive('\n').filter(|line| differing(&line.trim_end_matches('\n'))).collect()
}

fn all_settings(env: &Env) -> String {
    let shown = env.murmur(["beat", "site", "--dry-run"]).quiet();
    let from = shown.find("settings:\n").unwrap_or_else(|| panic!("{shown}"));
    shown[from..shown.find("environment:").unwrap()].to_owned()
}

/// The words after an option in the arguments of the only agent.
fn after(env: &Env, option: &str) -> Vec<String> {
    let argv = env.agents().pop().unwrap()["argv"].clone();
    let words: Vec<String> = serde_json::from_value(argv).unwrap();
    let behind = words.into_iter().skip_while(|word| word != option).skip(1);
    behind.take_while(|word| !word.starts_with("--")).collect()
}

fn configured(env: &Env, heartbeat: &str, mut entry: Value) {
    let site = env.workspace("site", heartbeat);
    entry["path"] = site.path().into();
    env.configure(&json!({ "workspaces": [entry] }).to_string());
}

#[test]
fn skip_in_frontmatter_does_not_drop_the_deny_list() {
    let env = Env::new();
    let deny = json!({ "interval": "1h", "permissions": { "deny": ["Bash(curl *)"] } });
    configured(&env, "---\npermissions: skip\n---\nDo it.", deny);
    env.murmur(["beat", "site"]).assert().success();
    let denied = after(&env, "--disallowedTools");
    assert!(denied.contains(&"Bash(curl *)".to_owned()) && denied.len() > 10, "{denied:?}");
    let said = env.run(["status"]);
    let notice = "permissions: skip in HEARTBEAT.md has no effect; only config.json can set it";
    assert!(said.contains(&format!("\n  notice    {notice}\n")), "{said}");
}

#[test]
fn values_beyond_config_json_are_limited_and_reported() {
    let env = Env::new();
    let heartbeat = "---\nmaxTurns: 50\ntimeout: 2h\nmodel: opus\ninterval: 5m\nbackgroundWait: 1h\n\
                     permissionsChecker: off\nquestions: broker\nrequires: [b]\npermissions: {deny: [B]}\n---\nDo it.";
    let entry = json!({
        "interval": "1h", "maxTurns": 10, "timeout": "10m", "model": "haiku", "backgroundWait": "20s",
        "permissionsChecker": "deny", "requires": ["a"], "permissions": { "deny": ["A"] },
    });
    configured(&env, heartbeat, entry);
    // Not started before a beat, as they are somewhere else.
    let server = json!({ "type": "http", "url": "http://localhost:1/" });
    let servers = json!({ "mcpServers": { "a": server, "b": server } });
    std::fs::write(env.home().join(".claude.json"), servers.to_string()).unwrap();
    env.setting("config.toml", "questions = \"deny\"\n");
    assert_snapshot!(settings(&env), @"
    settings:
      schedule: every 1h  (config.json)
      maxTurns: 10  (config.json)
      timeout: 10m  (config.json)
      backgroundWait: 20s  (config.json)
      model: haiku  (config.json)
      permissions: deny A  (config.json)
      permissions: deny B  (HEARTBEAT.md)
      permissionsChecker: deny  (config.json)
      questions: deny  (config.toml)
      requires: a  (config.json)
      requires: b  (HEARTBEAT.md)
      notice: interval: 5m in HEARTBEAT.md is more often than config.json allows; every 1h applies
      notice: maxTurns: 50 in HEARTBEAT.md is more than config.json allows; 10 applies
      notice: timeout: 2h in HEARTBEAT.md is more than config.json allows; 10m applies
      notice: backgroundWait: 1h in HEARTBEAT.md is more than config.json allows; 20s applies
      notice: model: opus in HEARTBEAT.md differs from config.json; haiku applies
      notice: permissionsChecker: off in HEARTBEAT.md is less strict than config.json; deny applies
      notice: questions: broker in HEARTBEAT.md is less strict than config.toml; deny applies
    ");
    let status = env.murmur(["status", "--json"]).json();
    let notices: Vec<&str> = status["heartbeats"][0]["notices"]
        .as_array()
        .unwrap()
        .iter()
        .map(|line| line.as_str().unwrap())
        .collect();
    assert_snapshot!(notices.join("\n"), @"
    interval: 5m in HEARTBEAT.md is more often than config.json allows; every 1h applies
    maxTurns: 50 in HEARTBEAT.md is more than config.json allows; 10 applies
    timeout: 2h in HEARTBEAT.md is more than config.json allows; 10m applies
    backgroundWait: 1h in HEARTBEAT.md is more than config.json allows; 20s applies
    model: opus in HEARTBEAT.md differs from config.json; haiku applies
    permissionsChecker: off in HEARTBEAT.md is less strict than config.json; deny applies
    questions: broker in HEARTBEAT.md is less strict than config.toml; deny applies
    ");
    let said = env.run(["status"]);
    let doctor = env.run(["doctor"]);
    for notice in notices {
        assert!(said.contains(&format!("\n  notice    {notice}\n")), "{notice}: {said}");
    }
    // The first is shown, and the rest counted.
    let first =
        "interval: 5m in HEARTBEAT.md is more often than config.json allows; every 1h applies (and 6 more)";
    assert!(doctor.contains(first), "{doctor}");
    env.murmur(["beat", "site"]).assert().code(1);
    assert_eq!(after(&env, "--max-turns"), ["10"]);
    assert_eq!(after(&env, "--model"), ["haiku"]);
}

#[test]
fn values_below_config_jsons_apply_and_unset_ones_can_be_set() {
    let env = Env::new();
    let heartbeat =
        "---\nmaxTurns: 5\ntimeout: 1m\nmodel: opus\ninterval: 2h\npermissionsChecker: manual\n---\nDo it.";
    configured(&env, heartbeat, json!({ "interval": "1h", "maxTurns": 10, "permissionsChecker": "llm" }));
    assert_snapshot!(settings(&env), @"
    settings:
      schedule: every 2h  (HEARTBEAT.md)
      maxTurns: 5  (HEARTBEAT.md)
      timeout: 1m  (HEARTBEAT.md)
      model: opus  (HEARTBEAT.md)
      permissionsChecker: manual  (HEARTBEAT.md)
    ");
}

#[test]
fn an_agent_cannot_raise_its_limits_beyond_the_fixed_ones() {
    let env = Env::new();
    let heartbeat = "---\ninterval: 1s\ntimeout: 36500d\nmaxTurns: 4000000000\n---\nDo it.";
    configured(&env, heartbeat, json!({}));
    assert_snapshot!(settings(&env), @"
    settings:
      schedule: every 1m  (HEARTBEAT.md)
      maxTurns: 1000  (HEARTBEAT.md)
      timeout: 6h  (HEARTBEAT.md)
      notice: interval: 1s in HEARTBEAT.md is below 1m, the minimum for HEARTBEAT.md; 1m applies
      notice: maxTurns: 4000000000 in HEARTBEAT.md exceeds 1000, the maximum for HEARTBEAT.md; 1000 applies
      notice: timeout: 36500d in HEARTBEAT.md exceeds 6h, the maximum for HEARTBEAT.md; 6h applies
    ");
    // The user's own file may contain anything.
    let entry = json!({ "interval": "1s", "timeout": "36500d", "maxTurns": 4_000_000_000_u32 });
    configured(&env, heartbeat, entry);
    assert_snapshot!(settings(&env), @"
    settings:
      schedule: every 1s  (config.json)
      maxTurns: 4000000000  (config.json)
      timeout: 36500d  (config.json)
    ");
}

#[test]
fn with_skip_claude_codes_settings_stay_unchanged() {
    let env = Env::new();
    configured(&env, "Do it.", json!({ "interval": "1h", "permissions": "skip" }));
    let shown = env.murmur(["beat", "site", "--dry-run"]).quiet();
    assert!(!shown.contains("disableSkillShellExecution"), "{shown}");
    // Rules and questions still reach the hook.
    assert!(shown.contains("\"disableAllHooks\":false"), "{shown}");
    configured(&env, "Do it.", json!({ "interval": "1h" }));
    assert!(
        env.murmur(["beat", "site", "--dry-run"]).quiet().contains("\"disableSkillShellExecution\":true")
    );
}
