//! Which files apply: each is searched for independently, and a project is identified by its path.

use serde_json::{Value, json};

use crate::env::{Env, Run};

const HOOK: &str = env!("CARGO_BIN_EXE_murmur-hook");

fn rule(action: &str, pattern: &str) -> String {
    format!("[[rules]]\ntool = \"Bash\"\naction = \"{action}\"\npattern = {pattern:?}\n")
}

fn write(folder: &std::path::Path, name: &str, text: &str) {
    std::fs::create_dir_all(folder).unwrap();
    std::fs::write(folder.join(name), text).unwrap();
}

/// A run in an environment with the default data folder.
fn at_home(env: &Env, args: &[&str]) -> Run {
    env.murmur(args).unset("MURMUR_DIR")
}

/// The hook's answer to a command in `folder`, for an agent that murmur didn't start.
fn hook_says(env: &Env, folder: &std::path::Path, command: &str) -> String {
    let input = json!({ "session_id": "s", "transcript_path": "/nowhere", "cwd": folder,
        "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": { "command": command },
        "tool_use_id": "t1" });
    let mut file = tempfile::tempfile().unwrap();
    std::io::Write::write_all(&mut file, input.to_string().as_bytes()).unwrap();
    std::io::Seek::rewind(&mut file).unwrap();
    let hook = env.program(HOOK, ["PreToolUse"]).stdin(file);
    let output = hook.set("CLAUDE_PROJECT_DIR", folder).output();
    let told: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let said = &told["hookSpecificOutput"];
    format!("{} {}", said["permissionDecision"], said["permissionDecisionReason"])
}

#[test]
fn an_empty_config_folder_does_not_hide_rules() {
    let env = Env::new();
    write(&env.home().join(".config/murmur"), "permissions.toml", &rule("deny", "make:*"));
    std::fs::create_dir_all(env.home().join(".murmur/config")).unwrap();
    let check = || at_home(&env, &["permission", "check", "--json", "Bash(make)", "--cwd", "."]).json();
    assert_eq!(check()["decision"], "deny", "{}", check());
    let rules = at_home(&env, &["permission", "rules"]).quiet();
    assert!(rules.contains("/home/.config/murmur/permissions.toml:1  1. deny"), "{rules}");
    // One of them doesn't imply the other.
    write(&env.home().join(".murmur/config"), "config.toml", "permissions-checker = \"off\"\n");
    assert_eq!(check()["decision"], "deny", "{}", check());
    let doctor = at_home(&env, &["doctor"]).run();
    for file in [".murmur/config/config.toml", ".config/murmur/permissions.toml"] {
        assert!(doctor.contains(file), "{file}: {doctor}");
    }
    // If both have the file, the data folder's counts.
    write(&env.home().join(".murmur/config"), "permissions.toml", &rule("allow", "make:*"));
    assert_eq!(check()["decision"], "allow", "{}", check());
}

#[test]
fn a_hook_and_a_check_find_the_same_projects_rules() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    env.register(&[&site]);
    let inner = site.0.join("src");
    std::fs::create_dir_all(&inner).unwrap();
    env.setting("config.toml", "permissions-checker = \"off\"\n");
    env.project_rules("site", &rule("deny", "make:*"));
    for folder in [&site.0, &inner] {
        let cwd = folder.to_str().unwrap();
        let check = ["permission", "check", "--json", "Bash(make)", "--cwd", cwd];
        let checked = env.murmur(check).output();
        let checked: Value = serde_json::from_slice(&checked.stdout).unwrap();
        assert_eq!(checked["decision"], "deny", "{checked}");
        let said = hook_says(&env, folder, "make");
        assert!(said.starts_with("\"deny\""), "{cwd}: {said}");
    }
}
