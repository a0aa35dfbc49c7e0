//! Usage limits in the error messages of Claude Code, for runs that report them only there. Pure.
//!
//! The wording is that of 2.1.110 to 2.1.332: `You've hit your 5-hour limit · resets Jan 1, 2030, 12am (UTC)`. On the
//! day itself, there is only the time.

use jiff::civil::{Date, Time};
use jiff::{SignedDuration, Timestamp, Zoned};

/// A message that a usage limit is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitMessage {
    /// The limit, as in limits.json: `five_hour`, `seven_day`; empty if the message does not say.
    pub window: String,
    /// When it resets, if the message says that.
    pub resets_at: Option<Timestamp>,
}

/// Whether `text` is about a limit of the API's servers, which has nothing to do with the account.
#[must_use]
pub fn is_other_limit(text: &str) -> bool {
    text.contains("(not your usage limit)")
}

impl LimitMessage {
    /// Reads the `text` of an error; `None` if it is about something else. A time without a date is the next one after
    /// `now`, or the minute that `now` is in.
    #[must_use]
    pub fn parse(text: &str, now: Timestamp) -> Option<Self> {
        let rest = text.trim().strip_prefix("You've hit your ")?;
        let (limit, rest) = match rest.strip_prefix("limit") {
            Some(rest) => ("", rest),
            None => rest.split_once(" limit")?,
        };
        let window = match limit {
            "" | "usage" => String::new(),
            "session" | "5-hour" => "five_hour".to_owned(),
            "weekly" => "seven_day".to_owned(),
            other if other.len() <= 20 => format!("seven_day_{}", other.to_lowercase().replace(' ', "_")),
            _ => return None,
        };
        let resets_at = rest.trim_start_matches([' ', '·', '∙']).strip_prefix("resets ");
        Some(Self { window, resets_at: resets_at.and_then(|when| reset(when, now)) })
    }
}

/// Reads `10:46pm (UTC)`, `Nov 28, 3pm (UTC)` or `Jan 1, 2030, 12am (UTC)`.
fn reset(when: &str, now: Timestamp) -> Option<Timestamp> {
    let (when, zone) = when.split_once(" (")?;
    let zone = sys::clock::named_zone(zone.split_once(')')?.0)?;
    let today = now.to_zoned(zone.clone()).date();
    let parts: Vec<&str> = when.split(',').map(str::trim).collect();
    let at = |date: Date, time: &str| date.to_datetime(time_of_day(time)?).to_zoned(zone.clone()).ok();
    let found = match parts[..] {
        [time] => {
            let found = at(today, time)?;
            if end_of_minute(&found)? <= now { at(today.tomorrow().ok()?, time)? } else { found }
        }
        [day, time] => {
            let found = at(date(day, today.year())?, time)?;
            // The last days of a year name days of the next one.
            if found.date() < today { at(date(day, today.year() + 1)?, time)? } else { found }
        }
        [day, year, time] => at(date(day, year.parse().ok()?)?, time)?,
        _ => return None,
    };
    // The time has no seconds: it may be a moment ago.
    let end = end_of_minute(&found)?;
    Some(if (found.timestamp()..end).contains(&now) { end } else { found.timestamp() })
}

fn end_of_minute(time: &Zoned) -> Option<Timestamp> {
    time.timestamp().checked_add(SignedDuration::from_mins(1)).ok()
}

/// Reads `Jan 1`.
fn date(text: &str, year: i16) -> Option<Date> {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let (month, day) = text.split_once(' ')?;
    let month = MONTHS.iter().position(|name| *name == month)?;
    Date::new(year, i8::try_from(month + 1).ok()?, day.parse().ok()?).ok()
}

/// Reads `12am` or `10:46pm`.
fn time_of_day(text: &str) -> Option<Time> {
    let lower = text.to_ascii_lowercase();
    let (clock, is_afternoon) = match lower.strip_suffix("pm") {
        Some(clock) => (clock, true),
        None => (lower.strip_suffix("am")?, false),
    };
    let (hour, minute) = clock.trim().split_once(':').unwrap_or((clock.trim(), "0"));
    let hour: i8 = hour.parse().ok().filter(|hour| (1..=12).contains(hour))?;
    Time::new(hour % 12 + if is_afternoon { 12 } else { 0 }, minute.parse().ok()?, 0, 0).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_the_limit_and_its_reset() {
        let now: Timestamp = "2026-11-26T21:10:52Z".parse().unwrap();
        for (text, window, resets_at) in [
            (
                "You've hit your session limit · resets 11:10pm (UTC)",
                "five_hour",
                Some("2026-11-26T23:10:00Z"),
            ),
            ("You've hit your 5-hour limit · resets 12am (UTC)", "five_hour", Some("2026-11-27T00:00:00Z")),
            ("You've hit your limit · resets 9pm (UTC)", "", Some("2026-11-27T21:00:00Z")),
            ("You've hit your limit · resets 9:09pm (UTC)", "", Some("2026-11-27T21:09:00Z")),
            ("You've hit your limit · resets 9:10pm (UTC)", "", Some("2026-11-26T21:11:00Z")),
            ("You've hit your limit · resets Nov 26, 9:10pm (UTC)", "", Some("2026-11-26T21:11:00Z")),
            ("You've hit your limit · resets Nov 26, 9:09pm (UTC)", "", Some("2026-11-26T21:09:00Z")),
            ("You've hit your limit · resets 12pm (UTC)", "", Some("2026-11-27T12:00:00Z")),
            (
                "You've hit your weekly limit · resets 1am (Europe/Berlin)",
                "seven_day",
                Some("2026-11-27T00:00:00Z"),
            ),
            (
                "You've hit your weekly limit · resets Nov 28, 3pm (UTC)",
                "seven_day",
                Some("2026-11-28T15:00:00Z"),
            ),
            (
                "You've hit your weekly limit · resets Jan 2, 3pm (UTC)",
                "seven_day",
                Some("2027-01-02T15:00:00Z"),
            ),
            (
                "You've hit your 5-hour limit · resets Jan 1, 2030, 12am (UTC)",
                "five_hour",
                Some("2030-01-01T00:00:00Z"),
            ),
            (
                "You've hit your Opus limit ∙ resets 10pm (UTC)",
                "seven_day_opus",
                Some("2026-11-26T22:00:00Z"),
            ),
            ("You've hit your weekly limit", "seven_day", None),
            ("You've hit your weekly limit · resets soon", "seven_day", None),
            ("You've hit your weekly limit · resets 13pm (UTC)", "seven_day", None),
            ("You've hit your weekly limit · resets 11pm (Atlantis)", "seven_day", None),
            ("You've hit your weekly limit · resets Feb 30, 3pm (UTC)", "seven_day", None),
        ] {
            let resets_at = resets_at.map(|at: &str| at.parse::<Timestamp>().unwrap());
            let expected = LimitMessage { window: window.to_owned(), resets_at };
            assert_eq!(LimitMessage::parse(text, now), Some(expected), "{text}");
        }
    }

    #[test]
    fn other_messages_are_about_no_usage_limit() {
        for text in [
            "API Error: Request rejected (429) · This request would exceed your account's rate limit.",
            "API Error: Server is temporarily limiting requests (not your usage limit) · slow down",
            "Your report says: You've hit your session limit · resets 11pm (UTC)",
            "You've hit your head",
            "You've hit your target of the quarter, which is beyond any reasonable limit",
            "",
        ] {
            assert_eq!(LimitMessage::parse(text, Timestamp::UNIX_EPOCH), None, "{text}");
        }
    }
}
