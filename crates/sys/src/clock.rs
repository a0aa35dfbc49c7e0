//! The clock. Only this module reads it; everything else takes the time as an argument.

use jiff::tz::TimeZone;
use jiff::{Timestamp, Unit};
use std::ffi::OsStr;

/// The wall clock, rounded to milliseconds, the resolution that murmur stores.
#[must_use]
pub fn now() -> Timestamp {
    #[expect(clippy::disallowed_methods, reason = "the only place that reads the clock")]
    let now = Timestamp::now();
    now.round(Unit::Millisecond).unwrap_or(now)
}

/// Formats `at` as RFC 3339 in UTC, with milliseconds unless they are zero: `2026-02-03T10:00:00Z`, as in spec 0.
#[must_use]
pub fn rfc3339(at: Timestamp) -> String {
    if at.subsec_nanosecond() == 0 { format!("{at:.0}") } else { format!("{at:.3}") }
}

/// Formats `at` as RFC 3339 with milliseconds and the offset of `zone`: `2026-01-21T10:30:45.123-08:00`.
#[must_use]
pub fn local(at: Timestamp, zone: &TimeZone) -> String {
    format!("{:.3}", at.display_with_offset(zone.to_offset(at)))
}

/// The time zone from `TZ` or the system, or UTC if there is none.
#[must_use]
pub fn local_zone() -> TimeZone {
    zone(std::env::var_os("TZ").as_deref().and_then(OsStr::to_str))
}

/// The time zone that `TZ` names. Common zones are read directly from their files: a lookup by name first lists
/// all zones, which takes longer than the rest of a hook.
fn zone(named: Option<&str>) -> TimeZone {
    let read = |path: &str| TimeZone::tzif("local", &std::fs::read(path).ok()?).ok();
    let is_plain = |name: &str| name.chars().all(|c| c.is_ascii_alphabetic() || "/_-".contains(c));
    let found = match named {
        None => read("/etc/localtime"),
        Some("" | "UTC") => None,
        Some(name) => is_plain(name)
            .then(|| read(&format!("/usr/share/zoneinfo/{name}")))
            .flatten()
            .or_else(|| TimeZone::try_system().ok()),
    };
    found.unwrap_or(TimeZone::UTC)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_formatted_in_utc_with_at_most_milliseconds() {
        let at: Timestamp = "2026-02-03T10:00:00.5+01:00".parse().unwrap();
        assert_eq!(rfc3339(at), "2026-02-03T09:00:00.500Z");
        assert_eq!(rfc3339("2026-02-03T10:00:00Z".parse().unwrap()), "2026-02-03T10:00:00Z");
    }

    #[test]
    fn local_times_have_the_offset_of_their_zone_and_milliseconds() {
        let at: Timestamp = "2026-01-21T18:30:45.120Z".parse().unwrap();
        let in_zone = |named| local(at, &zone(named));
        assert_eq!(in_zone(Some("UTC")), "2026-01-21T18:30:45.120+00:00");
        assert_eq!(in_zone(Some("")), "2026-01-21T18:30:45.120+00:00");
        assert_eq!(in_zone(None).parse::<Timestamp>().unwrap(), at);
        assert_eq!(local(at, &local_zone()).parse::<Timestamp>().unwrap(), at);
        let there = TimeZone::get("America/Los_Angeles").unwrap();
        assert_eq!(local(at, &there), "2026-01-21T10:30:45.120-08:00");
    }
}
