//! `activeHours`: the days and times at which a heartbeat may start.

use super::checked::{Check, Texts, strictly};
use super::cron::zone_of;
use jiff::civil::{Date, Time};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer};
use std::borrow::Cow;
use std::fmt;
use sys::error::{Failure, Hinted};
use sys::failure;

/// Days and times of a week, in a time zone. Never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActiveHours(Box<[Week]>);

/// One line of it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Week {
    text: Box<str>,
    /// Whether each day, from Monday on, has the spans.
    days: [bool; 7],
    /// The times of a day; empty means the whole day.
    spans: Box<[Span]>,
    /// The zone that is written, or the default.
    zone: Option<TimeZone>,
}

/// A time of day and how long it lasts, which may be past midnight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Span {
    from: Time,
    minutes: i64,
}

const DAYS: [(&str, &str); 7] = [
    ("mon", "monday"),
    ("tue", "tuesday"),
    ("wed", "wednesday"),
    ("thu", "thursday"),
    ("fri", "friday"),
    ("sat", "saturday"),
    ("sun", "sunday"),
];

const DAY_MINUTES: i64 = 24 * 60;

impl ActiveHours {
    /// The accepted values, for hints.
    pub(super) const ACCEPTED: &str = "write days, times and a time zone, such as \"Mon-Fri 08:00-20:00 Europe/Berlin\", or a list of these";

    /// Sets the time zone of lines that name none.
    #[must_use]
    pub(super) fn in_zone(mut self, zone: &TimeZone) -> Self {
        self.0.iter_mut().for_each(|week| _ = week.zone.get_or_insert_with(|| zone.clone()));
        self
    }

    /// The first time zone that is written.
    pub(super) fn zone(&self) -> Option<&TimeZone> {
        self.0.iter().find_map(|week| week.zone.as_ref())
    }

    /// The first active moment at or after `at`; `None` if the calendar ends before.
    #[must_use]
    pub fn from(&self, at: Timestamp) -> Option<Timestamp> {
        self.0.iter().filter_map(|week| week.from(at)).min()
    }

    /// The first moment at or after `at` outside of these hours; the last one of the calendar if there is none soon.
    #[must_use]
    pub fn until(&self, mut at: Timestamp) -> Timestamp {
        // Each step passes one span. If this many follow each other without a gap, the hours never end.
        for _ in 0..64 {
            match self.0.iter().filter_map(|week| week.end(at)).max() {
                Some(end) => at = end,
                None => return at,
            }
        }
        Timestamp::MAX
    }
}

impl Week {
    fn from(&self, at: Timestamp) -> Option<Timestamp> {
        let zone = &self.zone.clone().unwrap_or(TimeZone::UTC);
        let today = at.to_zoned(zone.clone()).date();
        // A span of the day before may last until today, and the same day comes again within a week.
        let mut day = today.yesterday().unwrap_or(today);
        for _ in 0..10 {
            let spans = self.spans_of(day).filter_map(|span| span.on(day, zone));
            let active = spans.filter(|(_, end)| at < *end).map(|(start, _)| start.max(at)).min();
            if active.is_some() {
                return active;
            }
            day = day.tomorrow().ok()?;
        }
        None
    }

    /// The end of the span that `at` is in.
    fn end(&self, at: Timestamp) -> Option<Timestamp> {
        let zone = &self.zone.clone().unwrap_or(TimeZone::UTC);
        let today = at.to_zoned(zone.clone()).date();
        let days = [today.yesterday().unwrap_or(today), today];
        let spans =
            days.into_iter().flat_map(|day| self.spans_of(day).filter_map(move |span| span.on(day, zone)));
        spans.filter(|(start, end)| *start <= at && at < *end).map(|(_, end)| end).max()
    }

    fn spans_of(&self, day: Date) -> impl Iterator<Item = Span> {
        const WHOLE: [Span; 1] = [Span { from: Time::midnight(), minutes: DAY_MINUTES }];
        let is_active = self.days[usize::from(day.weekday().to_monday_zero_offset().unsigned_abs())];
        let spans = if self.spans.is_empty() { &WHOLE } else { &*self.spans };
        spans.iter().copied().filter(move |_| is_active)
    }
}

impl Span {
    /// Its start and end on a day. A span that the clock skips begins after the gap.
    fn on(self, day: Date, zone: &TimeZone) -> Option<(Timestamp, Timestamp)> {
        let from = day.to_datetime(self.from);
        let length = SignedDuration::from_mins(self.minutes);
        let start = from.to_zoned(zone.clone()).ok()?;
        // The clock has skipped the whole day.
        if start.date() != day {
            return None;
        }
        let start = start.timestamp();
        let end = from.checked_add(length).ok()?.to_zoned(zone.clone()).ok()?.timestamp();
        let end = if end > start { end } else { start.checked_add(length).ok()? };
        Some((start, end))
    }
}

/// As written.
impl fmt::Display for ActiveHours {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, week) in self.0.iter().enumerate() {
            write!(out, "{}{}", if number > 0 { ", " } else { "" }, week.text)?;
        }
        Ok(())
    }
}

fn week(text: &str) -> Result<Week, Failure> {
    let mut words = text.split_whitespace().peekable();
    let days = match words.peek().map(|word| days(word)) {
        Some(Some(days)) => {
            words.next();
            Some(days)
        }
        _ => None,
    };
    let mut spans = Vec::new();
    if let Some(word) = words.next_if(|word| word.starts_with(|letter: char| letter.is_ascii_digit())) {
        for part in word.split(',') {
            spans.push(span(part).ok_or_else(|| {
                failure!("{:?} is not a time such as 08:00-20:00", short(part)).hint(ActiveHours::ACCEPTED)
            })?);
        }
    }
    let zone = words.next().map(zone_of).transpose().map_err(|error| match words.peek() {
        // It was hardly meant as a zone.
        Some(_) => wrong(text),
        None => error.failure().hint(ActiveHours::ACCEPTED),
    })?;
    if words.next().is_some() || (days.is_none() && spans.is_empty()) {
        return Err(wrong(text));
    }
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ").into();
    Ok(Week { text, days: days.unwrap_or([true; 7]), spans: spans.into(), zone })
}

fn wrong(text: &str) -> Failure {
    failure!("{:?} is not readable as days and times", short(text)).hint(ActiveHours::ACCEPTED)
}

fn short(text: &str) -> String {
    text.chars().take(60).collect()
}

/// `Mon-Fri,Sun`
fn days(word: &str) -> Option<[bool; 7]> {
    let day = |name: &str| {
        let name = name.to_ascii_lowercase();
        DAYS.iter().position(|(short, long)| name == *short || name == *long)
    };
    let mut found = [false; 7];
    for part in word.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (day(first)?, day(last)?);
        // `Sat-Mon` is three days.
        let count = (last + 7 - first) % 7;
        (first..=first + count).for_each(|day| found[day % 7] = true);
    }
    Some(found)
}

/// `08:00-20:00`, or `22:00-06:00` past midnight
fn span(text: &str) -> Option<Span> {
    let minutes = |text: &str| -> Option<i64> {
        let (hour, minute) = text.split_once(':')?;
        let is_number = |text: &str, most: usize| {
            (1..=most).contains(&text.len()) && text.bytes().all(|digit| digit.is_ascii_digit())
        };
        let is_time = is_number(hour, 2) && minute.len() == 2 && is_number(minute, 2);
        let (hour, minute): (i64, i64) = (hour.parse().ok()?, minute.parse().ok()?);
        Some(hour * 60 + minute).filter(|at| is_time && minute < 60 && *at <= DAY_MINUTES)
    };
    let (from, to) = text.split_once('-')?;
    let (from, to) = (minutes(from)?, minutes(to)?);
    if from == to || from == DAY_MINUTES {
        return None;
    }
    let length = (to - from).rem_euclid(DAY_MINUTES);
    let length = if length == 0 { DAY_MINUTES } else { length };
    let (hour, minute) = (i8::try_from(from / 60).ok()?, i8::try_from(from % 60).ok()?);
    Some(Span { from: Time::new(hour, minute, 0, 0).ok()?, minutes: length })
}

impl Check for ActiveHours {
    type Raw = Texts;

    fn check(lines: Texts) -> Result<Self, Failure> {
        let lines = lines.list();
        if lines.is_empty() {
            return Err(failure!("the list is empty").hint(Self::ACCEPTED));
        }
        lines.iter().map(|line| week(line)).collect::<Result<Box<[Week]>, Failure>>().map(Self)
    }
}

impl<'de> Deserialize<'de> for ActiveHours {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        strictly(deserializer)
    }
}

impl JsonSchema for ActiveHours {
    fn schema_name() -> Cow<'static, str> {
        "ActiveHours".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Days, times and a time zone, or a list of these.",
            "examples": ["Mon-Fri 08:00-20:00 Europe/Berlin", "22:00-06:00"],
            "anyOf": [{ "type": "string" }, { "type": "array", "items": { "type": "string" }, "minItems": 1 }],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::Zoned;

    #[test]
    fn hours_end_where_no_span_follows() {
        for (text, at, expected) in [
            ("22:00-07:00 UTC", "2026-02-02T21:59Z", "2026-02-02T21:59:00Z"),
            ("22:00-07:00 UTC", "2026-02-02T22:00Z", "2026-02-03T07:00:00Z"),
            ("22:00-07:00 UTC", "2026-02-03T06:59Z", "2026-02-03T07:00:00Z"),
            ("22:00-07:00 UTC", "2026-02-03T07:00Z", "2026-02-03T07:00:00Z"),
            ("Sat,Sun UTC", "2026-02-07T12:00Z", "2026-02-09T00:00:00Z"),
            ("08:00-12:00,12:00-14:00", "2026-02-02T09:00Z", "2026-02-02T14:00:00Z"),
            ("22:00-07:00 Europe/Berlin", "2026-03-28T22:00Z", "2026-03-29T05:00:00Z"),
        ] {
            assert_eq!(hours(text).until(at.parse().unwrap()).to_string(), expected, "{text} {at}");
        }
        assert_eq!(hours("00:00-24:00").until("2026-02-03T07:00Z".parse().unwrap()), Timestamp::MAX);
    }

    fn hours(text: &str) -> ActiveHours {
        ActiveHours(Box::new([week(text).unwrap()])).in_zone(&TimeZone::UTC)
    }

    #[test]
    fn the_next_active_moment_is_now_or_when_hours_begin() {
        for (text, at, expected) in [
            ("Mon-Fri 08:00-20:00 UTC", "2026-02-02T08:00Z", "2026-02-02T08:00:00Z"),
            ("Mon-Fri 08:00-20:00 UTC", "2026-02-02T07:59:59Z", "2026-02-02T08:00:00Z"),
            ("Mon-Fri 08:00-20:00 UTC", "2026-02-02T19:59:59.9Z", "2026-02-02T19:59:59.9Z"),
            ("Mon-Fri 08:00-20:00 UTC", "2026-02-02T20:00Z", "2026-02-03T08:00:00Z"),
            ("Mon-Fri 08:00-20:00 UTC", "2026-02-06T20:00Z", "2026-02-09T08:00:00Z"),
            ("monday,WED", "2026-02-03T12:00Z", "2026-02-04T00:00:00Z"),
            ("Wed", "2026-02-05T00:00Z", "2026-02-11T00:00:00Z"),
            ("Sat-Mon", "2026-02-03T12:00Z", "2026-02-07T00:00:00Z"),
            ("8:00-12:00,14:00-18:00", "2026-02-03T12:30Z", "2026-02-03T14:00:00Z"),
            ("18:00-24:00", "2026-02-03T23:59Z", "2026-02-03T23:59:00Z"),
            ("00:00-24:00", "2026-02-03T23:59Z", "2026-02-03T23:59:00Z"),
            // Past midnight, a span belongs to the day on which it begins.
            ("Fri 22:00-06:00", "2026-02-07T05:59Z", "2026-02-07T05:59:00Z"),
            ("Fri 22:00-06:00", "2026-02-07T06:00Z", "2026-02-13T22:00:00Z"),
            ("Fri 22:00-06:00", "2026-02-06T05:00Z", "2026-02-06T22:00:00Z"),
            ("08:00-20:00 America/New_York", "2026-02-03T12:00Z", "2026-02-03T13:00:00Z"),
        ] {
            let found = hours(text).from(at.parse().unwrap()).unwrap();
            assert_eq!(found.to_string(), expected, "{text} at {at}");
        }
    }

    #[test]
    fn hours_follow_the_clock_across_dst() {
        for (text, at, expected) in [
            // 08:00 is an hour earlier in real time after the clock was set forward.
            ("08:00-20:00 Europe/Berlin", "2026-03-28T20:00[Europe/Berlin]", "2026-03-29T06:00:00Z"),
            ("08:00-20:00 Europe/Berlin", "2026-10-24T20:00[Europe/Berlin]", "2026-10-25T07:00:00Z"),
            // The clock skips 02:00 to 03:00.
            ("02:00-03:00 Europe/Berlin", "2026-03-29T00:00[Europe/Berlin]", "2026-03-29T01:00:00Z"),
            ("02:30-03:30 Europe/Berlin", "2026-03-29T03:15[Europe/Berlin]", "2026-03-29T01:30:00Z"),
            // The clock repeats 02:00 to 03:00: both are active if the span goes on after that.
            ("01:00-04:00 Europe/Berlin", "2026-10-25T02:30+01:00[Europe/Berlin]", "2026-10-25T01:30:00Z"),
            ("02:00-02:30 Europe/Berlin", "2026-10-25T02:15+01:00[Europe/Berlin]", "2026-10-26T01:00:00Z"),
            // There is no midnight on that day.
            ("Sun America/Sao_Paulo", "2018-11-03T12:00[America/Sao_Paulo]", "2018-11-04T03:00:00Z"),
            // There is no 30 December 2011.
            ("Fri 10:00-11:00 Pacific/Apia", "2011-12-29T12:00[Pacific/Apia]", "2012-01-05T20:00:00Z"),
        ] {
            let at: Zoned = at.parse().unwrap();
            assert_eq!(hours(text).from(at.timestamp()).unwrap().to_string(), expected, "{text} at {at}");
        }
    }

    #[test]
    fn anything_else_is_refused_with_what_is_accepted() {
        for text in [
            "",
            " ",
            "Mo",
            "Mon-",
            "Mon-Fri-Sun",
            "8-20",
            "08:00",
            "08:00-08:00",
            "08:60-09:00",
            "25:00-26:00",
            "24:00-06:00",
            "08:00-20:00 Mars/Olympus",
            "Europe/Berlin",
            "Mon Tue",
            "08:00-20:00 UTC x",
            "Mon - Fri 08:00-20:00",
            "Mon-Fri 08:00 - 20:00",
            "+8:00-20:00",
            "08:00-20:00Z",
        ] {
            let line = week(text).unwrap_err().line();
            assert!(line.ends_with(ActiveHours::ACCEPTED), "{text}: {line}");
        }
        let read = |json: &str| serde_json::from_str::<ActiveHours>(json).map(|hours| hours.to_string());
        assert_eq!(read(r#"["Mon  08:00-20:00", "Sat UTC"]"#).unwrap(), "Mon 08:00-20:00, Sat UTC");
        assert_eq!(read(r#""Mon""#).unwrap(), "Mon");
        for json in ["[]", "1", "null", "{}", "[1]", r#"["Mon", "x"]"#] {
            assert!(read(json).is_err(), "{json}");
        }
    }
}
