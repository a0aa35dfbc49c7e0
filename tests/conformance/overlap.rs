//! The real Claude Code when its heartbeat is due again before it is done, and when it does not get to start.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::permits::configure;
use crate::place::Place;
use crate::unattended::{Log, beat, requests};

/// How often the heartbeat is due: the real CLI needs more than a second to start, and another one to end.
pub(crate) const INTERVAL: SignedDuration = SignedDuration::from_secs(6);

/// What the model answers after this long.
pub(crate) fn answer(delay: SignedDuration) -> Value {
    json!([{ "delay_ms": delay.as_millis(), "content": [{ "type": "text", "text": "HEARTBEAT_OK" }] }])
}

/// A running daemon, and a heartbeat with these keys whose answers take this long.
pub(crate) fn started(claude: &Path, delay: SignedDuration, more: &Value) -> Result<(Place, Log)> {
    let place = Place::new(claude, &answer(delay))?;
    std::fs::create_dir_all(place.folder.path().join("data"))?;
    place.run(&["start"])?;
    let log = Log::follow(&place)?;
    let interval = format!("{}s", INTERVAL.as_secs());
    let mut keys = json!({ "lastRun": null, "cron": null, "interval": interval });
    for (key, value) in more.as_object().into_iter().flatten() {
        keys[key] = value.clone();
    }
    configure(&place, &keys)?;
    Ok((place, log))
}

/// When a beat began and ended.
pub(crate) fn times(line: &Value) -> Result<(Timestamp, Timestamp)> {
    let begun: Timestamp = line["ts"].as_str().context("no ts")?.parse()?;
    let took = line["durationMs"].as_i64().context("no durationMs")?;
    Ok((begun, begun + SignedDuration::from_millis(took)))
}

/// A run that was due meanwhile starts when its beat has ended, and not at its next time.
pub(crate) fn queue(claude: &Path) -> Result<()> {
    let (_place, mut log) =
        started(claude, INTERVAL + SignedDuration::from_secs(2), &json!({ "overlap": "queue" }))?;
    let (one, two) = (log.next()?, log.next()?);
    ensure!(one["outcome"] == "ok" && two["outcome"] == "ok", "{one} {two}");
    let ((begun, ended), (next, _)) = (times(&one)?, times(&two)?);
    ensure!(ended.duration_since(begun) > INTERVAL, "it was not slow: {one}");
    let waited = next.duration_since(ended);
    ensure!(waited.abs() < SignedDuration::from_secs(3), "it started {waited:?} after the end: {one} {two}");
    Ok(())
}

/// A run that is due while its heartbeat runs is dropped: the next one starts at the next time.
pub(crate) fn skip(claude: &Path) -> Result<()> {
    let (mut place, mut log) =
        started(claude, INTERVAL + SignedDuration::from_secs(1), &json!({ "overlap": "skip" }))?;
    let one = log.next()?;
    place.play(&answer(SignedDuration::ZERO))?;
    let two = log.next()?;
    ensure!(one["outcome"] == "ok" && two["outcome"] == "ok", "{one} {two}");
    let ((begun, ended), (next, _)) = (times(&one)?, times(&two)?);
    ensure!(ended.duration_since(begun) > INTERVAL, "it was not slow: {one}");
    let waited = next.duration_since(begun);
    ensure!(
        waited >= INTERVAL * 2 - SignedDuration::from_secs(1),
        "it started after {waited:?}: {one} {two}"
    );
    Ok(())
}

/// A beat that is still running when its heartbeat is due again is ended with its agent, for the next one.
pub(crate) fn replace(claude: &Path) -> Result<()> {
    let (mut place, mut log) =
        started(claude, SignedDuration::from_mins(10), &json!({ "overlap": "replace" }))?;
    let one = log.next()?;
    place.play(&answer(SignedDuration::ZERO))?;
    let two = log.next()?;
    let error = one["error"].as_str().unwrap_or_default();
    ensure!(error.starts_with("replaced by the next run after "), "{one}");
    ensure!(one["outcome"] == "error" && one["stopped"] == Value::Null, "{one}");
    ensure!(two["outcome"] == "ok", "{two}");
    let ((begun, _), (next, _)) = (times(&one)?, times(&two)?);
    ensure!(next.duration_since(begun) >= INTERVAL, "{one} {two}");
    let status: Value = serde_json::from_slice(&place.run(&["status", "--json"])?.stdout)?;
    ensure!(status["heartbeats"][0]["failures"] == Value::Null, "{status}");
    Ok(())
}

/// An agent that never gets to start, here because a wrapper hangs, is ended by `startTimeout`; one that starts is not.
pub(crate) fn start_timeout(claude: &Path) -> Result<()> {
    let place = Place::new(claude, &answer(SignedDuration::ZERO))?;
    std::fs::create_dir_all(place.folder.path().join("data"))?;
    let wrapper = place.folder.path().join("home/bin/claude");
    let (real, hangs) = (claude.display(), place.folder.path().join("hangs"));
    std::fs::write(&hangs, "")?;
    std::fs::remove_file(&wrapper)?;
    let script =
        format!("#!/bin/sh\n[ -e '{}' ] && tail -f /dev/null\nexec '{real}' \"$@\"\n", hangs.display());
    std::fs::write(&wrapper, script)?;
    std::fs::set_permissions(&wrapper, PermissionsExt::from_mode(0o755))?;
    configure(&place, &json!({ "startTimeout": "2s" }))?;
    let hung = beat(&place)?;
    ensure!(hung["watchdog"] == "startTimeout" && hung["outcome"] == "error", "{hung}");
    ensure!(hung["error"] == "no output from the agent within 2s of its start (startTimeout)", "{hung}");
    ensure!(requests(&place)?.is_empty(), "the model was asked");

    std::fs::remove_file(&hangs)?;
    configure(&place, &json!({ "startTimeout": "30s" }))?;
    let started = beat(&place)?;
    ensure!(started["outcome"] == "ok", "{started}");
    Ok(())
}
