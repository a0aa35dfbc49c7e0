//! What else is told than how beats end: stuck hosts, open breakers, spent budgets, digests; and when it is held back.

use super::server::Ntfy;
use super::{log, ntfy, says};
use crate::daemon::stuck::pulse;
use crate::env::{Env, Workspace, fixture};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use std::net::TcpListener;

/// The text of the next message with this title, besides those about beats that failed.
fn next(server: &Ntfy, title: &str) -> String {
    loop {
        let message = server.next();
        if message["title"] == title {
            return message["message"].as_str().unwrap().to_owned();
        }
        assert!(message["title"].as_str().unwrap().ends_with(" failed"), "{message}");
    }
}

fn state(env: &Env) -> Option<Value> {
    serde_json::from_slice(&std::fs::read(env.data().join("notify.json")).ok()?).ok()
}

fn configured(env: &Env, mut entry: Value) -> Workspace {
    let site = env.workspace("site", "Do it.");
    entry["path"] = site.path().into();
    env.configure(&json!({ "workspaces": [entry] }).to_string());
    site
}

#[test]
fn a_stuck_host_is_told_once() {
    let (env, server) = (Env::new(), Ntfy::start());
    let site = env.workspace("site", "Do it.");
    env.register(&[]);
    pulse(&env, "site-1", &site.0, 31 * 60, 0, "running");
    env.setting("config.toml", &ntfy(&server, ""));
    let daemon = env.daemon();
    let told = server.next();
    assert_eq!(told["title"], "site is stuck");
    let text = told["message"].as_str().unwrap();
    assert!(text.starts_with("agent site-1 has done nothing for 31m; last: Bash: curl "), "{text}");
    log(&env, 1);
    daemon.stop();
    // The next daemon reports only the other one.
    pulse(&env, "site-2", &site.0, 31 * 60, 0, "running");
    let daemon = env.daemon();
    assert!(server.next()["message"].as_str().unwrap().starts_with("agent site-2 "));
    daemon.stop();
}

#[test]
fn an_open_breaker_and_a_spent_budget_are_told() {
    let (env, server) = (Env::new(), Ntfy::start());
    env.setting("config.toml", &ntfy(&server, ""));
    let site = configured(&env, json!({ "interval": "1h", "breaker": 2, "budget": { "month": "0.5 USD" } }));
    site.plays(&json!({ "fixture": fixture("api-400") }));
    let daemon = env.daemon();
    env.wait_for_journal(1);
    env.run(["beat", "site"]);
    let text = next(&server, "site keeps failing");
    assert!(text.starts_with("2 failures in a row: the next run is at "), "{text}");
    site.plays(&json!({ "script": [[{ "type": "text", "text": "HEARTBEAT_OK" }]], "costUsd": 0.6 }));
    env.run(["beat", "site"]);
    let text = next(&server, "site has used up its budget");
    let expected = format!("the budget of 0.5 USD a month for workspace {} is used up; on hold", site.path());
    assert!(text.starts_with(&expected), "{text}");
    daemon.says("is used up");
    daemon.stop();
}

#[test]
fn the_daily_digest_counts_what_ran_and_is_sent_once() {
    let (env, server) = (Env::new(), Ntfy::start());
    env.setting("config.toml", &format!("[notify]\ndigest = \"08:00\"\n{}", ntfy(&server, "")));
    let site = env.workspace("site", "Look.");
    env.register(&[]);
    let daemon = env.daemon();
    env.run(["status"]);
    for text in ["HEARTBEAT_OK", "HEARTBEAT_OK", "ATTENTION: look at this"] {
        says(&site, text);
        env.run(["beat", site.path()]);
    }
    assert_eq!(server.next()["title"], "site needs attention");
    log(&env, 1);
    daemon.stop();
    // Two days have passed since the notifications were set up.
    let mut old = state(&env).unwrap();
    let set_up: Timestamp = old["digestedAt"].as_str().unwrap().parse().unwrap();
    old["digestedAt"] = json!((set_up - SignedDuration::from_hours(48)).to_string());
    std::fs::write(env.data().join("notify.json"), old.to_string()).unwrap();
    let daemon = env.daemon();
    let digest = server.next();
    assert_eq!(digest["title"], "murmur: daily digest");
    let text = digest["message"].as_str().unwrap();
    assert!(text.starts_with("site: 1 attention, 2 ok"), "{text}");
    let lines = log(&env, 2);
    assert_eq!((&lines[1]["what"], &lines[1]["result"]), (&digest["title"], &json!("delivered")));
    daemon.stop();
    // The next daemon has counted from then on, and sends none.
    let daemon = env.daemon();
    says(&site, "ATTENTION: look at that");
    env.run(["beat", site.path()]);
    let counted = || state(&env)?["tally"].as_object().filter(|tally| tally.len() == 1).cloned();
    let tally = env.wait(&env.data(), counted);
    assert!(tally.values().all(|site| site["outcomes"] == json!({ "attention": 1 })), "{tally:?}");
    daemon.stop();
    assert_eq!(log(&env, 2).len(), 2);
}

#[test]
fn what_happens_in_quiet_hours_is_told_after_them_as_one_message() {
    let (env, server) = (Env::new(), Ntfy::start());
    // They have just begun, and end in an hour.
    let now = sys::clock::now().to_zoned(jiff::tz::TimeZone::UTC);
    let hour = |from_now: i64| (&now + SignedDuration::from_hours(from_now)).strftime("%H:%M").to_string();
    let hours = |from: i64, to: i64| {
        format!("[notify]\nquiet-hours = \"{}-{}\"\n{}", hour(from), hour(to), ntfy(&server, ""))
    };
    env.setting("config.toml", &hours(-1, 1));
    let names = ["one", "two", "three", "four"];
    let sites = names.map(|name| env.workspace(name, "Look."));
    env.register(&[]);
    let daemon = env.daemon();
    env.run(["status"]);
    for site in &sites {
        says(site, "ATTENTION: look at this");
        env.run(["beat", site.path()]);
    }
    let held = || state(&env)?["outbox"].as_array().filter(|held| held.len() == 4).map(Vec::len);
    assert_eq!(env.wait(&env.data(), held), 4);
    assert!(!env.data().join("notifications.jsonl").exists());
    assert_eq!(env.run(["notify", "log"]), "nothing was sent yet; tests are not listed\n[exit 0]");
    // Now they end.
    env.setting("config.toml", &hours(-2, -1));
    let told = server.next();
    assert_eq!(told["title"], "murmur: 4 events");
    let text = told["message"].as_str().unwrap();
    assert!(names.iter().all(|name| text.contains(&format!("{name} needs attention"))), "{text}");
    log(&env, 1);
    daemon.stop();
}

#[test]
fn a_channel_that_hangs_delays_no_other_and_its_messages_are_kept() {
    let (env, server) = (Env::new(), Ntfy::start());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let hangs = format!("[notify.channels.first]\ntype = \"webhook\"\nurl = \"{url}\"\n");
    env.setting("config.toml", &format!("[notify]\ncooldown = \"1s\"\n{hangs}{}", ntfy(&server, "")));
    let site = env.workspace("site", "Look.");
    env.register(&[]);
    let daemon = env.daemon();
    env.run(["status"]);
    says(&site, "ATTENTION: look at this");
    env.run(["beat", site.path()]);
    let (connection, _) = listener.accept().unwrap();
    // It gets no answer; meanwhile, the other channel delivers everything.
    assert_eq!(server.next()["title"], "site needs attention");
    site.plays(&json!({ "fault": "exit:3" }));
    env.run(["beat", site.path()]);
    assert_eq!(server.next()["title"], "site failed");
    log(&env, 2);
    assert_eq!(state(&env).unwrap()["outbox"].as_array().unwrap().len(), 2);
    drop((connection, listener));
    let lines = log(&env, 3);
    assert_eq!((&lines[2]["channel"], &lines[2]["result"]), (&json!("first"), &json!("failed")));
    daemon.stop();
    let kept = state(&env).unwrap()["outbox"].as_array().unwrap().clone();
    let kept: Vec<&Value> = kept.iter().map(|entry| &entry["event"]["kind"]).collect();
    assert_eq!(kept, ["attention", "error"]);
}
