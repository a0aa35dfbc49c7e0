//! The real Claude Code at a usage limit: a beat that it stops continues after the reset or is dropped, and a reserve
//! keeps beats from starting.

use std::path::Path;

use anyhow::{Result, ensure};
use jiff::Timestamp;
use serde_json::{Value, json};
use sys::clock;

use crate::permits::configure;
use crate::place::Place;
use crate::unattended::{Log, beat, requests};

/// What the API answers a subscription that has reached its limit, which resets after this many seconds.
fn limit_reached(seconds: u32) -> Value {
    let reset = format!("now+{seconds}");
    json!({
        "status": 429,
        "error": { "type": "rate_limit_error", "message": "This request would exceed your account's rate limit." },
        "headers": {
            "x-should-retry": "false",
            "anthropic-ratelimit-unified-status": "rejected",
            "anthropic-ratelimit-unified-reset": reset,
            "anthropic-ratelimit-unified-representative-claim": "five_hour",
            "anthropic-ratelimit-unified-5h-status": "rejected",
            "anthropic-ratelimit-unified-5h-reset": reset,
            "anthropic-ratelimit-unified-5h-utilization": "1.0",
        },
    })
}

/// What the model says, each time.
pub(crate) fn says(text: &str) -> Value {
    json!([[{ "type": "text", "text": text }]])
}

/// The only heartbeat, according to the daemon.
pub(crate) fn heartbeat(place: &Place) -> Result<Value> {
    let status: Value = serde_json::from_slice(&place.run(&["status", "--json"])?.stdout)?;
    Ok(status["heartbeats"][0].clone())
}

/// A beat that a limit stops holds its account; when the hold ends, it continues in its session.
pub(crate) fn a_limited_beat_continues(claude: &Path) -> Result<()> {
    let mut place = Place::subscribed(claude, &json!([limit_reached(8)]))?;
    place.run(&["start"])?;
    let mut log = Log::follow(&place)?;
    // It never ran, so that it is due at once.
    configure(&place, &json!({ "lastRun": null }))?;
    let limited = log.next()?;
    place.play(&says("ATTENTION: finished after the reset"))?;
    ensure!(limited["outcome"] == "limited" && limited["error"] == Value::Null, "{limited}");
    ensure!(limited["limit"]["window"] == "five_hour", "{limited}");
    let resets_at: Timestamp = limited["limit"]["resetsAt"].as_str().unwrap_or_default().parse()?;
    let status = String::from_utf8(place.run(&["status"])?.stdout)?;
    ensure!(status.contains("whose five-hour limit is reached; ends in"), "{status}");
    let refused = place.murmur(&["beat"]).output()?;
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    ensure!(!refused.status.success() && said.contains("is on hold until"), "{said}");

    let continued = log.next()?;
    ensure!(continued["outcome"] == "attention", "{continued}");
    ensure!(continued["summary"] == "ATTENTION: finished after the reset", "{continued}");
    ensure!(continued["sessionId"] == limited["sessionId"], "it did not continue: {limited} {continued}");
    let begun: Timestamp = continued["ts"].as_str().unwrap_or_default().parse()?;
    ensure!(begun >= resets_at, "it began before the reset: {limited} {continued}");
    Ok(())
}

/// With `onLimit: skip`, a beat that a limit stops is dropped: after the hold, its heartbeat waits for its next time.
pub(crate) fn a_limited_beat_is_dropped(claude: &Path) -> Result<()> {
    let mut place = Place::subscribed(claude, &json!([limit_reached(6)]))?;
    std::fs::create_dir_all(place.folder.path().join("data"))?;
    configure(&place, &json!({ "onLimit": "skip" }))?;
    let limited = beat(&place)?;
    ensure!(limited["outcome"] == "limited", "{limited}");
    place.play(&says("HEARTBEAT_OK"))?;
    // Another heartbeat of the account is due, and starts when the hold ends.
    let other = place.folder.path().join("other");
    std::fs::create_dir(&other)?;
    std::fs::write(other.join("HEARTBEAT.md"), "Look after it, too.\n")?;
    let file = place.folder.path().join("data/config.json");
    let mut config: Value = serde_json::from_slice(&std::fs::read(&file)?)?;
    let entries = config["workspaces"].as_array_mut();
    entries.into_iter().for_each(|entries| entries.push(json!({ "path": other, "interval": "1d" })));
    std::fs::write(&file, config.to_string())?;
    let mut log = Log::follow(&place)?;
    place.run(&["start"])?;
    ensure!(log.next()? == limited, "another line");
    let next = log.next()?;
    ensure!(next["workspace"] == json!(other) && next["outcome"] == "ok", "{next}");
    let dropped = heartbeat(&place)?;
    ensure!(dropped["running"] == Value::Null, "{dropped}");
    let at: Timestamp = dropped["nextRun"].as_str().unwrap_or_default().parse()?;
    ensure!(at > clock::now() + jiff::SignedDuration::from_mins(1), "{dropped}");
    ensure!(!requests(&place)?.contains("A usage limit stopped you"), "it was continued");
    Ok(())
}

/// What the CLI reports of the account's usage keeps a heartbeat with a reserve from starting.
pub(crate) fn a_reserve(claude: &Path) -> Result<()> {
    let mut enough = says("HEARTBEAT_OK");
    enough[0] = json!({ "content": enough[0], "headers": {
        "anthropic-ratelimit-unified-status": "allowed_warning",
        "anthropic-ratelimit-unified-reset": "now+7200",
        "anthropic-ratelimit-unified-representative-claim": "five_hour",
        "anthropic-ratelimit-unified-5h-status": "allowed_warning",
        "anthropic-ratelimit-unified-5h-reset": "now+7200",
        "anthropic-ratelimit-unified-5h-utilization": "0.92",
        "anthropic-ratelimit-unified-5h-surpassed-threshold": "0.9",
    }});
    let place = Place::subscribed(claude, &enough)?;
    std::fs::create_dir_all(place.folder.path().join("data"))?;
    configure(&place, &json!({}))?;
    let ran = beat(&place)?;
    ensure!(ran["outcome"] == "ok", "{ran}");
    let limits: Value = serde_json::from_slice(&place.run(&["limits", "--json"])?.stdout)?;
    ensure!(limits.to_string().contains("0.92"), "{limits}");
    // It is due at once.
    let due = |reserve: &str| json!({ "cron": null, "interval": "1s", "lastRun": null, "reserve": reserve });
    configure(&place, &due("30%"))?;
    place.run(&["start"])?;
    let mut log = Log::follow(&place)?;
    let held = heartbeat(&place)?;
    let why = held["held"]["why"].as_str().unwrap_or_default();
    ensure!(why.starts_with("92% of the five-hour limit of claude"), "{held}");
    ensure!(held["running"] == Value::Null, "{held}");
    configure(&place, &due("5%"))?;
    ensure!(log.next()? == ran, "another line");
    let next = log.next()?;
    ensure!(next["outcome"] == "ok", "{next}");
    Ok(())
}
