//! Every key about the schedule, when the machine sleeps, the clock jumps or DST begins or ends.

use super::super::fixture::heartbeat;
use super::*;
use crate::daemon::pauses::{Pause, Pauses};
use murmur_core::config::cron::Crons;
use murmur_core::config::file::File;
use murmur_core::config::heartbeat::{Heartbeat, resolve_registered};
use std::num::NonZeroU32;
use std::path::Path;

/// A time in 2026, in UTC.
fn time(text: &str) -> Timestamp {
    format!("2026-{}:00Z", text.replace(' ', "T")).parse().unwrap()
}

fn shown(at: Timestamp) -> String {
    at.strftime("%m-%d %H:%M").to_string()
}

/// A heartbeat of `/a` with these keys in config.json.
fn with(keys: &str, last_run: &str) -> Heartbeat {
    let crons = Crons::new(jiff::tz::TimeZone::UTC);
    let config = format!(r#"{{"workspaces":[{{"path":"/a",{keys}}}]}}"#);
    let file = File::parse(config.as_bytes(), Path::new("/config.json"), &crons).unwrap();
    let found = resolve_registered(&file, Path::new("/a"), &crons).unwrap().remove(0);
    let last_run = Some(time(last_run));
    Heartbeat {
        settings: found.settings,
        schedule: found.schedule,
        last_run,
        ..heartbeat("/a", None, 30, None)
    }
}

/// What happens to a heartbeat with these keys that last ran then. Steps, separated by `;`, are
///
/// - a time at which the daemon is awake; while the machine sleeps, there is none
/// - `set TIME`: the clock is set
/// - `runs`, `ends`: a beat starts by hand, or the running one ends
/// - `pause TIME`, `resume`
fn simulate(keys: &str, last_run: &str, steps: &str) -> String {
    let mut state = Heartbeats::default();
    let mut now = time(last_run);
    state.load(vec![with(keys, last_run)], NonZeroU32::MIN, now);
    let mut log = Vec::new();
    for step in steps.split(';').map(str::trim) {
        match step.split_once(' ').unwrap_or((step, "")) {
            ("runs", _) => {
                state.start_now(Path::new("/a"), None, now, BeatId::new("b")).unwrap();
            }
            ("ends", _) => {
                let running = state.running()[0].beat.clone();
                state.ended(&running, now);
            }
            ("pause", until) => {
                let until = Some(time(until));
                state.set_pauses(Pauses::new(vec![Pause { until, ..Pause::default() }]));
            }
            ("resume", _) => state.set_pauses(Pauses::default()),
            ("set", at) => {
                now = time(at);
                state.clock_set(now);
            }
            _ => now = time(step),
        }
        log.extend(state.replace(now).iter().map(|_| format!("replace {}", shown(now))));
        let started = state.start_due(now, true, 9, || BeatId::new("b"));
        log.extend(started.iter().map(|_| format!("start {}", shown(now))));
        log.extend(state.take_dropped().iter().map(|_| format!("drop {}", shown(now))));
    }
    let next = state.entries()[0].next_run().map_or("never".to_owned(), shown);
    log.push(format!("next {next}"));
    log.join(", ")
}

/// Checks the stories of one key, each with the other keys, the last run, the steps, and the result.
fn check(key: &str, cases: &[(&str, &str, &str, &str)]) {
    for (keys, last_run, steps, expected) in cases {
        assert_eq!(simulate(&format!("{keys},{key}"), last_run, steps), *expected, "{key} {keys}: {steps}");
    }
}

const HALF: &str = r#""interval":"30m""#;
/// Its time doesn't exist on 03-29, and exists twice on 10-25, at 00:30 and 01:30 UTC.
const NIGHTLY: &str = r#""cron":"30 2 * * *","tz":"Europe/Berlin""#;
const HOURLY: &str = r#""cron":"0 * * * *","tz":"Europe/Berlin""#;

#[test]
fn overlap() {
    // The machine sleeps from 10:10 to 12:10, the clock is set, and DST begins and ends.
    let (sleeps, ahead, back) = (
        "runs; 02-03 12:10; ends",
        "runs; set 02-03 12:10; ends",
        "runs; set 02-03 08:00; 02-03 08:30; ends",
    );
    let last = "02-03 10:00";
    check(
        r#""overlap":"queue""#,
        &[
            (HALF, last, sleeps, "start 02-03 12:10, next 02-03 12:40"),
            (HALF, last, ahead, "start 02-03 12:10, next 02-03 12:40"),
            (HALF, last, back, "start 02-03 08:30, next 02-03 09:00"),
            (
                NIGHTLY,
                "03-28 01:30",
                "03-29 00:59; runs; 03-29 01:00; ends",
                "start 03-29 01:00, next 03-30 00:30",
            ),
            (
                HOURLY,
                "10-25 00:00",
                "runs; 10-25 01:00; 10-25 01:10; ends",
                "start 10-25 01:10, next 10-25 02:00",
            ),
        ],
    );
    check(
        r#""overlap":"skip""#,
        &[
            (HALF, last, sleeps, "drop 02-03 12:10, next 02-03 12:30"),
            (HALF, last, ahead, "drop 02-03 12:10, next 02-03 12:30"),
            (HALF, last, back, "drop 02-03 08:30, next 02-03 09:00"),
            (
                NIGHTLY,
                "03-28 01:30",
                "03-29 00:59; runs; 03-29 01:00; ends",
                "drop 03-29 01:00, next 03-30 00:30",
            ),
            (
                HOURLY,
                "10-25 00:00",
                "runs; 10-25 01:00; 10-25 01:10; ends; 10-25 02:00",
                "drop 10-25 01:00, start 10-25 02:00, next 10-25 03:00",
            ),
        ],
    );
    check(
        r#""overlap":"replace""#,
        &[
            (HALF, last, sleeps, "replace 02-03 12:10, start 02-03 12:10, next 02-03 12:40"),
            (HALF, last, ahead, "replace 02-03 12:10, start 02-03 12:10, next 02-03 12:40"),
            (HALF, last, back, "replace 02-03 08:30, start 02-03 08:30, next 02-03 09:00"),
            (
                NIGHTLY,
                "03-28 01:30",
                "03-29 00:59; runs; 03-29 01:00; ends",
                "replace 03-29 01:00, start 03-29 01:00, next 03-30 00:30",
            ),
            (
                HOURLY,
                "10-25 00:00",
                "runs; 10-25 01:00; 10-25 01:01; ends",
                "replace 10-25 01:00, replace 10-25 01:01, start 10-25 01:01, next 10-25 02:00",
            ),
        ],
    );
}

#[test]
fn catch_up() {
    let last = "02-03 10:00";
    check(
        r#""catchUp":"skip""#,
        &[
            (HALF, last, "02-03 12:10; 02-03 12:30", "drop 02-03 12:10, start 02-03 12:30, next 02-03 13:00"),
            (
                HALF,
                last,
                "set 02-03 12:10; 02-03 12:30",
                "drop 02-03 12:10, start 02-03 12:30, next 02-03 13:00",
            ),
            (HALF, last, "set 02-03 08:00; 02-03 08:30", "start 02-03 08:30, next 02-03 09:00"),
            (NIGHTLY, "03-28 01:30", "03-29 01:00", "start 03-29 01:00, next 03-30 00:30"),
            (NIGHTLY, "03-28 01:30", "03-29 01:05", "drop 03-29 01:05, next 03-30 00:30"),
            // Of the times that were missed, the last one counts.
            (NIGHTLY, "03-25 01:30", "03-29 01:00", "start 03-29 01:00, next 03-30 00:30"),
            (NIGHTLY, "03-25 01:30", "03-29 01:05", "drop 03-29 01:05, next 03-30 00:30"),
            (NIGHTLY, "10-24 00:30", "10-25 00:30; 10-25 01:30", "start 10-25 00:30, next 10-26 01:30"),
            (
                HOURLY,
                "10-25 00:00",
                "10-25 01:00; 10-25 02:30",
                "start 10-25 01:00, drop 10-25 02:30, next 10-25 03:00",
            ),
        ],
    );
    check(
        r#""catchUp":"1h""#,
        &[
            (HALF, last, "02-03 11:30", "start 02-03 11:30, next 02-03 12:00"),
            (HALF, last, "02-03 11:31", "drop 02-03 11:31, next 02-03 12:00"),
            (HALF, last, "set 02-03 11:31", "drop 02-03 11:31, next 02-03 12:00"),
            (NIGHTLY, "10-24 00:30", "10-25 01:30", "start 10-25 01:30, next 10-26 01:30"),
            (NIGHTLY, "10-24 00:30", "10-25 01:31", "drop 10-25 01:31, next 10-26 01:30"),
            (NIGHTLY, "10-21 00:30", "10-25 01:30", "start 10-25 01:30, next 10-26 01:30"),
            (NIGHTLY, "10-21 00:30", "10-25 01:31", "drop 10-25 01:31, next 10-26 01:30"),
        ],
    );
}

#[test]
fn jitter() {
    // It delays this heartbeat by 53 minutes.
    let last = "02-03 10:00";
    check(
        r#""jitter":"1h""#,
        &[
            (HALF, last, "02-03 12:10; 02-03 12:40", "next 02-03 13:03"),
            (HALF, last, "set 02-03 12:10; 02-03 12:40", "next 02-03 13:03"),
            (HALF, last, "set 02-03 08:00; 02-03 08:30", "start 02-03 08:30, next 02-03 09:00"),
            (
                NIGHTLY,
                "03-28 02:30",
                "03-29 01:00; 03-29 01:53; 03-29 01:54",
                "start 03-29 01:54, next 03-30 01:23",
            ),
            (
                NIGHTLY,
                "10-24 01:30",
                "10-25 00:30; 10-25 01:23; 10-25 01:24; 10-25 02:24",
                "start 10-25 01:24, next 10-26 02:23",
            ),
            (NIGHTLY, "10-25 01:24", "set 10-25 00:20; 10-25 01:24", "next 10-26 02:23"),
        ],
    );
}

#[test]
fn active_hours() {
    let last = "02-03 10:00";
    check(
        r#""activeHours":"08:00-20:00 Europe/Berlin""#,
        &[
            (HALF, last, "02-03 22:00; 02-04 07:00", "start 02-04 07:00, next 02-04 07:30"),
            (HALF, last, "set 02-03 22:00; 02-04 07:00", "start 02-04 07:00, next 02-04 07:30"),
            (HALF, last, "set 02-03 06:00; 02-03 06:30; 02-03 07:00", "start 02-03 07:00, next 02-03 07:30"),
            (HALF, "03-28 18:59", "03-29 05:59; 03-29 06:00", "start 03-29 06:00, next 03-29 06:30"),
            (HALF, "10-24 17:59", "10-25 06:00; 10-25 07:00", "start 10-25 07:00, next 10-25 07:30"),
        ],
    );
}

#[test]
fn excepted_dates() {
    check(
        r#""except":["02-03","03-29","10-25"]"#,
        &[
            (HALF, "02-02 23:00", "02-03 12:10; 02-04 00:00", "start 02-04 00:00, next 02-04 00:30"),
            (HALF, "02-02 23:00", "set 02-03 12:10; 02-04 00:00", "start 02-04 00:00, next 02-04 00:30"),
            (HALF, "02-04 00:10", "set 02-02 23:00; 02-02 23:30", "start 02-02 23:30, next 02-04 00:00"),
            (NIGHTLY, "03-28 01:30", "03-29 01:00", "next 03-30 00:30"),
            (NIGHTLY, "10-24 00:30", "10-25 00:30; 10-25 01:30", "next 10-26 01:30"),
            // In Berlin, 03-29 has 23 hours, and 10-25 has 25.
            (
                HOURLY,
                "03-28 22:00",
                "03-28 23:00; 03-29 21:00; 03-29 22:00",
                "start 03-29 22:00, next 03-29 23:00",
            ),
            (
                HOURLY,
                "10-24 21:00",
                "10-24 22:00; 10-25 22:00; 10-25 23:00",
                "start 10-25 23:00, next 10-26 00:00",
            ),
        ],
    );
}

#[test]
fn start_deadline() {
    let last = "02-03 10:00";
    check(
        r#""startDeadline":"10m""#,
        &[
            (HALF, last, "02-03 10:40", "start 02-03 10:40, next 02-03 11:10"),
            (HALF, last, "02-03 12:11", "drop 02-03 12:11, next 02-03 12:30"),
            (HALF, last, "set 02-03 12:11", "drop 02-03 12:11, next 02-03 12:30"),
            (HALF, last, "set 02-03 08:00; 02-03 08:35", "start 02-03 08:35, next 02-03 09:05"),
            (NIGHTLY, "03-28 01:30", "03-29 01:10", "start 03-29 01:10, next 03-30 00:30"),
            (NIGHTLY, "03-28 01:30", "03-29 01:11", "drop 03-29 01:11, next 03-30 00:30"),
            (NIGHTLY, "03-25 01:30", "03-29 01:10", "start 03-29 01:10, next 03-30 00:30"),
            (NIGHTLY, "10-24 00:30", "10-25 00:41; 10-25 01:30", "drop 10-25 00:41, next 10-26 01:30"),
        ],
    );
}

#[test]
fn pause() {
    let last = "02-03 10:00";
    for (keys, last, steps, expected) in [
        (HALF, last, "pause 02-03 11:00; 02-03 12:10", "start 02-03 12:10, next 02-03 12:40"),
        (HALF, last, "pause 02-03 11:00; set 02-03 12:10", "start 02-03 12:10, next 02-03 12:40"),
        (
            HALF,
            last,
            "pause 02-03 11:00; set 02-03 08:00; 02-03 08:30; 02-03 11:00",
            "start 02-03 11:00, next 02-03 11:30",
        ),
        (HALF, last, "pause 02-03 11:00; 02-03 10:50; resume", "start 02-03 10:50, next 02-03 11:20"),
        (NIGHTLY, "03-28 01:30", "pause 03-29 00:59; 03-29 01:00", "start 03-29 01:00, next 03-30 00:30"),
        (
            NIGHTLY,
            "03-28 01:30",
            "pause 03-29 01:30; 03-29 01:00; 03-29 01:30",
            "start 03-29 01:30, next 03-30 00:30",
        ),
        (
            NIGHTLY,
            "10-24 00:30",
            "pause 10-25 01:00; 10-25 00:30; 10-25 01:00; 10-25 01:30",
            "start 10-25 01:00, next 10-26 01:30",
        ),
    ] {
        assert_eq!(simulate(keys, last, steps), expected, "{keys}: {steps}");
    }
}
