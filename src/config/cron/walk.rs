//! From wall-clock minutes to instants, across every kind of jump a time zone makes.

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

/// Each stretch of constant offset is walked by itself, so what the clock repeats repeats, and what it skips is skipped.
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

/// Each wall time has one instant. Later wall times never have earlier instants, so the first that is late enough is it.
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

/// A time that is skipped happens at the gap's end, however long the gap; one that is repeated, the first time.
fn instant(zone: &TimeZone, wall: DateTime) -> Option<Timestamp> {
    let at = |offset: Offset| offset.to_timestamp(wall).ok();
    match zone.to_ambiguous_timestamp(wall).offset() {
        AmbiguousOffset::Unambiguous { offset } => at(offset),
        AmbiguousOffset::Fold { before, .. } => at(before),
        AmbiguousOffset::Gap { before, .. } => {
            // Counted with the offset of before, the skipped time lies at or after the jump, and before any other.
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
