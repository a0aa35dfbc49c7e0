//! murmur treats a file size limit (`ulimit -f`) like a full disk: no process dies, and no line is lost.

use std::os::unix::fs::PermissionsExt;

use rustix::process::Signal;
use serde_json::json;

use crate::env::{Daemon, Env, fake_claude, result};

#[test]
fn a_beat_and_its_line_survive_a_file_size_limit() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    site.plays(&json!({ "stdout": result("HEARTBEAT_OK") }));
    env.fill_journal();
    let said = env.limited(["beat", "site"]).run();
    assert!(said.contains("ok ") && said.contains("File too large") && said.ends_with("[exit 0]"), "{said}");
    // With the limit, it is the reason; without it, nothing fails.
    let limited = env.limited(["status"]).run();
    let reason = "problem: 1 journal line is not written yet: cannot write ";
    assert!(limited.contains(reason) && limited.contains("; raise the limit on file sizes"), "{limited}");
    let status = env.murmur(["status", "--json"]).json();
    assert_eq!((&status["waitingLines"], &status["waitingReason"]), (&json!(1), &json!(null)));
    env.run(["beat", "site"]);
    let journal = env.journal_text();
    assert_eq!(journal.lines().filter(|line| !line.is_empty()).count(), 2, "{}", journal.trim_start());
}

#[test]
fn a_daemon_survives_a_file_size_limit() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    site.plays(&json!({ "stdout": result("HEARTBEAT_OK") }));
    env.register(&[&site]);
    env.fill_journal();
    let daemon = Daemon::new(env.limited(["start", "--foreground"]));
    daemon.says("1 journal line is not written yet");
    let status = env.murmur(["status", "--json"]).json();
    assert_eq!(status["waitingLines"], 1);
    let reason = status["waitingReason"].as_str().unwrap();
    assert!(reason.contains("File too large") && reason.contains("ulimit -f"), "{reason}");
    daemon.signal(Signal::TERM);
    let (status, said) = daemon.ended();
    assert!(status.success(), "{status} {said:#?}");
    let daemon = env.daemon();
    daemon.stop();
    assert_eq!(env.journal_text().matches("\"outcome\":\"ok\"").count(), 1);
}

#[test]
fn agents_get_the_signals_default_action() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    site.plays(&json!({ "stdout": result("HEARTBEAT_OK") }));
    let seen = env.root().join("ignored");
    std::fs::remove_file(env.claude()).unwrap();
    let script = format!(
        "#!/bin/sh\ngrep SigIgn /proc/self/status >'{}'\nexec '{}' \"$@\"\n",
        seen.display(),
        fake_claude()
    );
    std::fs::write(env.claude(), script).unwrap();
    std::fs::set_permissions(env.claude(), PermissionsExt::from_mode(0o755)).unwrap();
    env.limited(["beat", "site"]).run();
    let mask = std::fs::read_to_string(seen).unwrap();
    let mask = u64::from_str_radix(mask.split_whitespace().nth(1).unwrap(), 16).unwrap();
    assert_eq!(mask & (1 << (libc::SIGXFSZ - 1)), 0, "{mask:x}");
}

#[test]
fn a_hook_that_cannot_write_denies_the_call_and_does_not_die() {
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
