//! Heartbeats that fail: their retries, and how they slow down.

use super::super::fixture::{at, beat, heartbeat};
use super::*;
use murmur_core::config::heartbeat::{BeatSettings, Heartbeat};
use murmur_core::config::limit::Sourced;
use murmur_core::config::on_failure::{Breaker, OnFailure, Retry};
use murmur_core::config::schedule_options::ScheduleOptions;
use murmur_core::config::timing::Schedule;
use murmur_core::failures::BeatEnd;
use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::Arc;

const FAILED: BeatEnd = BeatEnd::Failure { retryable: true };

/// A heartbeat of `/a`, due every 30 minutes, that is retried `retries` times and slows down after 3 failures.
fn failing(retries: u32) -> Heartbeat {
    let number = |number| NonZeroU32::new(number);
    let retry = number(retries).map(|max| {
        let (backoff, max_backoff) = ("1m".parse().unwrap(), "10m".parse().unwrap());
        Sourced::default(Retry { max, backoff, max_backoff })
    });
    let breaker = Sourced::default(Breaker::After(number(3).unwrap()));
    let settings = BeatSettings { on_failure: OnFailure { retry, breaker }, ..BeatSettings::default() };
    Heartbeat { settings: Arc::new(settings), ..heartbeat("/a", None, 30, None) }
}

fn state(retries: u32) -> Heartbeats {
    let mut state = Heartbeats::default();
    state.load(vec![failing(retries)], NonZeroU32::MIN, at("08:00:00"));
    state
}

/// Starts the heartbeat if it is due, and ends its beat a minute later.
fn runs(state: &mut Heartbeats, now: &str, end: BeatEnd) -> Option<StreakChange> {
    runs_at(state, at(now), end)
}

fn runs_at(state: &mut Heartbeats, now: Timestamp, end: BeatEnd) -> Option<StreakChange> {
    let started = state.start_due(now, true, 9, || beat("b"));
    assert_eq!(started.len(), 1, "at {now}, due at {:?}", state.wake_at());
    let ended = now + SignedDuration::from_mins(1);
    let line = BeatSummary {
        beat: Some(beat("b")),
        workspace: "/a".into(),
        name: None,
        started: Some(now),
        ended: Some(ended),
        end,
        agent: "a-1".to_owned(),
        resumes: None,
    };
    let change = state.beat_ended(&line, ended);
    state.ended(&beat("b"), Timestamp::UNIX_EPOCH);
    change
}

#[test]
fn a_failed_beat_is_retried_and_then_runs_as_scheduled() {
    let mut state = state(2);
    runs(&mut state, "10:00:00", FAILED);
    assert_eq!(state.wake_at(), Some(at("10:02:00")));
    assert_eq!(state.entries()[0].next_run(), Some(at("10:02:00")));
    runs(&mut state, "10:02:00", FAILED);
    assert_eq!(state.wake_at(), Some(at("10:05:00")));
    // A success ends it.
    let change = runs(&mut state, "10:05:00", BeatEnd::Success).unwrap();
    assert!(change.streak.is_none() && change.report.is_none());
    assert_eq!(state.wake_at(), Some(at("10:35:00")));
    assert!(runs(&mut state, "10:35:00", BeatEnd::Success).is_none());
}

#[test]
fn a_retry_that_does_not_begin_is_due_again() {
    let mut state = state(2);
    runs(&mut state, "10:00:00", FAILED);
    let before = state.start_due(at("10:02:00"), true, 9, || beat("c")).remove(0).before;
    state.found_busy(&beat("c"), before, at("10:02:00"));
    assert_eq!(state.wake_at(), Some(at("10:02:01")));
}

#[test]
fn a_heartbeat_that_keeps_failing_slows_down_and_says_so_once() {
    let mut state = state(0);
    for time in ["10:00:00", "10:30:00"] {
        assert!(runs(&mut state, time, FAILED).unwrap().report.is_none());
    }
    let report = runs(&mut state, "11:00:00", FAILED).unwrap().report.unwrap();
    insta::assert_snapshot!(report.line().unwrap(), @r#"{"ts":"2026-02-03T11:01:00Z","workspace":"/a","outcome":"attention","durationMs":0,"summary":"3 failures in a row: the next run is at 2026-02-03T12:00:00Z at the earliest; each further failure doubles the time to the next run, until a success or `murmur resume`","kind":"failing","agent":"a-1"}"#);
    assert_eq!(state.wake_at(), Some(at("12:00:00")));
    assert_eq!(state.entries()[0].held().unwrap().why, "3 failures in a row");
    // What else holds it is known, too.
    let over_budget = |until: &str| {
        let why = "the budget is used up".to_owned();
        HashMap::from([(failing(0).id, HeartbeatHold { kind: HoldKind::Budget, until: at(until), why })])
    };
    assert_eq!(state.entries()[0].also_held(), None);
    for (until, held, also) in [
        ("20:00:00", HoldKind::Budget, HoldKind::Failures),
        ("11:30:00", HoldKind::Failures, HoldKind::Budget),
    ] {
        state.set_over_budget(over_budget(until), at("11:02:00"));
        let entry = &state.entries()[0];
        assert_eq!((entry.held().unwrap().kind, entry.also_held().unwrap().kind), (held, also));
    }
    state.set_over_budget(HashMap::new(), at("11:02:00"));
    // A person can start it.
    assert!(state.start_now("/a".as_ref(), None, at("11:10:00"), beat("mine")).is_ok());
    state.ended(&beat("mine"), Timestamp::UNIX_EPOCH);
    let change = runs(&mut state, "12:00:00", FAILED).unwrap();
    assert_eq!((change.report.is_none(), state.wake_at()), (true, Some(at("14:00:00"))));
    // So it is after a restart, or an edit of its configuration.
    let mut next = Heartbeats::default();
    next.load(vec![failing(0)], NonZeroU32::MIN, at("12:30:00"));
    next.set_streaks(state.streaks.clone(), at("12:30:00"));
    next.record_run("/a".as_ref(), None, at("12:00:00"), at("12:30:00"));
    assert_eq!(next.wake_at(), Some(at("14:00:00")));
    next.load(vec![failing(0)], NonZeroU32::MIN, at("12:40:00"));
    next.set_accounts(&super::super::Accounts::default(), at("12:40:00"));
    assert_eq!(next.wake_at(), Some(at("14:00:00")));
    // A person resumed it: its run is due.
    next.set_streaks(Streaks::default(), at("12:45:00"));
    assert_eq!(next.wake_at(), Some(at("12:30:00")));
}

#[test]
fn a_heartbeat_that_only_changes_start_waits_and_says_so_once() {
    let on = Sourced::default(serde_json::from_str(r#"{"path":"src"}"#).unwrap());
    let options = ScheduleOptions { on: Some(on), ..ScheduleOptions::default() };
    let mut triggered = Heartbeat { schedule: None, ..failing(0) };
    Arc::make_mut(&mut triggered.settings).options = Some(Box::new(options));
    let id = triggered.id.clone();
    let mut state = Heartbeats::default();
    state.load(vec![triggered], NonZeroU32::MIN, at("08:00:00"));
    let mut fails = |changed: &str, starts: &str| {
        state.files_changed(std::slice::from_ref(&id), at(changed));
        assert_eq!(state.wake_at(), Some(at(starts)));
        runs(&mut state, starts, FAILED).unwrap().report.and_then(|report| report.summary)
    };
    assert_eq!(fails("10:00:00", "10:00:02"), None);
    assert_eq!(fails("10:05:00", "10:05:02"), None);
    let said = fails("10:10:00", "10:10:02").unwrap();
    assert!(said.starts_with("3 failures in a row: the next run is at 2026-02-03T10:20:02Z at"), "{said}");
    // A change while it waits is not lost.
    assert_eq!(fails("10:12:00", "10:20:02"), None);
    assert_eq!(fails("11:00:00", "11:00:02"), None, "the pause has passed");
}

#[test]
fn a_heartbeat_that_runs_once_a_day_keeps_its_schedule_and_is_reported_once() {
    let schedule = Some(Schedule::Every("1d".parse().unwrap()));
    let mut state = Heartbeats::default();
    state.load(vec![Heartbeat { schedule, ..failing(0) }], NonZeroU32::MIN, at("08:00:00"));
    let mut reports = Vec::new();
    for day in 3..8 {
        let started = format!("2026-02-0{day}T10:00:00Z").parse().unwrap();
        let change = runs_at(&mut state, started, FAILED).unwrap();
        reports.extend(change.report.and_then(|report| report.summary).map(|summary| (day, summary)));
        assert_eq!(state.wake_at(), Some(started + SignedDuration::from_hours(24)));
    }
    assert_eq!(reports, [(5, "3 failures in a row; it runs too rarely to be slowed down".to_owned())]);
}

#[test]
fn a_clock_that_is_set_back_does_not_hold_a_heartbeat_for_long() {
    let mut state = state(0);
    for time in ["20:00:00", "20:30:00", "21:00:00"] {
        runs(&mut state, time, FAILED);
    }
    state.clock_set(at("09:00:00"));
    assert_eq!(state.wake_at(), Some(at("10:00:00")));
}

#[test]
fn a_heartbeat_whose_beats_are_always_replaced_is_reported_once_across_restarts() {
    let (mut streaks, mut reported) = (Streaks::new(), Vec::new());
    for count in 1..=5 {
        // A new daemon each time.
        let mut state = state(2);
        state.set_streaks(streaks, at("10:00:00"));
        let change = runs(&mut state, "10:00:00", BeatEnd::Replaced).unwrap();
        reported.extend(change.report.map(|line| (count, line.summary.unwrap())));
        assert_eq!((state.entries()[0].failures(), state.entries()[0].retry_at()), (0, None));
        streaks = Streaks::from([(change.id.as_str().to_owned(), change.streak.unwrap())]);
    }
    let [(3, summary)] = &reported[..] else { panic!("{reported:?}") };
    assert!(summary.starts_with("3 beats in a row were replaced by the next run"), "{summary}");
}
