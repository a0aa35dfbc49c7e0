//! The value of `murmur pause --until`.

use jiff::civil::{DateTime, Time};
use jiff::{Timestamp, Zoned};
use murmur_core::config::interval::Interval;
use sys::clock;
use sys::error::Failure;
use sys::failure;

const ACCEPTED: &str =
    "write a time such as 18:00, a span such as 2h, tomorrow, or a date such as 2026-11-22";

/// Parses a time in the future. Times of day and dates are in the user's time zone.
pub(in crate::cli) fn parse(text: &str) -> Result<Timestamp, Failure> {
    at(text, &clock::now().to_zoned(clock::local_zone()))
}

/// A time of day is the next one.
fn at(text: &str, now: &Zoned) -> Result<Timestamp, Failure> {
    let text = text.trim();
    let Some(until) = read(text, now) else {
        return Err(failure!("--until {text:?} is not a time"; "{ACCEPTED}"));
    };
    if until <= now.timestamp() {
        return Err(failure!("--until {text:?} is in the past"; "{ACCEPTED}"));
    }
    Ok(until)
}

fn read(text: &str, now: &Zoned) -> Option<Timestamp> {
    if let Ok(span) = text.parse::<Interval>() {
        return now.timestamp().checked_add(span.signed()).ok();
    }
    if let Ok(at) = text.parse::<Timestamp>() {
        return Some(at);
    }
    let local = |at: DateTime| Some(at.to_zoned(now.time_zone().clone()).ok()?.timestamp());
    if let Some(time) = time_of_day(text) {
        let today = local(now.date().to_datetime(time))?;
        let is_ahead = today > now.timestamp();
        return if is_ahead { Some(today) } else { local(now.date().tomorrow().ok()?.to_datetime(time)) };
    }
    let day = match text.to_lowercase().as_str() {
        "tomorrow" => now.date().tomorrow().ok()?.into(),
        _ => text.parse().ok()?,
    };
    local(day)
}

/// Parses `18:00`, `18:00:30`, `9:00`, `noon` or `midnight`. jiff alone also reads `18`, which could be an hour or a
/// day, and dates with times.
pub(in crate::cli) fn time_of_day(text: &str) -> Option<Time> {
    match text {
        "noon" => return Some(Time::constant(12, 0, 0, 0)),
        "midnight" => return Some(Time::midnight()),
        _ => {}
    }
    let is_time = |letter: char| letter.is_ascii_digit() || letter == ':';
    if !text.contains(':') || !text.chars().all(is_time) {
        return None;
    }
    let padded = if text.find(':') == Some(1) { format!("0{text}") } else { text.to_owned() };
    padded.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_the_next_one_in_the_users_zone() {
        for (now, text, expected) in [
            ("2026-11-25T09:00[Europe/Berlin]", "18:00", "2026-11-25T17:00:00Z"),
            ("2026-11-25T18:00[Europe/Berlin]", "18:00", "2026-11-26T17:00:00Z"),
            ("2026-11-25T18:00:01[UTC]", " 18:00:30 ", "2026-11-25T18:00:30Z"),
            ("2026-11-25T09:00[UTC]", "9:30", "2026-11-25T09:30:00Z"),
            ("2026-11-25T09:00[UTC]", "noon", "2026-11-25T12:00:00Z"),
            ("2026-11-25T09:00[UTC]", "2h", "2026-11-25T11:00:00Z"),
            ("2026-11-25T09:00[UTC]", "1d12h", "2026-11-26T21:00:00Z"),
            ("2026-11-25T09:00[Europe/Berlin]", "tomorrow", "2026-11-25T23:00:00Z"),
            ("2026-11-25T09:00[Europe/Berlin]", "2026-12-01", "2026-11-30T23:00:00Z"),
            ("2026-11-25T09:00[Europe/Berlin]", "2026-12-01 08:30", "2026-12-01T07:30:00Z"),
            ("2026-11-25T09:00[Europe/Berlin]", "2026-12-01T08:30Z", "2026-12-01T08:30:00Z"),
            // The clock skips 02:30, and repeats it.
            ("2026-03-28T12:00[Europe/Berlin]", "02:30", "2026-03-29T01:30:00Z"),
            ("2026-10-24T12:00[Europe/Berlin]", "02:30", "2026-10-25T00:30:00Z"),
            ("2026-10-25T02:45+02:00[Europe/Berlin]", "02:30", "2026-10-26T01:30:00Z"),
        ] {
            let now: Zoned = now.parse().unwrap();
            assert_eq!(at(text, &now).unwrap().to_string(), expected, "{text} at {now}");
        }
    }

    #[test]
    fn anything_else_is_refused_with_what_is_accepted() {
        let now: Zoned = "2026-11-25T09:00[UTC]".parse().unwrap();
        for text in ["", "soon", "25:00", "18", "1800", "0s", "2 h", "tomorow", "2026-13-01"] {
            let line = at(text, &now).unwrap_err().line();
            assert_eq!(line, format!("--until {:?} is not a time; {ACCEPTED}", text.trim()));
        }
        for text in ["2026-11-25T08:59:59Z", "2026-11-25", "2020-01-01 10:00"] {
            let line = at(text, &now).unwrap_err().line();
            assert_eq!(line, format!("--until {text:?} is in the past; {ACCEPTED}"));
        }
    }
}
