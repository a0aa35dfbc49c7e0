//! The time. Nothing else in murmur asks the system for it: everything else takes it as an argument.

use jiff::tz::TimeZone;
use jiff::{Timestamp, Unit};
use std::ffi::OsStr;

/// The wall clock, cut to whole milliseconds, which is what murmur writes down.
#[must_use]
pub fn now() -> Timestamp {
    #[expect(clippy::disallowed_methods, reason = "this is the one place that reads the clock")]
    let now = Timestamp::now();
    now.round(Unit::Millisecond).unwrap_or(now)
}

/// RFC 3339 in UTC with a whole second or milliseconds: `2026-02-03T10:00:00Z`, as spec 0 writes it.
#[must_use]
pub fn rfc3339(at: Timestamp) -> String {
    if at.subsec_nanosecond() == 0 { format!("{at:.0}") } else { format!("{at:.3}") }
}

/// RFC 3339 with milliseconds and the offset that `zone` has then: `2026-01-21T10:30:45.123-08:00`.
#[must_use]
pub fn local(at: Timestamp, zone: &TimeZone) -> String {
    format!("{:.3}", at.display_with_offset(zone.to_offset(at)))
}

/// The time zone that the system has, or `TZ` in our environment; UTC where there is none.
#[must_use]
pub fn local_zone() -> TimeZone {
    zone(std::env::var_os("TZ").as_deref().and_then(OsStr::to_str))
}

/// The time zone that `TZ` says. The usual ones are read from their own files: looking one up by its name first reads
/// the names of all there are, which takes longer than everything else that a hook does.
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
    fn times_are_written_in_utc_with_at_most_milliseconds() {
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
