//! Usage limits: beats that one stops, accounts on hold, and what is left for others.

use insta::assert_snapshot;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::env::{Env, Run, Workspace, fixture};

/// A time this many seconds from now, in whole seconds.
pub(crate) fn in_seconds(seconds: i64) -> Timestamp {
    let now = sys::clock::now().as_second();
    Timestamp::from_second(now + seconds).unwrap()
}

/// The API's answer for a subscription that has reached its five-hour limit, which resets then.
fn limit_reached(resets_at: &str) -> Value {
    json!({ "status": 429, "error": { "type": "rate_limit_error", "message": "limit" }, "headers": {
        "x-should-retry": "false",
        "anthropic-ratelimit-unified-status": "rejected",
        "anthropic-ratelimit-unified-reset": resets_at,
        "anthropic-ratelimit-unified-representative-claim": "five_hour",
    }})
}

fn at_limit(site: &Workspace, resets_at: Timestamp) {
    site.plays(&json!({ "script": [limit_reached(&resets_at.as_second().to_string())] }));
}

fn answers(site: &Workspace, text: &str) {
    site.plays(&json!({ "script": [[{ "type": "text", "text": text }]] }));
}

/// A command of a user with a subscription.
fn subscribed(env: &Env, args: &[&str]) -> Run {
    env.murmur(args).set("CLAUDE_CODE_OAUTH_TOKEN", "sk-test").unset("ANTHROPIC_API_KEY")
}

pub(crate) fn limits(env: &Env) -> Value {
    serde_json::from_slice(&std::fs::read(env.data().join("limits.json")).unwrap()).unwrap()
}

/// Changes limits.json, as a beat does: by replacing it.
pub(crate) fn change_limits(env: &Env, change: impl FnOnce(&mut Value)) {
    let mut limits = limits(env);
    change(&mut limits);
    let new = env.data().join("limits.json.new");
    std::fs::write(&new, limits.to_string()).unwrap();
    std::fs::rename(new, env.data().join("limits.json")).unwrap();
}

pub(crate) fn account(limits: &Value) -> String {
    limits["accounts"].as_object().unwrap().keys().next().unwrap().clone()
}

#[test]
fn a_beat_that_a_limit_stops_is_limited_and_its_account_is_on_hold() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    env.register(&[&site]);
    let resets_at = in_seconds(7290);
    at_limit(&site, resets_at);
    let said = subscribed(&env, &["beat", "site"]).run();
    let (resets, local) = (sys::clock::rfc3339(resets_at), resets_at.strftime("%F %H:%M UTC"));
    assert!(said.contains(&format!("the five-hour limit is reached; it resets at {local}")), "{said}");
    assert!(said.starts_with("limited") && said.ends_with("[exit 0]"), "{said}");
    let line = env.journal().pop().unwrap();
    assert_eq!((&line["outcome"], &line["error"]), (&json!("limited"), &Value::Null), "{line}");
    assert_eq!((&line["limit"]["window"], &line["limit"]["resetsAt"]), (&json!("five_hour"), &json!(resets)));
    let until: Timestamp = line["limit"]["holdUntil"].as_str().unwrap().parse().unwrap();
    let extra = until.duration_since(resets_at);
    assert!(SignedDuration::ZERO <= extra && extra <= SignedDuration::from_secs(120), "{extra}");

    // Nothing of the account starts, and it is said until when.
    let refused = subscribed(&env, &["beat", "site"]).run();
    let local = until.to_zoned(jiff::tz::TimeZone::UTC).strftime("%F %T").to_string();
    let until = sys::clock::rfc3339(until);
    assert!(
        refused.contains(&format!("(OAuth token) is on hold until {local}: its five-hour limit is reached"))
    );
    assert!(refused.contains("hint: to try anyway, add --ignore-limits"), "{refused}");
    assert_eq!(env.journal().len(), 1);
    let shown = env.run(["limits"]);
    assert!(
        shown.contains("on hold for 2h") && shown.contains("five-hour     reached      resets in"),
        "{shown}"
    );
    let json = env.murmur(["limits", "--json"]).json();
    assert_eq!(json["accounts"][0]["holdUntil"], until);
    assert_eq!(json["accounts"][0]["holdWindow"], "five_hour");
    let status = subscribed(&env, &["status"]).run();
    assert!(
        status.contains("on hold: claude ") && status.contains("whose five-hour limit is reached; ends in"),
        "{status}"
    );
    // Another kind of credential is another account.
    answers(&site, "HEARTBEAT_OK");
    assert!(env.run(["beat", "site"]).starts_with("ok"));

    // A run that gets through ends the hold.
    let ran = subscribed(&env, &["beat", "site", "--ignore-limits"]).run();
    assert!(ran.starts_with("ok"), "{ran}");
}

#[test]
fn a_limit_whose_reset_is_impossible_holds_nothing() {
    for (resets_at, why) in [
        ("1000000000", "its reset time is in the past"),
        ("4102444800", "its reset time is more than 6 hours away"),
        ("soon", "its reset time is unknown"),
        ("", "its reset time is unknown"),
    ] {
        let env = Env::new();
        let site = env.workspace("site", "Do it.");
        env.register(&[&site]);
        let mut answer = limit_reached(resets_at);
        if resets_at.is_empty() {
            answer["headers"].as_object_mut().unwrap().remove("anthropic-ratelimit-unified-reset");
        }
        site.plays(&json!({ "script": [answer] }));
        let said = subscribed(&env, &["beat", "site"]).run();
        let summary = format!("the five-hour limit is reached; {why}, so the account is not put on hold");
        assert!(said.starts_with("limited") && said.contains(&summary), "{said}");
        assert!(!subscribed(&env, &["status"]).run().contains("on hold:"));
        assert!(subscribed(&env, &["beat", "site"]).run().starts_with("limited"));
    }
}

#[test]
fn a_limit_of_the_servers_is_an_error_that_may_be_retried() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    env.register(&[&site]);
    let mut busy = limit_reached(&in_seconds(7200).as_second().to_string());
    busy["headers"].as_object_mut().unwrap().remove("anthropic-ratelimit-unified-representative-claim");
    site.plays(&json!({ "script": [busy] }));
    let said = subscribed(&env, &["beat", "site"]).run();
    assert!(said.starts_with("error") && said.contains("(not your usage limit)"), "{said}");
    assert_eq!(env.journal()[0]["retryable"], true);
    assert!(!env.data().join("limits.json").exists());
}

#[test]
fn a_limit_that_only_the_error_message_reports_holds_the_account_too() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    env.register(&[&site]);
    let folder = env.root().join("recorded");
    std::fs::create_dir(&folder).unwrap();
    for file in std::fs::read_dir(fixture("usage-limit")).unwrap() {
        let file = file.unwrap();
        std::fs::copy(file.path(), folder.join(file.file_name())).unwrap();
    }
    let resets_at = in_seconds(3 * 3600);
    let text = std::fs::read_to_string(folder.join("stdout")).unwrap();
    let marked =
        text.replace("resets Jan 1, 2030, 12am", &format!("resets {}", resets_at.strftime("%-I:%M%P")));
    let lines = marked.lines().filter(|line| !line.contains("rate_limit_event"));
    let old: String = lines.map(|line| format!("{}\n", line.replace("api_error_params", "new"))).collect();
    assert!(old.len() < text.len() && old.contains("5-hour limit · resets") && !old.contains("2030"));
    std::fs::write(folder.join("stdout"), old).unwrap();
    std::fs::write(folder.join("times"), "1\n2\n3\n").unwrap();
    site.plays(&json!({ "fixture": folder }));
    let said = subscribed(&env, &["beat", "site"]).run();
    assert!(said.starts_with("limited") && said.contains("the five-hour limit is reached"), "{said}");
    let line = &env.journal()[0];
    let reported: Timestamp = line["limit"]["resetsAt"].as_str().unwrap().parse().unwrap();
    // The message has no seconds.
    assert_eq!(reported.as_second(), resets_at.as_second() / 60 * 60);
    assert!(line["limit"]["holdUntil"].is_string(), "{line}");
}

#[test]
fn an_api_key_has_no_limits_and_leaves_no_file() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    env.register(&[&site]);
    at_limit(&site, in_seconds(7200));
    let said = env.run(["beat", "site"]);
    assert!(said.starts_with("error") && said.contains("Request rejected (429)"), "{said}");
    assert!(!env.data().join("limits.json").exists());
    assert_snapshot!(env.run(["limits"]), @"
    no agent has reported a usage limit
    [exit 0]
    ");
}

#[test]
fn nothing_of_an_account_on_hold_starts_and_the_stopped_beat_continues_after_it() {
    let env = Env::new();
    let (site, other) = (env.workspace("site", "Do it."), env.workspace("other", "Do that."));
    let entries = [&site, &other].map(|site| json!({ "path": site.0, "interval": "30m" }));
    env.configure(&json!({ "maxConcurrent": 1, "workspaces": entries }).to_string());
    at_limit(&site, in_seconds(7200));
    answers(&other, "HEARTBEAT_OK");
    let daemon = crate::env::Daemon::new(subscribed(&env, &["start", "--foreground"]));
    daemon.says("is on hold until");
    let first = env.wait_for_journal(1).remove(0);
    assert_eq!(first["outcome"], "limited");
    // The other one is due, and would have started by now.
    let status = env.ask("status", &Value::Null);
    let held = &status["heartbeats"][1]["held"];
    assert!(held["why"].as_str().unwrap().contains("five-hour limit"), "{status}");
    assert_eq!(
        (&status["heartbeats"][1]["running"], status["holds"].as_array().unwrap().len()),
        (&Value::Null, 1)
    );
    assert_eq!(env.journal().len(), 1);
    let refused = env.connect().refusal("beat", &json!({ "workspace": other.0 }));
    assert!(refused.contains("the heartbeat may not start until"), "{refused}");
    let mut events = env.connect();
    events.ask("attach", &json!({ "from": 0 }));
    let event = events.next_of("account_held");
    let (held, payload) = (&limits(&env)["accounts"][&account(&limits(&env))]["hold"], &event["payload"]);
    assert_eq!(
        (&payload["window"], &payload["account"]),
        (&json!("five_hour"), &json!(account(&limits(&env))))
    );
    for key in ["resetsAt", "until"] {
        let time = |value: &Value| value[key].as_str().unwrap().parse::<Timestamp>().unwrap();
        assert_eq!(time(payload), time(held));
    }
    assert_eq!(event["agent_id"], "");

    answers(&site, "ATTENTION: done at last");
    let account = account(&limits(&env));
    change_limits(&env, |limits| {
        let hold = &mut limits["accounts"][&account]["hold"];
        hold["until"] = json!(sys::clock::rfc3339(in_seconds(4)));
    });
    daemon.says("is on hold until");
    let lines = env.wait_for_journal(3);
    let again = lines.iter().find(|line| line["summary"] == "ATTENTION: done at last").unwrap();
    assert_eq!(again["workspace"], first["workspace"]);
    assert!(lines.iter().any(|line| line["workspace"] == other.path() && line["outcome"] == "ok"));
    let runs = env.agents();
    let resumed =
        runs.iter().find(|run| run["stdin"].as_str().unwrap().starts_with("A usage limit stopped you"));
    let argv = resumed.unwrap()["argv"].as_array().unwrap();
    let place = argv.iter().position(|arg| arg == "--resume").unwrap();
    assert_eq!(argv[place + 1], first["sessionId"]);
    assert_eq!(limits(&env)["stopped"], json!({}));
    // The changed hold is another event; it ended at its time, which is none.
    assert_eq!(events.next_of("account_held")["payload"]["account"], json!(account));
    change_limits(&env, |limits| {
        limits["accounts"][&account]["hold"] =
            json!({ "window": "seven_day", "resetsAt": in_seconds(3600), "until": in_seconds(3600) });
    });
    assert_eq!(events.next_of("account_held")["payload"]["window"], "seven_day");
    change_limits(&env, |limits| _ = limits["accounts"][&account].as_object_mut().unwrap().remove("hold"));
    assert_eq!(events.next_of("account_released")["payload"], json!({ "account": account }));
    daemon.says("is no longer on hold");
    daemon.stop();
    assert_snapshot!(env.run(["log", "--name", "site"]), @"
    [WHEN]  limited [S]  [ENV]/site  the five-hour limit is reached; it resets at [WHEN] UTC
    [WHEN]  attention [S]  [ENV]/site  ATTENTION: done at last
    [exit 0]
    ");
}

#[test]
fn a_stopped_beat_is_dropped_if_the_user_wants_that() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    let entry = json!({ "path": site.0, "interval": "30m", "onLimit": "skip" });
    env.configure(&json!({ "workspaces": [entry] }).to_string());
    at_limit(&site, in_seconds(7200));
    subscribed(&env, &["beat", "site"]).run();
    let account = account(&limits(&env));
    change_limits(&env, |limits| {
        limits["accounts"][&account]["hold"]["until"] = json!("2026-01-01T00:00:00Z");
    });
    let daemon = crate::env::Daemon::new(subscribed(&env, &["start", "--foreground"]));
    let status = env.ask("status", &Value::Null);
    let next: Timestamp = status["heartbeats"][0]["nextRun"].as_str().unwrap().parse().unwrap();
    assert!(next > in_seconds(60) && status["heartbeats"][0]["running"].is_null(), "{status}");
    daemon.stop();
    assert_eq!(env.journal().len(), 1);
}

#[test]
fn a_reserve_keeps_heartbeats_from_starting_until_the_limit_resets() {
    let env = Env::new();
    let (careful, site) = (env.workspace("careful", "Do it."), env.workspace("site", "Do it."));
    answers(&site, "HEARTBEAT_OK");
    answers(&careful, "HEARTBEAT_OK");
    let entries = [
        json!({ "path": careful.0, "interval": "30m", "reserve": "30%" }),
        json!({ "path": site.0, "interval": "30m" }),
    ];
    env.configure(&json!({ "workspaces": entries }).to_string());
    // What a run of this user reported.
    at_limit(&site, in_seconds(7200));
    subscribed(&env, &["beat", "site"]).run();
    answers(&site, "HEARTBEAT_OK");
    let account = account(&limits(&env));
    change_limits(&env, |limits| {
        limits["stopped"] = json!({});
        let usage = &mut limits["accounts"][&account];
        usage["hold"] = Value::Null;
        usage["windows"]["five_hour"]["utilization"] = json!(0.71);
        usage["windows"]["five_hour"]["status"] = json!("allowed_warning");
    });
    let daemon = crate::env::Daemon::new(subscribed(&env, &["start", "--foreground"]));
    let status = env.ask("status", &Value::Null);
    let why = status["heartbeats"][0]["held"]["why"].as_str().unwrap();
    let inbox = subscribed(&env, &["inbox"]).run();
    assert!(inbox.starts_with(&format!("1  reserve  {}: {why}\n  ends in ", careful.path())), "{inbox}");
    assert!(inbox.contains("\n  see: murmur limits\n"), "{inbox}");
    assert!(
        why.starts_with("71% of the five-hour limit of claude")
            && why.ends_with("is used, and reserve is 30%")
    );
    assert!(status["heartbeats"][1]["held"].is_null() && status.get("holds").is_none(), "{status}");
    let shown = subscribed(&env, &["status"]).run();
    assert!(shown.contains("  next      in 1h 59m") || shown.contains("  next      in 2h"), "{shown}");
    // Agents need not report when it resets.
    change_limits(&env, |limits| {
        let window = limits["accounts"][&account]["windows"]["five_hour"].as_object_mut().unwrap();
        window.remove("resetsAt");
    });
    let why = env.wait(&env.data(), || {
        let held = env.ask("status", &Value::Null)["heartbeats"][0]["held"].clone();
        held["why"].as_str().filter(|why| why.contains("unknown")).map(str::to_owned)
    });
    assert!(why.ends_with("is used, and reserve is 30%; its reset time is unknown"), "{why}");
    change_limits(&env, |limits| {
        limits["accounts"][&account]["windows"]["five_hour"]["utilization"] = json!(0.70);
    });
    let lines = env.wait_for_journal(2);
    assert!(lines.iter().any(|line| line["workspace"] == careful.path()), "{lines:?}");
    daemon.stop();
}

#[test]
fn a_limit_that_a_hosted_agent_reaches_holds_the_account_for_beats() {
    let env = Env::new();
    let site = env.workspace("site", "Do it.");
    env.register(&[&site]);
    let resets_at = in_seconds(7200).as_second().to_string();
    site.plays(&json!({ "script": [limit_reached(&resets_at)] }));
    let spawn = ["host", "spawn", "--agent-id", "site-1", "--worktree", site.path(), "Do it."];
    subscribed(&env, &spawn).run();
    let hold = env.wait(&env.data(), || {
        let file = std::fs::read(env.data().join("limits.json")).ok()?;
        let limits: Value = serde_json::from_slice(&file).ok()?;
        let account = limits["accounts"].as_object()?.values().next()?.clone();
        account["hold"].is_object().then(|| account["hold"].clone())
    });
    assert_eq!(hold["window"], "five_hour");
    let refused = subscribed(&env, &["beat", "site"]).run();
    assert!(refused.contains("is on hold until"), "{refused}");
    env.run(["host", "stop", "site-1", "--force"]);
}
