use super::super::fixture::{answered, at, beat, heartbeat};
use super::*;
use murmur_core::config::cron::Crons;
use murmur_core::config::file::File;
use murmur_core::config::heartbeat::{Heartbeat, HeartbeatId, resolve_registered};
use murmur_core::failures::Streak;
use murmur_core::id::SessionId;
use murmur_store::limits::StoppedBeat;
use std::num::NonZeroU32;
use std::path::Path;

/// A heartbeat of `/a` that is due every 30 minutes, with these other keys.
fn with(keys: &str, last_run: Option<&str>) -> Heartbeat {
    let crons = Crons::new(jiff::tz::TimeZone::UTC);
    let config = format!(r#"{{"workspaces":[{{"path":"/a","interval":"30m",{keys}}}]}}"#);
    let file = File::parse(config.as_bytes(), Path::new("/config.json"), &crons).unwrap();
    let found = resolve_registered(&file, Path::new("/a"), &crons).unwrap().remove(0);
    Heartbeat { settings: found.settings, ..heartbeat("/a", None, 30, last_run) }
}

fn state(max_concurrent: u32, heartbeats: &[Heartbeat], now: &str) -> Heartbeats {
    let mut state = Heartbeats::default();
    state.load(heartbeats.to_vec(), NonZeroU32::new(max_concurrent).unwrap(), at(now));
    state
}

/// The workspaces of the beats that start. Their ids are the time.
fn starts(state: &mut Heartbeats, now: &str) -> Vec<String> {
    let started = state.start_due(at(now), true, usize::MAX, || BeatId::new(now));
    started.iter().map(|start| start.running.workspace.display().to_string()).collect()
}

#[test]
fn whatever_starts_a_heartbeat_waits_for_its_active_hours() {
    let (on, hours) = (r#""on":{"path":"src"}"#, r#""activeHours":"12:00-13:00""#);
    let closed = r#""except":["2026-02-03"]"#;
    for schedule in [true, false] {
        // Its keys, what makes it due at 10:00, and when it starts.
        for (keys, retries, continues, changes, opens) in [
            (format!("{on},{hours}"), true, false, false, at("12:00:00")),
            (format!("{on},{hours}"), false, true, false, at("12:00:00")),
            (format!("{on},{hours}"), false, false, true, at("12:00:00")),
            (format!("{on},{hours}"), true, true, true, at("12:00:00")),
            (format!("{on},{closed}"), true, false, false, "2026-02-04T00:00:00Z".parse().unwrap()),
            (format!("{on},{closed}"), false, true, false, "2026-02-04T00:00:00Z".parse().unwrap()),
            (on.to_owned(), true, false, false, at("10:00:00")),
            (on.to_owned(), false, true, false, at("10:00:00")),
        ] {
            let mut heartbeat = with(&keys, Some("09:45:00"));
            // Its schedule is not what makes it due.
            heartbeat.schedule = heartbeat.schedule.filter(|_| schedule);
            let mut state = state(4, &[heartbeat], "09:45:00");
            if changes {
                state.files_changed(&[HeartbeatId::parse("/a")], at("09:59:58"));
            }
            state.change(0, |entry| {
                let (started_at, session) = (at("09:45:00"), SessionId::new("s"));
                entry.streak = retries.then(|| Streak {
                    failures: 1,
                    retries: 1,
                    started_at,
                    retry_at: Some(at("10:00:00")),
                    reported: false,
                    replaced: 0,
                });
                entry.stopped = continues.then(|| Box::new(StoppedBeat { started_at, session }));
            });
            let why = format!("{keys} {schedule} {retries} {continues} {changes}");
            let starts_at_once = opens == at("10:00:00");
            let expected: &[&str] = if starts_at_once { &["/a"] } else { &[] };
            assert_eq!(starts(&mut state, "10:00:00"), expected, "{why}");
            if !starts_at_once {
                assert_eq!(state.wake_at(), Some(opens), "{why}");
            }
        }
    }
}

#[test]
fn only_a_persons_answer_resumes_a_beat_outside_its_active_hours() {
    for (keys, by_person, expected) in [
        (r#""activeHours":"12:00-13:00""#, false, at("12:00:00")),
        (r#""except":["2026-02-03"]"#, false, "2026-02-04T00:00:00Z".parse().unwrap()),
        (r#""activeHours":"12:00-13:00""#, true, at("10:00:00")),
        (r#""activeHours":"09:00-13:00""#, false, at("10:00:00")),
    ] {
        let mut state = state(4, &[with(keys, Some("09:45:00"))], "09:45:00");
        state.set_deferred(vec![answered(by_person)]);
        let started = starts(&mut state, "10:00:00");
        assert_eq!(started.is_empty(), expected > at("10:00:00"), "{keys} {by_person}");
        if started.is_empty() {
            assert_eq!(state.wake_at(), Some(expected), "{keys}");
            let started = state.start_due(expected, true, 9, || beat("later"));
            assert!(started[0].resumes.is_some(), "{keys}");
        }
    }
}

#[test]
fn outside_its_active_hours_a_due_heartbeat_waits_for_them() {
    let hours = with(r#""activeHours":"08:00-20:00""#, None);
    let mut state = state(4, &[hours.clone(), heartbeat("/b", None, 30, None)], "06:00:00");
    assert_eq!(starts(&mut state, "06:00:00"), ["/b"], "one that never ran");
    state.ended(&beat("06:00:00"), Timestamp::UNIX_EPOCH);
    assert_eq!(state.entries()[0].next_run(), Some(at("08:00:00")));
    assert_eq!(starts(&mut state, "07:59:59"), ["/b"]);
    state.ended(&beat("07:59:59"), Timestamp::UNIX_EPOCH);
    assert_eq!(state.wake_at(), Some(at("08:00:00")));
    assert_eq!(starts(&mut state, "08:00:00"), ["/a"]);
    state.ended(&beat("08:00:00"), Timestamp::UNIX_EPOCH);
    // A clock that was set back does not let it run before.
    state.clock_set(at("06:00:00"));
    assert_eq!(starts(&mut state, "07:00:00"), ["/b"]);
    state.ended(&beat("07:00:00"), Timestamp::UNIX_EPOCH);
    // An edit applies at once.
    let edited = with(r#""activeHours":"07:00-20:00""#, None);
    state.load(vec![edited], NonZeroU32::MIN, at("07:00:00"));
    assert_eq!(starts(&mut state, "07:00:00"), ["/a"]);
}

#[test]
fn a_run_that_could_not_start_in_its_active_hours_waits_for_the_next() {
    let mut state = state(
        1,
        &[
            with(r#""activeHours":"08:00-20:00""#, Some("19:00:00")),
            heartbeat("/b", None, 30, Some("18:59:00")),
        ],
        "19:00:00",
    );
    assert_eq!(starts(&mut state, "19:30:00"), ["/b"]);
    state.ended(&beat("19:30:00"), Timestamp::UNIX_EPOCH);
    assert!(starts(&mut state, "20:00:00") == ["/b"], "its active hours are over");
    state.ended(&beat("20:00:00"), Timestamp::UNIX_EPOCH);
    let tomorrow = at("08:00:00") + SignedDuration::from_hours(24);
    assert_eq!(state.entries()[0].next_run(), Some(tomorrow));
}

#[test]
fn a_missed_run_is_skipped_and_a_run_that_waited_its_turn_is_not() {
    // Suspended from 10:20 to 11:10.
    let skip = with(r#""catchUp":"skip""#, Some("10:00:00"));
    let mut state = state(1, &[skip.clone(), heartbeat("/b", None, 120, Some("08:00:00"))], "10:00:00");
    assert_eq!(starts(&mut state, "10:20:00"), ["/b"]);
    assert_eq!(state.entries()[0].next, Some(at("10:30:00")));
    state.ended(&beat("10:20:00"), Timestamp::UNIX_EPOCH);
    assert!(starts(&mut state, "11:10:00").is_empty());
    assert_eq!(state.wake_at(), Some(at("11:30:00")));
    // An edit of something else does not bring the missed run back.
    state.load(vec![skip, heartbeat("/b", None, 120, Some("08:00:00"))], NonZeroU32::MIN, at("11:11:00"));
    assert!(starts(&mut state, "11:11:00").is_empty());
    // Another beat runs when it is due.
    assert!(state.start_now(Path::new("/b"), None, at("11:20:00"), beat("b")).is_ok());
    assert!(starts(&mut state, "11:30:00").is_empty());
    state.ended(&beat("b"), Timestamp::UNIX_EPOCH);
    assert_eq!(starts(&mut state, "11:50:00"), ["/a"]);
}

#[test]
fn what_was_missed_in_a_pause_is_caught_up_with_as_far_as_it_says() {
    use crate::daemon::pauses::{Pause, Pauses};
    for (keys, expected) in [
        (r#""catchUp":"once""#, 1),
        (r#""catchUp":"skip""#, 0),
        (r#""catchUp":"1h""#, 0),
        (r#""catchUp":"3h""#, 1),
    ] {
        let mut state = state(1, &[with(keys, Some("10:00:00"))], "10:00:00");
        state.set_pauses(Pauses::new(vec![Pause::default()]));
        assert!(starts(&mut state, "12:00:00").is_empty());
        state.set_pauses(Pauses::default());
        assert_eq!(starts(&mut state, "12:40:00").len(), expected, "{keys}");
    }
}

#[test]
fn a_run_that_waited_beyond_its_deadline_is_skipped() {
    let mut state = state(
        1,
        &[with(r#""startDeadline":"10m""#, Some("10:00:00")), heartbeat("/b", None, 120, Some("08:00:00"))],
        "10:00:00",
    );
    assert_eq!(starts(&mut state, "10:00:00"), ["/b"]);
    assert!(starts(&mut state, "10:30:00").is_empty());
    state.ended(&beat("10:00:00"), Timestamp::UNIX_EPOCH);
    assert!(starts(&mut state, "10:41:00").is_empty());
    assert_eq!(state.wake_at(), Some(at("11:00:00")));
    assert_eq!(starts(&mut state, "11:05:00"), ["/a"]);
}

#[test]
fn a_first_run_waits_for_its_jitter_whatever_is_edited_meanwhile() {
    let heartbeat = with(r#""jitter":"10m""#, None);
    let mut state = state(1, std::slice::from_ref(&heartbeat), "10:00:00");
    assert!(starts(&mut state, "10:00:00").is_empty());
    let due = state.wake_at().unwrap();
    assert!(at("10:00:00") < due && due < at("10:10:00"), "{due}");
    state.load(vec![heartbeat], NonZeroU32::MIN, at("10:00:01"));
    assert!(starts(&mut state, "10:00:01").is_empty());
    assert_eq!((state.wake_at(), state.entries()[0].next_run()), (Some(due), Some(due)));
    assert_eq!(state.start_due(due, true, 9, || beat("a")).len(), 1);
    state.ended(&beat("a"), due);
    assert_eq!(state.wake_at(), Some(due + SignedDuration::from_mins(30)));
}

#[test]
fn a_heartbeat_that_is_due_while_its_beat_runs_queues_skips_or_replaces() {
    for (keys, at_ten_thirty, after) in [
        (r#""overlap":"queue""#, &[][..], "10:45:00"),
        (r#""jitter":"1s""#, &[], "10:45:00"),
        (r#""overlap":"skip""#, &[], "11:00:00"),
        (r#""overlap":"replace""#, &["10:00:00"], "10:45:00"),
    ] {
        let mut state = state(1, &[with(keys, Some("09:30:00"))], "10:00:00");
        assert_eq!(starts(&mut state, "10:00:00"), ["/a"]);
        assert!(state.replace(at("10:29:59")).is_empty());
        let is_queued = !keys.contains("skip") && !keys.contains("replace");
        // Even though `maxConcurrent` is reached.
        assert_eq!(state.wake_at(), (!is_queued).then(|| at("10:30:00")), "{keys}");
        let told: Vec<String> = state.replace(at("10:30:01")).iter().map(ToString::to_string).collect();
        assert_eq!(told, at_ten_thirty, "{keys}");
        assert!(starts(&mut state, "10:30:01").is_empty(), "{keys}");
        assert!(state.replace(at("10:30:05")).is_empty(), "{keys}");
        // In case its process was starting and missed it.
        let again = (!at_ten_thirty.is_empty()).then(|| at("10:30:06"));
        assert_eq!(state.wake_at().filter(|wake| *wake < at("10:45:00")), again, "{keys}");
        let told: Vec<String> = state.replace(at("10:30:06")).iter().map(ToString::to_string).collect();
        assert_eq!(told, at_ten_thirty, "{keys}");
        state.ended(&beat("10:00:00"), Timestamp::UNIX_EPOCH);
        let early = starts(&mut state, "10:45:00");
        assert_eq!(early.len(), usize::from(after == "10:45:00"), "{keys}");
        if early.is_empty() {
            assert_eq!(state.wake_at(), Some(at(after)), "{keys}");
            assert_eq!(starts(&mut state, after), ["/a"]);
        }
    }
}

#[test]
fn another_heartbeats_beat_is_neither_replaced_nor_a_reason_to_skip() {
    for keys in [r#""overlap":"skip""#, r#""overlap":"replace""#] {
        let named = Heartbeat { last_run: Some(at("10:00:00")), ..with(keys, Some("10:00:00")) };
        let other = heartbeat("/a", Some("other"), 600, None);
        let mut state = state(4, &[named, other], "10:00:00");
        assert_eq!(starts(&mut state, "10:00:00"), ["/a"], "the other one");
        assert!(state.replace(at("10:30:00")).is_empty() && starts(&mut state, "10:30:00").is_empty());
        state.ended(&beat("10:00:00"), Timestamp::UNIX_EPOCH);
        assert_eq!(starts(&mut state, "10:31:00"), ["/a"]);
    }
}

#[test]
fn the_next_run_says_why_it_waits_and_dropped_runs_are_counted() {
    let next = |state: &Heartbeats, now: &str| state.entries()[0].delay(at(now));
    for (keys, last_run, now, expected) in [
        (
            r#""activeHours":"08:00-20:00""#,
            Some("19:45:00"),
            "19:50:00",
            Some("earlier times are excluded by activeHours"),
        ),
        (r#""activeHours":"08:00-20:00""#, Some("19:00:00"), "19:10:00", None),
        (
            r#""except":["2026-02-03"]"#,
            Some("09:00:00"),
            "09:10:00",
            Some("earlier times are excluded by except"),
        ),
    ] {
        let state = state(4, &[with(keys, last_run)], now);
        assert_eq!(next(&state, now).as_deref(), expected, "{keys} {now}");
    }
    // One that was due outside its hours.
    let mut waiting = state(4, &[with(r#""activeHours":"08:00-20:00""#, None)], "06:00:00");
    assert!(starts(&mut waiting, "06:00:00").is_empty());
    assert_eq!(next(&waiting, "06:00:00").as_deref(), Some("earlier times are excluded by activeHours"));

    let mut late = state(4, &[with(r#""startDeadline":"5m""#, Some("10:00:00"))], "10:00:00");
    assert_eq!(late.entries()[0].dropped(), None);
    for (now, count) in [("10:40:00", 1), ("11:10:00", 2)] {
        assert!(starts(&mut late, now).is_empty());
        let last = if count == 1 { at("10:30:00") } else { at("11:00:00") };
        let expected = DroppedRuns { count, last, why: "it is too late" };
        assert_eq!(late.entries()[0].dropped(), Some(&expected));
    }
}
