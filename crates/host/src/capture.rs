//! Captures an agent's output and numbers its events: bytes go in, the session and the feed come out.
//!
//! If the store fails, capturing stops but the agent keeps running: events continue, and a `lost` event reports it.

use super::event::{Derived, MurmurEvent};
use super::ledger::{self, LedgerEntry};
use super::output_parser::OutputParser;
use super::protocol::AgentInfo;
use super::replay::StoredEvents;
use super::state::AgentKind;
use derun::id::SessionId as CaptureId;
use derun::log::Log;
use derun::record::{Channel, TransportMode};
use derun::recorder::{Recorder, UnrecordedLoss};
use derun::retention;
use derun::store::{DEFAULT_RETENTION, NewSession, Store, StoreError};
use derun::syncer::DURABLE_AFTER;
use derun::writer::End;
use jiff::Timestamp;
use murmur_agent::event::Event;
use murmur_agent::parser::Dialect;
use murmur_agent::unknown::Unknown;
use murmur_core::config::captures::Captures;
use murmur_core::id::AgentId;
use murmur_rpc::feed::{Feed, MAX_BYTES, Older};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use sys::clock;
use sys::error::Hinted;
use tokio::time::Instant;

/// Intervals at which the ledger gets a checkpoint. They bound how much must be parsed to replay from any event.
const MARK_EVENTS: u64 = 1000;
const MARK_BYTES: u64 = 1 << 20;

/// Minimum number of checkpoints in output of limited size: its kept tail may begin anywhere, and replay continues at
/// the next checkpoint.
const MARKS: u64 = 32;

/// A position in the stream.
#[derive(Debug, Clone, Copy, Default)]
struct Mark {
    /// The number of the event.
    event: u64,
    /// The byte offset.
    byte: u64,
}

/// Where and how output is captured.
#[derive(Debug, Clone, Default)]
pub struct Destination {
    /// The store; `None` captures nothing.
    pub root: Option<PathBuf>,
    /// How large a capture may become, and how long it is kept.
    pub limits: Captures,
    /// The heartbeat.
    pub group: Option<String>,
}

/// The capture of one agent's output.
#[derive(Debug)]
pub struct Capture {
    agent_id: AgentId,
    /// How long it is kept after its end, unless it will be packed.
    retention: Option<Duration>,
    recorder: Recorder,
    store: Option<Store>,
    session: Option<CaptureId>,
    /// How much of the output the session keeps at most, in bytes.
    max_bytes: u64,
    /// Whether it has a ledger.
    has_ledger: bool,
    /// Events from this number on are not in the session.
    limit: Arc<AtomicU64>,
    parser: OutputParser,
    feed: Arc<Feed>,
    /// Scratch buffer for an event's line.
    line: Vec<u8>,
    /// The number of bytes so far.
    at: u64,
    /// The last line in the ledger.
    marked: Mark,
    /// After how many bytes it gets another one.
    mark_bytes: u64,
    /// When the newest event was added.
    last_at: Timestamp,
    /// When the first output must be on disk.
    sync_at: Option<Instant>,
    /// Whether it is synced to disk from now on.
    is_synced: bool,
    lost: Option<String>,
}

impl Capture {
    /// Starts capturing the output of the agent `info`: of `command` in `folder`, in `dialect`, which runs as the
    /// process `pid`. If the store cannot be used, the first event says so.
    #[must_use]
    pub fn begin(
        to: &Destination,
        info: &AgentInfo,
        dialect: Dialect,
        command: Vec<String>,
        folder: &Path,
        pid: Option<u32>,
    ) -> Self {
        let (agent_id, retention) = (&info.agent_id, retention(info.kind, &to.limits));
        let max_bytes = to.limits.max_per_run.bytes();
        let new = NewSession {
            id: None,
            command,
            working_directory: folder.display().to_string(),
            retention,
            transport: TransportMode::Pipe,
            tty_attached: false,
            max_bytes: Some(max_bytes),
            group: to.group.clone(),
        };
        let limit = Arc::new(AtomicU64::new(u64::MAX));
        let begun = to.root.as_deref().map_or(Err(StoreError::NoStateRoot), |root| begin(root, new, pid));
        let (store, session, recorder, lost) = match begun {
            Ok(NewCapture { store, session, recorder }) => (Some(store), Some(session), recorder, None),
            Err(error) => (None, None, Recorder::none(), Some(error.line())),
        };
        let older = store.as_ref().zip(session.clone()).map(|(store, session)| -> Box<dyn Older> {
            let (root, agent_id, limit) = (store.root().to_path_buf(), agent_id.clone(), Arc::clone(&limit));
            Box::new(StoredEvents { root, session, agent_id, dialect, limit, is_over: false })
        });
        let feed = Feed::new(Some(agent_id.clone()), older);
        let agent_id = agent_id.clone();
        let parser = OutputParser::new(dialect);
        let mut capture = Self {
            agent_id,
            retention: (info.kind != AgentKind::Beat).then_some(retention),
            recorder,
            store,
            max_bytes,
            has_ledger: session.is_some(),
            session,
            limit,
            parser,
            feed,
            line: Vec::new(),
            at: 0,
            marked: Mark::default(),
            mark_bytes: MARK_BYTES.min(max_bytes / MARKS),
            last_at: clock::now(),
            sync_at: None,
            is_synced: false,
            lost: None,
        };
        pid.into_iter().for_each(|pid| capture.recorder.started(pid));
        if let Some(reason) = lost {
            capture.lose(reason);
        }
        capture
    }

    /// The feed of events.
    #[must_use]
    pub fn feed(&self) -> &Arc<Feed> {
        &self.feed
    }

    /// The session, unless nothing is captured.
    #[must_use]
    pub fn session(&self) -> Option<&CaptureId> {
        self.session.as_ref()
    }

    /// The unknown output so far.
    #[must_use]
    pub fn unknown(&self) -> &Unknown {
        self.parser.unknown()
    }

    /// When the newest event was added.
    #[must_use]
    pub fn last_at(&self) -> Timestamp {
        self.last_at
    }

    /// Why the capture is incomplete.
    #[must_use]
    pub fn lost(&self) -> Option<&str> {
        self.lost.as_deref()
    }

    /// When to call [`Self::sync`]. A shorter session is not synced.
    #[must_use]
    pub fn sync_at(&self) -> Option<Instant> {
        self.sync_at
    }

    /// Syncs the session to disk from now on.
    pub fn sync(&mut self) {
        (self.sync_at, self.is_synced) = (None, true);
        self.recorder.begin_to_sync();
    }

    /// Captures output of the agent; `observe` sees each of the agent's events.
    pub fn bytes(&mut self, channel: Channel, bytes: &[u8], mut observe: impl FnMut(&Event<'_>)) {
        self.recorder.capture(channel, bytes);
        if !self.is_synced {
            self.sync_at.get_or_insert_with(|| Instant::now() + DURABLE_AFTER);
        }
        let lost = self.recorder.lost().filter(|_| self.lost.is_none());
        let at = self.at;
        self.at += bytes.len() as u64;
        let Self { parser, feed, agent_id, line, .. } = self;
        let before = feed.next();
        let mut next = before;
        parser.feed(channel, at, bytes, &mut |event| {
            publish(feed, agent_id, line, &mut next, &event, &mut observe);
        });
        if next > before {
            self.last_at = clock::now();
            self.feed.notify();
        }
        if let Some(lost) = lost {
            // Some of these bytes may have been captured; replaying them gives the same numbers.
            self.limit.fetch_min(before, Ordering::Relaxed);
            self.lose(lost.reason);
        }
        if next - self.marked.event >= MARK_EVENTS || self.at - self.marked.byte >= self.mark_bytes {
            self.note(next, false, None);
        }
    }

    /// Frees the buffers of an agent that is expected to print nothing for a while, and the events that its session
    /// has, unless later output could remove them there sooner than from memory.
    pub fn rest(&mut self) {
        self.line = Vec::new();
        self.parser.rest();
        if self.max_bytes >= 4 * MAX_BYTES as u64 {
            self.feed.leave_to_storage();
        }
    }

    /// Adds one of murmur's own events.
    pub fn own(&mut self, own: MurmurEvent) {
        self.own_event(own, false);
    }

    /// Ends the input: unfinished lines become events, and `last` is the last event.
    pub fn last(&mut self, last: MurmurEvent, mut observe: impl FnMut(&Event<'_>)) {
        let Self { parser, feed, agent_id, line, .. } = self;
        let mut next = feed.next();
        parser.finish(&mut |event| publish(feed, agent_id, line, &mut next, &event, &mut observe));
        self.own_event(last, true);
    }

    fn own_event(&mut self, own: MurmurEvent, flushed: bool) {
        let offset = self.feed.next();
        self.note(offset, flushed, Some(own.clone()));
        self.push(&own);
    }

    fn push(&mut self, own: &MurmurEvent) {
        self.last_at = clock::now();
        self.feed.push(own.line(self.agent_id.as_str(), self.feed.next()).into());
        self.feed.notify();
    }

    /// Writes a checkpoint to the ledger.
    fn note(&mut self, offset: u64, flushed: bool, own: Option<MurmurEvent>) {
        self.marked = Mark { event: offset, byte: self.at };
        if !self.has_ledger {
            return;
        }
        let entry =
            LedgerEntry { offset, at: self.at, line_starts: self.parser.line_starts(self.at), flushed, own };
        let written = ledger::line(&entry).and_then(|line| self.recorder.append_beside(ledger::FILE, &line));
        if let Err(error) = written {
            let reason = error.to_string();
            // Without the ledger, later output could not be numbered.
            self.recorder.stop(error);
            self.lose(reason);
        }
    }

    /// Stops capturing: from here on only events in memory can be replayed.
    fn lose(&mut self, reason: String) {
        self.limit.fetch_min(self.feed.next(), Ordering::Relaxed);
        self.has_ledger = false;
        self.push(&MurmurEvent::Lost { reason: reason.clone() });
        self.lost = Some(reason);
    }

    /// Records how the agent ended, and ends the feed.
    pub fn finish(self, end: &End) -> Result<(), UnrecordedLoss> {
        let finished = self.recorder.finish(end);
        self.feed.end();
        if let (Some(store), Some(retention)) = (&self.store, self.retention) {
            retention::expect(store, retention, clock::now());
        }
        finished
    }
}

/// How long to keep the capture of an agent of this `kind`, unless it is packed.
fn retention(kind: AgentKind, limits: &Captures) -> Duration {
    match kind {
        AgentKind::Beat => limits.keep_failed.max(limits.keep).duration(),
        _ => DEFAULT_RETENTION,
    }
}

struct NewCapture {
    store: Store,
    session: CaptureId,
    recorder: Recorder,
}

fn begin(root: &Path, new: NewSession, pid: Option<u32>) -> Result<NewCapture, StoreError> {
    let store = Store::open(root)?;
    let writer = store.create_for(pid, new, clock::now())?;
    let session = writer.id().clone();
    let recorder = Recorder::with_sync_on_request(writer, Log::open(store.root()));
    Ok(NewCapture { store, session, recorder })
}

fn publish(
    feed: &Feed,
    agent_id: &AgentId,
    line: &mut Vec<u8>,
    next: &mut u64,
    event: &Derived<'_>,
    observe: &mut impl FnMut(&Event<'_>),
) {
    if event.is_in_stream() {
        line.clear();
        event.write(line, agent_id.as_str(), *next);
        feed.push(Arc::from(&line[..]));
        *next += 1;
    }
    if let Derived::Agent(event) = event {
        observe(event);
    }
}

#[cfg(test)]
mod tests;
