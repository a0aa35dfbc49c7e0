//! Due or not: intervals and cron, DST, and clocks that jump.

use super::*;
use crate::config::cron::Crons;
use jiff::Zoned;
use jiff::tz::TimeZone;

fn every(interval: &str) -> Schedule {
    Schedule::Every(interval.parse().unwrap())
}

fn cron(text: &str, zone: &str) -> Schedule {
    Schedule::Cron(Crons::new(TimeZone::UTC).get(text, Some(zone)).unwrap())
}

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn next(schedule: &Schedule, last: &str, now: &str) -> String {
    next_run(schedule, anchor(schedule, Some(at(last)), at(now))).unwrap().to_string()
}

#[test]
fn a_heartbeat_that_never_ran_is_due() {
    for schedule in [every("30m"), cron("0 0 1 1 *", "UTC")] {
        let now = at("2026-02-03T10:00:00Z");
        assert!(is_due(&schedule, anchor(&schedule, None, now), now));
    }
}

#[test]
fn an_interval_is_due_when_it_has_passed_and_not_before() {
    let (schedule, last) = (every("30m"), Some(at("2026-02-03T10:00:00Z")));
    for (now, due) in [
        ("2026-02-03T10:00:00Z", false),
        ("2026-02-03T10:29:59.999Z", false),
        ("2026-02-03T10:30:00Z", true),
        ("2026-02-09T10:00:00Z", true),
    ] {
        assert_eq!(is_due(&schedule, anchor(&schedule, last, at(now)), at(now)), due, "{now}");
    }
}

#[test]
fn missed_times_are_one_run() {
    let schedule = cron("*/15 * * * *", "UTC");
    let now = at("2026-02-03T18:07:00Z");
    assert!(is_due(&schedule, Some(at("2026-02-03T10:00:00Z")), now));
    assert!(!is_due(&schedule, Some(now), now), "after the one run nothing is left to catch up with");
    assert_eq!(next_run(&schedule, Some(now)), Some(at("2026-02-03T18:15:00Z")));
}

#[test]
fn an_interval_is_real_time_across_dst() {
    for (zone, last, interval, expected) in [
        ("Europe/Berlin", "2026-03-29T01:30", "1h", "2026-03-29T03:30:00+02:00[Europe/Berlin]"),
        ("Europe/Berlin", "2026-10-25T02:30+02:00", "1h", "2026-10-25T02:30:00+01:00[Europe/Berlin]"),
        ("America/New_York", "2026-03-07T12:00", "1d", "2026-03-08T13:00:00-04:00[America/New_York]"),
        ("Australia/Lord_Howe", "2026-10-04T01:45", "30m", "2026-10-04T02:45:00+11:00[Australia/Lord_Howe]"),
        ("Pacific/Apia", "2011-12-29T12:00", "1d", "2011-12-31T12:00:00+14:00[Pacific/Apia]"),
    ] {
        let last = format!("{last}[{zone}]").parse::<Zoned>().unwrap().timestamp();
        let next =
            next_run(&every(interval), Some(last)).unwrap().to_zoned(sys::clock::named_zone(zone).unwrap());
        assert_eq!(next.to_string(), expected);
    }
}

#[test]
fn a_clock_that_was_set_back_neither_fires_twice_nor_starves() {
    let daily = cron("0 9 * * *", "UTC");
    for (schedule, last, now, expected) in [
        // An interval counts from now, however far the clock went back.
        (every("30m"), "2026-02-03T10:00:00Z", "2026-02-03T09:00:00Z", "2026-02-03T09:30:00Z"),
        (every("30m"), "2036-02-03T10:00:00Z", "2026-02-03T09:00:00Z", "2026-02-03T09:30:00Z"),
        // 09:00 comes again and has run already.
        (daily.clone(), "2026-02-03T09:00:00Z", "2026-02-03T08:00:00Z", "2026-02-04T09:00:00Z"),
        (daily.clone(), "2026-02-04T08:00:00Z", "2026-02-03T08:00:00Z", "2026-02-04T09:00:00Z"),
        // More than a day ahead was never true.
        (daily.clone(), "2026-02-04T08:00:01Z", "2026-02-03T08:00:00Z", "2026-02-03T09:00:00Z"),
        (daily, "2099-01-01T00:00:00Z", "2026-02-03T08:00:00Z", "2026-02-03T09:00:00Z"),
    ] {
        assert_eq!(next(&schedule, last, now), expected, "{schedule} last {last} now {now}");
    }
}

#[test]
fn a_clock_that_was_set_forward_runs_once_what_it_jumped_over() {
    for (schedule, after) in
        [(every("1h"), "2026-02-10T11:00:00Z"), (cron("0 9 * * *", "Europe/Berlin"), "2026-02-11T08:00:00Z")]
    {
        let (last, now) = (at("2026-02-03T09:30:00Z"), at("2026-02-10T10:00:00Z"));
        assert!(is_due(&schedule, anchor(&schedule, Some(last), now), now));
        assert_eq!(next(&schedule, "2026-02-10T10:00:00Z", "2026-02-10T10:00:00Z"), after);
    }
}

#[test]
fn a_daily_run_is_once_a_day_through_a_year_of_every_zone() {
    for zone in [
        "Europe/Berlin",
        "America/New_York",
        "Australia/Lord_Howe",
        "Africa/Casablanca",
        "Antarctica/Troll",
        "UTC",
        "America/Sao_Paulo",
        "Asia/Kathmandu",
    ] {
        for text in ["30 2 * * *", "30 1 * * *", "0 0 * * *", "15 2 * * *"] {
            let schedule = cron(text, zone);
            let end = at("2027-01-01T12:00:00Z");
            let mut last = at("2026-01-01T12:00:00Z");
            let mut days = std::collections::BTreeSet::new();
            let mut runs = 0;
            while let Some(next) = next_run(&schedule, Some(last)).filter(|next| *next < end) {
                days.insert(next.to_zoned(sys::clock::named_zone(zone).unwrap()).date());
                runs += 1;
                last = next;
            }
            assert_eq!((runs, days.len()), (365, 365), "{text} in {zone}");
        }
    }
}

#[test]
fn a_schedule_that_reaches_the_end_of_time_stops() {
    assert_eq!(next_run(&every("36500d"), Some(Timestamp::MAX)), None);
}
