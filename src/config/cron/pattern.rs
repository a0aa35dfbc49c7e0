//! The wall-clock minutes that five fields name, in a compact form.
//!
//! croner parses the text, but its own form takes 6 KiB, so the sets are copied out. Must not know time zones.

use std::ops::RangeInclusive;

use croner::CronComponent;
use croner::parser::{CronParser, Seconds, Year};
use jiff::civil::{Date, DateTime, Weekday};

use super::CronError;

// croner's flags for a value in a field and for a field as a whole; it does not export their names.
const PLAIN: u8 = 1;
const LAST: u8 = 1 << 6;
const NEAREST: u8 = 1 << 7;

/// The Gregorian calendar, weekdays included, repeats after this many years.
const CYCLE_YEARS: i16 = 400;

#[derive(Debug)]
pub(super) struct Pattern {
    text: Box<str>,
    minutes: u64,
    hours: u32,
    months: u16,
    days: Days,
}

/// Sets of days, one bit per value: 1 to 31, and 0 (Sunday) to 6.
#[derive(Debug)]
pub(super) struct Days {
    of_month: u32,
    nearest: u32,
    last: bool,
    last_workday: bool,
    of_week: u8,
    of_week_last: u8,
    of_week_nth: [u8; 5],
    any_of_month: bool,
    any_of_week: bool,
    both: bool,
}

fn bits(field: &CronComponent, flag: u8) -> u64 {
    field.get_set_values(flag).into_iter().filter(|value| *value < 64).fold(0, |set, value| set | 1 << value)
}

/// The fields in order, with the accepted values.
const FIELDS: [(&str, &str); 5] = [
    ("minute", "0 to 59"),
    ("hour", "0 to 23"),
    ("day", "1 to 31, or L for the last"),
    ("month", "1 to 12, or JAN to DEC"),
    ("weekday", "0 to 7, or SUN to SAT"),
];

/// Describes the first field of `text` that is invalid by itself, since the parser doesn't say which one is.
fn wrong_field(parser: &CronParser, text: &str) -> Option<String> {
    let fields = text.split_whitespace().zip(FIELDS).enumerate();
    let wrong = fields.map(|(index, (field, known))| {
        let mut alone = ["*"; FIELDS.len()];
        alone[index] = field;
        parser.parse(&alone.join(" ")).is_err().then_some((field, known))
    });
    let (field, (name, accepted)) = wrong.flatten().next()?;
    let field: String = field.chars().take(40).collect();
    Some(format!("the {name} is {field:?}, expected {accepted}"))
}

impl Pattern {
    pub(super) fn parse(text: &str) -> Result<Self, CronError> {
        let syntax = |reason: &str| CronError::Syntax {
            text: text.chars().take(80).collect::<String>().into(),
            reason: reason.trim_end_matches('.').into(),
        };
        let fields = text.split_whitespace().count();
        if fields != 5 && !text.trim_start().starts_with('@') {
            return Err(syntax(&format!("it has {fields} fields")));
        }
        let parser = CronParser::builder().seconds(Seconds::Disallowed).year(Year::Disallowed).build();
        let cron = parser
            .parse(text)
            .map_err(|error| syntax(&wrong_field(&parser, text).unwrap_or_else(|| error.to_string())))?;
        let fields = &cron.pattern;
        let last = fields.days.is_feature_enabled(LAST);
        let nearest = fields.days.is_feature_enabled(NEAREST);
        let pattern = Self {
            text: text.trim().into(),
            minutes: bits(&fields.minutes, PLAIN),
            hours: bits(&fields.hours, PLAIN) as u32,
            months: bits(&fields.months, PLAIN) as u16,
            days: Days {
                of_month: bits(&fields.days, PLAIN) as u32,
                nearest: bits(&fields.days, NEAREST) as u32,
                last: last && !nearest,
                last_workday: last && nearest,
                of_week: bits(&fields.days_of_week, PLAIN) as u8,
                of_week_last: bits(&fields.days_of_week, LAST) as u8,
                of_week_nth: [1, 2, 3, 4, 5].map(|nth| bits(&fields.days_of_week, 1 << nth) as u8),
                any_of_month: fields.is_dom_wildcard(),
                any_of_week: fields.is_dow_wildcard(),
                both: fields.matches_dom_and_dow(),
            },
        };
        if pattern.next(DateTime::constant(2000, 1, 1, 0, 0, 0, 0)).is_none() {
            return Err(CronError::Never { text: pattern.text });
        }
        Ok(pattern)
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Whether it runs in every hour, so that its rhythm matters rather than the wall time.
    pub(super) fn every_hour(&self) -> bool {
        self.hours.count_ones() == 24
    }

    /// The first matching wall-clock minute at or after `from`, which is a whole minute.
    pub(super) fn next(&self, from: DateTime) -> Option<DateTime> {
        let mut date = from.date();
        let end = date.year().checked_add(CYCLE_YEARS + 1)?;
        let mut minute_of_day = i32::from(from.hour()) * 60 + i32::from(from.minute());
        while date.year() < end {
            if self.months >> date.month() & 1 == 0 {
                date = date.last_of_month().tomorrow().ok()?;
            } else {
                if self.days.contains(date)
                    && let Some((hour, minute)) = self.next_time(minute_of_day)
                {
                    return Some(date.at(hour, minute, 0, 0));
                }
                date = date.tomorrow().ok()?;
            }
            minute_of_day = 0;
        }
        None
    }

    fn next_time(&self, from: i32) -> Option<(i8, i8)> {
        let (first, minute) = (from / 60, from % 60);
        let in_hour = |hour: i32, from: i32| {
            (self.hours >> hour & 1 == 1)
                .then(|| (from..60).find(|minute| self.minutes >> minute & 1 == 1))
                .flatten()
                .map(|minute| (hour as i8, minute as i8))
        };
        in_hour(first, minute).or_else(|| (first + 1..24).find_map(|hour| in_hour(hour, 0)))
    }
}

impl Days {
    /// As in every cron: if both day fields are restricted, either may match; after a `+`, both must.
    pub(super) fn contains(&self, date: Date) -> bool {
        match (self.any_of_month, self.any_of_week) {
            (true, true) => true,
            (true, false) => self.week_has(date),
            (false, true) => self.month_has(date),
            (false, false) if self.both => self.month_has(date) && self.week_has(date),
            (false, false) => self.month_has(date) || self.week_has(date),
        }
    }

    fn month_has(&self, date: Date) -> bool {
        self.of_month >> date.day() & 1 == 1
            || self.last && date.day() == date.days_in_month()
            || self.last_workday && date == nearest_workday(date.last_of_month())
            || self.nearest != 0
                && around(date).any(|day| {
                    self.nearest >> day & 1 == 1
                        && date.with().day(day).build().is_ok_and(|wanted| nearest_workday(wanted) == date)
                })
    }

    fn week_has(&self, date: Date) -> bool {
        let weekday = date.weekday().to_sunday_zero_offset();
        let nth = usize::from((date.day().unsigned_abs() - 1) / 7);
        self.of_week >> weekday & 1 == 1
            || self.of_week_nth.get(nth).is_some_and(|set| set >> weekday & 1 == 1)
            || self.of_week_last >> weekday & 1 == 1 && date.day() + 7 > date.days_in_month()
    }
}

/// The days of the month whose nearest workday may be `date`; it is at most two days away.
fn around(date: Date) -> RangeInclusive<i8> {
    (date.day() - 2).max(1)..=(date.day() + 2).min(date.days_in_month())
}

/// The day itself if it is a workday, or else the nearest workday in the same month.
fn nearest_workday(date: Date) -> Date {
    let shift = match date.weekday() {
        Weekday::Saturday if date.day() == 1 => 2,
        Weekday::Saturday => -1,
        Weekday::Sunday if date.day() == date.days_in_month() => -2,
        Weekday::Sunday => 1,
        _ => 0,
    };
    date.with().day(date.day() + shift).build().unwrap_or(date)
}
