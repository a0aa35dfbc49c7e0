use super::*;
use crate::config::cron::Crons;
use crate::config::limit::Sourced;
use jiff::tz::TimeZone;
use std::num::NonZeroU32;

const FAILED: BeatEnd = BeatEnd::Failure { retryable: true };
const BROKEN: BeatEnd = BeatEnd::Failure { retryable: false };

fn at(text: &str) -> Timestamp {
    format!("2026-02-03T{text}Z").parse().unwrap()
}

fn options(retry: Option<(u32, &str, &str)>, breaker: u32) -> OnFailure {
    let retry = retry.map(|(max, backoff, max_backoff)| {
        Sourced::default(Retry {
            max: NonZeroU32::new(max).unwrap(),
            backoff: backoff.parse().unwrap(),
            max_backoff: max_backoff.parse().unwrap(),
        })
    });
    let breaker = NonZeroU32::new(breaker).map_or(Breaker::Off, Breaker::After);
    OnFailure { retry, breaker: Sourced::default(breaker) }
}

/// The waits in seconds until the retry after each of these beats, 0 without a retry.
fn waits(options: &OnFailure, ends: &[BeatEnd]) -> Vec<i64> {
    let (started, ended) = (at("10:00:00"), at("10:01:00"));
    let mut streak = None;
    let wait = |end: &BeatEnd| {
        streak = after(streak.as_ref(), options, *end, (started, ended));
        let retry_at = streak.as_ref().and_then(|streak| streak.retry_at);
        retry_at.map_or(0, |at| at.duration_since(ended).as_secs())
    };
    ends.iter().map(wait).collect()
}

#[test]
fn a_passing_failure_is_retried_later_and_later_and_only_so_often() {
    let retry = Some((3, "1m", "3m"));
    for (options, ends, expected) in [
        (options(None, 5), vec![FAILED; 3], vec![0, 0, 0]),
        (options(retry, 9), vec![FAILED; 6], vec![60, 120, 180, 0, 60, 120]),
        (options(retry, 9), vec![BROKEN, FAILED, BROKEN, FAILED], vec![0, 60, 0, 60]),
        (options(retry, 9), vec![FAILED, FAILED, BeatEnd::Success, FAILED], vec![60, 120, 0, 60]),
        (options(retry, 9), vec![FAILED, FAILED, BeatEnd::Neither, FAILED], vec![60, 120, 0, 60]),
        // A heartbeat that runs less often is not retried, either.
        (options(retry, 3), vec![FAILED; 5], vec![60, 120, 0, 0, 0]),
        (options(retry, 0), vec![FAILED; 3], vec![60, 120, 180]),
        (options(Some((100, "1s", "36500d")), 0), vec![FAILED; 4], vec![1, 2, 4, 8]),
    ] {
        assert_eq!(waits(&options, &ends), expected, "{options:?} {ends:?}");
    }
}

#[test]
fn failures_are_counted_until_a_success() {
    let options = options(None, 5);
    let times = (at("10:00:00"), at("10:01:00"));
    let next = |before: Option<Streak>, end| after(before.as_ref(), &options, end, times);
    let one = next(None, BROKEN);
    assert_eq!(one.as_ref().map(|streak| streak.failures), Some(1));
    let still = next(one, BeatEnd::Neither);
    let two = next(still, FAILED);
    assert_eq!(two.as_ref().map(|streak| streak.failures), Some(2));
    assert_eq!(next(two, BeatEnd::Success), None);
    assert_eq!(next(None, BeatEnd::Neither), None);
}

#[test]
fn replaced_beats_in_a_row_are_counted_and_are_no_failures() {
    let options = options(Some((3, "1m", "3m")), 2);
    let times = (at("10:00:00"), at("10:01:00"));
    let (mut streak, mut counts) = (None, Vec::new());
    use BeatEnd::{Neither, Replaced, Success};
    for end in [Replaced, Replaced, Neither, Replaced, FAILED, Replaced, Success, Replaced] {
        streak = after(streak.as_ref(), &options, end, times);
        counts.push(streak.as_ref().map_or((0, 0), |streak| (streak.failures, streak.replaced)));
        assert!(streak.as_ref().is_none_or(|streak| !keeps_failing(streak, options.breaker.value)));
    }
    assert_eq!(counts, [(0, 1), (0, 2), (0, 2), (0, 3), (1, 0), (1, 1), (0, 0), (0, 1)]);
}

#[test]
fn only_what_may_pass_is_worth_a_retry() {
    for (status, retryable) in [
        (None, true),
        (Some(529), true),
        (Some(500), true),
        (Some(503), true),
        (Some(429), true),
        (Some(408), true),
        (Some(400), false),
        (Some(401), false),
        (Some(403), false),
        (Some(404), false),
    ] {
        assert_eq!(is_retryable(status), retryable, "{status:?}");
    }
}

#[test]
fn a_heartbeat_that_keeps_failing_runs_less_often() {
    let every = |text: &str| Schedule::Every(text.parse().unwrap());
    let cron = |text: &str| {
        let crons = Crons::new(TimeZone::UTC);
        Schedule::from_keys(None, Some(text), None, &crons).unwrap().unwrap()
    };
    let five = Breaker::After(NonZeroU32::new(5).unwrap());
    for (failures, breaker, schedule, started, expected) in [
        (4, five, every("30m"), "10:00:01", None),
        (5, five, every("30m"), "10:00:01", Some("2026-02-03T11:00:01Z")),
        (6, five, every("30m"), "10:00:01", Some("2026-02-03T12:00:01Z")),
        (9, five, every("30m"), "10:00:01", Some("2026-02-04T02:00:01Z")),
        (10, five, every("30m"), "10:00:01", Some("2026-02-04T10:00:01Z")),
        (u32::MAX, five, every("30m"), "10:00:01", Some("2026-02-04T10:00:01Z")),
        (1, Breaker::After(NonZeroU32::MIN), every("30m"), "10:00:01", Some("2026-02-03T11:00:01Z")),
        (99, Breaker::Off, every("30m"), "10:00:01", None),
        (99, five, every("1d"), "10:00:01", None),
        // Never later than a day, and nothing that is as rare already.
        (5, five, every("16h"), "10:00:01", Some("2026-02-04T10:00:01Z")),
        (99, five, every("23h 59m"), "10:00:01", Some("2026-02-04T10:00:01Z")),
        (99, five, every("24h"), "10:00:01", None),
        (99, five, every("25h"), "10:00:01", None),
        (u32::MAX, five, every("36500d"), "10:00:01", None),
        (99, five, cron("0 9 * * MON"), "09:00:01", None),
        (99, five, cron("0 9 1 1 *"), "09:00:01", None),
        (5, five, cron("*/30 * * * *"), "10:00:01", Some("2026-02-03T11:00:00Z")),
        (6, five, cron("*/30 * * * *"), "10:00:01", Some("2026-02-03T12:00:00Z")),
        (6, five, cron("*/30 9-11 * * *"), "10:30:01", Some("2026-02-04T09:00:00Z")),
        (50, five, cron("0 9 * * *"), "09:00:01", None),
    ] {
        let streak = Streak {
            failures,
            retries: 0,
            started_at: at(started),
            retry_at: None,
            reported: false,
            replaced: 0,
        };
        let until = slowed_until(&streak, breaker, Some(&schedule), false);
        assert_eq!(until, expected.map(|text| text.parse().unwrap()), "{failures} {schedule}");
    }
}

#[test]
fn a_trigger_waits_longer_and_longer_too() {
    let (daily, hourly): (Schedule, Schedule) =
        (Schedule::Every("1d".parse().unwrap()), Schedule::Every("1h".parse().unwrap()));
    let three = Breaker::After(NonZeroU32::new(3).unwrap());
    for (failures, breaker, schedule, is_triggered, minutes) in [
        (2, three, None, true, None),
        (3, three, None, true, Some(10)),
        (4, three, None, true, Some(20)),
        (99, three, None, true, Some(24 * 60)),
        (99, Breaker::Off, None, true, None),
        (3, three, None, false, None),
        (3, three, Some(&daily), true, Some(10)),
        (3, three, Some(&daily), false, None),
        (3, three, Some(&hourly), true, Some(120)),
    ] {
        let started_at = at("10:00:00");
        let streak =
            Streak { failures, retries: 0, started_at, retry_at: None, reported: false, replaced: 0 };
        let until = slowed_until(&streak, breaker, schedule, is_triggered);
        let waits = until.map(|until| until.duration_since(started_at).as_secs() / 60);
        assert_eq!(waits, minutes, "{failures} {breaker:?} {is_triggered}");
        assert_eq!(keeps_failing(&streak, breaker), failures >= 3 && breaker != Breaker::Off);
    }
}
