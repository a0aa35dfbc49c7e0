//! Messages about mistakes and unusable files: what failed, why, and what to do.

use std::fs::OpenOptions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use insta::assert_snapshot;
use predicates::str::is_empty;

use crate::env::{Env, fake_claude, programs};

#[test]
fn a_misspelled_heartbeat_name_gets_a_suggestion() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    site.named("nightly", "---\ninterval: 1d\n---\nCount.");
    site.named("two words", "---\ninterval: 1d\n---\nCount.");
    env.register(&[&site]);
    assert_snapshot!(env.run(["beat", "site", "--name", "nighly"]), @r#"
    | error: no heartbeat "nighly" in [ENV]/site
    | hint: did you mean --name nightly?
    [exit 1]
    "#);
    assert_snapshot!(env.run(["beat", "site", "--name", "twowords"]), @r#"
    | error: no heartbeat "twowords" in [ENV]/site
    | hint: did you mean --name 'two words'?
    [exit 1]
    "#);
    for args in [&["beat", "site", "--name", "x"][..], &["workspaces", "approve", "site", "--name", "x"]] {
        insta::allow_duplicates! {
            assert_snapshot!(env.run(args), @r#"
            | error: no heartbeat "x" in [ENV]/site
            | hint: use --name with one of: nightly, two words
            [exit 1]
            "#);
        }
    }
    env.workspace("blog", "Do it.");
    assert_snapshot!(env.run(["beat", "blog", "--name", "x"]), @r#"
    | error: no heartbeat "x" in [ENV]/blog
    | hint: leave --name out; no heartbeat there has a name
    [exit 1]
    "#);
}

#[test]
fn an_unknown_shell_error_lists_the_known_ones() {
    let env = Env::new();
    assert_snapshot!(env.run(["completions", "zz"]), @r#"
    | error: shell "zz" is not a known value
    | hint: did you mean "zsh"? Write bash, elvish, fish, powershell or zsh; see: murmur completions --help
    [exit 2]
    "#);
    assert_snapshot!(env.run(["completions", "x"]), @r#"
    | error: shell "x" is not a known value
    | hint: write bash, elvish, fish, powershell or zsh; see: murmur completions --help
    [exit 2]
    "#);
    assert_snapshot!(env.run(["completions"]), @"
    | error: <SHELL> is missing
    | hint: write bash, elvish, fish, powershell or zsh; see: murmur completions --help
    [exit 2]
    ");
}

#[test]
fn every_command_reports_a_file_in_place_of_the_data_folder() {
    let env = Env::new();
    env.workspace("site", "Do it.");
    let file = env.root().join("file");
    std::fs::write(&file, "mine").unwrap();
    for data in [file.clone(), file.join("below")] {
        for args in [
            &["beat", "site"][..],
            &["beat", "site", "--dry-run"],
            &["start"],
            &["status"],
            &["log"],
            &["agents"],
            &["host", "list"],
            &["permission", "list"],
            &["workspaces", "list"],
            &["init", "blog"],
            &["stop"],
        ] {
            let said = env.murmur(args).set("MURMUR_DIR", &data).run();
            insta::allow_duplicates! {
                assert_snapshot!(said, @"
                | error: the data folder [ENV]/file is not a folder
                | hint: choose another with --data-dir or MURMUR_DIR, or move that file away
                [exit 1]
                ");
            }
        }
        let doctor = env.murmur(["doctor"]).set("MURMUR_DIR", &data).run();
        assert!(doctor.contains("file is not a folder\n"), "{doctor}");
    }
    assert_eq!(std::fs::read_to_string(file).unwrap(), "mine");
}

#[test]
fn invalid_settings_are_reported_with_position_cause_and_hint() {
    let env = Env::new();
    env.workspace("site", "Do it.");
    let said = |text: &str| {
        env.setting("config.toml", text);
        env.run(["beat", "site", "--dry-run"])
    };
    assert_snapshot!(said("[quiet"), @"
    | error: [ENV]/data/config/config.toml:1:7: the table is not closed
    | hint: write ] at its end
    [exit 1]
    ");
    assert_snapshot!(said("approval = \"defer"), @r#"
    | error: [ENV]/data/config/config.toml:1:18: the string is not closed
    | hint: write " at its end
    [exit 1]
    "#);
    assert_snapshot!(said("approval\n"), @r#"
    | error: [ENV]/data/config/config.toml:1:9: the key has no value
    | hint: write "=" and a value after it
    [exit 1]
    "#);
    assert_snapshot!(said("approval = true"), @r#"
    | error: [ENV]/data/config/config.toml:1:12: "approval" cannot be a boolean
    | hint: write "wait" or "defer"
    [exit 1]
    "#);
    assert_snapshot!(said("unknown = 1"), @r#"
    | error: [ENV]/data/config/config.toml:1:1: unknown key "unknown"
    | hint: use one of permissions-checker, approval, approval-wait, approval-expiry, questions, llm_auth, providers, quiet, agent, acp, captures, notify
    [exit 1]
    "#);
}

#[test]
fn every_command_reports_output_that_cannot_be_written() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    env.register(&[&site]);
    let commands: &[&[&str]] = &[
        &["beat", "site"],
        &["beat", "site", "--json"],
        &["beat", "site", "--verbose"],
        &["beat", "site", "--dry-run"],
        &["status"],
        &["status", "--json"],
        &["log"],
        &["agents"],
        &["host", "list"],
        &["permission", "list"],
        &["permission", "rules"],
        &["question", "list"],
        &["workspaces", "list"],
        &["sessions"],
        &["doctor"],
        &["schema"],
        &["completions", "bash"],
        &["stop"],
        &["run", "--", "echo", "hi"],
        &["help"],
        &["log", "--help"],
        &["--version"],
    ];
    for args in commands {
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let said = env.murmur(*args).stdout(full).run();
        let expected = "| error: cannot write to standard output: No space left on device\n[exit 1]";
        let shows_outcome = args.starts_with(&["beat"]) && !args.contains(&"--dry-run");
        assert_eq!(said.starts_with("| ok "), shows_outcome, "{args:?}: {said}");
        assert!(said.ends_with(expected), "{args:?}: {said}");
        assert_eq!(said.matches("error").count(), 1, "{args:?}: {said}");
    }
    // Not even if a daemon is running, which answers.
    let daemon = env.daemon();
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    assert_snapshot!(env.murmur(["status", "--check"]).stdout(full).run(), @"
    | error: cannot write to standard output: No space left on device
    [exit 1]
    ");
    daemon.stop();
}

#[test]
fn an_unwritable_journal_is_reported_with_its_cause() {
    let env = Env::new();
    env.workspace("site", "Do it.");
    let journal = env.create_data().join("heartbeats.jsonl");
    std::fs::remove_file(env.claude()).unwrap();
    let script = format!("#!/bin/sh\nmkdir '{}'\nexec '{}' \"$@\"\n", journal.display(), fake_claude());
    std::fs::write(env.claude(), script).unwrap();
    std::fs::set_permissions(env.claude(), PermissionsExt::from_mode(0o755)).unwrap();
    assert_snapshot!(env.run(["beat", "site"]), @"
    ok [S]
    | warning: cannot write [ENV]/data/heartbeats.jsonl: it is a folder, not a file; the line was kept and will be written later; move it away: murmur writes a file there
    [exit 0]
    ");
    assert_eq!(journal.read_dir().unwrap().count(), 0);
    std::fs::remove_dir(&journal).unwrap();
    assert_snapshot!(env.run(["status"]), @"
    murmur is not running; start it with: murmur start
    problem: 1 journal line is not written yet; run: murmur start
    no heartbeats; create one with: murmur init PATH
    [exit 0]
    ");
    assert_snapshot!(env.run(["log"]), @"
    no beats to show; see: murmur status
    | warning: 1 journal line is not written yet; run: murmur start
    [exit 0]
    ");
    env.run(["beat", "site"]);
    assert_eq!(env.journal().len(), 2);
}

/// The hint that a command printed, without the test's folder.
fn hint(env: &Env, said: &str) -> String {
    let hint = said
        .lines()
        .find_map(|line| line.split_once("; ").map(|(_, hint)| hint).or(line.strip_prefix("| hint: ")));
    hint.unwrap_or_else(|| panic!("{said}")).replace(env.root().to_str().unwrap(), "[ENV]")
}

#[test]
fn a_symlink_loop_is_reported_with_a_hint() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    env.register(&[&site]);
    for (name, args) in [
        ("data/heartbeats.jsonl", &["log"][..]),
        ("data/heartbeats.jsonl", &["start"]),
        ("data/config.json", &["workspaces", "list"]),
        ("data/config.json", &["status"]),
        ("data/config/config.toml", &["beat", "site", "--dry-run"]),
        ("data/config/permissions.toml", &["permission", "rules"]),
        ("site/HEARTBEAT.md", &["beat", "site", "--dry-run"]),
        ("data", &["status"]),
    ] {
        let path = env.root().join(name);
        let aside = env.root().join("aside");
        let _none = std::fs::rename(&path, &aside);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(path.file_name().unwrap(), &path).unwrap();
        let said = env.run(args);
        let expected = format!("remove the symlink [ENV]/{name}: it leads back to itself");
        let said = said.replace(env.root().to_str().unwrap(), "[ENV]");
        assert_eq!(said.matches(&expected).count(), 1, "{args:?}: {said}");
        std::fs::remove_file(&path).unwrap();
        let _none = std::fs::rename(&aside, &path);
    }
}

/// Sets file flags that forbid changes, until this is dropped.
struct Locked<'a>(&'a Env, PathBuf, &'static str);

impl<'a> Locked<'a> {
    /// `None`, with a note, if that is not possible.
    fn new(env: &'a Env, path: &Path, flag: &'static str) -> Option<Self> {
        let args = [format!("+{flag}"), path.display().to_string()];
        let is_installed = programs().split(':').any(|folder| Path::new(folder).join("chattr").exists());
        if is_installed && env.program("chattr", args).output().status.success() {
            return Some(Self(env, path.to_path_buf(), flag));
        }
        eprintln!("not tested with a real file system: file flags cannot be set here");
        None
    }
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        let args = [format!("-{}", self.2), self.1.display().to_string()];
        self.0.program("chattr", args).output();
    }
}

#[test]
fn an_immutable_file_is_reported_with_the_command_that_clears_the_flag() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    env.register(&[&site]);
    let journal = env.data().join("heartbeats.jsonl");
    std::fs::write(&journal, "").unwrap();
    let Some(locked) = Locked::new(&env, &journal, "i") else { return };
    let said = env.run(["beat", "site"]);
    assert_eq!(
        hint(&env, &said),
        "the line was kept and will be written later; run as root: chattr -i [ENV]/data/heartbeats.jsonl"
    );
    drop(locked);
    let _locked = Locked::new(&env, &env.data(), "a");
    let said = env.run(["workspaces", "remove", "site"]);
    assert_eq!(hint(&env, &said), "run as root: chattr -a [ENV]/data");
}

#[test]
fn no_command_fails_on_a_closed_pipe() {
    let env = Env::new();
    env.workspace("site", "Do it.");
    for args in [&["beat", "site"][..], &["status"], &["help"], &["completions", "bash"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        env.murmur(args).stdout(writer).assert().success().stderr(is_empty());
    }
}

#[test]
fn a_misspelled_manager_role_is_an_error() {
    let env = Env::new();
    env.workspace("site", "Do it.");
    assert_snapshot!(env.run(["host", "spawn", "--role", "managr", "--worktree", "site"]), @r#"
    | error: role "managr" is not known
    | hint: did you mean "manager"?
    [exit 1]
    "#);
}

#[test]
fn a_misspelled_agent_workspace_or_command_gets_a_suggestion() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    env.register(&[&site]);
    env.run(["host", "spawn", "--agent-id", "fixer", "--worktree", "site"]);
    assert_snapshot!(env.run(["host", "status", "fixr"]), @r#"
    | error: no hosted agent "fixr"
    | hint: did you mean fixer? See: murmur agent list --all
    [exit 1]
    "#);
    env.run(["host", "stop", "fixer"]);
    assert_snapshot!(env.run(["log", "--workspace", "sitee"]), @"
    | error: [ENV]/sitee is not registered and not in the journal
    | hint: did you mean [ENV]/site? See: murmur list
    [exit 1]
    ");
    assert_snapshot!(env.run(["foo"]), @r#"
    | error: unknown command "foo"
    | hint: see: murmur --help
    [exit 2]
    "#);
}
