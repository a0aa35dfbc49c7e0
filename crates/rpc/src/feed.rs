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
pub const MAX_BYTES: usize = 8 << 20;

/// Fewer bytes of events stay in memory while an agent rests.
const FEW_BYTES: usize = 256 << 10;

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
        while ring.lines.len() > EVENT_BUFFER_SIZE || (ring.bytes > MAX_BYTES && ring.lines.len() > 1) {
            let Some(oldest) = ring.lines.pop_front() else { break };
            ring.bytes -= oldest.len();
        }
    }

    /// Drops many events from memory, if storage has them byte for byte. Returns whether it did. No event may be added
    /// meanwhile.
    pub fn leave_to_storage(&self) -> bool {
        let (first, lines) = {
            let ring = self.ring();
            (ring.first(), if ring.bytes > FEW_BYTES { ring.lines.clone() } else { VecDeque::new() })
        };
        let Some(older) = self.older.as_ref().filter(|_| !lines.is_empty()) else { return false };
        let is_stored = older.open(first).and_then(|mut past| are_next(&mut *past, first, &lines));
        if matches!(is_stored, Ok(true)) {
            let mut ring = self.ring();
            (ring.lines, ring.bytes) = (VecDeque::new(), 0);
            return true;
        }
        false
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

/// Whether the next events of `past` are `lines`, from the number `first` on.
fn are_next(past: &mut dyn Past, first: u64, lines: &VecDeque<Arc<[u8]>>) -> io::Result<bool> {
    const PAGE: usize = 64 << 10;
    let (mut lines, mut next, mut page) = (lines.iter(), first, Vec::new());
    while lines.len() > 0 {
        page.clear();
        let events = past.fill(&mut page, PAGE)?;
        if events.start != next || events.is_empty() {
            return Ok(false);
        }
        next = events.end;
        let mut rest = page.as_slice();
        for _ in events {
            let Some(after) = lines.next().and_then(|line| rest.strip_prefix(&**line)) else {
                return Ok(false);
            };
            rest = after;
        }
        if !rest.is_empty() {
            return Ok(false);
        }
    }
    Ok(true)
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
mod tests;
