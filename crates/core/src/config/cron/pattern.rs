//! The wall-clock minutes that five fields name.
//!
//! croner parses the text and searches. Must not know time zones.

use croner::parser::{CronParser, Seconds, Year};
use croner::{Cron, Weekday};
use jiff::civil::{Date, DateTime, date};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Span};
use std::sync::OnceLock;

use super::CronError;

/// The Gregorian calendar, weekdays included, repeats after this many days, which are 400 years.
const CYCLE_DAYS: usize = 146_097;

/// A parsed expression.
#[derive(Debug)]
pub(super) struct Pattern {
    text: Box<str>,
    cron: Cron,
    /// Set when it is first asked for.
    pub(super) shortest_gap: OnceLock<SignedDuration>,
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
            let noun = if fields == 1 { "field" } else { "fields" };
            return Err(syntax(&format!("it has {fields} {noun}")));
        }
        let parser = CronParser::builder().seconds(Seconds::Disallowed).year(Year::Disallowed).build();
        let cron = parser
            .parse(text)
            .map_err(|error| syntax(&wrong_field(&parser, text).unwrap_or_else(|| error.to_string())))?;
        let pattern = Self { text: text.trim().into(), cron, shortest_gap: OnceLock::new() };
        if !pattern.fires() {
            return Err(CronError::Never { text: pattern.text });
        }
        Ok(pattern)
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Whether it runs in every hour, so that its rhythm matters rather than the wall time.
    pub(super) fn every_hour(&self) -> bool {
        (0..24).all(|hour| self.cron.pattern.hour_match(hour).unwrap_or(false))
    }

    /// Whether it names any minute. croner's own search takes minutes to say no.
    fn fires(&self) -> bool {
        let fields = &self.cron.pattern;
        let names = |field: Result<bool, _>| field.unwrap_or(false);
        let has_day = |date: Date| {
            let (year, month, day) = (date.year().into(), date.month() as u32, date.day() as u32);
            let weekday = Weekday::from_days_from_sunday(date.weekday().to_sunday_zero_offset() as u32);
            names(fields.month_match(month)) && names(fields.day_match(year, month, day, weekday))
        };
        (0..60).any(|minute| names(fields.minute_match(minute)))
            && (0..24).any(|hour| names(fields.hour_match(hour)))
            && date(2000, 1, 1).series(Span::new().days(1)).take(CYCLE_DAYS).any(has_day)
    }

    /// The first matching wall-clock minute at or after `from`, which is a whole minute.
    pub(super) fn next(&self, from: DateTime) -> Option<DateTime> {
        let from = from.to_zoned(TimeZone::UTC).ok()?;
        self.cron.find_next_occurrence(&from, true).ok().map(|found| found.datetime())
    }
}
