//! Beats that fail: retries, and heartbeats that run less often.

use insta::assert_snapshot;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::env::{Env, Workspace, fixture};

fn plays(site: &Workspace, name: &str) {
    site.plays(&json!({ "fixture": fixture(name) }));
}

fn configured(env: &Env, mut entry: Value) -> Workspace {
    let site = env.workspace("site", "Do it.");
    entry["path"] = site.path().into();
    env.configure(&json!({ "workspaces": [entry] }).to_string());
    site
}

/// The only heartbeat's status, once it has that many failures.
fn failed(env: &Env, failures: u64) -> Value {
    env.wait(&env.data(), || {
        let mut status = env.ask("status", &Value::Null)["heartbeats"][0].take();
        let is_it = status["failures"].as_u64().unwrap_or(0) == failures && status["running"].is_null();
        is_it.then(|| status.take())
    })
}

fn time(value: &Value) -> Timestamp {
    value.as_str().unwrap().parse().unwrap()
}

#[test]
fn an_overloaded_api_is_tried_again_and_a_refusal_is_not() {
    let env = Env::new();
    let site = configured(&env, json!({ "interval": "1h", "retry": { "max": 2, "backoff": "1s" } }));
    plays(&site, "api-529");
    let daemon = env.daemon();
    let lines = env.wait_for_journal(3);
    for line in &lines {
        assert_eq!((&line["outcome"], &line["retryable"]), (&json!("error"), &json!(true)), "{line}");
    }
    let between = |one: usize| time(&lines[one + 1]["ts"]).duration_since(time(&lines[one]["ts"]));
    assert!(between(0) >= SignedDuration::from_secs(1) && between(1) >= SignedDuration::from_secs(2));
    // Then the schedule decides.
    let status = failed(&env, 3);
    let wait = time(&status["nextRun"]).duration_since(time(&lines[2]["ts"]));
    assert!(wait > SignedDuration::from_mins(59), "{status}");
    plays(&site, "api-400");
    env.ask("beat", &json!({ "workspace": site.0 }));
    let line = env.wait_for_journal(4).pop().unwrap();
    assert_eq!((&line["outcome"], &line["retryable"]), (&json!("error"), &Value::Null), "{line}");
    let wait = time(&failed(&env, 4)["nextRun"]).duration_since(time(&line["ts"]));
    assert!(wait > SignedDuration::from_mins(59));
    daemon.stop();
    assert_snapshot!(env.run(["log"]), @"
    [WHEN]  error [S]  [ENV]/site  exited with code 1: API Error: 529 Overloaded. This is a server-side issue, usually temporary — try again in a moment. If it persists, check your inference gateway (127.0.0.1:8080).
    [WHEN]  error [S]  [ENV]/site  exited with code 1: API Error: 529 Overloaded. This is a server-side issue, usually temporary — try again in a moment. If it persists, check your inference gateway (127.0.0.1:8080).
    [WHEN]  error [S]  [ENV]/site  exited with code 1: API Error: 529 Overloaded. This is a server-side issue, usually temporary — try again in a moment. If it persists, check your inference gateway (127.0.0.1:8080).
    [WHEN]  error [S]  [ENV]/site  exited with code 1: API Error: 400 messages: this is not acceptable
    [exit 0]
    ");
}

#[test]
fn which_failures_are_tried_again() {
    for (name, retryable) in [
        ("api-500", json!(true)),
        ("api-529", json!(true)),
        ("api-unreachable", json!(true)),
        ("api-401", Value::Null),
    ] {
        let env = Env::new();
        plays(&configured(&env, json!({})), name);
        env.murmur(["beat", "site"]).output();
        let line = env.journal().remove(0);
        assert_eq!((&line["outcome"], &line["retryable"]), (&json!("error"), &retryable), "{name}: {line}");
    }
}

#[test]
fn an_api_that_gives_no_answer_is_tried_again() {
    let env = Env::new();
    let site = configured(&env, json!({ "interval": "1h", "retry": { "max": 1, "backoff": "1s" } }));
    plays(&site, "api-unreachable");
    let daemon = env.daemon();
    let lines = env.wait_for_journal(2);
    for line in &lines {
        let seen = (&line["outcome"], &line["retryable"], &line["timedOut"]);
        assert_eq!(seen, (&json!("error"), &json!(true), &Value::Null), "{line}");
    }
    let between = time(&lines[1]["ts"]).duration_since(time(&lines[0]["ts"]));
    assert!(between >= SignedDuration::from_secs(1), "{lines:?}");
    let status = failed(&env, 2);
    let wait = time(&status["nextRun"]).duration_since(time(&lines[1]["ts"]));
    assert!(wait > SignedDuration::from_mins(59), "{status}");
    daemon.stop();
    assert_snapshot!(env.run(["log"]), @"
    [WHEN]  error [S]  [ENV]/site  exited with code 1: API Error: Connection refused — a firewall or proxy may be blocking it (ECONNREFUSED)
    [WHEN]  error [S]  [ENV]/site  exited with code 1: API Error: Connection refused — a firewall or proxy may be blocking it (ECONNREFUSED)
    [exit 0]
    ");
    assert_snapshot!(env.run(["beat", "site", "--verbose"]), @"
      [retry] 1 of 2 in [MS] ms (no answer)
      [retry] 2 of 2 in [MS] ms (no answer)
      [refused] server_error
    API Error: Connection refused — a firewall or proxy may be blocking it (ECONNREFUSED)
    error [S] exited with code 1
    $0.0000, 1 turn
    [exit 1]
    ");
}

#[test]
fn a_heartbeat_that_keeps_failing_runs_less_often_until_a_success_or_a_resume() {
    let env = Env::new();
    let site = configured(&env, json!({ "interval": "1h", "breaker": 2 }));
    plays(&site, "api-400");
    let daemon = env.daemon();
    failed(&env, 1);
    let mut events = env.connect();
    events.ask("attach", &Value::Null);
    env.ask("beat", &json!({ "workspace": site.0 }));
    let lines = env.wait_for_journal(3);
    let event = events.next_of("heartbeat_failing");
    assert_eq!(event["payload"]["summary"], lines[2]["summary"], "{event}");
    assert_eq!((&lines[2]["kind"], &lines[2]["outcome"]), (&json!("failing"), &json!("attention")));
    let until = time(&lines[1]["ts"]) + SignedDuration::from_hours(2);
    let said = lines[2]["summary"].as_str().unwrap();
    assert!(
        said.starts_with(&format!("2 failures in a row: the next run is at {}", sys::clock::rfc3339(until)))
    );
    daemon.stop();
    // So it is for the next daemon.
    let daemon = env.daemon();
    let status = failed(&env, 2);
    assert_eq!(
        (&status["held"]["why"], time(&status["held"]["until"])),
        (&json!("2 failures in a row"), until)
    );
    let shown = env.run(["status"]);
    assert!(shown.contains("  next      in 1h 59m") && shown.contains(": 2 failures in a row"), "{shown}");
    let inbox = env.run(["inbox"]);
    let entry = format!("1  breaker  {}: 2 failures in a row\n  ends in 1h ", site.path());
    assert!(inbox.starts_with(&entry) && inbox.contains("\n  run: murmur resume /"), "{inbox}");
    // It is reported once.
    env.ask("beat", &json!({ "workspace": site.0 }));
    let status = failed(&env, 3);
    assert!(time(&status["held"]["until"]) > until + SignedDuration::from_hours(1), "{status}");
    assert_eq!(env.journal().len(), 4);
    let resumed = env.run(["resume", "site"]);
    assert_snapshot!(resumed.replace(site.path(), "[SITE]"), @"
    [SITE] failed 3 times in a row; its failure count is reset
    [exit 0]
    ");
    assert!(failed(&env, 0)["held"].is_null());
    // A success does the same.
    env.ask("beat", &json!({ "workspace": site.0 }));
    failed(&env, 1);
    plays(&site, "ok");
    env.ask("beat", &json!({ "workspace": site.0 }));
    failed(&env, 0);
    daemon.stop();
}

#[test]
fn beats_that_end_without_a_daemon_count_once() {
    let env = Env::new();
    let site = configured(&env, json!({ "interval": "1h", "breaker": 2 }));
    plays(&site, "api-400");
    let daemon = env.daemon();
    failed(&env, 1);
    daemon.stop();
    let held = |env: &Env| {
        let status = env.murmur(["status", "--json"]).json();
        status["heartbeats"][0]["held"]["why"].clone()
    };
    assert_eq!(held(&env), Value::Null);
    env.run(["beat", "site"]);
    assert_eq!(held(&env), "2 failures in a row");
    let daemon = env.daemon();
    failed(&env, 2);
    let lines = env.wait_for_journal(3);
    assert_eq!(lines[2]["kind"], "failing", "{}", lines[2]);
    daemon.stop();
    // The next one neither counts nor reports it again.
    let daemon = env.daemon();
    assert_eq!(failed(&env, 2)["held"]["why"], "2 failures in a row");
    daemon.stop();
    assert_eq!(env.journal().len(), 3);
    env.run(["resume", "site"]);
    assert_eq!(held(&env), Value::Null);
    let daemon = env.daemon();
    failed(&env, 0);
    for failures in [1, 2] {
        env.ask("beat", &json!({ "workspace": site.0 }));
        failed(&env, failures);
    }
    daemon.stop();
    plays(&site, "ok");
    env.run(["beat", "site"]);
    assert_eq!(held(&env), Value::Null);
    let daemon = env.daemon();
    assert!(failed(&env, 0)["held"].is_null());
    daemon.stop();
}

#[test]
fn resume_all_resets_failures_that_no_daemon_has_counted() {
    let env = Env::new();
    let site = configured(&env, json!({ "interval": "1h", "breaker": 2 }));
    plays(&site, "ok");
    let daemon = env.daemon();
    env.wait_for_journal(1);
    daemon.stop();
    assert!(!env.data().join("failures.json").exists());
    plays(&site, "api-400");
    for all in [true, false] {
        env.run(["beat", "site"]);
        env.run(["beat", "site"]);
        let failing = || env.murmur(["status", "--json"]).json()["heartbeats"][0]["failures"].clone();
        assert_eq!(failing(), 2);
        let (name, said) = match all {
            true => ("--all", "resumed all heartbeats".to_owned()),
            false => ("site", format!("{} failed 2 times in a row; its failure count is reset", site.path())),
        };
        assert_eq!(env.run(["resume", name]), format!("{said}\n[exit 0]"));
        assert_eq!(failing(), Value::Null);
    }
    assert_eq!(env.run(["resume", "--all"]), "nothing is paused\n[exit 0]");
    let daemon = env.daemon();
    assert!(failed(&env, 0)["held"].is_null());
    daemon.stop();
}

#[test]
fn a_timeout_and_a_beat_that_costs_too_much_open_the_breaker_and_a_success_may_use_up_the_budget() {
    let env = Env::new();
    let site = configured(
        &env,
        json!({
            "interval": "1h", "timeout": "1s", "retry": { "max": 3, "backoff": "1s" }, "breaker": 2,
            "maxBudgetUsd": 1, "budget": { "month": 2 },
        }),
    );
    site.plays(&json!({ "stdout": "", "faults": ["hang-before"] }));
    let daemon = env.daemon();
    let status = failed(&env, 1);
    let line = env.wait_for_journal(1).remove(0);
    assert!(line["error"].as_str().unwrap().starts_with("timed out after 1s"), "{line}");
    assert_eq!((&line["timedOut"], &line["retryable"]), (&json!(true), &Value::Null), "{line}");
    let wait = time(&status["nextRun"]).duration_since(time(&line["ts"]));
    assert!(wait > SignedDuration::from_mins(59), "no retry: {status}");

    let call =
        json!({ "type": "tool_use", "id": "toolu_1", "name": "Bash", "input": { "command": "echo 1" } });
    let said = json!({ "type": "text", "text": "HEARTBEAT_OK" });
    site.plays(&json!({ "script": [[call], [said]], "costUsd": 0.7 }));
    env.ask("beat", &json!({ "workspace": site.0 }));
    let lines = env.wait_for_journal(3);
    let (line, report) = (&lines[1], &lines[2]);
    assert_eq!(line["error"], "exceeded maxBudgetUsd: Reached maximum budget ($1)", "{line}");
    assert_eq!((&line["costUsd"], &line["retryable"]), (&json!(1.4), &Value::Null), "{line}");
    assert_eq!((&report["kind"], &report["outcome"]), (&json!("failing"), &json!("attention")), "{report}");
    assert_eq!(failed(&env, 2)["held"]["why"], "2 failures in a row");

    site.plays(&json!({ "script": [[said]], "costUsd": 0.7 }));
    env.ask("beat", &json!({ "workspace": site.0 }));
    let lines = env.wait_for_journal(5);
    let of = |key: &str, value: &str| lines[3..].iter().find(|line| line[key] == value).cloned();
    assert!(of("outcome", "ok").is_some(), "{lines:?}");
    let report = of("kind", "budget").expect("a line about the budget");
    assert!(report["summary"].as_str().unwrap().starts_with("the budget of 2 USD a month"), "{report}");
    let status = failed(&env, 0);
    assert_eq!(status["held"]["kind"], "budget", "{status}");
    let refused = env.connect().refusal("beat", &json!({ "workspace": site.0 }));
    assert!(refused.contains("the budget of 2 USD a month"), "{refused}");
    assert_eq!(env.journal().len(), 5);
    daemon.says("is used up");
    daemon.stop();
}

#[test]
fn wrong_values_name_their_place_and_hold_only_their_workspace() {
    for (entry, error) in [
        (json!({ "retry": 3 }), "\"retry\" is 3; write an object such as"),
        (
            json!({ "retry": { "max": 0 } }),
            "\"retry\": \"max\" has a wrong value; write a whole number from 1 to 100",
        ),
        (
            json!({ "retry": { "max": 1, "backoff": "soon" } }),
            "\"retry\": \"backoff\": \"soon\" is not an interval",
        ),
        (
            json!({ "breaker": -1 }),
            "\"breaker\" is -1; write a whole number of failures such as 5, or 0 for never",
        ),
        (json!({ "breaker": "5" }), "\"breaker\" is \"5\"; write a whole number"),
    ] {
        let env = Env::new();
        configured(&env, entry.clone());
        let said = env.run(["beat", "site"]);
        assert!(said.contains(error) && said.contains("config.json:1:"), "{entry}: {said}");
    }
    let env = Env::new();
    let front = "---\nretry: {max: 9}\nbreaker: 0\n---\nDo it.";
    env.workspace("site", front);
    let said = env.run(["beat", "site"]);
    assert_snapshot!(said, @"
    ok [S]
    | warning: breaker: 0 in HEARTBEAT.md allows more failures than config.json; 5 applies
    | warning: retry: 9 times, after 1m to 30m in HEARTBEAT.md has no effect; only config.json can allow retries
    [exit 0]
    ");
}
