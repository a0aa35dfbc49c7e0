//! Journal lines that other processes keep while a daemon runs: it counts them, says why they wait, and writes
//! them when it can.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use insta::assert_snapshot;
use rustix::process::Signal;
use serde_json::json;

use crate::env::{Daemon, Env, fake_claude, result};

/// Creates the journal with this mode.
fn journal(env: &Env, mode: u32) -> PathBuf {
    let path = env.create_data().join("heartbeats.jsonl");
    std::fs::write(&path, "").unwrap();
    change(&path, mode);
    path
}

fn change(path: &Path, mode: u32) {
    std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
}

/// A workspace that is only run manually.
fn workspace(env: &Env) {
    env.workspace("site", "Do it.").plays(&json!({ "stdout": result("HEARTBEAT_OK") }));
}

#[test]
fn a_line_that_a_manual_beat_kept_is_reported_and_written_by_the_running_daemon() {
    let env = Env::new();
    workspace(&env);
    let journal = journal(&env, 0o400);
    let daemon = Daemon::new(env.unprivileged(["start", "--foreground"]));
    let said = env.unprivileged(["beat", "site"]).run();
    assert!(said.contains("the line was kept and will be written later; run: chmod u+rw "), "{said}");
    assert_snapshot!(env.unprivileged(["status"]).run(), @"
    murmur 0.1.0 is running (PID [PID]), up [SPAN]
    problem: 1 journal line is not written yet: cannot write [ENV]/data/heartbeats.jsonl: Permission denied (os error 13); run: chmod u+rw [ENV]/data/heartbeats.jsonl
    no heartbeats; create one with: murmur init PATH
    [exit 0]
    ");
    assert_snapshot!(env.unprivileged(["log"]).run(), @"
    no beats to show; see: murmur status
    | warning: 1 journal line is not written yet: cannot write [ENV]/data/heartbeats.jsonl: Permission denied (os error 13); run: chmod u+rw [ENV]/data/heartbeats.jsonl
    [exit 0]
    ");
    daemon.says("1 journal line is not written yet: cannot write ");
    change(&journal, 0o600);
    // It retries every 10 s.
    assert_eq!(env.wait_for_journal(1)[0]["outcome"], "ok");
    let status = env.murmur(["status", "--json"]).json();
    assert_eq!((&status["waitingLines"], &status["waitingReason"]), (&json!(0), &json!(null)));
    daemon.stop();
}

#[test]
fn a_line_kept_because_the_journal_is_a_folder_is_reported_and_survives_a_stop() {
    let env = Env::new();
    workspace(&env);
    let journal = env.create_data().join("heartbeats.jsonl");
    let daemon = env.daemon();
    std::fs::remove_file(env.claude()).unwrap();
    let script = format!("#!/bin/sh\nmkdir '{}'\nexec '{}' \"$@\"\n", journal.display(), fake_claude());
    std::fs::write(env.claude(), script).unwrap();
    change(&env.claude(), 0o755);
    env.run(["beat", "site"]);
    assert_snapshot!(env.run(["status"]), @"
    murmur 0.1.0 is running (PID [PID]), up [SPAN]
    problem: 1 journal line is not written yet: cannot read [ENV]/data/heartbeats.jsonl: it is a folder, not a file; move it away: murmur writes a file there
    no heartbeats; create one with: murmur init PATH
    [exit 0]
    ");
    daemon.says("1 journal line is not written yet: ");
    assert_snapshot!(env.run(["stop"]), @"
    murmur stopped (PID [PID])
    1 journal line is not written yet: cannot write [ENV]/data/heartbeats.jsonl: it is a folder, not a file; move it away: murmur writes a file there
    [exit 0]
    ");
    std::fs::remove_dir(&journal).unwrap();
    let daemon = env.daemon();
    assert_eq!(env.wait_for_journal(1)[0]["outcome"], "ok");
    daemon.stop();
}

#[test]
fn lines_written_by_another_process_are_not_counted() {
    let env = Env::new();
    workspace(&env);
    let journal = journal(&env, 0o400);
    env.unprivileged(["beat", "site"]).run();
    let daemon = Daemon::new(env.unprivileged(["start", "--foreground"]));
    daemon.says("1 journal line is not written yet: ");
    let waiting = || env.murmur(["status", "--json"]).json()["waitingLines"].clone();
    assert_eq!(waiting(), 1);
    env.unprivileged(["beat", "site"]).run();
    assert_eq!(waiting(), 2);
    change(&journal, 0o600);
    // It writes waiting lines before it starts beats.
    env.unprivileged(["beat", "site"]).run();
    assert_eq!((waiting(), env.journal().len()), (json!(0), 3));
    daemon.signal(Signal::TERM);
    assert!(daemon.ended().0.success());
}

#[test]
fn stop_reports_unwritten_lines() {
    for args in [&["stop"][..], &["stop", "--leave-agents"]] {
        let env = Env::new();
        workspace(&env);
        journal(&env, 0o400);
        let daemon = Daemon::new(env.unprivileged(["start", "--foreground"]));
        env.unprivileged(["beat", "site"]).run();
        daemon.says("1 journal line is not written yet: ");
        let stopped = env.unprivileged(args).run();
        let line = "\n1 journal line is not written yet: cannot write [ENV]/data/heartbeats.jsonl: Permission denied (os error 13); run: chmod u+rw [ENV]/data/heartbeats.jsonl\n[exit 0]";
        let line = line.replace("[ENV]", &env.root().display().to_string());
        assert!(stopped.ends_with(&line), "{args:?}: {stopped}");
    }
}

#[test]
fn an_unwritable_journal_fails_the_doctor_check_and_makes_start_warn() {
    let env = Env::new();
    let journal = journal(&env, 0o400);
    let doctor = env.unprivileged(["doctor", "--json"]).json();
    let findings = doctor["findings"].as_array().unwrap();
    let finding = findings.iter().find(|finding| finding["check"] == "journal").unwrap();
    let path = journal.display();
    assert_eq!(
        finding,
        &json!({
            "check": "journal", "level": "fail",
            "found": format!("cannot write {path}: Permission denied (os error 13)"),
            "hint": format!("run: chmod u+rw {path}"),
        })
    );
    for mode in [0o400, 0] {
        change(&journal, mode);
        let started = env.unprivileged(["start"]).run();
        let warning = format!(
            "| warning: cannot write {path}: Permission denied (os error 13); run: chmod u+rw {path}\n"
        );
        assert!(started.contains(&warning) && started.ends_with("[exit 0]"), "{mode:o}: {started}");
        let status = env.unprivileged(["status"]).run();
        let problem = warning.replace("| warning", "problem");
        assert!(status.contains(&problem) && status.ends_with("[exit 0]"), "{mode:o}: {status}");
        env.unprivileged(["stop"]).run();
    }
}
