//! Replays events that are no longer in memory, from the agent's session.

use super::event::Derived;
use super::ledger::{self, Entries, LedgerEntry};
use super::output_parser::{LineStarts, OutputParser};
use derun::id::SessionId as CaptureId;
use derun::record::Gap;
use derun::session::Session;
use derun::store::{Store, StoreError};
use murmur_agent::parser::Dialect;
use murmur_core::id::AgentId;
use murmur_rpc::feed::{Older, Past};
use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use sys::clock;
use sys::error::Hinted;

/// How much of a session is read at once, in bytes.
const PAGE: usize = 256 << 10;

/// Where an agent's events are stored.
#[derive(Debug, Clone)]
pub struct StoredEvents {
    /// The store's state root.
    pub root: PathBuf,
    /// The session.
    pub session: CaptureId,
    /// The agent.
    pub agent_id: AgentId,
    /// The form of its output.
    pub dialect: Dialect,
    /// Events from this number on are not stored.
    pub limit: Arc<AtomicU64>,
    /// Whether the session is complete.
    pub is_over: bool,
}

impl Older for StoredEvents {
    fn open(&self, from: u64) -> io::Result<Box<dyn Past>> {
        Ok(Box::new(Replay::open(self.clone(), from)?))
    }
}

/// Replays a session's events.
#[derive(Debug)]
pub struct Replay {
    stored: StoredEvents,
    session: Session,
    entries: Entries,
    /// Entries of the ledger that lie ahead.
    ahead: VecDeque<LedgerEntry>,
    parser: OutputParser,
    /// Where unfinished lines started at the first checkpoint.
    line_starts: LineStarts,
    /// The offset of the next byte to parse.
    at: u64,
    /// Bytes before this offset were parsed earlier; only unfinished lines are parsed again.
    fresh: u64,
    /// The number of the next event.
    next: u64,
    /// The first event to return.
    wanted: u64,
    is_flushed: bool,
    lost: Option<String>,
}

impl Replay {
    /// Starts at the event `from`, or at the first one that is available.
    pub fn open(stored: StoredEvents, from: u64) -> io::Result<Self> {
        let session = Store::open(&stored.root)
            .and_then(|store| store.session(stored.session.as_str()))
            .map_err(|error| into_io(&error))?;
        let mut entries = Entries::new(session.beside(ledger::FILE)?);
        let begin =
            LedgerEntry { offset: 0, at: 0, line_starts: LineStarts::default(), flushed: false, own: None };
        let mut ahead = VecDeque::from([begin]);
        while let Some(entry) = entries.next_entry()? {
            // A flush can only be replayed from an earlier checkpoint.
            if entry.offset <= from && !entry.flushed {
                ahead.clear();
            }
            ahead.push_back(entry);
            if ahead.len() > 1 {
                break;
            }
        }
        let last = if stored.is_over {
            session.status(clock::now()).ok().and_then(|found| found.last)
        } else {
            None
        };
        let lost = last.and_then(|last| last.lost).map(|lost| lost.reason);
        let (fresh, line_starts, next) =
            ahead.front().map_or_else(Default::default, |start| (start.at, start.line_starts, start.offset));
        Ok(Self {
            at: line_starts.stdout.min(line_starts.stderr).min(fresh),
            parser: OutputParser::new(stored.dialect),
            stored,
            session,
            entries,
            ahead,
            line_starts,
            fresh,
            next,
            wanted: from,
            is_flushed: false,
            lost,
        })
    }

    /// Why the session of an ended agent is incomplete.
    #[must_use]
    pub fn lost(&self) -> Option<&str> {
        self.lost.as_deref()
    }

    /// Appends the event of `entry`, if it has one, once its offset is reached.
    fn reach(&mut self, entry: &LedgerEntry, out: &mut Vec<u8>) {
        // The ledger's number is authoritative.
        self.next = entry.offset;
        if let Some(own) = &entry.own {
            if entry.offset >= self.wanted {
                out.extend_from_slice(&own.line(self.stored.agent_id.as_str(), entry.offset));
            }
            self.next += 1;
        }
    }

    fn flush(&mut self, out: &mut Vec<u8>) {
        if std::mem::replace(&mut self.is_flushed, true) {
            return;
        }
        let Self { parser, next, wanted, stored, .. } = self;
        parser.finish(&mut |event| push(out, &event, next, *wanted, &stored.agent_id));
    }

    /// Parses bytes up to `limit`.
    fn take_bytes(&mut self, limit: Option<u64>, out: &mut Vec<u8>) -> io::Result<Taken> {
        let most = limit.map_or(PAGE as u64, |limit| limit.saturating_sub(self.at).min(PAGE as u64));
        let most = usize::try_from(most).unwrap_or(PAGE);
        let page = self.session.read(self.at, most, clock::now()).map_err(|error| into_io(&error))?;
        if page.bytes.is_empty() {
            return Ok(page.gap.map_or(Taken::None, Taken::Gap));
        }
        let Self { parser, next, wanted, stored, fresh, line_starts, .. } = self;
        for (stretch, bytes) in page.chunks() {
            // Of bytes parsed earlier, parse only unfinished lines again.
            let from = if stretch.offset < *fresh { line_starts.of(stretch.channel) } else { 0 };
            let skip = from.saturating_sub(stretch.offset).min(bytes.len() as u64);
            let bytes = &bytes[usize::try_from(skip).unwrap_or(bytes.len())..];
            parser.feed(stretch.channel, stretch.offset + skip, bytes, &mut |event| {
                push(out, &event, next, *wanted, &stored.agent_id);
            });
        }
        self.at = page.end();
        Ok(Taken::Some)
    }

    /// Continues at the first checkpoint after `gap` that needs nothing from before; `false` if there is none yet.
    fn skip(&mut self, gap: Gap) -> io::Result<bool> {
        loop {
            if self.ahead.is_empty() {
                self.ahead.extend(self.entries.next_entry()?);
            }
            let Some(&LedgerEntry { offset, at, line_starts, flushed, .. }) = self.ahead.front() else {
                return Ok(false);
            };
            let begin = line_starts.stdout.min(line_starts.stderr).min(at);
            if begin < gap.end() && !flushed {
                self.ahead.pop_front();
                continue;
            }
            self.parser = OutputParser::new(self.stored.dialect);
            (self.fresh, self.line_starts, self.next) = (at, line_starts, offset);
            // Unfinished lines from before cannot be flushed.
            (self.at, self.is_flushed) = if flushed { (at, true) } else { (begin, false) };
            return Ok(true);
        }
    }
}

/// See [`Replay::take_bytes`].
enum Taken {
    /// There were bytes.
    Some,
    /// There are none yet.
    None,
    /// They were not kept.
    Gap(Gap),
}

fn push(out: &mut Vec<u8>, event: &Derived<'_>, next: &mut u64, wanted: u64, agent_id: &AgentId) {
    if !event.is_in_stream() {
        return;
    }
    if *next >= wanted {
        event.write(out, agent_id.as_str(), *next);
    }
    *next += 1;
}

impl Past for Replay {
    fn fill(&mut self, out: &mut Vec<u8>, most: usize) -> io::Result<Range<u64>> {
        let enough = out.len() + most;
        let mut first = self.next.max(self.wanted);
        while out.len() < enough && self.next < self.stored.limit.load(Ordering::Relaxed) {
            if self.ahead.is_empty() {
                self.ahead.extend(self.entries.next_entry()?);
            }
            let is_reached = self.ahead.front().is_some_and(|entry| entry.at <= self.at);
            match is_reached.then(|| self.ahead.pop_front()).flatten() {
                Some(entry) => {
                    if entry.flushed {
                        self.flush(out);
                    }
                    self.reach(&entry, out);
                }
                None => {
                    let limit = self.ahead.front().map(|entry| entry.at);
                    match self.take_bytes(limit, out)? {
                        Taken::Some => {}
                        // An unfinished line is an event only if the host flushed it at the end.
                        Taken::None => break,
                        // Only contiguous events are returned at once.
                        Taken::Gap(_) if self.next > first => break,
                        Taken::Gap(gap) => match self.skip(gap)? {
                            true => first = self.next.max(self.wanted),
                            false => break,
                        },
                    }
                }
            }
        }
        Ok(first..self.next.max(first))
    }
}

fn into_io(error: &StoreError) -> io::Error {
    let failure = error.failure();
    match error {
        StoreError::NotFound(_) => io::Error::new(io::ErrorKind::NotFound, failure),
        _ => io::Error::other(failure),
    }
}
