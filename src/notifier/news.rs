//! What happened: journal lines and requests, as events.

use super::{Notifier, connect};
use crate::daemon::broker::{Page, RequestKind, RequestRow};
use crate::daemon::client::{self, Attached};
use ::notify::changes::{self, Beat};
use ::notify::event::{Event, Request};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use murmur_core::config::cron::Crons;
use murmur_core::config::file::File;
use murmur_core::config::heartbeat::HeartbeatId;
use murmur_core::config::notify::EventKind;
use murmur_core::config::short_names::{ShortNames, short};
use murmur_core::permit::request::{ANSWERED, RequestId};
use murmur_rpc::client::AskError;
use murmur_store::journal::entry::{JournalEntry, LineKind};
use murmur_store::journal::tail::{Position, Tail};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use sys::error::Hinted;
use sys::file::Stamp;
use sys::paths::DataDir;
use thiserror::Error;

/// How much of the journal is read at once, in bytes.
const AT_ONCE: u64 = 1 << 20;

/// The names that the user gave to workspaces. Agents can't change them, so they decide where notifications go.
#[derive(Debug)]
pub(super) struct Names {
    config: PathBuf,
    zone: TimeZone,
    stamp: Option<Stamp>,
    names: HashMap<PathBuf, String>,
    labels: ShortNames,
}

/// A heartbeat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NamedHeartbeat {
    pub(super) id: HeartbeatId,
    /// Its folder's name under `heartbeats/`, else the workspace's in config.json, else its folder's.
    pub(super) name: String,
    /// Its name in lists, which tells heartbeats of the same name apart.
    pub(super) label: String,
}

impl Names {
    pub(super) fn new(dir: &DataDir, zone: &TimeZone) -> Self {
        let (names, labels) = (HashMap::new(), ShortNames::default());
        Self { config: dir.config(), zone: zone.clone(), stamp: None, names, labels }
    }

    pub(super) fn of(&mut self, workspace: &str, heartbeat: Option<&str>) -> NamedHeartbeat {
        let stamp = Stamp::of(&self.config);
        if stamp != self.stamp {
            self.stamp = stamp;
            // The daemon reports a config.json that isn't readable.
            if let Ok(file) = File::read(&self.config, &Crons::new(self.zone.clone())) {
                let known: Vec<_> = file.workspaces.iter().flatten().collect();
                let named = known
                    .iter()
                    .filter_map(|known| Some((known.path.to_path_buf(), known.name.as_deref()?.to_owned())));
                self.names = named.collect();
                let paths: Vec<_> = known.iter().map(|known| known.path.to_string_lossy()).collect();
                self.labels = ShortNames::of(paths.iter().map(|path| &**path));
            }
        }
        let path = Path::new(workspace);
        let name = heartbeat.or_else(|| self.names.get(path).map(String::as_str));
        let name = name.map_or_else(|| short(workspace, None), str::to_owned);
        let label = self.labels.of_heartbeat(workspace, heartbeat);
        NamedHeartbeat { id: HeartbeatId::new(path, heartbeat), name, label }
    }
}

impl NamedHeartbeat {
    /// An event about it.
    fn event(&self, kind: EventKind, ts: String, text: &str) -> Event {
        let label = Some(self.label.clone()).filter(|label| *label != self.name);
        Event { heartbeat: Some(self.name.clone()), label, ..Event::new(kind, ts, text) }
    }
}

impl Notifier {
    /// Goes to the position in the journal at which the last notifier stopped, if the file is still the same.
    pub(super) fn skip_or_catch_up(&mut self, attached: &Attached) {
        let Some(known) = self.state.journal else { return };
        if known.number.is_some() {
            // The tail begins there.
            return;
        }
        if known.inode != attached.journal_inode || known.end > attached.journal_end {
            // It was rotated or replaced. What happened meanwhile is in `murmur log`.
            match Tail::from_end(self.dir.journal()) {
                Ok(tail) => self.tail = tail,
                Err(error) => self.complain(&format!("cannot read the journal: {error}")),
            }
            return;
        }
        // Pass over what was read before.
        let is_old = |position: Position| position.inode == known.inode && position.end <= known.end;
        while !self.tail_is_at(known.end) {
            let (mut new, dir) = (Vec::new(), self.dir.journal());
            let more = self.tail.read(AT_ONCE, |line| {
                if !is_old(line.position()) {
                    new.extend(line.entry());
                }
                Ok(())
            });
            for entry in new {
                self.on_entry(entry, sys::clock::now());
            }
            match more {
                Ok(true) => {}
                Ok(false) => return,
                Err(error) => return self.complain(&format!("cannot read {}: {error}", dir.display())),
            }
        }
    }

    fn tail_is_at(&self, end: u64) -> bool {
        self.tail.position().end >= end
    }

    /// Reads new journal lines.
    pub(super) fn read_journal(&mut self, now: Timestamp) {
        loop {
            let mut entries = Vec::new();
            let more = self.tail.read(AT_ONCE, |line| {
                entries.extend(line.entry());
                Ok(())
            });
            for entry in entries {
                self.on_entry(entry, now);
            }
            match more {
                Ok(true) => {}
                Ok(false) => return,
                Err(error) => return self.complain(&format!("cannot read the journal: {error}")),
            }
        }
    }

    fn on_entry(&mut self, entry: JournalEntry, now: Timestamp) {
        let known = self.names.of(&entry.workspace, entry.heartbeat.as_deref());
        let text = entry.text().map(|text| text.into_owned()).unwrap_or_default();
        let id = &known.id;
        let event = |kind| Event {
            workspace: Some(entry.workspace.clone()),
            agent: Some(entry.agent.clone()).filter(|agent| !agent.is_empty()),
            beat: entry.beat.clone(),
            ..known.event(kind, entry.ts.clone(), &text)
        };
        let news = match entry.kind {
            LineKind::Beat => {
                self.ping_end(&known, &entry);
                let beat = Beat {
                    id: id.as_str(),
                    outcome: entry.outcome,
                    is_waiting: entry.waiting.is_some(),
                    was_stopped: entry.is_stopped(),
                    cost_usd: entry.cost_usd,
                    // The outcome decides its kind.
                    event: event(EventKind::Recovered),
                };
                if let Some(missed) = &mut self.missed {
                    missed.beat_ended(&mut self.state, beat, &self.notify, now);
                    return;
                }
                if let Some(event) = changes::beat_ended(&mut self.state, beat, &self.notify, now) {
                    self.tell(&event, now);
                }
                return;
            }
            LineKind::Stuck => event(EventKind::Stuck),
            LineKind::Undecided => event(EventKind::Attention),
            LineKind::Failing => event(EventKind::Breaker),
            LineKind::Budget => event(EventKind::Budget),
            _ => return,
        };
        match &mut self.missed {
            Some(missed) => missed.add(id.as_str(), news, now),
            None => self.happened(id.as_str(), news, now),
        }
    }

    /// Tells an event other than the end of a beat, unless one of its kind was told just now.
    pub(super) fn happened(&mut self, id: &str, event: Event, now: Timestamp) {
        if let Some(event) = changes::happened(&mut self.state, id, event, &self.notify, now) {
            self.tell(&event, now);
        }
    }

    pub(super) fn request_opened(&mut self, row: &Value, now: Timestamp) {
        match RequestRow::deserialize(row) {
            Ok(row) => self.on_request(&row, now),
            Err(error) => self.complain(&format!("the daemon sent an unreadable request: {error}")),
        }
    }

    fn on_request(&mut self, row: &RequestRow, now: Timestamp) {
        if row.state == ANSWERED || !self.state.requests.insert(row.id.clone()) {
            return;
        }
        let workspace = row.workspace.display().to_string();
        let known = self.names.of(&workspace, row.heartbeat.as_deref());
        let event = Event {
            workspace: Some(workspace),
            agent: Some(row.agent.clone()),
            request: Some(Request {
                id: row.id.clone(),
                is_question: row.kind == RequestKind::Question,
                tool: row.tool.clone(),
                input: row.input.clone(),
                cwd: row.cwd.display().to_string(),
                doubt: row.doubt.clone(),
                // A deferred one stays open; the daemon says when it is closed.
                expires_at: row.expires_at.clone().filter(|_| !row.defers),
            }),
            ..known.event(EventKind::Waiting, row.asked_at.clone(), "")
        };
        self.tell(&event, now);
    }

    /// Records the requests that are open now, and forgets all others.
    pub(super) async fn read_requests(&mut self) {
        let Ok(rows) = self.requests().await else { return };
        let open: BTreeSet<RequestId> = rows.iter().map(|row| row.id.clone()).collect();
        let closed: Vec<RequestId> = self.state.requests.difference(&open).cloned().collect();
        for request in closed {
            ::notify::outbox::close(&mut self.state, &request, false, sys::clock::now());
        }
        for row in rows {
            self.on_request(&row, sys::clock::now());
        }
    }

    /// The open requests.
    pub(super) async fn requests(&self) -> Result<Vec<RequestRow>, DaemonError> {
        let mut daemon = connect(&self.dir).await.ok_or(DaemonError::Unreachable)?;
        let (mut rows, mut after) = (Vec::new(), None);
        loop {
            let page = daemon.answer_as::<Page>(
                "permission.list",
                json!({ "after": after }),
                client::ANSWER_TIMEOUT,
            );
            let Page { requests, next } = page.await?;
            rows.extend(requests);
            if next.is_none() {
                return Ok(rows);
            }
            after = next;
        }
    }
}

/// The daemon gave no answer.
#[derive(Debug, Error)]
pub(super) enum DaemonError {
    #[error("cannot reach the daemon")]
    Unreachable,
    #[error("{}", .0.failure().line())]
    Ask(#[from] AskError),
}
