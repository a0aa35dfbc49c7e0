//! The time. Nothing else in murmur asks the system for it: everything else takes it as an argument.

use jiff::tz::{Offset, TimeZone};
use jiff::{Timestamp, Unit};

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

/// RFC 3339 with milliseconds and the offset that the local time zone has then: `2026-01-21T10:30:45.123-08:00`.
#[must_use]
pub fn local(at: Timestamp) -> String {
    let zone = std::env::var_os("TZ");
    let offset = offset(at, zone.as_deref().and_then(std::ffi::OsStr::to_str));
    format!("{:.3}", at.display_with_offset(offset))
}

/// The offset at `at` in `zone`, which is what `TZ` says. The usual zones are read from their own files: looking a zone up
/// by its name first reads the names of all there are, which takes longer than everything else that a hook does.
fn offset(at: Timestamp, zone: Option<&str>) -> Offset {
    let file = match zone {
        Some("" | "UTC") => return Offset::UTC,
        None => Some("/etc/localtime".to_owned()),
        Some(name) => {
            let is_name = |name: &str| name.chars().all(|c| c.is_ascii_alphabetic() || "/_-".contains(c));
            is_name(name).then(|| format!("/usr/share/zoneinfo/{name}"))
        }
    };
    let read = file.and_then(|file| std::fs::read(file).ok());
    let read = read.and_then(|bytes| TimeZone::tzif("local", &bytes).ok());
    read.or_else(|| TimeZone::try_system().ok()).map_or(Offset::UTC, |zone| zone.to_offset(at))
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
        let in_zone = |zone| format!("{:.3}", at.display_with_offset(offset(at, zone)));
        assert_eq!(in_zone(Some("UTC")), "2026-01-21T18:30:45.120+00:00");
        assert_eq!(in_zone(Some("")), "2026-01-21T18:30:45.120+00:00");
        assert_eq!(local(at).parse::<Timestamp>().unwrap(), at);
        assert_eq!(in_zone(None).parse::<Timestamp>().unwrap(), at);
    }
}
