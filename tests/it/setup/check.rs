//! `murmur setup hooks --check`: runs the installed hook once, and reports problems.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use insta::{Settings, assert_snapshot};
use serde_json::json;

use super::{read, settings, setup, write};
use crate::env::{Env, wait_for_end};

/// Replaces the hook named in the settings with a stand-in that runs `script`.
fn stand_in(env: &Env, script: &str) {
    let hook = env.root().join("bin/murmur-hook");
    write(&hook, format!("#!/bin/sh\n{script}\n"));
    std::fs::set_permissions(&hook, PermissionsExt::from_mode(0o700)).unwrap();
    let own = Path::new(crate::env::MURMUR).with_file_name("murmur-hook");
    let text = read(&settings(env)).replace(own.to_str().unwrap(), hook.to_str().unwrap());
    write(&settings(env), text);
}

/// Writes a pulse like the hook, and stores its arguments.
const PULSES: &str = r#"cat > "$MURMUR_DIR/payload"; echo "$1 $CLAUDECODE $MURMUR_AGENT_ID" > "$MURMUR_DIR/called"
mkdir -p "$MURMUR_DIR/heartbeats" "$MURMUR_DIR/agents/$MURMUR_AGENT_ID"
pulse="{\"timestamp\":\"2026-01-21T10:30:45Z\",\"agent_id\":\"$MURMUR_AGENT_ID\"}"
echo "$pulse" > "$MURMUR_DIR/agents/$MURMUR_AGENT_ID/activity.jsonl"
echo "$pulse" > "$MURMUR_DIR/heartbeats/$MURMUR_AGENT_ID.json""#;

#[test]
fn an_arriving_pulse_is_reported_and_removed() {
    let env = Env::new();
    setup(&env, &[]);
    stand_in(&env, PULSES);
    let before = read(&settings(&env));
    assert_snapshot!(setup(&env, &["--check"]), @"
    a pulse arrived: the hook in [ENV]/home/.claude/settings.json took [MS] ms
    | warning: [ENV]/home/.claude/settings.json has hooks of another murmur version; `murmur setup hooks` updates them
    [exit 0]
    ");
    assert_eq!(read(&settings(&env)), before);
    let data = env.data();
    assert_eq!(
        (env.names(&data.join("heartbeats")), env.names(&data.join("agents"))),
        (String::new(), String::new())
    );
    assert!(read(&data.join("called")).starts_with("PostToolUse 1 setup-check-"));
    let payload: serde_json::Value = serde_json::from_str(&read(&data.join("payload"))).unwrap();
    assert_eq!(payload["hook_event_name"], "PostToolUse");
    assert_eq!(payload["cwd"], env.root().to_str().unwrap());
}

#[test]
fn the_hook_that_setup_installs_writes_a_pulse() {
    let env = Env::new();
    setup(&env, &[]);
    assert_snapshot!(setup(&env, &["--check"]), @"
    a pulse arrived: the hook in [ENV]/home/.claude/settings.json took [MS] ms
    [exit 0]
    ");
    assert_eq!(env.names(&env.data().join("heartbeats")), "");
    assert_eq!(env.names(&env.data().join("agents")), "");
}

#[test]
fn reasons_for_a_missing_pulse_are_reported() {
    let env = Env::new();
    assert_snapshot!(setup(&env, &["--check"]), @"
    | error: murmur's hooks are not configured in [ENV]/home/.claude/settings.json
    | hint: run `murmur setup hooks`
    [exit 1]
    ");
    setup(&env, &[]);
    stand_in(&env, "echo 'no; disk' >&2; exit 3");
    assert_snapshot!(setup(&env, &["--check"]), @"
    | error: no pulse arrived in [ENV]/data: '[HOOK]' PostToolUse ended with exit status: 3 (no, disk)
    | hint: see murmur.log in that folder
    [exit 1]
    ");
    std::fs::remove_file(env.root().join("bin/murmur-hook")).unwrap();
    // The wording depends on the shell.
    let mut filtered = Settings::clone_current();
    filtered.add_filter(r"\(sh: .*murmur-hook: .*\)", "([SHELL])");
    filtered.bind(|| {
        assert_snapshot!(setup(&env, &["--check"]), @"
        | error: no pulse arrived: the program of '[HOOK]' PostToolUse is missing or cannot be run ([SHELL])
        | hint: run: murmur setup hooks, which updates its path
        [exit 1]
        ");
    });
    stand_in(&env, "sleep 100 & exec sleep 100");
    assert_snapshot!(setup(&env, &["--check"]), @"
    | error: no pulse arrived: '[HOOK]' PostToolUse did not end within 5s
    | hint: check what it waits for
    [exit 1]
    ");
    // It would run longer than any timeout here.
    for pid in env.alive() {
        wait_for_end(pid);
    }
    stand_in(&env, PULSES);
    let whole = read(&settings(&env));
    write(&settings(&env), whole.replace("\"Stop\"", "\"Other\""));
    assert_snapshot!(setup(&env, &["--check"]), @"
    | error: [ENV]/home/.claude/settings.json has no murmur hook for Stop
    | hint: run `murmur setup hooks`
    [exit 1]
    ");
    write(&settings(&env), whole.replacen("{", "{ \"disableAllHooks\": true,", 1));
    assert_snapshot!(setup(&env, &["--check"]), @"
    a pulse arrived: the hook in [ENV]/home/.claude/settings.json took [MS] ms
    | warning: [ENV]/home/.claude/settings.json:1:3: disableAllHooks is true: Claude Code runs no hooks, not even murmur's; remove it to enable them
    | warning: [ENV]/home/.claude/settings.json has hooks of another murmur version; `murmur setup hooks` updates them
    | error: Claude Code may run none of the hooks in [ENV]/home/.claude/settings.json
    | hint: fix the problems named in the warnings
    [exit 1]
    ");
    write(
        &settings(&env),
        whole.replace("\"PostToolUse\": [", "\"PostToolUse\": [ { \"command\": \"flat\" },"),
    );
    assert_snapshot!(setup(&env, &["--check"]), @r#"
    a pulse arrived: the hook in [ENV]/home/.claude/settings.json took [MS] ms
    | warning: [ENV]/home/.claude/settings.json:25:22: hooks.PostToolUse[0] has its command next to the matcher (flat form): Claude Code 2.1.197 silently ignores the whole file because of it, 2.1.329 ignores the entry; `murmur setup hooks --fix-flat` rewrites it as {"matcher", "hooks": [...]}
    | warning: [ENV]/home/.claude/settings.json has hooks of another murmur version; `murmur setup hooks` updates them
    | error: Claude Code may run none of the hooks in [ENV]/home/.claude/settings.json
    | hint: fix the problems named in the warnings
    [exit 1]
    "#);
    assert_snapshot!(setup(&env, &["--check", "--remove"]), @"
    | error: --check cannot be combined with --remove
    | hint: remove one of them; see: murmur setup hooks --help
    [exit 2]
    ");
}

#[test]
fn a_data_folder_that_sessions_do_not_use_is_refused() {
    let env = Env::new();
    setup(&env, &[]);
    let other = env.root().join("other");
    let check = |dir: &Path| env.run(["--data-dir", dir.to_str().unwrap(), "setup", "hooks", "--check"]);
    assert_snapshot!(check(&other), @"
    | error: sessions write their pulses to [ENV]/data, not to [ENV]/other
    | hint: leave --data-dir out, or set MURMUR_DIR where they start
    [exit 1]
    ");
    assert!(!other.exists());
    assert_snapshot!(check(&env.data()), @"
    a pulse arrived: the hook in [ENV]/home/.claude/settings.json took [MS] ms
    [exit 0]
    ");
    // If nothing names a folder, it is the one in the home folder.
    assert_snapshot!(env.murmur(["setup", "hooks", "--check"]).unset("MURMUR_DIR").run(), @"
    a pulse arrived: the hook in [ENV]/home/.claude/settings.json took [MS] ms
    [exit 0]
    ");
    assert_eq!(env.names(&env.home().join(".murmur/heartbeats")), "");
}

#[test]
fn control_characters_in_a_command_or_its_output_are_not_printed() {
    let env = Env::new();
    setup(&env, &[]);
    stand_in(&env, r"printf '\033[31m; red\n' >&2; exit 3");
    let bin = env.root().join("bin");
    std::fs::rename(&bin, env.root().join("\u{1b}[31m; bin")).unwrap();
    let bin = bin.to_str().unwrap();
    write(&settings(&env), read(&settings(&env)).replace(bin, &bin.replace("/bin", "/\\u001b[31m; bin")));
    let said = setup(&env, &["--check"]);
    assert!(!said.contains('\u{1b}'), "{said:?}");
    // The name of the hook's program is filtered out of snapshots.
    assert!(said.contains(r"/\u{1b}[31m;\u{20}bin/murmur-hook' PostToolUse ended with"), "{said}");
    assert_snapshot!(said, @r"
    | error: no pulse arrived in [ENV]/data: '[HOOK]' PostToolUse ended with exit status: 3 (\u{1b}[31m, red)
    | hint: see murmur.log in that folder
    [exit 1]
    ");
}

#[test]
fn from_a_folders_settings_only_setups_own_command_is_run() {
    let env = Env::new();
    setup(&env, &["--scope", "project"]);
    let file = env.root().join(".claude/settings.json");
    let own = Path::new(crate::env::MURMUR).with_file_name("murmur-hook");
    assert_snapshot!(setup(&env, &["--scope", "project", "--check"]), @"
    a pulse arrived: the hook in [ENV]/.claude/settings.json took [MS] ms
    [exit 0]
    ");
    let hook = env.root().join("bin/murmur-hook");
    write(&hook, "#!/bin/sh\n> ran\n");
    std::fs::set_permissions(&hook, PermissionsExt::from_mode(0o700)).unwrap();
    let whole = read(&file);
    for command in ["bin/murmur-hook PostToolUse", "'bin/murmur-hook' PostToolUse"] {
        write(&file, whole.replace(&format!("'{}' PostToolUse\"", own.display()), &format!("{command}\"")));
        let said = setup(&env, &["--scope", "project", "--check"]);
        let expected = format!(
            "| error: {command} in {} was not written by murmur setup, so it was not run\n\
             | hint: review it, then run `murmur setup hooks --scope project`\n[exit 1]",
            file.display()
        );
        assert_eq!(said, expected);
        assert!(!env.root().join("ran").exists());
    }
    // The user's own settings are the user's responsibility.
    write(&settings(&env), read(&file));
    setup(&env, &["--check"]);
    assert!(env.root().join("ran").exists());
}

#[test]
fn json_needs_something_to_show() {
    let env = Env::new();
    assert_snapshot!(setup(&env, &["--json"]), @"
    | error: <--check|--dry-run> is missing
    | hint: see: murmur setup hooks --help
    [exit 2]
    ");
    write(&settings(&env), "{\"model\":\"opus\"}");
    setup(&env, &[]);
    let planned = env.murmur(["setup", "hooks", "--dry-run", "--remove", "--json"]).json();
    assert_eq!((&planned["outcome"], &planned["rewritten"]), (&json!("removed"), &json!([])));
    assert_eq!(planned["diff"][0], "@@ -1,1 +1,1 @@", "{planned}");
}
