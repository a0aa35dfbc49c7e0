//! Which captures of beats to remove: by age and by total size, never a heartbeat's newest one.

use crate::config::captures::Captures;
use jiff::Timestamp;
use std::collections::HashMap;

/// A capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capture {
    /// When it started.
    pub started: Timestamp,
    /// Its size in bytes.
    pub bytes: u64,
}

/// Whose capture it is, and how the beat ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Beat {
    /// The heartbeat.
    pub heartbeat: String,
    /// Whether the beat failed.
    pub failed: bool,
}

/// Why a capture is removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// It is too old.
    Age,
    /// All captures together are too large, and it is the oldest.
    Size,
}

/// Decides which of `captures`, oldest first, to remove, and returns their positions.
///
/// `beat` returns the beat of the capture at a position, `None` if that is unknown: such a capture stays. It is called
/// for few of them, since reading each may be slow.
pub fn removals(
    captures: &[Capture],
    limits: &Captures,
    now: Timestamp,
    mut beat: impl FnMut(usize) -> Option<Beat>,
) -> Vec<(usize, Why)> {
    let mut total: u64 = captures.iter().map(|capture| capture.bytes).sum();
    // The newest capture of each heartbeat, as far as captures from this position on tell.
    let (mut newest, mut from) = (HashMap::new(), captures.len());
    let mut removals = Vec::new();
    let shortest = limits.keep.min(limits.keep_failed).signed();
    for (place, capture) in captures.iter().enumerate() {
        let age = now.duration_since(capture.started);
        let is_large = total > limits.max.bytes();
        if age <= shortest && !is_large {
            break;
        }
        let Some(Beat { heartbeat, failed }) = beat(place) else { continue };
        let keep = if failed { limits.keep_failed } else { limits.keep };
        let is_old = age > keep.signed();
        if !is_old && !is_large {
            continue;
        }
        while from > place + 1 && !newest.contains_key(&heartbeat) {
            from -= 1;
            if let Some(beat) = beat(from) {
                newest.entry(beat.heartbeat).or_insert(from);
            }
        }
        if newest.get(&heartbeat).is_some_and(|newest| *newest > place) {
            removals.push((place, if is_old { Why::Age } else { Why::Size }));
            total -= capture.bytes;
        }
    }
    removals
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::interval::Interval;

    const DAY: i64 = 86_400;

    /// Captures as `name`, `!` for a failed one, `@` and its age in days, `=` and its bytes, oldest first; returns
    /// those that are removed.
    fn removed(captures: &str, max: u64) -> String {
        removed_after(captures, max, (14, 90))
    }

    /// The same, if captures are kept for these days: others, and failed ones.
    fn removed_after(captures: &str, max: u64, (keep, keep_failed): (u32, u32)) -> String {
        let now = Timestamp::from_second(1000 * DAY).unwrap();
        let days = |days: u32| Interval::from_secs(days * 86_400).unwrap();
        let max = format!("{max}B").parse().unwrap();
        let limits =
            Captures { keep: days(keep), keep_failed: days(keep_failed), max, ..Captures::default() };
        let (mut all, mut beats) = (Vec::new(), Vec::new());
        for text in captures.split_whitespace() {
            let (name, rest) = text.split_once('@').unwrap();
            let (age, bytes) = rest.split_once('=').unwrap();
            let age: i64 = age.parse().unwrap();
            let started = Timestamp::from_second(now.as_second() - age * DAY).unwrap();
            all.push(Capture { started, bytes: bytes.parse().unwrap() });
            let heartbeat = name.trim_end_matches('!').to_owned();
            let beat = Beat { heartbeat, failed: name.ends_with('!') };
            beats.push((name != "?").then_some(beat));
        }
        let found = removals(&all, &limits, now, |place| beats[place].clone());
        let names = captures.split_whitespace().collect::<Vec<_>>();
        found.iter().map(|(place, why)| format!("{} {why:?}", names[*place])).collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn old_captures_go_and_a_heartbeats_newest_stays() {
        for (captures, expected) in [
            ("", ""),
            ("a@20=1", ""),
            ("a@20=1 a@15=1", "a@20=1 Age"),
            ("a@14=1 a@1=1", ""),
            ("a@20=1 b@18=1 b@16=1 a@2=1", "a@20=1 Age, b@18=1 Age"),
            ("a!@91=1 a!@20=1 a@19=1 a@1=1", "a!@91=1 Age, a@19=1 Age"),
            ("a@20=1 a!@15=1", "a@20=1 Age"),
            ("?@99=1 a@20=1 ?@1=1", ""),
        ] {
            assert_eq!(removed(captures, 1000), expected, "{captures}");
        }
    }

    #[test]
    fn failed_captures_can_go_earlier() {
        for (captures, expected) in [
            ("a!@20=1 a@15=1 a@1=1", "a!@20=1 Age"),
            ("a@91=1 b!@20=1 a!@13=1 a@1=1", "a@91=1 Age"),
            ("a!@14=1 a@1=1", ""),
        ] {
            assert_eq!(removed_after(captures, 1000, (90, 14)), expected, "{captures}");
        }
    }

    #[test]
    fn the_oldest_go_until_the_rest_is_small_enough() {
        for (captures, expected) in [
            ("a@3=400 a@2=400 a@1=200", ""),
            ("a@3=400 a@2=400 a@1=201", "a@3=400 Size"),
            ("a!@3=400 a@2=900 a@1=900", "a!@3=400 Size, a@2=900 Size"),
            // The newest of each stays, however large.
            ("a@3=4000 b@2=4000", ""),
            ("a@20=600 a@3=600 b@2=600 a@1=1", "a@20=600 Age, a@3=600 Size"),
        ] {
            assert_eq!(removed(captures, 1000), expected, "{captures}");
        }
    }

    #[test]
    fn few_beats_are_read() {
        let started = |age: i64| Timestamp::from_second((1000 - age) * DAY).unwrap();
        let captures: Vec<Capture> = (0..1000)
            .map(|age| Capture { started: started(15) + jiff::SignedDuration::from_mins(age), bytes: 1 })
            .collect();
        let now = started(1) + jiff::SignedDuration::from_mins(10);
        let mut read = 0;
        let removed = removals(&captures, &Captures::default(), now, |place| {
            read += 1;
            Some(Beat { heartbeat: (place % 3).to_string(), failed: false })
        });
        assert_eq!((removed.len(), read), (10, 13));
    }
}
