//! The usage limits of a Codex login.

use serde_json::{Value, json};

use super::{said, site};
use crate::env::Env;
use crate::usage_limits::{account, change_limits, in_seconds, limits};

/// A window of a limit, which resets in two hours.
fn window(used: u8, minutes: u64) -> Value {
    let resets_at = in_seconds(7200).as_second();
    json!({ "usedPercent": used, "windowDurationMins": minutes, "resetsAt": resets_at })
}

#[test]
fn the_limits_of_a_login_are_shown_and_kept_in_reserve() {
    let env = Env::new();
    let site = site(&env, "codex");
    let reports = |used| {
        let limits = json!({ "primary": window(used, 300), "secondary": window(40, 10_080) });
        site.plays(&json!({ "script": [said("HEARTBEAT_OK")], "limits": limits }));
    };
    reports(100);
    let shown = env.run(["beat", "-V", "site"]);
    assert!(shown.contains("five-hour limit reached, 100% used, resets at "), "{shown}");
    assert!(shown.contains("\nok ") && !shown.contains("seven-day"), "{shown}");
    // It got through, but nothing else would.
    let refused = env.run(["beat", "site"]);
    assert!(refused.contains(": its five-hour limit is reached"), "{refused}");
    let shown = env.run(["limits"]);
    assert!(shown.contains("reached") && shown.contains("40% used"), "{shown}");
    reports(10);
    let shown = env.run(["beat", "-V", "--ignore-limits", "site"]);
    assert!(shown.contains("\nok ") && !shown.contains("[limit]"), "{shown}");
    let shown = env.run(["limits"]);
    assert!(shown.contains("10% used") && !shown.contains("on hold"), "{shown}");
    let entry = json!({ "path": site.0, "interval": "30m", "agent": "codex", "reserve": "70%" });
    env.configure(&json!({ "workspaces": [entry] }).to_string());
    let daemon = env.daemon();
    let status = env.ask("status", &Value::Null);
    let why = status["heartbeats"][0]["held"]["why"].as_str().unwrap();
    assert!(why.starts_with("40% of the seven-day limit of codex"), "{why}");
    assert!(why.ends_with("is used, and reserve is 70%"), "{why}");
    daemon.stop();
}

#[test]
fn a_limit_stops_a_beat_holds_the_account_and_the_thread_continues_after_it() {
    let env = Env::new();
    let site = site(&env, "codex");
    let reached = json!({ "type": "usage_limit_reached", "message": "The usage limit has been reached",
        "resets_at": in_seconds(7290).as_second() });
    site.plays(&json!({ "script": [{ "status": 429, "error": reached }] }));
    let shown = env.run(["beat", "site"]);
    assert!(shown.starts_with("limited") && shown.contains("the five-hour limit is reached; it resets at "));
    let refused = env.run(["beat", "site"]);
    assert!(
        refused.contains(" is on hold until ") && refused.contains(": its five-hour limit is reached"),
        "{refused}"
    );
    let shown = env.run(["limits"]);
    assert!(shown.contains("codex") && shown.contains("on hold for 2h"), "{shown}");
    assert_eq!(env.journal().len(), 1);
    // The limit resets.
    site.plays(&json!({ "script": [said("ATTENTION: done at last")] }));
    change_limits(&env, |limits| {
        let account = account(limits);
        limits["accounts"][account]["hold"]["until"] = json!("2026-01-01T00:00:00Z");
    });
    let daemon = env.daemon();
    let lines = env.wait_for_journal(2);
    daemon.stop();
    assert_eq!(lines[1]["summary"], "ATTENTION: done at last", "{}", lines[1]);
    assert!(lines[0]["sessionId"].is_string(), "{}", lines[0]);
    assert_eq!(lines[1]["sessionId"], lines[0]["sessionId"]);
    assert_eq!(limits(&env)["stopped"], json!({}));
}
