use super::*;

fn push(feed: &Feed, count: u64) {
    for _ in 0..count {
        let next = feed.next();
        feed.push(event_line("chat", "a", next, &next).into());
    }
    feed.notify();
}

fn offsets(text: &[u8]) -> Vec<(String, u64)> {
    text.split_inclusive(|byte| *byte == b'\n')
        .map(|line| serde_json::from_slice::<crate::envelope::Event>(line).unwrap())
        .map(|event| (event.event_type, event.offset))
        .collect()
}

fn read(reader: &mut Reader) -> Vec<(String, u64)> {
    let mut out = Vec::new();
    while reader.fill(&mut out, 100) == Filled::Some {}
    offsets(&out)
}

#[test]
fn a_reader_sees_every_event_once_whenever_it_looks() {
    let feed = Feed::new(AgentId::parse("a").ok(), None);
    push(&feed, 3);
    let (mut early, mut late) = (feed.reader(Some(0)), feed.reader(None));
    assert_eq!(read(&mut early).len(), 3);
    push(&feed, 2);
    assert_eq!(read(&mut early), [("chat".to_owned(), 3), ("chat".to_owned(), 4)]);
    assert_eq!(read(&mut late), read(&mut feed.reader(Some(3))));
    assert_eq!(early.fill(&mut Vec::new(), 1), Filled::None);
    feed.end();
    assert_eq!(early.fill(&mut Vec::new(), 1), Filled::Over);
}

#[test]
fn missing_events_are_one_gap() {
    let feed = Feed::new(AgentId::parse("a").ok(), None);
    push(&feed, EVENT_BUFFER_SIZE as u64 + 10);
    let found = read(&mut feed.reader(Some(4)));
    assert_eq!(found[..2], [(GAP.to_owned(), 4), ("chat".to_owned(), 10)]);
    assert_eq!(found.len(), EVENT_BUFFER_SIZE + 1);
}

#[derive(Debug)]
struct Kept {
    first: u64,
    to: u64,
}

#[derive(Debug)]
struct Page {
    at: u64,
    to: u64,
}

impl Older for Kept {
    fn open(&self, from: u64) -> io::Result<Box<dyn Past>> {
        Ok(Box::new(Page { at: from.max(self.first), to: self.to }))
    }
}

impl Past for Page {
    fn fill(&mut self, out: &mut Vec<u8>, _most: usize) -> io::Result<Range<u64>> {
        let from = self.at;
        if self.at < self.to {
            out.extend(event_line("old", "a", self.at, &()));
            self.at += 1;
        }
        Ok(from..self.at)
    }
}

#[test]
fn older_events_come_from_storage_without_a_gap() {
    let feed = Feed::new(AgentId::parse("a").ok(), Some(Box::new(Kept { first: 3, to: 500 })));
    push(&feed, EVENT_BUFFER_SIZE as u64 + 100);
    let found = read(&mut feed.reader(Some(1)));
    assert_eq!(found[..2], [(GAP.to_owned(), 1), ("old".to_owned(), 3)]);
    let numbers: Vec<u64> = found[1..].iter().map(|(_, offset)| *offset).collect();
    assert!(numbers.is_sorted_by(|one, next| next - one == 1), "{numbers:?}");
    assert_eq!(numbers.last(), Some(&(EVENT_BUFFER_SIZE as u64 + 99)));
}

/// The events `first..to` of a feed of [`push`]ed events.
#[derive(Debug, Clone, Copy)]
struct Stored {
    first: u64,
    to: u64,
    event_type: &'static str,
}

impl Older for Stored {
    fn open(&self, from: u64) -> io::Result<Box<dyn Past>> {
        let Self { first, to, event_type } = *self;
        Ok(Box::new(Self { first: from.max(first), to, event_type }))
    }
}

impl Past for Stored {
    fn fill(&mut self, out: &mut Vec<u8>, most: usize) -> io::Result<Range<u64>> {
        let (from, enough) = (self.first, out.len() + most);
        while self.first < self.to && out.len() < enough {
            out.extend(event_line(self.event_type, "a", self.first, &"x".repeat(1000)));
            self.first += 1;
        }
        Ok(from..self.first)
    }
}

#[test]
fn memory_keeps_what_storage_does_not_have() {
    let count = EVENT_BUFFER_SIZE as u64 + 10;
    let all = Stored { first: 0, to: count, event_type: "chat" };
    let unlike = Stored { event_type: "other", ..all };
    let (no_end, no_begin) = (Stored { to: count - 1, ..all }, Stored { first: 11, ..all });
    for (stored, is_left) in [(all, true), (unlike, false), (no_end, false), (no_begin, false)] {
        let feed = Feed::new(AgentId::parse("a").ok(), Some(Box::new(stored)));
        for offset in 0..count {
            feed.push(event_line("chat", "a", offset, &"x".repeat(1000)).into());
        }
        assert_eq!(feed.leave_to_storage(), is_left);
        let held = if is_left { 0 } else { EVENT_BUFFER_SIZE };
        assert_eq!(feed.ring().lines.len(), held);
        assert_eq!(feed.next(), count);
        if is_left {
            feed.push(event_line("chat", "a", count, &0).into());
            let found = read(&mut feed.reader(Some(count - 3)));
            let offsets = [count - 3, count - 2, count - 1, count];
            assert_eq!(found, offsets.map(|offset| ("chat".to_owned(), offset)));
        }
    }
}

#[test]
fn memory_is_also_bounded_by_bytes() {
    let feed = Feed::new(AgentId::parse("a").ok(), None);
    for _ in 0..10 {
        feed.push(vec![b' '; MAX_BYTES / 4].into());
    }
    assert_eq!(feed.ring().lines.len(), 4);
}
