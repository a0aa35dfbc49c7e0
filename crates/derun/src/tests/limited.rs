//! Tests sessions that keep only the beginning and the end of their output.

use super::Scratch;
use crate::record::{Channel, Gap};
use crate::session::Page;
use crate::writer::End;
use proptest::prelude::*;
use sys::clock;

const MAX: u64 = 4096;

/// The byte that is written at `offset`.
fn byte(offset: u64) -> u8 {
    (offset % 251) as u8
}

fn bytes(from: u64, length: u64) -> Vec<u8> {
    (from..from + length).map(byte).collect()
}

/// All pages of `s`, of at most `most` bytes each, to the end of its output.
fn pages(place: &Scratch, most: usize) -> Vec<Page> {
    let (mut pages, mut at) = (Vec::new(), 0);
    loop {
        let page = place.read("s", at, most);
        if page.next() == at {
            return pages;
        }
        at = page.next();
        pages.push(page);
    }
}

/// Checks that these pages have the written bytes, and one gap.
fn check(place: &Scratch, written: u64, most: usize) -> Option<Gap> {
    let pages = pages(place, most);
    for page in &pages {
        assert_eq!(page.bytes, bytes(page.cursor, page.bytes.len() as u64));
        let covered: u64 = page.stretches.iter().map(|stretch| stretch.length).sum();
        assert_eq!(covered, page.bytes.len() as u64);
    }
    assert_eq!(pages.last().map_or(0, Page::next), written);
    let gaps: Vec<Gap> = pages.iter().filter_map(|page| page.gap).collect();
    assert!(gaps.len() <= 1, "{gaps:?}");
    let gap = place.store.session("s").unwrap().gap().unwrap();
    assert_eq!(gaps.first().copied(), gap);
    let kept: u64 = pages.iter().map(|page| page.bytes.len() as u64).sum();
    assert_eq!(kept + gap.map_or(0, |gap| gap.length), written);
    gap
}

fn size(place: &Scratch) -> u64 {
    let files = std::fs::read_dir(place.file("s", "")).unwrap().map(|entry| entry.unwrap());
    let kept = files.filter(|file| file.file_name().to_str().unwrap().contains('.'));
    kept.map(|file| file.metadata().unwrap().len()).sum()
}

#[test]
fn bytes_that_arrive_together_do_not_exceed_the_limit() {
    let place = Scratch::new();
    let mut writer = place.limited("s", MAX);
    let written = 10 * MAX;
    writer.append(Channel::Stdout, &bytes(0, written), clock::now()).unwrap();
    let gap = check(&place, written, 333).unwrap();
    let kept = written - gap.length;
    assert!((MAX / 2..=MAX).contains(&kept), "{gap:?}");
}

#[test]
fn the_beginning_and_the_end_are_kept_and_readable_while_it_is_written() {
    let place = Scratch::new();
    let mut writer = place.limited("s", MAX);
    let mut written = 0;
    for _ in 0..2000 {
        writer.append(Channel::Stdout, &bytes(written, 50), clock::now()).unwrap();
        written += 50;
        if written % 1000 == 0 {
            check(&place, written, 333);
        }
    }
    let gap = check(&place, written, usize::MAX).unwrap();
    assert!(gap.offset >= MAX / 4 && written - gap.end() >= MAX / 8, "{gap:?}");
    assert!(size(&place) < MAX + 2048, "{}", size(&place));
    let session = place.store.session("s").unwrap();
    assert_eq!(session.end().unwrap(), written);
    let inside = place.read("s", gap.offset + 7, 100);
    assert_eq!((inside.bytes.len(), inside.gap, inside.next(), inside.eof), (0, Some(gap), gap.end(), false));
    writer.finish(&End::Exited(0), None, clock::now()).unwrap();
    assert_eq!(session.status(clock::now()).unwrap().last.unwrap().gap, Some(gap));
    assert!(place.read("s", gap.end(), usize::MAX).eof);
    #[cfg(unix)]
    {
        let label = crate::pack::Label { group: "g".to_owned(), failed: false };
        assert!(crate::pack::pack(&place.store, &[session.id()], &label, false).unwrap());
        assert_eq!(check(&place, written, 333), Some(gap));
        // A reader that opened it before.
        assert_eq!(session.gap().unwrap(), Some(gap));
    }
}

#[test]
fn a_crash_at_any_step_loses_nothing_else() {
    let place = Scratch::new();
    let mut writer = place.limited("s", MAX);
    let mut written = 0;
    while place.store.session("s").unwrap().gap().unwrap().is_none() {
        writer.append(Channel::Stderr, &bytes(written, 50), clock::now()).unwrap();
        written += 50;
    }
    drop(writer);
    let gap = check(&place, written, 333);
    // The index of another part exists, but its output doesn't.
    std::fs::write(place.file("s", "tail-00000000000000099999.jsonl"), "").unwrap();
    assert_eq!(check(&place, written, 333), gap);
    // The output of a part was removed, but its index was not.
    let gap = gap.unwrap();
    std::fs::remove_file(place.file("s", &format!("tail-{:020}.bin", gap.end()))).unwrap();
    assert!(check(&place, written, 333).unwrap().length > gap.length);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn what_is_kept_is_what_was_written(
        writes in prop::collection::vec((1_u64..700, prop::bool::ANY), 1..120),
        most in 1_usize..900,
    ) {
        let place = Scratch::new();
        let mut writer = place.limited("s", MAX);
        let mut written = 0;
        for (length, out) in writes {
            let channel = if out { Channel::Stdout } else { Channel::Stderr };
            writer.append(channel, &bytes(written, length), clock::now()).unwrap();
            written += length;
        }
        check(&place, written, most);
        writer.finish(&End::Exited(0), None, clock::now()).unwrap();
        check(&place, written, most);
        prop_assert!(size(&place) < MAX + 5000);
    }
}
