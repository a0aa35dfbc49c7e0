//! Converts wall-clock minutes to instants, across all kinds of time zone transitions.
//!
//! Not croner's own search in a zone: it finds no run behind a day that a zone skipped (Pacific/Apia in 2011).

use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, Offset, TimeZone};
use jiff::{Span, Timestamp};

use super::pattern::Pattern;

pub(super) fn next_after(pattern: &Pattern, zone: &TimeZone, after: Timestamp) -> Option<Timestamp> {
    let offset = zone.to_offset(after);
    let start = minute_after(offset.to_datetime(after))?;
    if pattern.every_hour() {
        in_rhythm(pattern, zone, after, start)
    } else {
        by_wall(pattern, zone, after, start)
    }
}

/// Walks each period of constant offset by itself, so it repeats what the clock repeats and skips what the clock skips.
fn in_rhythm(pattern: &Pattern, zone: &TimeZone, after: Timestamp, start: DateTime) -> Option<Timestamp> {
    let (mut offset, mut start) = (zone.to_offset(after), start);
    let mut jumps = zone.following(after);
    loop {
        let found = offset.to_timestamp(pattern.next(start)?).ok()?;
        match jumps.next() {
            Some(jump) if jump.timestamp() <= found => {
                offset = jump.offset();
                start = minute_from(offset.to_datetime(jump.timestamp()))?;
            }
            _ => return Some(found),
        }
    }
}

/// Maps each wall time to one instant. Instants never decrease with wall times, so the first one after `after` is the
/// next.
fn by_wall(pattern: &Pattern, zone: &TimeZone, after: Timestamp, start: DateTime) -> Option<Timestamp> {
    let mut wall = start;
    loop {
        wall = pattern.next(wall)?;
        let found = instant(zone, wall)?;
        if found > after {
            return Some(found);
        }
        wall = minute_after(wall)?;
    }
}

/// A skipped time maps to the end of its gap, however long; a repeated time maps to its first occurrence.
fn instant(zone: &TimeZone, wall: DateTime) -> Option<Timestamp> {
    let at = |offset: Offset| offset.to_timestamp(wall).ok();
    match zone.to_ambiguous_timestamp(wall).offset() {
        AmbiguousOffset::Unambiguous { offset } => at(offset),
        AmbiguousOffset::Fold { before, .. } => at(before),
        AmbiguousOffset::Gap { before, .. } => {
            // With the old offset, the skipped time is at or after this transition, and before any other.
            let beyond = at(before)?;
            let jump = zone.preceding(beyond.checked_add(Span::new().nanoseconds(1)).ok()?).next();
            Some(jump.map_or(beyond, |jump| jump.timestamp()))
        }
    }
}

fn minute_after(wall: DateTime) -> Option<DateTime> {
    whole_minute(wall)?.checked_add(Span::new().minutes(1)).ok()
}

fn minute_from(wall: DateTime) -> Option<DateTime> {
    let whole = whole_minute(wall)?;
    if whole == wall { Some(wall) } else { minute_after(wall) }
}

fn whole_minute(wall: DateTime) -> Option<DateTime> {
    wall.with().second(0).subsec_nanosecond(0).build().ok()
}
