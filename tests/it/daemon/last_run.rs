//! `lastRun` in config.json: it only moves forward, and is restored when it is overwritten.

use insta::assert_snapshot;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::env::{Daemon, Env};

fn entries(env: &Env) -> Vec<Value> {
    let config: Value = serde_json::from_str(&env.config()).unwrap();
    config["workspaces"].as_array().unwrap().clone()
}

/// Saves these entries and one more, whose beat shows that they were read.
fn save(env: &Env, entries: &[Value], name: &str) {
    let marker = env.workspace(name, "Do it.");
    let mut all = entries.to_vec();
    all.push(json!({ "path": marker.0, "interval": "1h" }));
    env.configure(&json!({ "workspaces": all }).to_string());
}

fn ran(env: &Env, name: &str) -> usize {
    let path = env.root().join(name);
    env.journal().iter().filter(|line| line["workspace"] == path.to_str().unwrap()).count()
}

/// Five heartbeats, one of them named, that have run, and the earlier config.json.
fn begun(env: &Env) -> (Vec<Value>, Daemon) {
    let workspaces: Vec<_> = (0..4).map(|n| env.workspace(&format!("w{n}"), "Do it.")).collect();
    workspaces[0].named("nightly", "Count.");
    env.register(&workspaces.iter().collect::<Vec<_>>());
    let stale = entries(env);
    let daemon = env.daemon();
    env.wait_for_journal(5);
    (stale, daemon)
}

/// Stops a daemon that has printed something.
fn stop(daemon: Daemon) {
    daemon.signal(rustix::process::Signal::TERM);
    assert!(daemon.ended().0.success());
}

#[test]
fn a_saved_stale_copy_of_config_json_runs_nothing_again() {
    let env = Env::new();
    let (stale, daemon) = begun(&env);
    daemon.stop();
    assert_eq!(env.config().matches("\"lastRun\":\"").count(), 4, "{}", env.config());
    assert_eq!(env.config().matches("\"nightly\":\"").count(), 1, "{}", env.config());
    let daemon = env.daemon();
    // One copy from before the first `lastRun`, and one with older ones.
    save(&env, &stale, "first");
    env.wait_for_journal(6);
    let old = "2020-02-03T10:00:00Z";
    let older = stale.iter().cloned().map(|mut entry| {
        entry["lastRun"] = json!(old);
        entry
    });
    let mut older: Vec<_> = older.collect();
    older[0]["lastRuns"] = json!({ "nightly": old });
    save(&env, &older, "second");
    assert_snapshot!(daemon.says("lastRun"), @"[TIME] warning: lastRun of [ENV]/w0 is older than its last run and is ignored; to run it now: murmur beat [ENV]/w0");
    env.wait_for_journal(7);
    stop(daemon);
    assert_eq!(env.journal().len(), 7, "{}", env.journal_text());
    // The used values are in the file again.
    assert!(!env.config().contains(old), "{}", env.config());
    // To run it, somebody has to ask.
    assert!(env.run(["beat", "w1"]).starts_with("ok "));
    assert_eq!(ran(&env, "w1"), 2);
}

#[test]
fn a_stale_copy_saved_without_a_daemon_runs_nothing_again() {
    let env = Env::new();
    let (stale, daemon) = begun(&env);
    daemon.stop();
    save(&env, &stale, "first");
    let daemon = env.daemon();
    env.wait_for_journal(6);
    daemon.crash();
    env.wait_for_no_beats();
    // A killed daemon has written nothing.
    save(&env, &stale, "second");
    let status = env.murmur(["status", "--json"]).json();
    for heartbeat in status["heartbeats"].as_array().unwrap().iter().take(5) {
        assert!(heartbeat["lastRun"].is_string(), "{heartbeat}");
    }
    let daemon = env.daemon();
    env.wait_for_journal(7);
    stop(daemon);
    assert_eq!(env.journal().len(), 7, "{}", env.journal_text());
    // Without its own file, murmur has the journal.
    std::fs::remove_file(env.data().join("last-runs.json")).unwrap();
    save(&env, &stale, "third");
    let daemon = env.daemon();
    env.wait_for_journal(8);
    stop(daemon);
    assert_eq!(env.journal().len(), 8, "{}", env.journal_text());
}

#[test]
fn a_workspace_that_disappears_from_config_json_and_returns_does_not_run_again() {
    let env = Env::new();
    let (stale, daemon) = begun(&env);
    save(&env, &[], "first");
    env.wait_for_journal(6);
    save(&env, &stale, "second");
    env.wait_for_journal(7);
    stop(daemon);
    assert_eq!(env.journal().len(), 7, "{}", env.journal_text());
}

#[test]
fn a_last_run_in_the_future_counts_as_now_with_a_warning_and_is_corrected() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    site.named("nightly", "---\ncron: '* * * * *'\n---\nCount.");
    let future = "2999-01-01T00:00:00Z";
    let entry =
        json!({ "path": site.0, "interval": "1h", "lastRun": future, "lastRuns": { "nightly": future } });
    env.configure(&json!({ "workspaces": [entry] }).to_string());
    let before = sys::clock::now();
    let daemon = env.daemon();
    assert_snapshot!(daemon.says("future"), @"[TIME] [ENV]/data/config.json: lastRun of [ENV]/site is in the future ([TIME]); it counts as now; the daemon corrects it within a minute");
    assert_snapshot!(daemon.says("future"), @"[TIME] [ENV]/data/config.json: lastRun of [ENV]/site::heartbeats/nightly/HEARTBEAT.md is in the future ([TIME]); it counts as now; the daemon corrects it within a minute");
    let config = env.wait(&env.data(), || Some(env.config()).filter(|config| !config.contains("2999")));
    let entry = &serde_json::from_str::<Value>(&config).unwrap()["workspaces"][0];
    for at in [&entry["lastRun"], &entry["lastRuns"]["nightly"]] {
        let at: Timestamp = at.as_str().unwrap().parse().unwrap();
        assert!(before <= at && at <= sys::clock::now(), "{entry}");
    }
    assert_eq!(ran(&env, "site"), env.journal().iter().filter(|line| line["heartbeat"].is_string()).count());
    stop(daemon);
}

#[test]
fn a_last_run_in_the_future_is_reported_until_it_is_corrected() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    let entry = json!({ "path": site.0, "interval": "1h", "lastRun": "2999-01-01T00:00:00Z" });
    env.configure(&json!({ "workspaces": [entry] }).to_string());
    assert_snapshot!(env.run(["status"]), @"
    murmur is not running; start it with: murmur start
    problem: [ENV]/data/config.json: lastRun of [ENV]/site is in the future ([TIME]); it counts as now; run: murmur start

    site  [ENV]/site
      schedule  every 1h
      last      unknown
      next      not scheduled: the daemon is not running
    [exit 0]
    ");
    let status = env.murmur(["status", "--json"]).json();
    let heartbeat = &status["heartbeats"][0];
    assert_eq!(
        (&heartbeat["lastRun"], &heartbeat["lastRunAhead"]),
        (&Value::Null, &json!("2999-01-01T00:00:00Z"))
    );
    assert!(env.run(["doctor"]).contains("lastRun of"), "{}", env.run(["doctor"]));
    assert_snapshot!(env.run(["start"]), @"
    murmur is running (PID [PID])
    | warning: [ENV]/data/config.json: lastRun of [ENV]/site is in the future ([TIME]); it counts as now; the daemon corrects it within a minute
    [exit 0]
    ");
    env.wait(&env.data(), || (!env.config().contains("2999")).then_some(()));
    env.run(["stop"]);
    let status = env.murmur(["status", "--json"]).json();
    assert_eq!((&status["problems"], &status["heartbeats"][0]["lastRunAhead"]), (&json!([]), &Value::Null));
}
