//! Tests the times of output, in the index and for readers.

use super::Scratch;
use crate::record::{Channel, Stretch};
use crate::writer::End;
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;

/// A time in milliseconds after the start.
fn at(milliseconds: i64) -> Timestamp {
    let beginning: Timestamp = "2026-02-03T10:00:00Z".parse().unwrap();
    beginning + SignedDuration::from_millis(milliseconds)
}

/// The lines of the index of `s`: offset, length, channel and time.
fn lines(place: &Scratch) -> Vec<(u64, u64, Channel, Timestamp)> {
    let text = std::fs::read_to_string(place.file("s", "index.jsonl")).unwrap();
    let parse = |line| serde_json::from_str(line).unwrap();
    text.lines().map(parse).map(|s: Stretch| (s.offset, s.length, s.channel, s.timestamp)).collect()
}

/// The time of the byte at `cursor`, for a reader that starts there.
fn seen(place: &Scratch, cursor: u64) -> Timestamp {
    place.read("s", cursor, 1).stretches[0].timestamp
}

#[test]
fn output_before_a_pause_is_not_dated_after_it() {
    let place = Scratch::new();
    let mut writer = place.session("s");
    writer.append(Channel::Pty, b"a", at(0)).unwrap();
    writer.append(Channel::Pty, b"b", at(20)).unwrap();
    assert_eq!(seen(&place, 1), at(0), "dated by the line before it, less than 50 ms off");
    writer.append(Channel::Pty, b"c", at(8020)).unwrap();
    assert_eq!([0, 1, 2].map(|cursor| seen(&place, cursor)), [at(0), at(20), at(8020)]);
    writer.finish(&End::Exited(0), None, at(9000)).unwrap();
    let expected = [(0, at(0)), (1, at(20)), (2, at(8020))];
    assert_eq!(lines(&place), expected.map(|(offset, time)| (offset, 1, Channel::Pty, time)));
}

#[test]
fn the_last_output_is_not_dated_by_the_end() {
    let place = Scratch::new();
    let mut writer = place.session("s");
    writer.append(Channel::Stdout, b"one", at(0)).unwrap();
    writer.append(Channel::Stdout, b"two", at(30)).unwrap();
    writer.finish(&End::Exited(0), None, at(60_000)).unwrap();
    assert_eq!(lines(&place), [(0, 3, Channel::Stdout, at(0)), (3, 3, Channel::Stdout, at(30))]);
}

#[test]
fn output_before_another_channels_is_not_dated_by_that() {
    let place = Scratch::new();
    let mut writer = place.session("s");
    writer.append(Channel::Stdout, b"one", at(0)).unwrap();
    writer.append(Channel::Stdout, b"two", at(30)).unwrap();
    writer.append(Channel::Stderr, b"err", at(5000)).unwrap();
    let expected =
        [(0, 3, Channel::Stdout, at(0)), (3, 3, Channel::Stdout, at(30)), (6, 3, Channel::Stderr, at(5000))];
    assert_eq!(lines(&place), expected);
}

#[test]
fn after_a_clock_change_output_has_the_new_time() {
    let place = Scratch::new();
    let mut writer = place.session("s");
    writer.append(Channel::Pty, b"a", at(3_600_000)).unwrap();
    writer.append(Channel::Pty, b"b", at(0)).unwrap();
    writer.append(Channel::Pty, b"c", at(10)).unwrap();
    assert_eq!([0, 1, 2].map(|cursor| seen(&place, cursor)), [at(3_600_000), at(0), at(0)]);
}

#[test]
fn steady_output_needs_few_index_lines() {
    let place = Scratch::new();
    let mut writer = place.session("s");
    for step in 0..1000 {
        writer.append(Channel::Pty, b"x", at(step)).unwrap();
    }
    assert!(lines(&place).len() <= 40, "{:?}", lines(&place));
}

proptest! {
    #[test]
    fn a_line_has_the_time_of_its_first_byte_and_later_bytes_follow_soon(
        writes in prop::collection::vec((0_i64..120, 1_usize..40_000, prop::bool::ANY), 1..40),
    ) {
        let place = Scratch::in_memory();
        let output = [b'x'; 40_000];
        let mut writer = place.session("s");
        let (mut now, mut arrivals, mut end) = (0, Vec::new(), 0);
        let check = |arrivals: &[(u64, Timestamp, Channel)], end: u64| -> Result<(), TestCaseError> {
            let from = arrivals[0].0;
            let page = place.read("s", from, usize::MAX >> 1);
            prop_assert_eq!(page.next(), end);
            for (first, arrival, channel) in arrivals {
                let stretch = page.stretches.iter().find(|stretch| stretch.end() > *first).unwrap();
                let late = arrival.duration_since(stretch.timestamp);
                prop_assert!((0..50).contains(&late.as_millis()), "{first}: {late}");
                prop_assert_eq!(stretch.channel, *channel);
                // A page that begins within a line has the line's time.
                if stretch.offset == *first && (from == 0 || from < *first) {
                    prop_assert_eq!(stretch.timestamp, *arrival);
                }
                prop_assert_eq!(page.time_of(*first), Some(stretch.timestamp));
            }
            Ok(())
        };
        for (pause, length, is_error) in writes {
            now += pause;
            let channel = if is_error { Channel::Stderr } else { Channel::Stdout };
            writer.append(channel, &output[..length], at(now)).unwrap();
            arrivals.push((end, at(now), channel));
            end += length as u64;
            check(&arrivals[arrivals.len() - 1..], end)?;
        }
        check(&arrivals, end)?;
        writer.finish(&End::Exited(0), None, at(now + 10_000)).unwrap();
        check(&arrivals, end)?;
        prop_assert_eq!(lines(&place).iter().map(|line| line.1).sum::<u64>(), end);
    }
}
