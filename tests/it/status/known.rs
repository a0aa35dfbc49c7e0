//! What `murmur status` shows without the journal or the daemon.

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::env::Env;

/// The only heartbeat of `murmur status --json`.
fn heartbeat(env: &Env) -> Value {
    env.murmur(["status", "--json"]).json()["heartbeats"][0].take()
}

#[test]
fn a_last_run_that_only_config_json_knows_is_shown() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    let hours_ago = sys::clock::now() - jiff::SignedDuration::from_hours(2);
    env.configure(
        &json!({ "workspaces": [{ "path": site.0, "interval": "3h", "lastRun": hours_ago.to_string() }] })
            .to_string(),
    );
    assert_snapshot!(env.run(["status"]), @"
    murmur is not running; start it with: murmur start

    site  [ENV]/site
      schedule  every 3h
      last      [SPAN] ago; the journal has no line for it
      next      not scheduled: the daemon is not running
    [exit 0]
    ");
}

#[test]
fn a_beat_that_only_the_journal_knows_is_shown() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    // Not registered yet, so that nobody records its last run.
    env.run(["beat", "site"]);
    env.register(&[&site]);
    let shown = env.run(["status"]);
    assert!(shown.contains("last      ok        "), "{shown}");
    let heartbeat = heartbeat(&env);
    assert_eq!(
        (&heartbeat["lastRun"], &heartbeat["last"]["outcome"]),
        (&env.journal()[0]["ts"], &json!("ok"))
    );
}

#[test]
fn nothing_is_scheduled_without_a_daemon() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    env.configure(&json!({ "workspaces": [{ "path": site.0, "interval": "1d" }] }).to_string());
    let due = heartbeat(&env);
    assert_eq!((&due["nextRun"], &due["waiting"]), (&Value::Null, &json!(false)));
    assert!(env.run(["status"]).contains("next      not scheduled: the daemon is not running\n"));
    env.run(["beat", "site"]);
    assert_eq!(heartbeat(&env)["nextRun"], Value::Null);
    let daemon = env.daemon();
    assert!(heartbeat(&env)["nextRun"].is_string());
    assert!(env.run(["status"]).contains("  next      in "));
    daemon.stop();
}

#[test]
fn a_last_run_from_last_runs_json_is_shown_if_config_json_is_wrong() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    env.configure(
        &json!({ "workspaces": [{ "path": site.0, "interval": "3h", "lastRun": "2999-01-01T00:00:00Z" }] })
            .to_string(),
    );
    let now = sys::clock::now();
    let began = (now - jiff::SignedDuration::from_hours(2)).to_string();
    let known =
        json!({ "version": 1, "asOf": now.to_string(), "lastRuns": { site.0.to_str().unwrap(): began } });
    std::fs::write(env.data().join("last-runs.json"), known.to_string()).unwrap();
    assert_snapshot!(env.run(["status"]), @"
    murmur is not running; start it with: murmur start
    problem: [ENV]/data/config.json: lastRun of [ENV]/site is in the future ([TIME]); it counts as now; run: murmur start

    site  [ENV]/site
      schedule  every 3h
      last      [SPAN] ago; the journal has no line for it
      next      not scheduled: the daemon is not running
    [exit 0]
    ");
    let told: jiff::Timestamp = heartbeat(&env)["lastRun"].as_str().unwrap().parse().unwrap();
    assert_eq!(told.as_second(), began.parse::<jiff::Timestamp>().unwrap().as_second());
}

#[test]
fn a_last_run_in_the_future_does_not_hide_the_last_outcome() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    env.register(&[&site]);
    env.run(["beat", "site"]);
    let future = json!({ "path": site.0, "interval": "3h", "lastRun": "2999-01-01T00:00:00Z" });
    env.configure(&json!({ "workspaces": [future] }).to_string());
    let last = || {
        let shown = env.run(["status"]);
        let lines = shown.lines().skip_while(|line| !line.starts_with("  last ")).take(2);
        lines.map(|line| format!("{}\n", line.trim_end())).collect::<String>()
    };
    assert_snapshot!(last(), @"
    last      ok        [SPAN] ago
    next      not scheduled: the daemon is not running
    ");
    let daemon = env.daemon();
    env.wait(&env.data(), || (!env.config().contains("2999")).then_some(()));
    assert_snapshot!(last(), @"
    last      ok        [SPAN] ago
              lastRun is later, [SPAN] ago; the journal has no line for it
    ");
    daemon.says("future");
    daemon.stop();
}

#[test]
fn a_used_up_budget_is_shown_without_a_daemon() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    let entry = json!({ "path": site.0, "interval": "1d", "budget": { "month": "0.5 USD" } });
    env.configure(&json!({ "workspaces": [entry] }).to_string());
    site.plays(&json!({ "script": [[{ "type": "text", "text": "HEARTBEAT_OK" }]], "costUsd": 0.3 }));
    env.run(["beat", "site"]);
    assert_eq!(heartbeat(&env)["held"], Value::Null);
    env.run(["beat", "site"]);
    let held = heartbeat(&env)["held"].take();
    let why = format!("the budget of 0.5 USD a month for workspace {} is used up", site.path());
    assert_eq!((&held["why"], held["until"].is_string()), (&json!(why), true));
    let shown = env.run(["status"]);
    assert!(shown.contains("  held      ends in ") && shown.contains(&why), "{shown}");
}

#[test]
fn one_heartbeat_is_shown_with_its_settings_and_their_sources() {
    let env = Env::new();
    let site = env.workspace("site", "---\nmaxTurns: 2\n---\nDo it.");
    let entries = [
        json!({ "path": site.0, "interval": "3h", "retry": { "max": 2 }, "breaker": 3, "jitter": "5m" }),
        json!({ "path": env.workspace("other", "Do that.").0, "interval": "1h" }),
    ];
    env.configure(&json!({ "workspaces": entries }).to_string());
    env.setting("config.toml", "[captures]\nkeep = \"3d\"\n");
    let shown = env.run(["status", "site"]);
    assert!(!shown.contains("other"), "{shown}");
    let settings = shown.split_once("  settings\n").unwrap().1;
    assert_snapshot!(settings, @"
        schedule: every 3h  (config.json)
        agent: claude  (default)
        maxTurns: 2  (HEARTBEAT.md)
        timeout: 5m  (default)
        backgroundWait: 10s  (default)
        model: the agent's own choice  (default)
        permissions: the built-in deny list  (default)
        permissionsChecker: off  (default)
        questions: broker  (default)
        onLimit: resume  (default)
        minFree: 256MiB  (default)
        enabled: true  (default)
        jitter: 5m  (config.json)
        catchUp: once  (default)
        overlap: queue  (default)
        gates: config  (default)
        retry: 2 times, after 1m to 30m  (config.json)
        breaker: 3  (config.json)
        startTimeout: 2m  (default)
        captures: keep 3d  (config.toml)
        captures: keep-failed 90d, max 2GiB, max-per-run 64MiB  (default)
    [exit 0]
    ");
    let daemon = env.daemon();
    let json = env.murmur(["status", "site", "--json"]).json();
    assert_eq!(json["heartbeats"].as_array().unwrap().len(), 1);
    let settings = json["heartbeats"][0]["settings"].as_array().unwrap();
    let turns = json!({ "key": "maxTurns", "value": "2", "source": "HEARTBEAT.md" });
    assert!(settings.contains(&turns), "{settings:?}");
    let retried = settings.iter().find(|setting| setting["key"] == "retry").unwrap();
    assert_eq!(retried["source"], "config.json");
    daemon.stop();
    assert!(env.run(["status", "sit"]).contains("did you mean"));
}
