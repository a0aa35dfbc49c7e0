//! Numbered events that any number of readers follow at their own pace: the newest are in memory, older ones come
//! from storage, and missing ones become a single gap.
//!
//! A reader is only a position. Nothing is queued for it, so a sleeping reader costs nothing.

use crate::envelope::{GAP, event_line};
use murmur_core::id::AgentId;
use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

/// How many events to keep in memory (spec 3, Event Buffer).
pub const EVENT_BUFFER_SIZE: usize = 1000;

/// The maximum total size of these events, in bytes; a single event may exceed it.
const MOST_BYTES: usize = 8 << 20;

/// A feed of events.
#[derive(Debug)]
pub struct Feed {
    /// The agent; `None` if the events are not all of one.
    agent_id: Option<AgentId>,
    ring: Mutex<Ring>,
    changed: watch::Sender<()>,
    older: Option<Box<dyn Older>>,
}

/// Storage of events that are no longer in memory.
pub trait Older: Send + Sync + fmt::Debug {
    /// Reads from the event `from` on, or from the first available one after it.
    fn open(&self, from: u64) -> io::Result<Box<dyn Past>>;
}

/// A reader of older events.
pub trait Past: Send + fmt::Debug {
    /// Appends whole lines of events to `out`, about `most` bytes. Returns their numbers; there are none if there
    /// are no more events.
    ///
    /// # Errors
    /// After an error there are no more events.
    fn fill(&mut self, out: &mut Vec<u8>, most: usize) -> io::Result<Range<u64>>;
}

#[derive(Debug, Default)]
struct Ring {
    lines: VecDeque<Arc<[u8]>>,
    bytes: usize,
    /// The number of the next event.
    next: u64,
    /// The total size of all events so far, in bytes.
    pushed: u64,
    is_over: bool,
}

impl Ring {
    fn first(&self) -> u64 {
        self.next - self.lines.len() as u64
    }
}

impl Feed {
    /// A feed of events, all of the agent `agent_id` if there is one, with optional storage for older ones.
    #[must_use]
    pub fn new(agent_id: Option<AgentId>, older: Option<Box<dyn Older>>) -> Arc<Self> {
        Arc::new(Self { agent_id, ring: Mutex::default(), changed: watch::Sender::new(()), older })
    }

    fn agent_id(&self) -> &str {
        self.agent_id.as_ref().map_or("", AgentId::as_str)
    }

    fn ring(&self) -> MutexGuard<'_, Ring> {
        // No code that holds the lock panics halfway.
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds the line of the next event, which contains the number [`Self::next`]. Call [`Self::notify`] to notify
    /// readers.
    pub fn push(&self, line: Arc<[u8]>) {
        let mut ring = self.ring();
        ring.next += 1;
        ring.pushed += line.len() as u64;
        ring.bytes += line.len();
        ring.lines.push_back(line);
        while ring.lines.len() > EVENT_BUFFER_SIZE || (ring.bytes > MOST_BYTES && ring.lines.len() > 1) {
            let Some(oldest) = ring.lines.pop_front() else { break };
            ring.bytes -= oldest.len();
        }
    }

    /// Notifies readers.
    pub fn notify(&self) {
        self.changed.send_replace(());
    }

    /// Ends the feed.
    pub fn end(&self) {
        self.ring().is_over = true;
        self.notify();
    }

    /// The number of the next event.
    #[must_use]
    pub fn next(&self) -> u64 {
        self.ring().next
    }

    /// How many readers there are.
    #[must_use]
    pub fn readers(&self) -> usize {
        self.changed.receiver_count()
    }

    /// Reads from the event `from` on; `None` for new events only.
    #[must_use]
    pub fn reader(self: &Arc<Self>, from: Option<u64>) -> Reader {
        let changed = self.changed.subscribe();
        let next = from.unwrap_or_else(|| self.next());
        Reader { feed: Arc::clone(self), next, past: None, changed }
    }
}

/// See [`Feed::reader`].
#[derive(Debug)]
pub struct Reader {
    feed: Arc<Feed>,
    next: u64,
    past: Option<Box<dyn Past>>,
    changed: watch::Receiver<()>,
}

/// The result of [`Reader::fill`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Filled {
    /// There were events.
    Some,
    /// There are none yet.
    None,
    /// There will be none.
    Over,
}

impl Reader {
    /// The number of the next event to read.
    #[must_use]
    pub fn next(&self) -> u64 {
        self.next
    }

    /// The agent of these events; empty if they are not all of one.
    #[must_use]
    pub fn agent_id(&self) -> &str {
        self.feed.agent_id()
    }

    /// The total size of all events so far, read or not, in bytes.
    #[must_use]
    pub fn pushed(&self) -> u64 {
        self.feed.ring().pushed
    }

    /// Waits until there may be more.
    pub async fn changed(&mut self) {
        if self.changed.changed().await.is_err() {
            std::future::pending().await
        }
    }

    /// Appends whole lines to `out`, about `most` bytes.
    pub fn fill(&mut self, out: &mut Vec<u8>, most: usize) -> Filled {
        self.changed.mark_unchanged();
        let first = {
            let ring = self.feed.ring();
            if self.next >= ring.next {
                return if ring.is_over { Filled::Over } else { Filled::None };
            }
            if self.next >= ring.first() {
                self.past = None;
                let skip = usize::try_from(self.next - ring.first()).unwrap_or(usize::MAX);
                let enough = out.len() + most;
                for line in ring.lines.iter().skip(skip) {
                    out.extend_from_slice(line);
                    self.next += 1;
                    if out.len() >= enough {
                        break;
                    }
                }
                return Filled::Some;
            }
            ring.first()
        };
        let start = out.len();
        match self.past_lines(out, most) {
            Ok(events) if events.end > self.next => {
                if events.start > self.next {
                    let gap = self.gap(events.start);
                    out.splice(start..start, gap);
                }
                self.next = events.end;
            }
            _ => {
                out.truncate(start);
                out.extend(self.gap(first));
                self.past = None;
                self.next = first;
            }
        }
        Filled::Some
    }

    fn past_lines(&mut self, out: &mut Vec<u8>, most: usize) -> io::Result<Range<u64>> {
        let past = match &mut self.past {
            Some(past) => past,
            None => {
                let older = self.feed.older.as_ref().ok_or(io::ErrorKind::NotFound)?;
                self.past.insert(older.open(self.next)?)
            }
        };
        past.fill(out, most)
    }

    fn gap(&self, to: u64) -> Vec<u8> {
        gap_line(self.feed.agent_id(), self.next..to)
    }
}

/// The line that stands for the events `missing` of `agent_id`.
#[must_use]
pub fn gap_line(agent_id: &str, missing: Range<u64>) -> Vec<u8> {
    let payload = serde_json::json!({ "from": missing.start, "to": missing.end });
    event_line(GAP, agent_id, missing.start, &payload)
}

#[cfg(test)]
mod tests {
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

    #[test]
    fn memory_is_also_bounded_by_bytes() {
        let feed = Feed::new(AgentId::parse("a").ok(), None);
        for _ in 0..10 {
            feed.push(vec![b' '; MOST_BYTES / 4].into());
        }
        assert_eq!(feed.ring().lines.len(), 4);
    }
}
