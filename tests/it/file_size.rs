//! A limit on the size of files (`ulimit -f`) is a full disk to murmur: nobody dies of it, and no line is lost.

use std::os::unix::fs::PermissionsExt;

use rustix::process::Signal;
use serde_json::json;

use crate::env::{Daemon, Env, FAKE, result};

#[test]
fn a_beat_and_its_line_survive_a_limit_on_the_size_of_files() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    site.plays(&json!({ "stdout": result("HEARTBEAT_OK") }));
    env.fill_journal();
    let said = env.limited(["beat", "site"]).run();
    assert!(said.contains("ok ") && said.contains("File too large") && said.ends_with("[exit 0]"), "{said}");
    assert_eq!(env.murmur(["status", "--json"]).json()["waitingLines"], 1);
    env.run(["beat", "site"]);
    let journal = env.journal_text();
    assert_eq!(journal.lines().filter(|line| !line.is_empty()).count(), 2, "{}", journal.trim_start());
}

#[test]
fn a_daemon_survives_a_limit_on_the_size_of_files() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    site.plays(&json!({ "stdout": result("HEARTBEAT_OK") }));
    env.register(&[&site]);
    env.fill_journal();
    let daemon = Daemon::new(env.limited(["start", "--foreground"]));
    daemon.says("lines kept until there is");
    assert_eq!(env.murmur(["status", "--json"]).json()["waitingLines"], 1);
    daemon.signal(Signal::TERM);
    let (status, said) = daemon.ended();
    assert!(status.success(), "{status} {said:#?}");
    let daemon = env.daemon();
    daemon.stop();
    assert_eq!(env.journal_text().matches("\"outcome\":\"ok\"").count(), 1);
}

#[test]
fn agents_get_the_default_action_of_the_signal() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    site.plays(&json!({ "stdout": result("HEARTBEAT_OK") }));
    let seen = env.root().join("ignored");
    std::fs::remove_file(env.claude()).unwrap();
    let script =
        format!("#!/bin/sh\ngrep SigIgn /proc/self/status >'{}'\nexec '{FAKE}' \"$@\"\n", seen.display());
    std::fs::write(env.claude(), script).unwrap();
    std::fs::set_permissions(env.claude(), PermissionsExt::from_mode(0o755)).unwrap();
    env.limited(["beat", "site"]).run();
    let mask = std::fs::read_to_string(seen).unwrap();
    let mask = u64::from_str_radix(mask.split_whitespace().nth(1).unwrap(), 16).unwrap();
    assert_eq!(mask & (1 << (libc::SIGXFSZ - 1)), 0, "{mask:x}");
}

#[test]
fn a_hook_that_may_write_nothing_refuses_the_call_and_does_not_die() {
    let env = Env::new();
    let told = json!({
        "session_id": "s1", "tool_use_id": "t1", "tool_name": "Bash", "tool_input": { "command": "ls" },
        "hook_event_name": "PreToolUse", "cwd": env.root(), "transcript_path": "",
    });
    let given = env.root().join("told");
    std::fs::write(&given, told.to_string()).unwrap();
    let hook = env!("CARGO_BIN_EXE_murmur-hook");
    let words = ["-c", "ulimit -f 0; exec \"$1\" PreToolUse <\"$2\"", "sh", hook, given.to_str().unwrap()];
    let output = env.program("sh", words).output();
    assert!(output.status.code().is_some(), "{output:?}");
    assert!(!String::from_utf8_lossy(&output.stdout).contains("\"allow\""), "{output:?}");
}
