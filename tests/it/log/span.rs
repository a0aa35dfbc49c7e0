//! `--since` and `-n`: accepted values, and errors for others.

use insta::assert_snapshot;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Span, Zoned};

use crate::env::Env;

/// A beat's line.
fn beat(at: &Zoned, workspace: &str) -> String {
    let ts = sys::clock::rfc3339(at.timestamp());
    format!("{{\"ts\":\"{ts}\",\"workspace\":\"/{workspace}\",\"outcome\":\"ok\",\"durationMs\":1}}\n")
}

/// The workspaces of the lines shown for these arguments, in Auckland's time zone.
fn shown(env: &Env, args: &[&str]) -> String {
    let output = env.murmur(["log", "--json"].iter().chain(args)).set("TZ", "Pacific/Auckland").output();
    assert!(output.status.success(), "{args:?}: {output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let workspaces = text.lines().map(|line| line.split('"').nth(7).unwrap().trim_start_matches('/'));
    workspaces.collect::<Vec<_>>().join(" ")
}

#[test]
fn days_begin_at_midnight_in_the_users_time_zone() {
    let env = Env::new();
    let zone = sys::clock::named_zone("Pacific/Auckland").unwrap();
    let now = sys::clock::now().to_zoned(zone.clone());
    let midnight = |date: Date| date.to_zoned(zone.clone()).unwrap();
    let (today, yesterday) = (now.date(), now.date().yesterday().unwrap());
    let old = midnight(yesterday.yesterday().unwrap());
    let just_before = |at: Zoned| at.checked_sub(Span::new().seconds(1)).unwrap();
    let text = [
        beat(&old, "old"),
        beat(&just_before(midnight(yesterday)), "evening"),
        beat(&midnight(yesterday), "morning"),
        beat(&just_before(midnight(today)), "night"),
        beat(&midnight(today), "today"),
    ];
    std::fs::write(env.create_data().join("heartbeats.jsonl"), text.concat()).unwrap();
    assert_eq!(shown(&env, &["--since", "today"]), "today");
    assert_eq!(shown(&env, &["--since", "yesterday"]), "morning night today");
    assert_eq!(shown(&env, &["--since", "Yesterday"]), "morning night today");
    assert_eq!(shown(&env, &["--since", &yesterday.to_string()]), "morning night today");
    assert_eq!(shown(&env, &["--since", &old.date().to_string()]), "old evening morning night today");
    assert_eq!(shown(&env, &["--since", &format!("{yesterday} 12:00")]), "night today");
    assert_eq!(shown(&env, &["--since", &midnight(today).timestamp().to_string()]), "today");
    assert_eq!(shown(&env, &["--since", "99d"]), "old evening morning night today");
    assert_eq!(shown(&env, &["-n", "all"]), "old evening morning night today");
    assert_eq!(shown(&env, &["-n", "2"]), "night today");
}

#[test]
fn all_shows_more_than_the_default_twenty() {
    let env = Env::new();
    let now = sys::clock::now().to_zoned(TimeZone::UTC);
    std::fs::write(env.create_data().join("heartbeats.jsonl"), beat(&now, "site").repeat(25)).unwrap();
    assert_eq!(shown(&env, &["-n", "all"]).split(' ').count(), 25);
    assert_eq!(shown(&env, &[]).split(' ').count(), 20);
}

#[test]
fn invalid_values_are_reported_with_the_accepted_and_the_nearest_ones() {
    let env = Env::new();
    assert_snapshot!(env.run(["log", "--since", "yesteday"]), @r#"
    | error: --since "yesteday" is not a time
    | hint: did you mean "yesterday"? Write a span such as 2h or 1d, a time such as 14:30, today, yesterday, a weekday, last week, or a date such as 2026-11-22; see: murmur log --help
    [exit 2]
    "#);
    assert_snapshot!(env.run(["log", "--since", "2026-11-32"]), @r#"
    | error: --since "2026-11-32" is not a time
    | hint: write a span such as 2h or 1d, a time such as 14:30, today, yesterday, a weekday, last week, or a date such as 2026-11-22; see: murmur log --help
    [exit 2]
    "#);
    assert_snapshot!(env.run(["log", "--since", "tomorrow"]), @r#"
    | error: --since "tomorrow" is in the future
    | hint: write a span such as 2h or 1d, a time such as 14:30, today, yesterday, a weekday, last week, or a date such as 2026-11-22; see: murmur log --help
    [exit 2]
    "#);
    assert_snapshot!(env.run(["log", "-n", "al"]), @r#"
    | error: -n "al" is not a number of lines
    | hint: write one such as 20, or all; see: murmur log --help
    [exit 2]
    "#);
}
