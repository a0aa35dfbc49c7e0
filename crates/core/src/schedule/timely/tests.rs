//! Jitter, active hours, excepted dates and missed runs; across DST, suspend, and clocks that jump.

use super::*;
use crate::config::cron::Crons;
use crate::config::frontmatter;
use crate::config::heartbeat::HeartbeatId;
use crate::config::limit::Notices;
use crate::schedule::{anchor, is_due, next_run};
use jiff::tz::TimeZone;
use std::path::Path;

/// The schedule and the options of this frontmatter.
fn read(yaml: &str) -> (Schedule, ScheduleOptions) {
    let crons = Crons::new(TimeZone::UTC);
    let text = format!("---\n{yaml}\n---\nx");
    let front = frontmatter::split(text.as_bytes(), &crons).unwrap().0.unwrap();
    let options = ScheduleOptions::of(None, front.options.as_deref(), false, &mut Notices::default());
    (front.schedule.unwrap(), options.map(|options| *options).unwrap_or_default())
}

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn id() -> HeartbeatId {
    HeartbeatId::new(Path::new("/home/me/site"), None)
}

fn plan(yaml: &str, last: &str) -> String {
    let (schedule, options) = read(yaml);
    planned(&schedule, &options, &id(), Some(at(last)))
        .map_or_else(|| "never".to_owned(), |run| run.to_string())
}

#[test]
fn an_offset_never_changes_and_spreads_over_the_jitter() {
    let five: Interval = "5m".parse().unwrap();
    assert_eq!(offset(five, &id()).as_millis(), 172_959);
    assert_eq!(offset("10m".parse().unwrap(), &id()).as_millis(), 345_919);
    let mut minutes = [0; 5];
    for number in 0..1000 {
        let offset = offset(five, &HeartbeatId::parse(&format!("/home/me/{number}")));
        minutes[usize::try_from(offset.as_mins()).unwrap()] += 1;
    }
    assert!(minutes.iter().all(|count| (150..250).contains(count)), "{minutes:?}");
}

#[test]
fn without_options_a_heartbeat_runs_as_ever() {
    let options = ScheduleOptions::default();
    for (zone, cron) in
        [("Europe/Berlin", "30 2 * * *"), ("America/New_York", "*/20 * * * *"), ("UTC", "0 0 1 * *")]
    {
        let cron = Schedule::Cron(Crons::new(TimeZone::UTC).get(cron, Some(zone)).unwrap());
        let every = Schedule::Every("7h".parse().unwrap());
        let mut last = at("2026-03-28T12:00:00Z");
        for _ in 0..500 {
            for schedule in [&cron, &every] {
                assert_eq!(planned(schedule, &options, &id(), Some(last)), next_run(schedule, Some(last)));
                let due = next_run(schedule, Some(last)).unwrap();
                for late in [0, 1, 3600, 864_000] {
                    let now = due + SignedDuration::from_secs(late);
                    assert!(is_due(schedule, Some(last), now));
                    assert_eq!(decide(schedule, &options, &id(), (due, true), now), StartDecision::Start);
                }
            }
            last += SignedDuration::from_hours(5);
        }
        assert_eq!(planned(&cron, &options, &id(), None), Some(NEVER_RAN));
    }
}

#[test]
fn jitter_delays_times_and_does_not_lengthen_intervals() {
    // By 2:52.959.
    for (yaml, last, expected) in [
        ("interval: 30m\njitter: 5m", "2026-02-03T10:00:00Z", "2026-02-03T10:30:00Z"),
        ("interval: 1m\njitter: 1h", "2026-02-03T10:00:00Z", "2026-02-03T10:01:00Z"),
        ("cron: 0 9 * * *\njitter: 5m", "2026-02-03T09:02:53Z", "2026-02-04T09:02:52.959Z"),
        ("cron: 0 9 * * *\njitter: 5m", "2026-02-03T09:02:52.959Z", "2026-02-04T09:02:52.959Z"),
        ("cron: 0 9 * * *\njitter: 5m", "2026-02-03T09:02:20Z", "2026-02-03T09:02:52.959Z"),
        // More than the gap between two runs: none is left out.
        ("cron: '* * * * *'\njitter: 5m", "2026-02-03T09:02:52.959Z", "2026-02-03T09:03:52.959Z"),
        // Across a clock that was set forward.
        (
            "cron: 30 2 * * *\ntz: Europe/Berlin\njitter: 5m",
            "2026-03-28T12:00:00Z",
            "2026-03-29T01:02:52.959Z",
        ),
        // Not out of active hours.
        (
            "cron: 59 19 * * *\njitter: 5m\nactiveHours: 08:00-20:00",
            "2026-02-03T10:00:00Z",
            "2026-02-03T19:59:00Z",
        ),
        (
            "cron: 59 19 * * *\njitter: 5m\nactiveHours: 08:00-20:00",
            "2026-02-03T19:59:00Z",
            "2026-02-04T19:59:00Z",
        ),
        (
            "cron: 59 19 * * *\njitter: 5m\nactiveHours: 08:00-20:00",
            "2026-02-03T19:59:01Z",
            "2026-02-04T19:59:00Z",
        ),
        // Not all at the first moment of active hours.
        (
            "interval: 1h\njitter: 5m\nactiveHours: 08:00-20:00",
            "2026-02-03T19:30:00Z",
            "2026-02-04T08:02:52.959Z",
        ),
        (
            "interval: 1h\njitter: 5m\nactiveHours: 08:00-08:01",
            "2026-02-03T19:30:00Z",
            "2026-02-04T08:00:00Z",
        ),
    ] {
        assert_eq!(plan(yaml, last), expected, "{yaml} last {last}");
    }
}

#[test]
fn an_interval_waits_for_active_hours_and_a_cron_time_outside_is_left_out() {
    let hours = "activeHours: Mon-Fri 08:00-20:00 Europe/Berlin";
    for (schedule, last, expected) in [
        ("interval: 30m", "2026-02-03T18:00:00Z", "2026-02-03T18:30:00Z"),
        ("interval: 30m", "2026-02-03T18:30:00Z", "2026-02-04T07:00:00Z"),
        ("interval: 30m", "2026-02-06T18:59:00Z", "2026-02-09T07:00:00Z"),
        ("interval: 30d", "2026-02-06T18:59:00Z", "2026-03-09T07:00:00Z"),
        ("cron: '*/30 * * * *'", "2026-02-06T18:30:00Z", "2026-02-09T07:00:00Z"),
        ("cron: '10 * * * *'", "2026-02-06T18:10:00Z", "2026-02-09T07:10:00Z"),
        ("cron: 0 9 * * SUN,MON", "2026-02-06T18:10:00Z", "2026-02-09T09:00:00Z"),
        // 20:00 in Berlin is no longer active.
        ("cron: 0 20 * * *\ntz: Europe/Berlin", "2026-02-03T18:10:00Z", "never"),
        // The night in which the clock is set forward, and that in which it is set back.
        ("interval: 30m", "2026-03-27T18:45:00Z", "2026-03-30T06:00:00Z"),
        ("cron: '*/30 * * * *'", "2026-10-23T17:30:00Z", "2026-10-26T07:00:00Z"),
    ] {
        assert_eq!(plan(&format!("{schedule}\n{hours}"), last), expected, "{schedule} last {last}");
    }
}

#[test]
fn an_excepted_date_has_no_run() {
    let except = "except: [2026-12-24, 12-25]\ntz: Europe/Berlin";
    for (schedule, last, expected) in [
        ("cron: 0 9 * * *", "2026-12-23T08:00:00Z", "2026-12-26T08:00:00Z"),
        ("cron: 0 9 25 12 *", "2026-01-01T00:00:00Z", "never"),
        ("cron: '0 * * * *'", "2026-12-23T22:00:00Z", "2026-12-25T23:00:00Z"),
    ] {
        assert_eq!(plan(&format!("{schedule}\n{except}"), last), expected, "{schedule} last {last}");
    }
    let except = "except: ['2026-12-24', '12-25']";
    assert_eq!(plan(&format!("interval: 1h\n{except}"), "2026-12-23T23:30:00Z"), "2026-12-26T00:00:00Z");
}

/// What happens to the run that follows `last`, seen for the first time or later.
fn decision(yaml: &str, last: &str, is_first: bool, now: &str) -> String {
    let (schedule, options) = read(yaml);
    let due = planned(&schedule, &options, &id(), anchor(&schedule, Some(at(last)), at(now))).unwrap();
    if due > at(now) {
        return format!("due {due}");
    }
    match decide(&schedule, &options, &id(), (due, is_first), at(now)) {
        StartDecision::Start => "start".to_owned(),
        StartDecision::Later(at) => format!("later {at}"),
        StartDecision::Wait(until) => {
            format!("wait {}", until.map_or("forever".to_owned(), |until| until.to_string()))
        }
        StartDecision::Skip(from) => {
            format!("next {}", planned(&schedule, &options, &id(), Some(from)).unwrap())
        }
    }
}

#[test]
fn a_missed_run_is_caught_up_with_as_far_as_it_says() {
    for (yaml, last, now, expected) in [
        // Suspended from 10:20 to 11:10.
        ("interval: 30m\ncatchUp: once", "2026-02-03T10:00:00Z", "2026-02-03T11:10:00Z", "start"),
        (
            "interval: 30m\ncatchUp: skip",
            "2026-02-03T10:00:00Z",
            "2026-02-03T11:10:00Z",
            "next 2026-02-03T11:30:00Z",
        ),
        ("interval: 30m\ncatchUp: 40m", "2026-02-03T10:00:00Z", "2026-02-03T11:10:00Z", "start"),
        (
            "interval: 30m\ncatchUp: 39m",
            "2026-02-03T10:00:00Z",
            "2026-02-03T11:10:00Z",
            "next 2026-02-03T11:30:00Z",
        ),
        // Off for days.
        (
            "cron: 0 9 * * *\ncatchUp: skip",
            "2026-02-03T09:00:00Z",
            "2026-02-06T08:00:00Z",
            "next 2026-02-06T09:00:00Z",
        ),
        ("cron: 0 9 * * *\ncatchUp: 2h", "2026-02-03T09:00:00Z", "2026-02-04T11:00:00Z", "start"),
        (
            "cron: 0 9 * * *\ncatchUp: 2h",
            "2026-02-03T09:00:00Z",
            "2026-02-04T11:00:01Z",
            "next 2026-02-05T09:00:00Z",
        ),
        // A timer that is a little late misses nothing.
        ("cron: 0 9 * * *\ncatchUp: skip", "2026-02-03T09:00:00Z", "2026-02-04T09:01:00Z", "start"),
        (
            "cron: 0 9 * * *\ncatchUp: skip\njitter: 5m",
            "2026-02-03T09:02:53Z",
            "2026-02-04T09:03:00Z",
            "start",
        ),
        // The clock was set back: neither twice nor starving.
        (
            "cron: 0 9 * * *\ncatchUp: skip",
            "2026-02-03T09:00:00Z",
            "2026-02-03T08:00:00Z",
            "due 2026-02-04T09:00:00Z",
        ),
        (
            "interval: 30m\ncatchUp: skip",
            "2026-02-03T10:00:00Z",
            "2026-02-03T09:00:00Z",
            "due 2026-02-03T09:30:00Z",
        ),
        // It was set forward.
        (
            "interval: 1h\ncatchUp: skip",
            "2026-02-03T09:30:00Z",
            "2026-02-10T10:00:00Z",
            "next 2026-02-10T10:30:00Z",
        ),
        // The night in which the clock was set forward.
        (
            "cron: 30 2 * * *\ntz: Europe/Berlin\ncatchUp: skip",
            "2026-03-28T01:30:00Z",
            "2026-03-29T01:00:30Z",
            "start",
        ),
        (
            "cron: 30 2 * * *\ntz: Europe/Berlin\ncatchUp: skip",
            "2026-03-28T01:30:00Z",
            "2026-03-29T02:00:00Z",
            "next 2026-03-30T00:30:00Z",
        ),
    ] {
        assert_eq!(decision(yaml, last, true, now), expected, "{yaml} last {last} now {now}");
    }
    // It was seen in time and waits for its turn.
    let seen =
        decision("interval: 30m\ncatchUp: skip", "2026-02-03T10:00:00Z", false, "2026-02-03T11:10:00Z");
    assert_eq!(seen, "start");
}

#[test]
fn a_start_deadline_counts_however_the_run_came_to_be_late() {
    for is_first in [true, false] {
        for (yaml, last, now, expected) in [
            ("interval: 30m\nstartDeadline: 10m", "2026-02-03T10:00:00Z", "2026-02-03T10:40:00Z", "start"),
            (
                "interval: 30m\nstartDeadline: 10m",
                "2026-02-03T10:00:00Z",
                "2026-02-03T10:40:01Z",
                "next 2026-02-03T11:00:00Z",
            ),
            (
                "cron: 0 9 * * *\nstartDeadline: 10m",
                "2026-02-03T09:00:00Z",
                "2026-02-04T09:10:01Z",
                "next 2026-02-05T09:00:00Z",
            ),
        ] {
            assert_eq!(decision(yaml, last, is_first, now), expected, "{yaml} last {last} now {now}");
        }
    }
}

#[test]
fn a_late_run_waits_for_active_hours() {
    let hours = "activeHours: Mon-Fri 08:00-20:00";
    for (yaml, last, now, expected) in [
        // Due at 19:30, but the computer slept until 22:00.
        ("interval: 30m", "2026-02-03T19:00:00Z", "2026-02-03T22:00:00Z", "wait 2026-02-04T08:00:00Z"),
        ("cron: 30 19 * * *", "2026-02-03T19:00:00Z", "2026-02-03T22:00:00Z", "wait 2026-02-04T08:00:00Z"),
        (
            "interval: 30m\njitter: 5m",
            "2026-02-03T19:00:00Z",
            "2026-02-03T22:00:00Z",
            "wait 2026-02-04T08:02:52.959Z",
        ),
        (
            "interval: 30m\ncatchUp: skip",
            "2026-02-03T19:00:00Z",
            "2026-02-03T22:00:00Z",
            "next 2026-02-04T08:00:00Z",
        ),
        (
            "interval: 30m\nexcept: [2026-02-04]",
            "2026-02-03T19:00:00Z",
            "2026-02-03T22:00:00Z",
            "wait 2026-02-05T08:00:00Z",
        ),
        (
            "interval: 30m\nstartDeadline: 1h",
            "2026-02-03T19:00:00Z",
            "2026-02-04T09:00:00Z",
            "next 2026-02-04T09:30:00Z",
        ),
    ] {
        assert_eq!(
            decision(&format!("{yaml}\n{hours}"), last, true, now),
            expected,
            "{yaml} last {last} now {now}"
        );
    }
    // One that never ran is due at once, in active hours, whatever `catchUp` says.
    let (schedule, options) =
        read("interval: 30m\nactiveHours: 08:00-20:00\ncatchUp: skip\nstartDeadline: 1m");
    let decided = |now| decide(&schedule, &options, &id(), (NEVER_RAN, true), at(now));
    assert_eq!(decided("2026-02-03T10:00:00Z"), StartDecision::Start);
    assert_eq!(decided("2026-02-03T22:00:00Z"), StartDecision::Wait(Some(at("2026-02-04T08:00:00Z"))));
}

#[test]
fn a_year_of_active_hours_has_a_run_on_every_day_and_none_outside() {
    for zone in ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Casablanca", "UTC"] {
        let tz = sys::clock::named_zone(zone).unwrap();
        let (schedule, options) =
            read(&format!("interval: 45m\njitter: 10m\nactiveHours: 06:00-23:00 {zone}"));
        let end = at("2027-01-01T12:00:00Z");
        let mut last = at("2026-01-01T12:00:00Z");
        let mut days = std::collections::BTreeSet::new();
        while let Some(next) = planned(&schedule, &options, &id(), Some(last)).filter(|next| *next < end) {
            assert!(next > last);
            let local = next.to_zoned(tz.clone());
            assert!((6..23).contains(&local.hour()), "{local}");
            days.insert(local.date());
            last = next;
        }
        assert!(days.len() >= 365, "{zone}: {}", days.len());
    }
}

#[test]
fn runs_of_intervals_that_would_all_start_at_once_are_spread() {
    for (yaml, last, is_first, now, expected) in [
        // Missed while the machine slept: by 2:52.959, once.
        (
            "interval: 30m\njitter: 5m",
            "2026-02-03T10:00:00Z",
            true,
            "2026-02-03T11:10:00Z",
            "later 2026-02-03T11:12:52.959Z",
        ),
        ("interval: 30m\njitter: 5m", "2026-02-03T10:00:00Z", false, "2026-02-03T11:12:53Z", "start"),
        ("interval: 30m\njitter: 5m", "2026-02-03T10:00:00Z", true, "2026-02-03T10:30:01Z", "start"),
        (
            "interval: 30m\njitter: 5m\ncatchUp: skip",
            "2026-02-03T10:00:00Z",
            true,
            "2026-02-03T11:10:00Z",
            "next 2026-02-03T11:30:00Z",
        ),
        // Not out of active hours.
        (
            "interval: 30m\njitter: 5m\nactiveHours: 08:00-11:11",
            "2026-02-03T10:00:00Z",
            true,
            "2026-02-03T11:10:00Z",
            "start",
        ),
        (
            "interval: 30m\njitter: 5m\nactiveHours: 12:00-13:00",
            "2026-02-02T12:55:00Z",
            true,
            "2026-02-03T12:10:00Z",
            "later 2026-02-03T12:12:52.959Z",
        ),
        ("cron: 0 9 * * *\njitter: 5m", "2026-02-02T09:02:53Z", true, "2026-02-03T11:10:00Z", "start"),
    ] {
        assert_eq!(decision(yaml, last, is_first, now), expected, "{yaml} at {now}, last {last}");
    }
    let (schedule, options) = read("interval: 30m\njitter: 5m");
    let now = at("2026-02-03T10:00:00Z");
    let first = decide(&schedule, &options, &id(), (NEVER_RAN, true), now);
    assert_eq!(first, StartDecision::Later(at("2026-02-03T10:02:52.959Z")));
    // From then on, runs keep their distance.
    let mut last = at("2026-02-03T10:02:52.959Z");
    for _ in 0..100 {
        let next = planned(&schedule, &options, &id(), Some(last)).unwrap();
        assert_eq!(next.duration_since(last), SignedDuration::from_mins(30));
        assert_eq!(decide(&schedule, &options, &id(), (next, true), next), StartDecision::Start);
        last = next;
    }
}
