//! The time. Nothing else in murmur asks the system for it: everything else takes it as an argument.

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_in_utc_with_at_most_milliseconds() {
        let at: Timestamp = "2026-02-03T10:00:00.5+01:00".parse().unwrap();
        assert_eq!(rfc3339(at), "2026-02-03T09:00:00.500Z");
        assert_eq!(rfc3339("2026-02-03T10:00:00Z".parse().unwrap()), "2026-02-03T10:00:00Z");
    }
}
