//! The arguments of an agent, as changed by config.json and frontmatter.

use insta::assert_snapshot;
use serde_json::json;

use super::lines;
use crate::env::Env;

/// The argv of a beat of a workspace with `entry` in config.json.
fn argv_with(mut entry: serde_json::Value, heartbeat: &str) -> String {
    let env = Env::new();
    let site = env.workspace("site", heartbeat);
    entry["path"] = json!(site.0);
    entry["interval"] = json!("1h");
    env.configure(&json!({ "workspaces": [entry] }).to_string());
    env.murmur(["beat", "site"]).assert().success();
    let argv = lines(&env.agents()[0]["argv"]);
    // The rest is the same for every beat.
    let switches =
        "\n--setting-sources\nuser\n--strict-mcp-config\n--permission-prompt-tool\nstdio\n--settings\n{";
    let (own, guarded) = argv.split_once(switches).unwrap();
    assert_eq!(guarded.lines().count(), 1, "{guarded}");
    own.to_owned()
}

#[test]
fn own_deny_patterns_follow_the_defaults_without_duplicates() {
    let deny = ["Bash(curl *)", "Bash(sudo *)", "Edit", "Bash(curl *)"];
    let argv = argv_with(json!({ "permissions": { "deny": deny } }), "Do it.");
    assert_snapshot!(argv.split_once("--disallowedTools\n").unwrap().1, @"
    Bash(rm -rf /)
    Bash(rm -rf /*)
    Bash(rm -rf ~)
    Bash(rm -rf ~/*)
    Bash(mkfs*)
    Bash(dd if=* of=/dev/*)
    Bash(shred *)
    Bash(sudo *)
    Bash(shutdown *)
    Bash(reboot*)
    Bash(halt*)
    Bash(poweroff*)
    Bash(curl *)
    Edit
    ");
}

#[test]
fn skip_omits_the_deny_list_only_in_config_json() {
    let expected = "--print\n--dangerously-skip-permissions\n--verbose\n--output-format\nstream-json\n\
                    --max-turns\n3";
    assert_eq!(argv_with(json!({ "permissions": "skip" }), "Do it."), expected);
    let deny = json!({ "permissions": { "deny": ["Edit"] } });
    let argv = argv_with(deny, "---\npermissions: skip\n---\nDo it.");
    assert!(argv.contains("\nBash(sudo *)\n") && argv.ends_with("\nEdit"), "{argv}");
}

#[test]
fn model_and_turns_come_from_config_json_and_frontmatter_can_only_lower_the_turns() {
    let entry = json!({ "permissions": "skip", "model": "opus", "maxTurns": 7 });
    let argv = argv_with(entry.clone(), "Do it.");
    assert_snapshot!(argv.split_once("stream-json\n").unwrap().1, @"
    --max-turns
    7
    --model
    opus
    ");
    let argv = argv_with(entry, "---\nmodel: haiku\nmaxTurns: 2\n---\nDo it.");
    assert_snapshot!(argv.split_once("stream-json\n").unwrap().1, @"
    --max-turns
    2
    --model
    opus
    ");
}
