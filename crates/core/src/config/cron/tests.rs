//! Cron expressions: what is accepted, and every kind of jump a time zone makes.

use super::*;
use jiff::Zoned;
use jiff::civil::{Date, date};
use proptest::prelude::*;
use sys::error::Hinted;

fn cron(text: &str, zone: &str) -> Cron {
    Crons::new(TimeZone::UTC).get(text, Some(zone)).unwrap()
}

/// The next `count` runs after a local time (with an offset where it needs one), as local times.
fn runs(text: &str, zone: &str, after: &str, count: usize) -> Vec<String> {
    let cron = cron(text, zone);
    let start: Zoned = format!("{after}[{zone}]").parse().unwrap();
    let mut at = start.timestamp();
    (0..count)
        .map(|_| {
            let next = cron.next_after(at).unwrap();
            assert!(next > at, "{text} in {zone}: {next} is not after {at}");
            at = next;
            next.to_zoned(sys::clock::named_zone(zone).unwrap()).strftime("%m-%d %H:%M%:z").to_string()
        })
        .collect()
}

#[test]
fn a_run_in_a_gap_happens_once_at_its_end() {
    for (text, zone, after, expected) in [
        ("30 2 * * *", "Europe/Berlin", "2026-03-28T02:30", ["03-29 03:00+02:00", "03-30 02:30+02:00"]),
        ("30 2 * * *", "America/New_York", "2026-03-07T02:30", ["03-08 03:00-04:00", "03-09 02:30-04:00"]),
        ("15 2 * * *", "Australia/Lord_Howe", "2026-10-03T02:15", ["10-04 02:30+11:00", "10-05 02:15+11:00"]),
        ("30 2 * * *", "Africa/Casablanca", "2026-03-21T02:30", ["03-22 03:00+01:00", "03-23 02:30+01:00"]),
        ("30 2 * * *", "Antarctica/Troll", "2026-03-28T02:30", ["03-29 03:00+02:00", "03-30 02:30+02:00"]),
        // A zone that skipped a whole day: its run happens when the day would have ended.
        ("30 2 * * *", "Pacific/Apia", "2011-12-29T02:30", ["12-31 00:00+14:00", "12-31 02:30+14:00"]),
        ("0 12 * * FRI", "Pacific/Apia", "2011-12-23T12:00", ["12-31 00:00+14:00", "01-06 12:00+14:00"]),
        // A gap at midnight, and several runs in one gap, which are one run.
        ("30 0 * * *", "America/Asuncion", "2023-09-30T00:30", ["10-01 01:00-03:00", "10-02 00:30-03:00"]),
        ("*/15 2 * * *", "Europe/Berlin", "2026-03-28T02:45", ["03-29 03:00+02:00", "03-30 02:00+02:00"]),
        ("0 2,3 * * *", "Europe/Berlin", "2026-03-28T03:00", ["03-29 03:00+02:00", "03-30 02:00+02:00"]),
        ("0 0 * * *", "UTC", "2026-03-28T12:00", ["03-29 00:00+00:00", "03-30 00:00+00:00"]),
    ] {
        assert_eq!(runs(text, zone, after, 2), expected, "{text} in {zone}");
    }
}

#[test]
fn a_run_in_an_overlap_happens_once_the_first_time() {
    for (text, zone, after, expected) in [
        ("30 2 * * *", "Europe/Berlin", "2026-10-24T02:30", ["10-25 02:30+02:00", "10-26 02:30+01:00"]),
        ("30 1 * * *", "America/New_York", "2026-10-31T01:30", ["11-01 01:30-04:00", "11-02 01:30-05:00"]),
        ("45 1 * * *", "Australia/Lord_Howe", "2026-04-04T01:45", ["04-05 01:45+11:00", "04-06 01:45+10:30"]),
        ("30 2 * * *", "Africa/Casablanca", "2026-02-14T02:30", ["02-15 02:30+01:00", "02-16 02:30+00:00"]),
        ("30 1 * * *", "Antarctica/Troll", "2026-10-24T01:30", ["10-25 01:30+02:00", "10-26 01:30+00:00"]),
        ("0,30 2 * * *", "Europe/Berlin", "2026-10-24T02:30", ["10-25 02:00+02:00", "10-25 02:30+02:00"]),
        // Asked in the second passing, when the first has run.
        ("30 2 * * *", "Europe/Berlin", "2026-10-25T02:10+01:00", ["10-26 02:30+01:00", "10-27 02:30+01:00"]),
    ] {
        assert_eq!(runs(text, zone, after, 2), expected, "{text} in {zone}");
    }
}

#[test]
fn an_hourly_schedule_keeps_its_rhythm_in_real_time() {
    for (text, zone, after, minutes, count) in [
        ("0 * * * *", "Europe/Berlin", "2026-03-28T20:00", 60, 30),
        ("0 * * * *", "Europe/Berlin", "2026-10-24T20:00", 60, 30),
        ("30 * * * *", "America/New_York", "2026-10-31T20:30", 60, 30),
        ("*/15 * * * *", "Europe/Berlin", "2026-03-28T20:00", 15, 100),
        ("*/15 * * * *", "America/New_York", "2026-10-31T20:00", 15, 100),
        ("*/15 * * * *", "Australia/Lord_Howe", "2026-04-04T20:00", 15, 100),
        ("*/15 * * * *", "Australia/Lord_Howe", "2026-10-03T20:00", 15, 100),
        ("* * * * *", "Antarctica/Troll", "2026-03-28T23:00", 1, 400),
        ("*/30 * * * *", "Antarctica/Troll", "2026-10-24T20:00", 30, 40),
        ("*/15 * * * *", "Pacific/Apia", "2011-12-29T20:00", 15, 60),
        ("@hourly", "Africa/Casablanca", "2026-02-14T20:00", 60, 30),
        ("@hourly", "UTC", "2026-02-14T20:00", 60, 30),
    ] {
        let cron = cron(text, zone);
        let mut at = format!("{after}[{zone}]").parse::<Zoned>().unwrap().timestamp();
        for _ in 0..count {
            let next = cron.next_after(at).unwrap();
            assert_eq!(next.duration_since(at).as_mins(), minutes, "{text} in {zone} after {at}");
            at = next;
        }
    }
}

#[test]
fn names_nicknames_and_last_days_are_understood() {
    for (text, expected) in [
        ("0 9 * * MON-FRI", "01-05 09:00+00:00"),
        ("0 9 * JAN sun", "01-04 09:00+00:00"),
        ("@daily", "01-03 00:00+00:00"),
        ("@weekly", "01-04 00:00+00:00"),
        ("@monthly", "02-01 00:00+00:00"),
        ("@yearly", "01-01 00:00+00:00"),
        ("0 0 L * *", "01-31 00:00+00:00"),
        ("0 0 LW * *", "01-30 00:00+00:00"),
        ("0 0 31W * *", "01-30 00:00+00:00"),
        ("0 0 * * FRI#2", "01-09 00:00+00:00"),
        ("0 0 * * FRI#L", "01-30 00:00+00:00"),
        ("0 0 13 * FRI", "01-09 00:00+00:00"),
        ("0 0 13 * +FRI", "02-13 00:00+00:00"),
        ("0 0 29 2 *", "02-29 00:00+00:00"),
    ] {
        assert_eq!(runs(text, "UTC", "2026-01-02T12:00", 1), [expected], "{text}");
    }
}

#[test]
fn an_invalid_schedule_is_refused_with_the_accepted_forms() {
    for text in [
        "",
        "* * * *",
        "* * * * * *",
        "0 0 0 1 1 * 2030",
        "61 * * * *",
        "* 24 * * *",
        "a b c d e",
        "@reboot",
        "*/0 * * * *",
    ] {
        let error = Cron::new(text, TimeZone::UTC).unwrap_err().line();
        assert!(error.contains("write five fields, minute hour day month weekday"), "{text}: {error}");
    }
    for text in ["0 0 30 2 *", "0 0 31 4,6,9,11 *", ", * * * *"] {
        assert!(matches!(Cron::new(text, TimeZone::UTC), Err(CronError::Never { .. })), "{text}");
    }
    let error = Crons::new(TimeZone::UTC).get("@daily", Some("Europe/Berlino")).unwrap_err().line();
    assert_eq!(
        error,
        "time zone \"Europe/Berlino\" is unknown; write an IANA name such as \"Europe/Berlin\" or \"UTC\""
    );
}

#[test]
fn a_schedule_ends_with_the_calendar_and_does_not_fail() {
    assert_eq!(cron("0 0 * * *", "UTC").next_after(Timestamp::MAX), None);
    assert_eq!(cron("* * * * *", "Europe/Berlin").next_after(Timestamp::MAX), None);
    assert!(cron("* * * * *", "Europe/Berlin").next_after(Timestamp::MIN).is_some());
}

fn field(range: std::ops::RangeInclusive<u8>) -> impl Strategy<Value = String> {
    let number = range.clone().prop_map(|number| number.to_string());
    let span =
        (range.clone(), range).prop_map(|(one, other)| format!("{}-{}", one.min(other), one.max(other)));
    prop_oneof![3 => Just("*".to_owned()), 1 => (1..20u8).prop_map(|step| format!("*/{step}")), 3 => number, 1 => span]
}

fn any_date() -> impl Strategy<Value = Date> {
    (0..20_000i64).prop_map(|days| date(2000, 1, 1).checked_add(jiff::Span::new().days(days)).unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(50))]

    #[test]
    fn days_match_as_the_parsers_own_do(
        month_day in prop_oneof![field(1..=31), Just("L".into()), Just("LW".into()), (1..=31u8).prop_map(|day| format!("{day}W"))],
        weekday in prop_oneof![field(0..=7), (0..=6u8, 1..=5u8).prop_map(|(day, nth)| format!("{day}#{nth}")), Just("5#L".into()), Just("+1".into())],
        dates in prop::collection::vec(any_date(), 40),
    ) {
        let text = format!("0 0 {month_day} * {weekday}");
        let Ok(pattern) = Pattern::parse(&text) else { return Ok(()) };
        let croner: croner::Cron = text.parse().unwrap();
        for date in dates {
            let weekday = croner::Weekday::from_days_from_sunday(date.weekday().to_sunday_zero_offset() as u32);
            let expected = croner.pattern.day_match(date.year().into(), date.month() as u32, date.day() as u32, weekday);
            let next = pattern.next(date.at(0, 0, 0, 0)).unwrap();
            prop_assert_eq!(next.date() == date, expected.unwrap(), "{} on {}", text, date);
        }
    }

    #[test]
    fn away_from_clock_changes_runs_are_those_of_the_parser(
        fields in (field(0..=59), field(0..=23), field(1..=28), field(1..=12), field(0..=6)), seconds in 0..2_000_000_000i64,
    ) {
        let text = format!("{} {} {} {} {}", fields.0, fields.1, fields.2, fields.3, fields.4);
        let after = Timestamp::from_second(seconds).unwrap();
        let croner: croner::Cron = text.parse().unwrap();
        let expected = croner.find_next_occurrence(&after.to_zoned(TimeZone::UTC), false).unwrap().timestamp();
        prop_assert_eq!(cron(&text, "UTC").next_after(after), Some(expected), "{}", text);
    }

    #[test]
    fn no_text_panics(text in "[-0-9*/,LW#?+@ A-F]{0,24}") {
        let _ = Cron::new(&text, TimeZone::UTC);
    }
}

#[test]
fn an_invalid_field_is_named() {
    for (text, reason) in [
        ("0 25 * * *", r#"the hour is "25", expected 0 to 23"#),
        ("60 * * * *", r#"the minute is "60", expected 0 to 59"#),
        ("0 0 32 * *", r#"the day is "32", expected 1 to 31, or L for the last"#),
        ("0 0 * 13 *", r#"the month is "13", expected 1 to 12, or JAN to DEC"#),
        ("0 0 * * FOO", r#"the weekday is "FOO", expected 0 to 7, or SUN to SAT"#),
        ("a b c d e", r#"the minute is "a", expected 0 to 59"#),
        ("* * *", "it has 3 fields"),
    ] {
        let error = Cron::new(text, TimeZone::UTC).unwrap_err().line();
        assert!(error.contains(&format!("({reason})")), "{error}");
    }
}

#[test]
fn the_shortest_gap_is_found_for_rare_runs() {
    for (text, hours) in [
        ("*/15 9-17 * * MON-FRI", 0),
        ("0 6,18 * * *", 12),
        ("0 0 1 * *", 28 * 24),
        ("0 0 1 1 *", 365 * 24),
        ("0 0 29 2 *", 1461 * 24),
        // Fridays only, as in 2016 and 2021, with two leap days in between.
        ("0 0 1 1 +FRI", (5 * 365 + 2) * 24),
    ] {
        assert_eq!(cron(text, "UTC").shortest_gap().as_hours(), hours, "{text}");
    }
}
