//! The file: what can't be changed stays, modes and links are kept, and concurrent runs are safe.

use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use insta::assert_snapshot;
use serde_json::Value;

use super::{MINE, read, settings, setup, write};
use crate::env::{Env, show};

fn mode(path: &std::path::Path) -> u32 {
    path.metadata().unwrap().mode() & 0o7777
}

#[test]
fn files_that_cannot_be_extended_are_not_changed() {
    let env = Env::new();
    for (text, name) in [
        (&b"{\n  // mine\n  \"model\": \"opus\"\n}"[..], "comment"),
        (b"{\"model\": \"opus\",}", "comma"),
        (b"{\"model\": \"op", "torn"),
        (b"[]", "array"),
        (b"{\"hooks\": []}", "hooks"),
        (b"{\"hooks\": {\n  \"Stop\": \"x\"}}", "event"),
        (b"{\"a\": \"\xff\"}", "bytes"),
    ] {
        write(&settings(&env), text);
        let [plain, dry, check] = [&[][..], &["--dry-run"], &["--check"]].map(|args| setup(&env, args));
        assert_eq!((&dry, &check), (&plain, &plain), "{name}");
        insta::with_settings!({ snapshot_suffix => name }, { assert_snapshot!(plain) });
        assert_eq!(std::fs::read(settings(&env)).unwrap(), text);
    }
    assert_eq!(env.names(&env.home().join(".claude")), "settings.json");
}

#[test]
fn a_blank_file_counts_as_empty() {
    let env = Env::new();
    write(&settings(&env), "\n");
    setup(&env, &[]);
    assert!(read(&settings(&env)).starts_with("{\n  \"hooks\": {\n"));
    setup(&env, &["--remove"]);
    assert_eq!(read(&settings(&env)), "\n");
}

#[test]
fn modes_are_kept_and_new_files_are_private() {
    let env = Env::new();
    setup(&env, &[]);
    assert_eq!((mode(&settings(&env)), mode(&env.home().join(".claude"))), (0o600, 0o700));
    let backup = env.home().join(".claude/settings.json.murmur-backup");
    for (before, of_backup) in [(0o644, 0o600), (0o666, 0o600), (0o400, 0o400)] {
        std::fs::remove_file(settings(&env)).unwrap();
        write(&settings(&env), MINE);
        std::fs::set_permissions(settings(&env), PermissionsExt::from_mode(before)).unwrap();
        setup(&env, &[]);
        assert_eq!((mode(&settings(&env)), mode(&backup)), (before, of_backup));
        setup(&env, &["--remove"]);
        assert_eq!((mode(&settings(&env)), backup.exists()), (before, false));
    }
}

#[test]
fn links_are_followed_and_kept() {
    let env = Env::new();
    let real = env.root().join("dotfiles/claude.json");
    write(&real, MINE);
    std::fs::create_dir(env.home().join(".claude")).unwrap();
    symlink("../../dotfiles/claude.json", settings(&env)).unwrap();
    assert_snapshot!(setup(&env, &[]), @"
    configured murmur's hooks in [ENV]/dotfiles/claude.json
    saved the previous version as [ENV]/dotfiles/claude.json.murmur-[RANDOM]
    [exit 0]
    ");
    assert!(settings(&env).is_symlink() && read(&real).contains("murmur-hook"));
    assert_eq!(env.names(&env.root().join("dotfiles")), "claude.json\nclaude.json.murmur-backup");
    setup(&env, &["--remove"]);
    assert_eq!(read(&real), MINE);
    // A link to a missing file creates the file, and removes it again.
    std::fs::remove_file(&real).unwrap();
    assert_snapshot!(setup(&env, &[]), @"
    configured murmur's hooks in [ENV]/dotfiles/claude.json
    [exit 0]
    ");
    assert_snapshot!(setup(&env, &["--remove"]), @"
    removed [ENV]/dotfiles/claude.json, which contained only murmur's hooks
    [exit 0]
    ");
    assert!(settings(&env).is_symlink() && !real.exists());
    std::fs::remove_file(settings(&env)).unwrap();
    symlink("settings.json", settings(&env)).unwrap();
    assert_snapshot!(setup(&env, &[]), @"
    | error: cannot read [ENV]/home/.claude/settings.json: Too many levels of symbolic links (os error 40)
    | hint: remove the symlink [ENV]/home/.claude/settings.json: it leads back to itself
    [exit 1]
    ");
}

#[test]
fn a_file_that_cannot_be_replaced_without_loss_is_not_changed() {
    let env = Env::new();
    write(&settings(&env), MINE);
    std::fs::hard_link(settings(&env), env.root().join("other")).unwrap();
    assert_snapshot!(setup(&env, &[]), @"
    | error: [ENV]/home/.claude/settings.json has 2 hard links, which editing would break
    | hint: replace the others with symlinks
    [exit 1]
    ");
    std::fs::remove_file(settings(&env)).unwrap();
    std::fs::create_dir(settings(&env)).unwrap();
    assert_snapshot!(setup(&env, &[]), @"
    | error: cannot read [ENV]/home/.claude/settings.json: it is not a regular file
    | hint: check its owner and mode
    [exit 1]
    ");
    std::fs::remove_dir(settings(&env)).unwrap();
    sys::fifo::make(&settings(&env)).unwrap();
    assert_snapshot!(setup(&env, &[]), @"
    | error: cannot read [ENV]/home/.claude/settings.json: it is not a regular file
    | hint: check its owner and mode
    [exit 1]
    ");
    std::fs::remove_file(settings(&env)).unwrap();
    std::fs::remove_dir(env.home().join(".claude")).unwrap();
    std::fs::write(env.home().join(".claude"), "").unwrap();
    assert_snapshot!(setup(&env, &[]), @"
    | error: cannot read [ENV]/home/.claude/settings.json: Not a directory (os error 20)
    | hint: check its owner and mode
    [exit 1]
    ");
}

#[test]
fn an_unwritable_folder_is_named() {
    let env = Env::new();
    write(&settings(&env), MINE);
    let folder = env.home().join(".claude");
    std::fs::set_permissions(&folder, PermissionsExt::from_mode(0o500)).unwrap();
    // Root can write anywhere, so the file that must not be touched is another user's.
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(settings(&env), Some(65534), None).unwrap();
        let shown = setup(&env, &[]);
        let path = settings(&env);
        let expected = format!(
            "| error: {} belongs to another user (uid 65534)\n| hint: run this as that user\n[exit 1]",
            path.display()
        );
        assert_eq!(shown, expected);
        std::fs::remove_file(&path).unwrap();
        std::os::unix::fs::chown(&folder, Some(65534), None).unwrap();
        let expected = format!(
            "| error: {} belongs to another user (uid 65534)\n| hint: run this as that user\n[exit 1]",
            folder.display()
        );
        assert_eq!(setup(&env, &[]), expected);
    } else {
        let expected =
            format!("| error: cannot write {}: Permission denied (os error 13)", settings(&env).display());
        let shown = setup(&env, &[]);
        assert!(shown.starts_with(&expected), "{shown}");
        assert_eq!(read(&settings(&env)), MINE);
    }
    std::fs::set_permissions(&folder, PermissionsExt::from_mode(0o700)).unwrap();
}

#[test]
fn concurrent_setups_add_each_entry_once() {
    let env = Env::new();
    write(&settings(&env), MINE);
    let running: Vec<_> = (0..16).map(|_| env.murmur(["setup", "hooks"]).start()).collect();
    let mut shown: Vec<String> =
        running.into_iter().map(|child| show(&child.wait_with_output().unwrap())).collect();
    shown.sort();
    assert!(shown[..15].iter().all(|shown| shown.starts_with("already configured in ")), "{shown:?}");
    assert!(shown[15].starts_with("configured murmur's hooks in "), "{shown:?}");
    let value: Value = serde_json::from_str(&read(&settings(&env))).unwrap();
    assert_eq!(value["hooks"]["PostToolUse"].as_array().unwrap().len(), 2);
    assert_eq!(env.names(&env.home().join(".claude")), "settings.json\nsettings.json.murmur-backup");
}

#[test]
fn a_huge_file_is_handled_quickly() {
    let env = Env::new();
    let entry = "    \"Bash(some command that is allowed *)\",\n";
    let rules = entry.repeat((10 << 20) / entry.len());
    let huge = format!("{{\n  \"permissions\": {{ \"allow\": [\n{rules}    \"Bash(ls)\"\n  ] }}\n}}\n");
    write(&settings(&env), &huge);
    // CPU seconds, which don't depend on other processes. A debug build is many times slower than a release build.
    let script = "ulimit -t 20 && exec \"$0\" setup hooks";
    let shown = env.program("sh", ["-c", script, crate::env::MURMUR]).run();
    assert!(shown.ends_with("[exit 0]"), "{shown}");
    setup(&env, &["--remove"]);
    assert!(read(&settings(&env)) == huge);
}

#[test]
fn an_unreadable_backup_is_not_replaced() {
    let env = Env::new();
    write(&settings(&env), MINE);
    setup(&env, &[]);
    let backup = env.home().join(".claude/settings.json.murmur-backup");
    std::fs::remove_file(&backup).unwrap();
    symlink("nowhere", &backup).unwrap();
    assert_snapshot!(setup(&env, &[]), @"
    already configured in [ENV]/home/.claude/settings.json
    [exit 0]
    ");
    let old = read(&settings(&env)).replace("/murmur-hook' Stop\"", "/old/murmur-hook' Stop\"");
    write(&settings(&env), &old);
    let said = [&[][..], &["--dry-run"], &["--remove"]].map(|args| setup(&env, args));
    assert_eq!((&said[1], &said[2]), (&said[0], &said[0]));
    assert_snapshot!(said[0], @"
    | error: cannot read [ENV]/home/.claude/settings.json.murmur-[RANDOM]: No such file or directory (os error 2)
    | hint: check its owner and mode
    [exit 1]
    ");
    assert_eq!(read(&settings(&env)), old);
    assert!(backup.is_symlink());
}
