//! When the real Claude Code doesn't start although its heartbeat is due: on excluded dates, after missed runs, too
//! late, and while a page has not changed.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};

use anyhow::{Result, ensure};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use sys::clock;

use crate::limits::{heartbeat, says};
use crate::overlap::{INTERVAL, answer, started, times};
use crate::permits::configure;
use crate::place::Place;
use crate::unattended::{Log, beat, requests};

/// Answers a request with the page and its ETag, or says that it isn't modified.
fn serve(stream: TcpStream, page: &str) -> Result<()> {
    let mut known = false;
    let etag = format!("\"{page}\"");
    let mut lines = BufReader::new(&stream).lines();
    while let Some(line) = lines.next().transpose()?.filter(|line| !line.is_empty()) {
        known |= line.to_ascii_lowercase().starts_with("if-none-match:") && line.contains(&etag);
    }
    let (status, body) = if known { ("304 Not Modified", "") } else { ("200 OK", page) };
    let length = body.len();
    let head = format!("HTTP/1.1 {status}\r\nETag: {etag}\r\nContent-Length: {length}\r\nConnection: close");
    Ok((&stream).write_all(format!("{head}\r\n\r\n{body}").as_bytes())?)
}

/// The only heartbeat once it isn't due and doesn't run: a daemon that has just started answers before it decides.
fn settled(place: &Place) -> Result<Value> {
    loop {
        let status = heartbeat(place)?;
        if status["waiting"] == false && status["running"] == Value::Null {
            return Ok(status);
        }
    }
}

/// A page that changes starts a beat once, and its address gets into the prompt.
pub(crate) fn changed_page(claude: &Path) -> Result<()> {
    let place = Place::new(claude, &says("HEARTBEAT_OK"))?;
    std::fs::create_dir_all(place.folder.path().join("data"))?;
    let (listener, page) = (TcpListener::bind("127.0.0.1:0")?, Arc::new(Mutex::new("one")));
    let (url, shown) = (format!("http://{}/news", listener.local_addr()?), Arc::clone(&page));
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let page = shown.lock().map(|page| *page).unwrap_or_default();
            // A client that is gone gets no answer, which fails its beat.
            drop(serve(stream, page));
        }
    });
    configure(&place, &json!({ "when": { "url": url } }))?;
    for (text, expected) in [("one", "ok"), ("one", "skipped"), ("two", "ok"), ("two", "skipped")] {
        if let Ok(mut page) = page.lock() {
            *page = text;
        }
        let asked = std::fs::read_dir(place.requests())?.count();
        let line = beat(&place)?;
        ensure!(line["outcome"] == expected, "{text} is not {expected}: {line}");
        let is_asked = std::fs::read_dir(place.requests())?.count() > asked;
        ensure!(is_asked == (expected == "ok"), "{text}: the model was asked: {is_asked}");
    }
    ensure!(requests(&place)?.contains(&url), "it isn't told which page changed");
    Ok(())
}

/// On an excluded date, a due heartbeat waits and costs nothing; without it, the heartbeat starts at once.
pub(crate) fn excluded_dates(claude: &Path) -> Result<()> {
    let place = Place::new(claude, &says("HEARTBEAT_OK"))?;
    std::fs::create_dir_all(place.folder.path().join("data"))?;
    let today = clock::now().to_zoned(jiff::tz::TimeZone::UTC).date();
    // Midnight may pass meanwhile.
    let except = json!([format!("{today}..{}", today.tomorrow()?)]);
    configure(&place, &json!({ "lastRun": null, "tz": "UTC", "except": except }))?;
    place.run(&["start"])?;
    let mut log = Log::follow(&place)?;
    let waits = settled(&place)?;
    let next: Timestamp = waits["nextRun"].as_str().unwrap_or_default().parse()?;
    let first = today.tomorrow()?.tomorrow()?.to_zoned(jiff::tz::TimeZone::UTC)?.timestamp();
    ensure!(next >= first, "it runs on an excluded date: {waits}");
    ensure!(requests(&place)?.is_empty(), "the model was asked");
    configure(&place, &json!({ "lastRun": null, "tz": "UTC" }))?;
    let ran = log.next()?;
    ensure!(ran["outcome"] == "ok", "{ran}");
    Ok(())
}

/// A first run is delayed by `jitter`, by the same time whenever its daemon starts, and costs nothing meanwhile.
pub(crate) fn jitter(claude: &Path) -> Result<()> {
    let place = Place::new(claude, &says("HEARTBEAT_OK"))?;
    std::fs::create_dir_all(place.folder.path().join("data"))?;
    let keys = json!({ "lastRun": null, "cron": null, "interval": "1h", "jitter": "100d" });
    configure(&place, &keys)?;
    place.run(&["start"])?;
    let mut log = Log::follow(&place)?;
    let planned = |status: &Value| -> Result<Timestamp> {
        let reason = status["nextReason"].as_str().unwrap_or_default();
        ensure!(reason.contains("jitter"), "{status}");
        Ok(status["nextRun"].as_str().unwrap_or_default().parse()?)
    };
    let first = planned(&settled(&place)?)?;
    place.run(&["restart"])?;
    let second = planned(&settled(&place)?)?;
    ensure!(second.duration_since(first).abs() < SignedDuration::from_secs(60), "{first} {second}");
    ensure!(requests(&place)?.is_empty(), "the model was asked");
    // A running daemon keeps what it has decided.
    place.run(&["stop"])?;
    configure(&place, &json!({ "lastRun": null }))?;
    place.run(&["start"])?;
    let ran = log.next()?;
    ensure!(ran["outcome"] == "ok", "{ran}");
    Ok(())
}

/// After runs were missed, `catchUp` decides whether one beat makes up for all of them.
pub(crate) fn catch_up(claude: &Path) -> Result<()> {
    for (catch_up, runs) in [("skip", false), ("1h", false), ("once", true), ("25h", true)] {
        let place = Place::new(claude, &says("HEARTBEAT_OK"))?;
        std::fs::create_dir_all(place.folder.path().join("data"))?;
        // It was due 3 hours ago, two days after its last run.
        let last = clock::rfc3339(clock::now() - SignedDuration::from_hours(51));
        configure(&place, &json!({ "lastRun": last, "cron": null, "interval": "2d", "catchUp": catch_up }))?;
        place.run(&["start"])?;
        let mut log = Log::follow(&place)?;
        if runs {
            let ran = log.next()?;
            ensure!(ran["outcome"] == "ok", "{catch_up}: {ran}");
        }
        let settled = settled(&place)?;
        let next: Timestamp = settled["nextRun"].as_str().unwrap_or_default().parse()?;
        ensure!(next > clock::now() + SignedDuration::from_hours(24), "{catch_up}: {settled}");
        ensure!((settled["dropped"] == Value::Null) == runs, "{catch_up}: {settled}");
        ensure!(requests(&place)?.is_empty() != runs, "{catch_up}: the model was asked: {}", !runs);
    }
    Ok(())
}

/// A run that waited for its turn longer than `startDeadline` is dropped: the next one starts at the next time.
pub(crate) fn start_deadline(claude: &Path) -> Result<()> {
    let more = json!({ "overlap": "queue", "startDeadline": "1s" });
    let (mut place, mut log) = started(claude, INTERVAL + SignedDuration::from_secs(3), &more)?;
    let one = log.next()?;
    place.play(&answer(SignedDuration::ZERO))?;
    let two = log.next()?;
    ensure!(one["outcome"] == "ok" && two["outcome"] == "ok", "{one} {two}");
    let ((begun, ended), (next, _)) = (times(&one)?, times(&two)?);
    ensure!(ended.duration_since(begun) > INTERVAL + SignedDuration::from_secs(1), "it was not slow: {one}");
    let waited = next.duration_since(begun);
    ensure!(
        waited >= INTERVAL * 2 - SignedDuration::from_secs(1),
        "it started after {waited:?}: {one} {two}"
    );
    let status = heartbeat(&place)?;
    ensure!(status["dropped"]["count"].as_u64().is_some_and(|count| count > 0), "{status}");
    Ok(())
}
