//! A locked or emptied config.json blocks nothing.

use std::fs::File;
use std::io::{BufRead, BufReader};

use insta::assert_snapshot;
use rustix::process::Signal;
use serde_json::json;

use super::wait_for_last_run;
use crate::env::{Env, kill, show};

fn problem(status: &str) -> &str {
    status.lines().find(|line| line.starts_with("problem")).unwrap_or_default()
}

#[test]
fn a_held_config_lock_blocks_neither_beats_nor_status() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    env.register(&[&site]);
    let held = File::create(env.data().join("config.lock")).unwrap();
    held.lock().unwrap();
    let daemon = env.daemon();
    env.wait_for_journal(1);
    assert_snapshot!(daemon.says("lastRun"), @"[TIME] cannot write lastRun: [ENV]/data/config.lock is held by another process; murmur retries");
    assert_snapshot!(problem(&env.run(["status"])), @"problem: cannot write lastRun: [ENV]/data/config.lock is held by another process; murmur retries");
    // Beats continue.
    site.named("nightly", "Count.");
    assert_eq!(env.wait_for_journal(2)[1]["heartbeat"], "nightly");
    assert!(!env.config().contains("lastRun"));
    held.unlock().unwrap();
    // An edit is a reason to retry soon.
    site.heartbeat("Do it well.");
    wait_for_last_run(&env);
    env.wait(&env.data(), || env.config().contains("\"nightly\":\"").then_some(()));
    assert_eq!(problem(&env.run(["status"])), "");
    daemon.signal(Signal::TERM);
    assert!(daemon.ended().0.success());
    assert_eq!((env.agents().len(), env.journal().len()), (2, 2));
}

#[test]
fn a_held_config_lock_does_not_block_stop_and_last_runs_are_kept() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    env.register(&[&site]);
    let held = File::create(env.data().join("config.lock")).unwrap();
    held.lock().unwrap();
    let daemon = env.daemon();
    env.wait_for_journal(1);
    assert_snapshot!(env.run(["stop"]), @"
    murmur stopped (PID [PID])
    [exit 0]
    ");
    assert!(daemon.ended().0.success());
    assert!(!env.config().contains("lastRun"));
    drop(held);
    // The journal says that it ran.
    let blog = env.workspace("blog", "Do it.");
    env.run(["workspaces", "add", "blog"]);
    let daemon = env.daemon();
    assert_eq!(env.wait_for_journal(2)[1]["workspace"], blog.path());
    let status = env.murmur(["status", "--json"]).json();
    assert_eq!(status["heartbeats"][0]["lastRun"], env.journal()[0]["ts"]);
    daemon.stop();
    assert_eq!((env.agents().len(), env.journal().len()), (2, 2));
}

#[test]
fn a_manual_beat_is_journaled_while_config_lock_is_held_and_writes_last_run_afterward() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    env.register(&[&site]);
    let held = File::create(env.data().join("config.lock")).unwrap();
    held.lock().unwrap();
    let beat = env.murmur(["beat", "site"]).start();
    assert_eq!(env.wait_for_journal(1)[0]["outcome"], "ok");
    assert!(!env.config().contains("lastRun"));
    drop(held);
    crate::env::ended(beat).success();
    assert!(env.config().contains("\"lastRun\":\""));
}

#[test]
fn a_manual_beat_that_waits_for_config_lock_has_printed_its_outcome_and_can_be_stopped() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    env.register(&[&site]);
    let held = File::create(env.data().join("config.lock")).unwrap();
    held.lock().unwrap();
    let mut beat = env.murmur(["beat", "site"]).start();
    let mut line = String::new();
    BufReader::new(beat.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.starts_with("ok "), "{line}");
    kill(beat.id().into(), Signal::INT);
    assert_snapshot!(show(&beat.wait_with_output().unwrap()), @"[exit 0]");
    assert!(!env.config().contains("lastRun"));
    assert_eq!(env.journal()[0]["outcome"], "ok");
}

#[test]
fn nothing_is_added_to_an_empty_config() {
    let env = Env::new();
    env.configure("");
    std::fs::create_dir(env.root().join("site")).unwrap();
    assert_snapshot!(env.run(["init", "site"]), @"
    | error: [ENV]/data/config.json:1:1: it is empty, which is not JSON
    | hint: write {} into it, or remove it
    [exit 1]
    ");
    assert_eq!((env.config(), env.names(&env.root().join("site"))), (String::new(), String::new()));
}

#[test]
fn an_emptied_config_is_reported_and_the_last_valid_one_stays_active() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    env.configure(&json!({ "workspaces": [{ "path": site.0, "interval": "1s" }] }).to_string());
    let daemon = env.daemon();
    env.wait_for_journal(1);
    // Under the lock, so that no lastRun is written over it.
    let lock = File::create(env.data().join("config.lock")).unwrap();
    lock.lock().unwrap();
    env.configure("");
    drop(lock);
    assert_snapshot!(daemon.says("last good"), @"[TIME] [ENV]/data/config.json:1:1: it is empty, which is not JSON; write {} into it, or remove it; until then the last good configuration is used");
    let before = env.journal().len();
    env.wait_for_journal(before + 2);
    let status = env.run(["status"]);
    assert_snapshot!(problem(&status), @"problem: [ENV]/data/config.json:1:1: it is empty, which is not JSON; write {} into it, or remove it; until then the last good configuration is used");
    assert!(status.contains("\nsite  "), "{status}");
    assert_eq!(env.config(), "");
    daemon.signal(Signal::TERM);
    assert!(daemon.ended().0.success());
    assert_eq!(env.config(), "");
}
