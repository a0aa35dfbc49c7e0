//! `murmur setup hooks`: adds murmur's hooks to Claude Code's settings, and touches nothing else.

mod check;
mod file;
mod fuzz;

use std::path::{Path, PathBuf};

use insta::assert_snapshot;

use crate::env::Env;

/// The user's settings.
fn settings(env: &Env) -> PathBuf {
    env.home().join(".claude/settings.json")
}

/// Writes a settings file.
fn write(path: &Path, text: impl AsRef<[u8]>) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

fn setup(env: &Env, args: &[&str]) -> String {
    env.run(["setup", "hooks"].iter().chain(args))
}

const MINE: &str = "{
  \"permissions\": { \"deny\": [\"Bash(rm *)\"] },
  \"hooks\": {
    \"PostToolUse\": [
      { \"matcher\": \"Bash\", \"hooks\": [{ \"type\": \"command\", \"command\": \"mine\" }] }
    ]
  }
}
";

#[test]
fn hooks_are_added_once_and_removed_without_a_trace() {
    let env = Env::new();
    write(&settings(&env), MINE);
    assert_snapshot!(setup(&env, &[]), @"
    configured murmur's hooks in [ENV]/home/.claude/settings.json
    saved the previous version as [ENV]/home/.claude/settings.json.murmur-[RANDOM]
    [exit 0]
    ");
    let text = read(&settings(&env));
    assert_snapshot!(text);
    assert_snapshot!(setup(&env, &[]), @"
    already configured in [ENV]/home/.claude/settings.json
    [exit 0]
    ");
    assert_eq!(read(&settings(&env)), text);
    assert_eq!(env.names(&env.home().join(".claude")), "settings.json\nsettings.json.murmur-backup");
    assert_snapshot!(setup(&env, &["--remove"]), @"
    removed murmur's hooks from [ENV]/home/.claude/settings.json, restoring its previous content
    [exit 0]
    ");
    assert_eq!(read(&settings(&env)), MINE);
    assert_eq!(env.names(&env.home().join(".claude")), "settings.json");
    assert_snapshot!(setup(&env, &["--remove"]), @"
    not configured in [ENV]/home/.claude/settings.json
    [exit 0]
    ");
    assert_eq!(env.names(&env.data()), "setup.lock");
}

#[test]
fn a_file_that_setup_created_is_removed_again() {
    let env = Env::new();
    assert_snapshot!(setup(&env, &[]), @"
    configured murmur's hooks in [ENV]/home/.claude/settings.json
    [exit 0]
    ");
    assert_eq!(env.names(&env.home().join(".claude")), "settings.json");
    assert_snapshot!(setup(&env, &["--remove"]), @"
    removed [ENV]/home/.claude/settings.json, which contained only murmur's hooks
    [exit 0]
    ");
    assert_eq!(env.names(&env.home().join(".claude")), "");
    assert_snapshot!(setup(&env, &["--remove"]), @"
    not configured in [ENV]/home/.claude/settings.json
    [exit 0]
    ");
}

#[test]
fn each_scope_has_its_own_file() {
    let env = Env::new();
    let site = env.root().join("site");
    std::fs::create_dir(&site).unwrap();
    for (scope, file) in [("project", "settings.json"), ("local", "settings.local.json")] {
        let shown = env.murmur(["setup", "hooks", "--scope", scope]).at(&site).run();
        assert_eq!(
            shown,
            format!("configured murmur's hooks in {}/.claude/{file}\n[exit 0]", site.display())
        );
    }
    let other = env.root().join("other");
    assert_snapshot!(env.murmur(["setup", "hooks"]).set("CLAUDE_CONFIG_DIR", &other).run(), @"
    configured murmur's hooks in [ENV]/other/settings.json
    [exit 0]
    ");
    assert!(!settings(&env).exists());
    assert_snapshot!(env.murmur(["setup", "hooks"]).unset("HOME").run(), @"
    | error: neither HOME nor CLAUDE_CONFIG_DIR is set
    | hint: set one, or pass --scope project
    [exit 1]
    ");
    assert_snapshot!(setup(&env, &["--scope", "all"]), @r#"
    | error: --scope "all" is not a known value
    | hint: write user, project or local; see: murmur setup hooks --help
    [exit 2]
    "#);
}

#[test]
fn a_changed_path_is_updated_and_the_users_edits_are_kept() {
    let env = Env::new();
    write(&settings(&env), MINE);
    setup(&env, &[]);
    let text = read(&settings(&env));
    let hook = Path::new(crate::env::MURMUR).with_file_name("murmur-hook");
    let moved = text.replace(hook.to_str().unwrap(), "/old/murmur-hook").replace("Bash(rm *)", "Bash(mv *)");
    write(&settings(&env), &moved);
    assert_snapshot!(setup(&env, &[]), @"
    updated murmur's hooks in [ENV]/home/.claude/settings.json
    [exit 0]
    ");
    assert_eq!(read(&settings(&env)), text.replace("Bash(rm *)", "Bash(mv *)"));
    assert_eq!(read(&env.home().join(".claude/settings.json.murmur-backup")), MINE);
    assert_snapshot!(setup(&env, &["--remove"]), @"
    removed murmur's hooks from [ENV]/home/.claude/settings.json
    [exit 0]
    ");
    assert_eq!(read(&settings(&env)), MINE.replace("Bash(rm *)", "Bash(mv *)"));
}

#[test]
fn a_dry_run_shows_what_would_change_and_writes_nothing() {
    let env = Env::new();
    assert_snapshot!(setup(&env, &["--dry-run"]));
    assert!(!env.home().join(".claude").exists() && !env.data().exists());
    write(&settings(&env), MINE);
    assert_snapshot!(setup(&env, &["--dry-run"]));
    assert_eq!(env.names(&env.home().join(".claude")), "settings.json");
    write(&settings(&env), "{\"model\":\"opus\"}");
    setup(&env, &[]);
    assert_snapshot!(setup(&env, &["--dry-run"]), @"
    dry run; nothing was changed
    already configured in [ENV]/home/.claude/settings.json
    [exit 0]
    ");
    assert_snapshot!(setup(&env, &["--dry-run", "--remove"]), @r#"
    dry run; nothing was changed
    would remove murmur's hooks from [ENV]/home/.claude/settings.json, restoring its previous content
    --- [ENV]/home/.claude/settings.json
    +++ [ENV]/home/.claude/settings.json
    @@ -1,1 +1,1 @@
    -{"model":"opus","hooks":{"SessionStart":[{"hooks":[{"type":"command","command":"'[HOOK]' SessionStart","timeout":5}]}],"UserPromptSubmit":[{"hooks":[{"type":"command","command":"'[HOOK]' UserPromptSubmit","timeout":5}]}],"PostToolUse":[{"matcher":"*","hooks":[{"type":"command","command":"'[HOOK]' PostToolUse","timeout":5}]}],"PostToolUseFailure":[{"matcher":"*","hooks":[{"type":"command","command":"'[HOOK]' PostToolUseFailure","timeout":5}]}],"Stop":[{"hooks":[{"type":"command","command":"'[HOOK]' Stop","timeout":5}]}],"StopFailure":[{"hooks":[{"type":"command","command":"'[HOOK]' StopFailure","timeout":5}]}],"SessionEnd":[{"hooks":[{"type":"command","command":"'[HOOK]' SessionEnd","timeout":5}]}]}} [no newline]
    +{"model":"opus"} [no newline]
    [exit 0]
    "#);
    assert_eq!(env.names(&env.home().join(".claude")), "settings.json\nsettings.json.murmur-backup");
}

#[test]
fn fix_flat_adds_no_hooks_and_fixes_the_file_of_its_scope() {
    let env = Env::new();
    let flat = MINE
        .replace("\"hooks\": [{ \"type\": \"command\", \"command\": \"mine\" }]", "\"command\": \"mine\"");
    let site = env.workspace("site", "Do it.");
    let local = site.0.join(".claude/settings.local.json");
    write(&local, &flat);
    let run = |words: &[&str]| {
        let words = ["setup", "hooks", "--fix-flat"].iter().chain(words).copied();
        env.murmur(words).at(&site.0).run()
    };
    assert_snapshot!(run(&["--scope", "local"]), @"
    fixed [ENV]/site/.claude/settings.local.json
    rewrote hooks.PostToolUse[0] in the nested form
    saved the previous version as [ENV]/site/.claude/settings.local.json.murmur-[RANDOM]
    [exit 0]
    ");
    assert_eq!(read(&local), MINE);
    assert_snapshot!(run(&["--scope", "local"]), @"
    no entry in [ENV]/site/.claude/settings.local.json is in the flat form
    [exit 0]
    ");
    assert_snapshot!(run(&[]), @"
    no entry in [ENV]/home/.claude/settings.json is in the flat form
    [exit 0]
    ");
    assert!(!settings(&env).exists());
}

#[test]
fn flat_entries_are_reported_and_rewritten_only_on_demand() {
    let env = Env::new();
    let flat = MINE
        .replace("\"hooks\": [{ \"type\": \"command\", \"command\": \"mine\" }]", "\"command\": \"mine\"");
    write(&settings(&env), &flat);
    assert_snapshot!(setup(&env, &[]), @r#"
    configured murmur's hooks in [ENV]/home/.claude/settings.json
    saved the previous version as [ENV]/home/.claude/settings.json.murmur-[RANDOM]
    | warning: [ENV]/home/.claude/settings.json:5:7: hooks.PostToolUse[0] has its command next to the matcher (flat form): Claude Code 2.1.197 silently ignores the whole file because of it, so your permissions.deny has no effect, 2.1.329 ignores the entry; `murmur setup hooks --fix-flat` rewrites it as {"matcher", "hooks": [...]}
    [exit 0]
    "#);
    assert!(read(&settings(&env)).contains("{ \"matcher\": \"Bash\", \"command\": \"mine\" }"));
    assert_snapshot!(setup(&env, &["--fix-flat"]), @"
    fixed [ENV]/home/.claude/settings.json
    rewrote hooks.PostToolUse[0] in the nested form
    [exit 0]
    ");
    assert!(read(&settings(&env)).contains(MINE.lines().nth(4).unwrap()));
    assert_snapshot!(setup(&env, &["--fix-flat"]), @"
    no entry in [ENV]/home/.claude/settings.json is in the flat form
    [exit 0]
    ");
    assert_snapshot!(setup(&env, &["--remove"]), @"
    removed murmur's hooks from [ENV]/home/.claude/settings.json
    [exit 0]
    ");
    assert_eq!(read(&settings(&env)), MINE);
    write(&settings(&env), "{\"disableAllHooks\": true}");
    assert_snapshot!(setup(&env, &[]), @"
    configured murmur's hooks in [ENV]/home/.claude/settings.json
    saved the previous version as [ENV]/home/.claude/settings.json.murmur-[RANDOM]
    | warning: [ENV]/home/.claude/settings.json:1:2: disableAllHooks is true: Claude Code runs no hooks, not even murmur's; remove it to enable them
    [exit 0]
    ");
}
