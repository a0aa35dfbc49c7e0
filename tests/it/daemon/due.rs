//! Due heartbeats run, and those that must not run at the same time don't.

use std::io::Write;
use std::os::unix::net::UnixStream;

use insta::assert_snapshot;
use serde_json::json;

use super::waits_at;
use crate::env::{Env, Socket, fixture, result};

#[test]
fn a_due_heartbeat_runs_once() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    env.register(&[&site]);
    let daemon = env.daemon();
    env.wait_for_journal(1);
    daemon.stop();
    assert_snapshot!(env.journal_text(), @r#"{"ts":"[TIME]","workspace":"[ENV]/site","outcome":"ok","durationMs":[MS],"beat":"[BEAT]","agent":"site-[ID]","sessionId":"00000000-0000-4000-8000-000000000001","costUsd":0.00044,"numTurns":1,"exit":{"code":0},"model":"claude-opus-5-5","tokens":{"input":10,"output":20,"cacheRead":0,"cacheWrite":0},"capture":"[SESSION]"}"#);
    assert_snapshot!(env.config(), @r#"{"workspaces":[{"interval":"1h","path":"[ENV]/site","lastRun":"[TIME]"}]}"#);
    // The next daemon knows that it ran: otherwise it would run first, as the longest due.
    let blog = env.workspace("blog", "Do it.");
    env.run(["workspaces", "add", "blog"]);
    let daemon = env.daemon();
    assert_eq!(env.wait_for_journal(2)[1]["workspace"], blog.path());
    daemon.stop();
    assert_eq!((env.journal().len(), env.agents().len()), (2, 2));
}

#[test]
fn a_heartbeat_with_an_interval_of_a_second_keeps_running() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    env.configure(&json!({ "workspaces": [{ "path": site.0, "interval": "1s" }] }).to_string());
    let daemon = env.daemon();
    let lines = env.wait_for_journal(3);
    daemon.stop();
    let at: Vec<jiff::Timestamp> =
        lines.iter().map(|line| line["ts"].as_str().unwrap().parse().unwrap()).collect();
    // Each time is that of the agent's start, which may take longer for some than for others.
    let span = at[2].duration_since(at[0]).as_millis();
    assert!(at.is_sorted() && span > 1000, "{at:?}");
}

#[test]
fn every_outcome_is_shown() {
    let env = Env::new();
    let workspaces = ["ok", "attention", "max-turns", "api-429"].map(|name| {
        let workspace = env.workspace(name, "Do it.");
        workspace.plays(&json!({ "fixture": fixture(name) }));
        workspace
    });
    env.register(&workspaces.each_ref());
    let daemon = env.daemon();
    env.wait_for_journal(4);
    daemon.stop();
    assert_snapshot!(env.run(["status"]), @"
    murmur is not running; start it with: murmur start

    ok  [ENV]/ok
      schedule  every 1h
      last      ok        [SPAN] ago
      next      not scheduled: the daemon is not running

    attention  [ENV]/attention
      schedule  every 1h
      last      attention [SPAN] ago ATTENTION: the backup is 9 days old.
      next      not scheduled: the daemon is not running

    max-turns  [ENV]/max-turns
      schedule  every 1h
      last      error     [SPAN] ago exited with code 1: Reached maximum number of turns (3)
      next      not scheduled: the daemon is not running

    api-429  [ENV]/api-429
      schedule  every 1h
      last      error     [SPAN] ago exited with code 1: API Error: Request rejected (429) · This request would exceed your account's rate limit.
      next      not scheduled: the daemon is not running
    [exit 0]
    ");
}

#[test]
fn named_heartbeats_run_one_at_a_time_per_workspace() {
    let env = Env::new();
    let site = env.workspace("site", "First.");
    for name in ["a", "b"] {
        site.named(name, "Do it.");
    }
    let (pace, mut gate) = env.gate("gate");
    site.plays(&waits_at(&pace));
    env.register(&[&site]);
    let daemon = env.daemon();
    for beat in 1..=3 {
        env.wait_for_agents(beat);
        // A status is answered after everything due has been started.
        let status = env.murmur(["status", "--json"]).json();
        let heartbeats = status["heartbeats"].as_array().unwrap();
        let running = heartbeats.iter().filter(|heartbeat| !heartbeat["running"].is_null()).count();
        let waiting = heartbeats.iter().filter(|heartbeat| heartbeat["waiting"] == true).count();
        assert_eq!((env.agents().len(), running, waiting), (beat, 1, 3 - beat));
        gate.write_all(b".").unwrap();
    }
    env.wait_for_journal(3);
    daemon.stop();
    let mut names: Vec<_> = env.journal().iter().map(|line| line["heartbeat"].to_string()).collect();
    names.sort();
    assert_eq!(names, ["\"a\"", "\"b\"", "null"]);
    let config: serde_json::Value = serde_json::from_str(&env.config()).unwrap();
    let last_runs = config["workspaces"][0]["lastRuns"].as_object().unwrap();
    assert_eq!(last_runs.keys().collect::<Vec<_>>(), ["a", "b"]);
}

#[test]
fn a_slow_beat_delays_no_other_workspace() {
    let env = Env::new();
    let (slow, quick) = (env.workspace("slow", "Do it."), env.workspace("quick", "Do it."));
    let (pace, mut gate) = env.gate("gate");
    slow.plays(&waits_at(&pace));
    let entries = json!([{ "path": slow.0, "interval": "1h" }, { "path": quick.0, "interval": "1s" }]);
    env.configure(&json!({ "workspaces": entries }).to_string());
    let daemon = env.daemon();
    let lines = env.wait_for_journal(2);
    assert!(lines.iter().all(|line| line["workspace"] == quick.path()), "{lines:#?}");
    env.configure(&json!({ "workspaces": [entries[0]] }).to_string());
    gate.write_all(b".").unwrap();
    env.wait(&env.data(), || env.journal().iter().find(|line| line["workspace"] == slow.path()).cloned());
    daemon.stop();
}

#[test]
fn at_most_max_concurrent_beats_run_at_once() {
    let env = Env::new();
    let workspaces = ["a", "b", "c", "d", "e"].map(|name| env.workspace(name, "Do it."));
    let (pace, mut gate) = env.gate("gate");
    let entries = workspaces.each_ref().map(|workspace| {
        workspace.plays(&waits_at(&pace));
        json!({ "path": workspace.0, "interval": "1h" })
    });
    env.configure(&json!({ "maxConcurrent": 2, "workspaces": entries }).to_string());
    let daemon = env.daemon();
    env.wait_for_agents(2);
    for done in 0..=3 {
        let status = env.murmur(["status", "--json"]).json();
        let heartbeats = status["heartbeats"].as_array().unwrap();
        let running = heartbeats.iter().filter(|heartbeat| !heartbeat["running"].is_null()).count();
        assert_eq!((running, env.agents().len()), (2, done + 2));
        gate.write_all(b".").unwrap();
        env.wait_for_journal(done + 1);
        env.wait_for_agents((done + 3).min(5));
    }
    gate.write_all(b".").unwrap();
    env.wait_for_journal(5);
    daemon.stop();
    assert_eq!((env.agents().len(), env.journal().len()), (5, 5));
}

#[test]
fn a_manual_beat_and_a_due_one_never_run_together() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    let (pace, mut gate) = env.gate("gate");
    site.plays(&waits_at(&pace));
    let by_hand = env.murmur(["beat", "site"]).start();
    env.wait_for_agents(1);
    env.register(&[&site]);
    let daemon = env.daemon();
    // It counts as a run: the daemon sees it, and nothing is due when it has ended.
    assert_snapshot!(env.run(["status"]), @"
    murmur 0.1.0 is running (PID [PID]), up [SPAN]

    site  [ENV]/site
      schedule  every 1h
      last      never
      running   for [SPAN]
    [exit 0]
    ");
    gate.write_all(b".").unwrap();
    crate::env::ended(by_hand).success();
    daemon.stop();
    assert_eq!((env.agents().len(), env.journal().len()), (1, 1));
}

#[test]
fn a_beat_can_be_requested_once_the_previous_one_has_its_line() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    let (pace, mut gate) = env.gate("gate");
    site.plays(&json!({ "stdout": result("HEARTBEAT_OK"), "pace": pace, "burst": "600:900" }));
    env.register(&[&site]);
    let daemon = env.daemon();
    let agent = env.wait_for_agents(1).remove(0);
    // It reads none of the beat's events, so that the beat's process doesn't end at once.
    let name = agent["env"]["MURMUR_AGENT_ID"].as_str().unwrap();
    let stream = UnixStream::connect(env.data().join(format!("hosts/{name}.sock"))).unwrap();
    let mut slow = Socket::new(stream);
    slow.ask("attach", &json!({ "from": 0 }));
    gate.write_all(b".").unwrap();
    env.wait_for_journal(1);
    env.wait_for_no_beats();
    site.plays(&json!({ "stdout": result("HEARTBEAT_OK") }));
    env.ask("beat", &json!({ "workspace": site.path() }));
    env.wait_for_journal(2);
    env.wait_for_no_beats();
    drop(slow);
    daemon.stop();
    assert_eq!((env.agents().len(), env.journal().len()), (2, 2));
}
