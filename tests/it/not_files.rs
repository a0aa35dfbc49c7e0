//! Anything but a file in place of murmur's files: it is reported at once, and nothing blocks on it.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::Duration;

use insta::assert_snapshot;
use serde_json::json;

use crate::env::{Env, result, wait_for_end};

/// Enough for any command that doesn't wait.
const DEADLINE: Duration = Duration::from_secs(30);

/// What can be in place of a file, and what murmur calls it.
const KINDS: [(&str, &str); 4] = [
    ("a pipe", "it is a named pipe, not a file"),
    ("a device", "it is a device, not a file"),
    ("a folder", "it is a folder, not a file"),
    ("a link", "it is a dangling symlink, not a file"),
];

fn put(kind: &str, path: &Path) {
    match kind {
        "a pipe" => sys::fifo::make(path).unwrap(),
        "a device" => symlink("/dev/zero", path).unwrap(),
        "a folder" => std::fs::create_dir(path).unwrap(),
        _ => symlink("/nonexistent/target", path).unwrap(),
    }
}

#[test]
fn every_command_reports_a_journal_that_is_not_a_file() {
    for (kind, words) in KINDS {
        let env = Env::for_as_long_as(DEADLINE);
        let site = env.workspace("site", "Do it.");
        site.plays(&json!({ "stdout": result("HEARTBEAT_OK") }));
        env.register(&[&site]);
        let journal = env.data().join("heartbeats.jsonl");
        put(kind, &journal);
        for command in [
            &["start"][..],
            &["start", "--foreground"],
            &["beat", "site"],
            &["log"],
            &["log", "-f"],
            &["status"],
        ] {
            let said = env.run(command.iter().copied());
            let expected = format!(
                "| error: cannot read {}: {words}\n| hint: move it away: murmur writes a file there\n[exit 1]",
                journal.display()
            );
            assert_eq!(said, expected, "{kind} {command:?}");
        }
        let doctor = env.run(["doctor"]);
        let named = format!("{} is {}", journal.display(), words.trim_start_matches("it is "));
        assert!(doctor.contains(&named), "{kind}: {doctor}");
        assert!(env.agents().is_empty() && env.alive().is_empty(), "{kind}");
    }
}

#[test]
fn no_line_is_lost_if_the_journal_becomes_a_pipe() {
    let env = Env::for_as_long_as(DEADLINE);
    let site = env.workspace("site", "Do it.");
    site.plays(&json!({ "stdout": result("HEARTBEAT_OK") }));
    env.register(&[&site]);
    let daemon = env.daemon();
    env.wait_for_journal(1);
    env.wait_for_no_beats();
    let journal = env.data().join("heartbeats.jsonl");
    std::fs::rename(&journal, env.root().join("moved")).unwrap();
    put("a pipe", &journal);
    let blog = env.workspace("blog", "Do it.");
    blog.plays(&json!({ "stdout": result("HEARTBEAT_OK") }));
    env.register(&[&site, &blog]);
    assert_snapshot!(daemon.says("named pipe"), @"[TIME] 1 journal line is not written yet: cannot read [ENV]/data/heartbeats.jsonl: it is a named pipe, not a file; move it away: murmur writes a file there");
    assert!(env.run(["status"]).contains("it is a named pipe, not a file"));
    std::fs::remove_file(&journal).unwrap();
    std::fs::rename(env.root().join("moved"), &journal).unwrap();
    daemon.signal(rustix::process::Signal::TERM);
    assert!(daemon.ended().0.success());
    assert_eq!((env.journal().len(), env.agents().len()), (2, 2));
}

#[test]
fn nothing_blocks_on_a_pipe_in_place_of_any_other_file() {
    let names = [
        "config.json",
        "config.lock",
        "decisions.jsonl",
        "journal.reserve",
        "beats.reserve/0.spare",
        "murmur.log",
        "murmur.pid",
        "config/config.toml",
        "config/permissions.toml",
        "beats/00000000-0000-7000-8000-000000000000.json",
        "hosts/site-1.json",
        "hosts/site-1.log",
        "heartbeats/site-1.json",
        "approvals/00000000.json",
    ];
    for name in names {
        let env = Env::for_as_long_as(DEADLINE);
        let site = env.workspace("site", "Do it.");
        site.plays(&json!({ "stdout": result("HEARTBEAT_OK") }));
        env.register(&[&site]);
        let path = env.data().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let _none = std::fs::remove_file(&path);
        put("a pipe", &path);
        for command in [
            &["status"][..],
            &["log"],
            &["doctor"],
            &["beat", "site"],
            &["workspaces", "list"],
            &["agents"],
            &["permission", "list"],
            &["host", "list", "--all"],
            &["host", "spawn", "--agent-id", "site-1", "--worktree", site.path()],
            &["host", "stop", "site-1"],
            &["start"],
            &["status"],
            &["stop"],
        ] {
            let output = env.murmur(command.iter().copied()).output();
            assert!(output.status.code().is_some(), "{name} {command:?}: {output:?}");
        }
        // A daemon that has announced its end may still be running.
        env.alive().into_iter().for_each(wait_for_end);
    }
}

#[test]
fn a_heartbeat_file_that_is_a_pipe_is_reported() {
    let env = Env::for_as_long_as(DEADLINE);
    let site = env.workspace("site", "Do it.");
    env.register(&[&site]);
    let file = Path::new(site.path()).join("HEARTBEAT.md");
    std::fs::remove_file(&file).unwrap();
    put("a pipe", &file);
    let said = env.run(["beat", "site"]);
    assert!(said.contains("it is not a regular file") && said.ends_with("[exit 1]"), "{said}");
}
