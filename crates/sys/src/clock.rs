//! The wall clock. Only this module reads it; most code takes the time as an argument.

use jiff::tz::TimeZone;
use jiff::{Timestamp, Unit};
use std::ffi::OsStr;
use std::path::Path;

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

/// The length of a time from [`rfc3339`] without milliseconds.
const SECONDS: usize = "2026-02-03T10:00:00Z".len();

/// `text`, with the times from [`rfc3339`] in it as people of `zone` write them: `2026-02-03 11:00 CET`.
#[must_use]
pub fn with_local_times(text: &str, zone: &TimeZone) -> String {
    let (mut shown, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(end) = rest.find('Z').map(|at| at + 1) {
        let (before, after) = rest.split_at(end);
        let is_part = |c: char| c.is_alphanumeric();
        let found = [SECONDS, SECONDS + ".000".len()].into_iter().find_map(|length| {
            let start = end.checked_sub(length).filter(|start| before.is_char_boundary(*start))?;
            let at: Timestamp = before[start..].parse().ok()?;
            (!before[..start].ends_with(is_part) && !after.starts_with(is_part)).then_some((start, at))
        });
        if let Some((start, at)) = found {
            let local = at.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M %Z").to_string();
            shown.extend([&before[..start], &local]);
        } else {
            shown.push_str(before);
        }
        rest = after;
    }
    shown + rest
}

/// The time zone from `TZ` or the system, or UTC if there is none.
#[must_use]
pub fn local_zone() -> TimeZone {
    zone(std::env::var_os("TZ").as_deref().and_then(OsStr::to_str))
}

/// The time zone with an IANA name; `None` if there is none.
#[must_use]
pub fn named_zone(name: &str) -> Option<TimeZone> {
    #[expect(clippy::disallowed_methods, reason = "zones that are not in a file of their name")]
    let listed = || TimeZone::get(name).ok();
    if name == "UTC" { Some(TimeZone::UTC) } else { from_file(name).or_else(listed) }
}

/// The time zone that `TZ` names, or the system's.
fn zone(named: Option<&str>) -> TimeZone {
    #[expect(clippy::disallowed_methods, reason = "for everything else that `TZ` can be")]
    let system = || TimeZone::try_system().ok();
    let found = match named {
        Some("" | "UTC") => None,
        Some(name) => from_file(name).or_else(system),
        None => {
            let link = std::fs::read_link("/etc/localtime").ok();
            let name = link.as_deref().and_then(Path::to_str).and_then(|path| path.split_once("/zoneinfo/"));
            name.and_then(|(_, name)| from_file(name)).or_else(system)
        }
    };
    found.unwrap_or(TimeZone::UTC)
}

/// Reads a common zone directly from its file: a lookup by name first lists all zones, which takes longer than the rest
/// of a hook.
fn from_file(name: &str) -> Option<TimeZone> {
    let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || "/_+-".contains(c));
    // Those in these folders count leap seconds, or are duplicates.
    if !is_plain || name.starts_with(['/', '-']) || name.starts_with("right/") || name.starts_with("posix/") {
        return None;
    }
    TimeZone::tzif(name, &std::fs::read(Path::new("/usr/share/zoneinfo").join(name)).ok()?).ok()
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
        let there = named_zone("America/Los_Angeles").unwrap();
        assert_eq!(local(at, &there), "2026-01-21T10:30:45.120-08:00");
    }

    #[test]
    fn times_in_a_text_are_local() {
        let zone = named_zone("Europe/Berlin").unwrap();
        for (text, expected) in [
            ("resets at 2026-02-03T10:00:00Z; Z", "resets at 2026-02-03 11:00 CET; Z"),
            ("2026-07-03T23:30:00Z", "2026-07-04 01:30 CEST"),
            ("2026-02-03T10:00:00.123Z", "2026-02-03 11:00 CET"),
            ("(2026-02-03T10:00:00Z)", "(2026-02-03 11:00 CET)"),
            ("log-2026-02-03T10:00:00Zx", "log-2026-02-03T10:00:00Zx"),
            ("äöü 2026-13-03T10:00:00Z", "äöü 2026-13-03T10:00:00Z"),
        ] {
            assert_eq!(with_local_times(text, &zone), expected);
        }
    }

    #[test]
    fn a_zone_keeps_its_name_whether_or_not_it_is_read_from_its_file() {
        for name in ["Europe/Berlin", "america/los_angeles", "Etc/GMT+5"] {
            let zone = named_zone(name).unwrap();
            assert!(
                zone.iana_name().is_some_and(|found| found.eq_ignore_ascii_case(name)),
                "{name}: {zone:?}"
            );
        }
        for name in ["Europe/Nowhere", "../etc/passwd", "/etc/localtime", "right/Europe/Berlin", ""] {
            assert_eq!(named_zone(name), None, "{name}");
        }
    }
}
