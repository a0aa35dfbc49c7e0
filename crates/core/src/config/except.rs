//! `except`: dates on which a heartbeat does not start.

use super::checked::{Check, List, short, strictly};
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer};
use std::borrow::Cow;
use std::fmt;
use sys::error::Failure;
use sys::failure;

/// Dates in a time zone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Except {
    dates: Box<[Dates]>,
    zone: Option<TimeZone>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dates {
    /// All from the first to the last.
    Range(Date, Date),
    /// A month and a day of every year.
    Yearly(i8, i8),
}

/// The most days to look ahead for one that is not excepted: all leap days of a lifetime are.
const MAX_DAYS: usize = 1000;

impl Except {
    /// The accepted values, for hints.
    pub(super) const ACCEPTED: &str =
        "write a list of dates, such as [\"2026-12-24\", \"12-25\", \"2026-12-27..2027-01-02\"]";

    /// Sets the time zone.
    #[must_use]
    pub(super) fn in_zone(self, zone: &TimeZone) -> Self {
        Self { zone: Some(zone.clone()), ..self }
    }

    /// The first moment at or after `at` on another date; `None` if there is none for years.
    #[must_use]
    pub fn from(&self, at: Timestamp) -> Option<Timestamp> {
        let zone = &self.zone.clone().unwrap_or(TimeZone::UTC);
        let today = at.to_zoned(zone.clone()).date();
        let mut day = today;
        for _ in 0..MAX_DAYS {
            let Some(last) = self.dates.iter().filter_map(|dates| dates.last_from(day)).max() else {
                let start = day.to_zoned(zone.clone()).ok()?.timestamp();
                return Some(if day == today { at } else { start.max(at) });
            };
            day = last.tomorrow().ok()?;
        }
        None
    }
}

impl Dates {
    /// The last of these dates in a row from `day`, if that is one of them.
    fn last_from(self, day: Date) -> Option<Date> {
        match self {
            Self::Range(first, last) => (first <= day && day <= last).then_some(last),
            Self::Yearly(month, number) => (day.month() == month && day.day() == number).then_some(day),
        }
    }

    fn parse(text: &str) -> Option<Self> {
        if let Some((first, last)) = text.split_once("..") {
            let (first, last) = (date(first)?, date(last)?);
            return (first <= last).then_some(Self::Range(first, last));
        }
        if let Some(day) = date(text) {
            return Some(Self::Range(day, day));
        }
        // A leap year has every month and day.
        let day = date(&format!("2000-{text}"))?;
        Some(Self::Yearly(day.month(), day.day()))
    }
}

/// `2026-12-24`, and nothing else that jiff reads.
fn date(text: &str) -> Option<Date> {
    let is_date = text.len() == 10 && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    text.parse().ok().filter(|_| is_date)
}

impl fmt::Display for Dates {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Range(first, last) if first == last => write!(out, "{first}"),
            Self::Range(first, last) => write!(out, "{first}..{last}"),
            Self::Yearly(month, day) => write!(out, "{month:02}-{day:02}"),
        }
    }
}

impl fmt::Display for Except {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, dates) in self.dates.iter().enumerate() {
            write!(out, "{}{dates}", if number > 0 { ", " } else { "" })?;
        }
        Ok(())
    }
}

impl Check for Except {
    type Raw = List;

    fn check(List(texts): List) -> Result<Self, Failure> {
        let dates = texts.iter().map(|text| {
            Dates::parse(text).ok_or_else(|| failure!("{:?} is not a date", short(text)).hint(Self::ACCEPTED))
        });
        dates.collect::<Result<Box<[Dates]>, Failure>>().map(|dates| Self { dates, zone: None })
    }
}

impl<'de> Deserialize<'de> for Except {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        strictly(deserializer)
    }
}

impl JsonSchema for Except {
    fn schema_name() -> Cow<'static, str> {
        "Except".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "array",
            "items": {
                "type": "string",
                "pattern": "^([0-9]{4}-)?[0-9]{2}-[0-9]{2}$|^[0-9]{4}-[0-9]{2}-[0-9]{2}\\.\\.[0-9]{4}-[0-9]{2}-[0-9]{2}$",
            },
            "examples": [["2026-12-24", "12-25", "2026-12-27..2027-01-02"]],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn except(texts: &[&str], zone: &str) -> Except {
        let dates = texts.iter().map(|text| Dates::parse(text).unwrap()).collect();
        Except { dates, zone: None }.in_zone(&sys::clock::named_zone(zone).unwrap())
    }

    #[test]
    fn an_excepted_date_lasts_until_the_next_midnight_of_its_zone() {
        for (dates, zone, at, expected) in [
            (&["2026-12-24"][..], "UTC", "2026-12-23T23:59:59Z", "2026-12-23T23:59:59Z"),
            (&["2026-12-24"], "UTC", "2026-12-24T00:00:00Z", "2026-12-25T00:00:00Z"),
            (&["2026-12-24"], "UTC", "2025-12-24T00:00:00Z", "2025-12-24T00:00:00Z"),
            (&["2026-12-24"], "Europe/Berlin", "2026-12-23T23:00:00Z", "2026-12-24T23:00:00Z"),
            (&["12-25"], "UTC", "2031-12-25T12:00:00Z", "2031-12-26T00:00:00Z"),
            (&["12-25", "2026-12-24", "12-26"], "UTC", "2026-12-24T12:00:00Z", "2026-12-27T00:00:00Z"),
            (&["2026-12-27..2027-01-02"], "UTC", "2026-12-27T00:00:00Z", "2027-01-03T00:00:00Z"),
            (&["02-29"], "UTC", "2028-02-29T12:00:00Z", "2028-03-01T00:00:00Z"),
            // Days of 23 and 25 hours.
            (&["2026-03-29"], "Europe/Berlin", "2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z"),
            (&["2026-10-25"], "Europe/Berlin", "2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z"),
            (&[], "UTC", "2026-12-24T00:00:00Z", "2026-12-24T00:00:00Z"),
        ] {
            let found = except(dates, zone).from(at.parse().unwrap()).unwrap();
            assert_eq!(found.to_string(), expected, "{dates:?} at {at}");
        }
        let always = except(&["2000-01-01..9999-12-31"], "UTC");
        assert_eq!(always.from("2026-01-01T00:00:00Z".parse().unwrap()), None);
    }

    #[test]
    fn anything_else_is_refused_with_what_is_accepted() {
        for text in [
            "",
            "x",
            "2026-12",
            "2026-13-01",
            "2026-02-29",
            "02-30",
            "12-24T10:00",
            "20261224",
            "24.12.2026",
            "2026-12-24..",
            "2026-12-24..2026-12-23",
            "12-24..12-26",
            "2026-12-24T10:00",
        ] {
            assert!(Dates::parse(text).is_none(), "{text}");
        }
        let read = |json: &str| super::super::checked::from_json::<Except>(json);
        let line = read(r#"["2026-12-24", "tomorrow"]"#).unwrap().unwrap_err().line();
        assert_eq!(line, format!("\"tomorrow\" is not a date; {}", Except::ACCEPTED));
        for json in ["1", "null", "{}", "[1]", r#""2026-12-24""#] {
            assert!(read(json).is_err(), "{json}");
        }
        let shown = read(r#"["12-25", "2026-12-24", "2026-12-27..2027-01-02"]"#).unwrap().unwrap();
        assert_eq!(shown.to_string(), "12-25, 2026-12-24, 2026-12-27..2027-01-02");
    }
}
