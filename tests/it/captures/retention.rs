//! What is removed, when, and what is reported.

use std::ffi::OsStr;
use std::fs::{File, FileTimes};
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::{Duration, SystemTime};

use derun::log::Log;
use derun::record::Channel;
use derun::retention::{self, Swept};
use derun::store::DEFAULT_RETENTION;
use derun::writer::End;
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use sys::clock;

use super::Vault;
use crate::env::show;

impl Vault {
    fn sweep(&self, now: Timestamp) -> Swept {
        let mut log = Log::open(self.store.root());
        retention::sweep(&self.store, DEFAULT_RETENTION, now, &mut log, || ControlFlow::Continue(())).unwrap()
    }

    /// What the last sweep reported about a session.
    fn said(&self, id: &str) -> (String, String) {
        let log = self.log();
        let lines = log.lines().rev().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let of_it = |line: &Value| line["event"] == "cleanup_result" && line["session_id"] == id;
        let line = lines.into_iter().find(of_it).unwrap();
        let word = |field: &str| line[field].as_str().unwrap().to_owned();
        (word("cleanup_result"), word("cleanup_reason"))
    }
}

/// How many sessions a sweep examined, and how many it removed.
fn counts(swept: Swept) -> (usize, usize) {
    (swept.checked, swept.removed)
}

fn after(seconds: i64) -> Timestamp {
    clock::now() + SignedDuration::from_secs(seconds)
}

fn touch(path: &Path, at: SystemTime) {
    File::open(path).unwrap().set_times(FileTimes::new().set_modified(at)).unwrap();
}

fn pair(result: &str, reason: &str) -> (String, String) {
    (result.to_owned(), reason.to_owned())
}

const DAY: i64 = 24 * 60 * 60;

#[test]
fn each_session_is_kept_for_its_own_retention() {
    let vault = Vault::new();
    for (id, retention) in [("second", Some("1s")), ("week", Some("7d")), ("default", None)] {
        let mut args = vec!["run", "--session-id", id];
        args.extend(retention.iter().flat_map(|time| ["--retention", time]));
        let output = vault.murmur(args.into_iter().chain(["--", "true"])).output().unwrap();
        assert_eq!(show(&output), "[exit 0]");
    }
    vault.sweep(after(DAY / 2));
    let left = || vault.store.list().unwrap().iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(vault.said("second"), pair("removed", "expired"));
    assert_eq!(vault.said("week"), pair("skipped", "not_expired"));
    assert_eq!(left(), ["default", "week"]);
    vault.sweep(after(DAY + 1));
    assert_eq!(vault.said("default"), pair("removed", "expired"));
    vault.sweep(after(7 * DAY + 1));
    assert_eq!(left(), [""; 0]);
}

#[test]
fn a_session_being_written_is_never_removed_whatever_its_files_contain() {
    let vault = Vault::new();
    let starting = vault.begin("starting");
    let mut running = vault.begin("running");
    running.started(7).unwrap();
    running.append(Channel::Stdout, b"bytes", clock::now()).unwrap();
    // Only its lock shows that it is alive.
    let torn = vault.begin("torn");
    std::fs::write(vault.path("torn/meta.json"), "{").unwrap();
    let ageless = vault.begin("no lock");
    std::fs::remove_file(vault.path("no lock/append.lock")).unwrap();
    assert_eq!(counts(vault.sweep(after(1000 * DAY))), (4, 0));
    for id in ["starting", "running", "torn", "no lock"] {
        assert_eq!(vault.said(id), pair("skipped", "active_session"), "{id}");
    }
    assert_eq!(vault.session("running").read(0, 100, clock::now()).unwrap().bytes, b"bytes");
    for writer in [starting, running, torn, ageless] {
        writer.finish(&End::Exited(0), None, clock::now()).unwrap();
    }
    assert_eq!(counts(vault.sweep(after(1000 * DAY))), (4, 4));
}

#[test]
fn an_unreadable_session_is_kept_for_a_day_after_its_last_change() {
    let vault = Vault::new();
    let long_ago = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    for id in ["old", "young file", "young folder"] {
        std::fs::create_dir(vault.path(id)).unwrap();
        std::fs::write(vault.path(id).join("meta.json"), "[]").unwrap();
        std::fs::write(vault.path(id).join("output.bin"), "x").unwrap();
        touch(&vault.path(id).join("meta.json"), long_ago);
        touch(&vault.path(id).join("output.bin"), long_ago);
        touch(&vault.path(id), long_ago);
    }
    let at = |seconds: u64| long_ago + Duration::from_secs(seconds);
    touch(&vault.path("young file/output.bin"), at(1000));
    touch(&vault.path("young folder"), at(1000));
    let now = |seconds: i64| Timestamp::from_second(1_000_000_000 + DAY + seconds).unwrap();
    assert_eq!(counts(vault.sweep(now(-1))), (3, 0));
    assert_eq!(vault.said("old"), pair("skipped", "unreadable_not_expired"));
    assert_eq!(counts(vault.sweep(now(0))), (3, 1));
    assert_eq!(vault.said("old"), pair("removed", "unreadable_expired"));
    assert_eq!(vault.sweep(now(999)).removed, 0);
    assert_eq!(vault.sweep(now(1000)).removed, 2);
}

#[test]
fn an_unreadable_session_with_an_impossible_time_is_kept() {
    let vault = Vault::new();
    std::fs::create_dir(vault.path("s")).unwrap();
    // Some file systems have times beyond any calendar.
    let beyond = SystemTime::UNIX_EPOCH + Duration::from_secs(1 << 33);
    touch(&vault.path("s"), beyond);
    assert_eq!(vault.sweep(after(DAY)).removed, 0);
    assert_eq!(vault.said("s"), pair("skipped", "unreadable_not_expired"));
}

#[test]
fn an_interrupted_removal_is_completed_by_the_next_sweep() {
    let vault = Vault::new();
    // In a possible order of removal; it may have been interrupted before each of them.
    let order = ["output.bin", "index.jsonl", "final.json"];
    for gone in 0..=order.len() {
        let id = format!("s{gone}");
        // By a process that has ended, like every owner of an ended session.
        let args = ["run", "--session-id", &id, "--retention", "60s", "--", "echo", "hi"];
        assert_eq!(show(&vault.murmur(args).output().unwrap()), "hi\n[exit 0]");
        for file in &order[..gone] {
            std::fs::remove_file(vault.path(&id).join(file)).unwrap();
        }
    }
    assert_eq!(counts(vault.sweep(after(DAY))), (4, 4));
    assert_eq!(std::fs::read_dir(vault.path("")).unwrap().count(), 0);
}

#[test]
fn a_session_is_removed_with_its_contents_but_not_what_they_link_to() {
    let vault = Vault::new();
    vault.ended("s");
    let outside = vault.env.root().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("mine"), "mine").unwrap();
    std::fs::create_dir_all(vault.path("s/folder/deeper")).unwrap();
    symlink(&outside, vault.path("s/folder/deeper/link")).unwrap();
    assert_eq!(counts(vault.sweep(after(DAY))), (1, 1));
    assert_eq!(vault.said("s"), pair("removed", "expired"));
    assert_eq!(std::fs::read(outside.join("mine")).unwrap(), b"mine");
}

#[test]
fn a_failed_removal_is_reported_and_retried() {
    let vault = Vault::new();
    vault.ended("s");
    // Nobody creates folders this deep; unlimited recursion would be worse than leaving them.
    let deep: std::path::PathBuf = std::iter::repeat_n("d", 80).collect();
    std::fs::create_dir_all(vault.path("s").join(deep)).unwrap();
    for _ in 0..2 {
        assert_eq!(counts(vault.sweep(after(DAY))), (1, 0));
        assert_eq!(vault.said("s"), pair("error", "remove_error"));
    }
    std::fs::remove_dir_all(vault.path("s/d")).unwrap();
    assert_eq!(vault.sweep(after(DAY)).removed, 1);
}

#[test]
fn names_that_are_not_utf8_and_foreign_files_do_not_stop_a_sweep() {
    let vault = Vault::new();
    let name = OsStr::from_bytes(b"not \xff utf-8");
    std::fs::create_dir(vault.path("").join(name)).unwrap();
    std::fs::create_dir(vault.path(".hidden")).unwrap();
    std::fs::write(vault.path("file"), "mine").unwrap();
    symlink(vault.env.root(), vault.path("link")).unwrap();
    vault.ended("s");
    assert_eq!(vault.store.list().unwrap().len(), 1);
    assert_eq!(counts(vault.sweep(after(2 * DAY))), (3, 3));
    assert_eq!(vault.said("not \u{fffd} utf-8"), pair("removed", "unreadable_expired"));
    assert_eq!(vault.env.names(&vault.path("")), "file\nlink");
}

#[test]
fn a_run_removes_expired_sessions() {
    let vault = Vault::new();
    vault.ended("s");
    let meta = vault.path("s/meta.json");
    let text = std::fs::read_to_string(&meta).unwrap();
    std::fs::write(&meta, text.replace("\"retention_seconds\":60", "\"retention_seconds\":0")).unwrap();
    // Written when a sweep ends, and when a run does.
    let next = vault.store.root().join("next-expiry");
    assert!(!next.exists());
    // It runs until the sweep has ended, and then its stdin ends.
    let mut child = vault.murmur(["run", "--", "cat"]).stdin(std::process::Stdio::piped()).spawn().unwrap();
    vault.env.wait(vault.store.root(), || next.exists().then_some(()));
    assert!(!vault.path("s").exists());
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
    assert_eq!(vault.said("s"), pair("removed", "expired"));
}

#[test]
fn a_log_over_8_mib_is_rotated() {
    let vault = Vault::new();
    let logs = vault.store.root().join("logs");
    let run = || vault.murmur(["run", "--", "true"]).output().unwrap();
    // The first one sweeps, and so opens the log a second time, when it has grown; the others don't.
    run();
    let full = vec![b'\n'; 8 * 1024 * 1024 + 1];
    std::fs::write(logs.join("derun.log"), &full[1..]).unwrap();
    run();
    assert_eq!(vault.env.names(&logs), "derun.log", "8 MiB is not more than 8 MiB");
    // With several at once, the old log is moved once, and not overwritten.
    std::fs::write(logs.join("derun.log"), &full).unwrap();
    let runs: Vec<_> = (0..8).map(|_| vault.murmur(["run", "--", "true"]).spawn().unwrap()).collect();
    for mut run in runs {
        assert!(run.wait().unwrap().success());
    }
    assert_eq!(vault.env.names(&logs), "derun.log\nderun.log.1");
    let moved = std::fs::read(logs.join("derun.log.1")).unwrap();
    assert!(moved.starts_with(&full));
    assert!(!vault.log().is_empty() && !vault.log().starts_with('\n'));
}

#[test]
fn the_log_contains_neither_arguments_nor_output() {
    let vault = Vault::new();
    let marker = "MARKER-7f3a";
    let outputs = [
        vault.murmur(["run", "--", "sh", "-c", "echo $0; echo $0 >&2; exit 3", marker]).output().unwrap(),
        vault.murmur(["run", "--", "sh", "-c", "kill -TERM $$", marker]).output().unwrap(),
        vault.murmur(["run", "--", marker]).output().unwrap(),
    ];
    assert_eq!(show(&outputs[0]), format!("{marker}\n| {marker}\n[exit 3]"));
    vault.sweep(after(2 * DAY));
    let log = vault.log();
    assert!(!log.contains(marker), "{log}");
    for said in [r#""exit_code":3"#, r#""signal":"SIGTERM""#, "running->signaled", "starting->failed"] {
        assert!(log.contains(said), "{said} is not in {log}");
    }
}
