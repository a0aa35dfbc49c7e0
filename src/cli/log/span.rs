//! Values of `murmur log`'s --since and -n.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use murmur_core::config::spelling::nearest;
use sys::clock;
use sys::error::Failure;
use sys::failure;

/// Named days.
const DAYS: [&str; 2] = ["today", "yesterday"];

/// Parses a time span before now, a day (from midnight), or a timestamp. Days are in the user's time zone.
pub(in crate::cli) fn since(text: &str) -> Result<Timestamp, Failure> {
    let (now, zone) = (clock::now(), TimeZone::system());
    let text = text.trim();
    if let Ok(span) = humantime::parse_duration(text) {
        let span = SignedDuration::try_from(span).unwrap_or(SignedDuration::MAX);
        return Ok(now.checked_sub(span).unwrap_or(Timestamp::MIN));
    }
    if let Ok(at) = text.parse() {
        return Ok(at);
    }
    let today = now.to_zoned(zone.clone()).date();
    let from = match text.to_lowercase().as_str() {
        "today" => Some(today.into()),
        "yesterday" => today.yesterday().ok().map(DateTime::from),
        _ => text.parse().ok(),
    };
    from.and_then(|from| Some(from.to_zoned(zone).ok()?.timestamp())).ok_or_else(|| {
        let accepted = "rite a span such as 2h or 1d, today, yesterday, or a date such as 2026-11-22";
        let what = failure!("--since {text:?} is not a time");
        match nearest(text, &DAYS) {
            Some(day) => what.hint(format!("did you mean {day:?}? W{accepted}")),
            None => what.hint(format!("w{accepted}")),
        }
    })
}

/// Parses a number of lines, or `all`.
pub(in crate::cli) fn count(text: &str) -> Result<usize, Failure> {
    if text.eq_ignore_ascii_case("all") {
        return Ok(usize::MAX);
    }
    text.parse().map_err(|_| failure!("-n {text:?} is not a number of lines"; "write one such as 20, or all"))
}
