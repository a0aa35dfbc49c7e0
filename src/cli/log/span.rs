//! Values of `murmur log`'s --since, --until, --grep and -n.

use super::super::pause::until::time_of_day;
use jiff::civil::{Date, DateTime, Time, Weekday};
use jiff::{SignedDuration, Span, Timestamp, Zoned};
use regex::{Regex, RegexBuilder};
use sys::clock;
use sys::error::Failure;
use sys::failure;
use sys::spelling::nearest;

/// Named days and times.
const DAYS: [&str; 12] = [
    "today",
    "yesterday",
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
    "sunday",
    "last week",
    "noon",
    "midnight",
];

/// A time.
enum When {
    At(Timestamp),
    /// From the first of these days to the last.
    Days(Date, Date),
}

/// Parses a time span before now, a day (from midnight), or a time. Days are in the user's time zone.
pub(in crate::cli) fn since(text: &str) -> Result<Timestamp, Failure> {
    let now = clock::now().to_zoned(clock::local_zone());
    let at = match read(text.trim(), &now) {
        Some(When::At(at)) => Some(at),
        Some(When::Days(first, _)) => midnight(first, &now),
        None => None,
    };
    match at {
        Some(at) if at > now.timestamp() => Err(failure!("--since {text:?} is in the future"; "{WRITE}")),
        at => at.ok_or_else(|| refused("--since", text)),
    }
}

/// Like [`since`], but a day includes its end.
pub(in crate::cli) fn until(text: &str) -> Result<Timestamp, Failure> {
    let now = clock::now().to_zoned(clock::local_zone());
    let at = match read(text.trim(), &now) {
        Some(When::At(at)) => Some(at),
        Some(When::Days(_, last)) => last.tomorrow().ok().and_then(|next| midnight(next, &now)),
        None => None,
    };
    at.ok_or_else(|| refused("--until", text))
}

/// What is accepted.
const WRITE: &str = "write a span such as 2h or 1d, a time such as 14:30, today, yesterday, a weekday, last week, or a date such as 2026-11-22";

fn refused(option: &str, text: &str) -> Failure {
    let what = failure!("{option} {text:?} is not a time");
    match nearest(text, &DAYS) {
        Some(day) => what.hint(format!("did you mean {day:?}? W{}", &WRITE[1..])),
        None => what.hint(WRITE),
    }
}

fn midnight(day: Date, now: &Zoned) -> Option<Timestamp> {
    Some(DateTime::from(day).to_zoned(now.time_zone().clone()).ok()?.timestamp())
}

fn read(text: &str, now: &Zoned) -> Option<When> {
    let lower = text.to_lowercase();
    let length = lower.strip_suffix("ago").map_or(text, str::trim_end);
    if let Ok(span) = humantime::parse_duration(length) {
        let span = SignedDuration::try_from(span).unwrap_or(SignedDuration::MAX);
        return Some(When::At(now.timestamp().checked_sub(span).unwrap_or(Timestamp::MIN)));
    }
    if lower == "now" {
        return Some(When::At(now.timestamp()));
    }
    if lower == "last week" {
        let monday = now.date().tomorrow().ok()?.nth_weekday(-1, Weekday::Monday).ok()?;
        let first = monday.checked_sub(Span::new().weeks(1)).ok()?;
        return Some(When::Days(first, monday.yesterday().ok()?));
    }
    if let Ok(at) = text.parse() {
        return Some(When::At(at));
    }
    let local = |at: DateTime| Some(When::At(at.to_zoned(now.time_zone().clone()).ok()?.timestamp()));
    if let Some(time) = time_of_day(&lower) {
        let is_ahead = now.date().to_datetime(time) > now.datetime();
        let day = if is_ahead { now.date().yesterday().ok()? } else { now.date() };
        return local(day.to_datetime(time));
    }
    // `monday 9:00`
    if let Some((day, time)) = lower.split_once(' ')
        && let (Some(day), Some(time)) = (day_named(day, now.date()), time_of_day(time.trim()))
    {
        return local(day.to_datetime(time));
    }
    if let Some(day) = day_named(&lower, now.date()) {
        return Some(When::Days(day, day));
    }
    match text.parse::<DateTime>().ok()? {
        at if at.time() == Time::midnight() && !text.contains(':') => Some(When::Days(at.date(), at.date())),
        at => local(at),
    }
}

/// The latest day with this name; today's weekday is today.
fn day_named(word: &str, today: Date) -> Option<Date> {
    let weekday = match word {
        "today" => return Some(today),
        "yesterday" => return today.yesterday().ok(),
        // Refused as a time in the future, rather than as an unknown one.
        "tomorrow" => return today.tomorrow().ok(),
        "monday" | "mon" => Weekday::Monday,
        "tuesday" | "tue" => Weekday::Tuesday,
        "wednesday" | "wed" => Weekday::Wednesday,
        "thursday" | "thu" => Weekday::Thursday,
        "friday" | "fri" => Weekday::Friday,
        "saturday" | "sat" => Weekday::Saturday,
        "sunday" | "sun" => Weekday::Sunday,
        _ => return None,
    };
    if today.weekday() == weekday { Some(today) } else { today.nth_weekday(-1, weekday).ok() }
}

/// Parses a regular expression. Without capital letters, it ignores case.
pub(in crate::cli) fn pattern(text: &str) -> Result<Regex, Failure> {
    let ignores_case = !text.chars().any(char::is_uppercase);
    let read = RegexBuilder::new(text).case_insensitive(ignores_case).build();
    read.map_err(|_| failure!("--grep {text:?} is not a regular expression"; "put \\ before each of . ( ) [ ] {{ }} + * ? | ^ $ that stands for itself"))
}

/// Parses a number of lines, or `all`.
pub(in crate::cli) fn count(text: &str) -> Result<usize, Failure> {
    if text.eq_ignore_ascii_case("all") {
        return Ok(usize::MAX);
    }
    text.parse().map_err(|_| failure!("-n {text:?} is not a number of lines"; "write one such as 20, or all"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_name_the_latest_such_time() {
        // A Thursday.
        let now: Zoned = "2026-11-26T09:00[Europe/Berlin]".parse().unwrap();
        for (text, expected) in [
            ("2h", "2026-11-26T06:00:00Z"),
            ("2h ago", "2026-11-26T06:00:00Z"),
            ("2 hours ago", "2026-11-26T06:00:00Z"),
            ("8:30", "2026-11-26T07:30:00Z"),
            ("14:30", "2026-11-25T13:30:00Z"),
            ("Monday 9:00", "2026-11-23T08:00:00Z"),
            ("yesterday 14:30", "2026-11-25T13:30:00Z"),
            ("2026-11-22 08:30", "2026-11-22T07:30:00Z"),
            ("2026-11-22T08:30Z", "2026-11-22T08:30:00Z"),
            ("2026-11-22 00:00", "2026-11-21T23:00:00Z"),
            ("now", "2026-11-26T08:00:00Z"),
            ("noon", "2026-11-25T11:00:00Z"),
            ("Midnight", "2026-11-25T23:00:00Z"),
            ("monday noon", "2026-11-23T11:00:00Z"),
        ] {
            let Some(When::At(at)) = read(text, &now) else { panic!("{text}") };
            assert_eq!(at.to_string(), expected, "{text}");
        }
        for (text, expected) in [
            ("today", "2026-11-26"),
            ("yesterday", "2026-11-25"),
            ("thursday", "2026-11-26"),
            ("FRIDAY", "2026-11-20"),
            ("mon", "2026-11-23"),
            ("2026-11-22", "2026-11-22"),
            ("tomorrow", "2026-11-27"),
        ] {
            let Some(When::Days(first, last)) = read(text, &now) else { panic!("{text}") };
            assert_eq!((first.to_string().as_str(), first), (expected, last), "{text}");
        }
        for now in ["2026-11-26T09:00[UTC]", "2026-11-23T00:00[UTC]", "2026-11-29T23:59[UTC]"] {
            let Some(When::Days(first, last)) = read("last week", &now.parse().unwrap()) else { panic!() };
            assert_eq!([first, last].map(|day| day.to_string()), ["2026-11-16", "2026-11-22"], "{now}");
        }
        for text in ["", "ago", "someday", "monday lunch", "25:00", "2026-11-32"] {
            assert!(read(text, &now).is_none(), "{text}");
        }
    }

    #[test]
    fn a_pattern_without_capital_letters_ignores_case() {
        assert!(pattern("fail").unwrap().is_match("2 tests FAILED"));
        assert!(!pattern("Fail").unwrap().is_match("2 tests failed"));
        assert!(pattern("(").is_err());
    }
}
