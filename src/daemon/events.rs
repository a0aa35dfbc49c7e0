//! The daemon's event stream: beats start with a record in `beats/` and end with a journal line.
//!
//! So it includes manual beats and those of earlier daemons. Every new journal line is one event with the offset after
//! it, so a client that loses the daemon can read on from there. Nothing here waits; the loop says when to check.

use super::broker::BrokerEvent;
use super::client::Attached;
use super::heartbeats::HoldChange;
use super::hosts::HostChange;
use super::notifier_process::read_up_to;
use ::notify::state::JournalPosition;
use jiff::Timestamp;
use murmur_core::id::{AgentId, BeatId};
use murmur_host::protocol::AgentInfo;
use murmur_host::record::Record;
use murmur_rpc::envelope::event_line;
use murmur_rpc::feed::{Feed, Reader};
use murmur_store::journal::entry::{JournalEntry, LineKind};
use murmur_store::journal::tail::{Position, Tail};
use murmur_store::journal::unfinished::Survey;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::io;
use std::path::Path;
use std::sync::Arc;
use sys::clock::rfc3339;
use sys::error::Failure;
use sys::failure;
use sys::paths::DataDir;
use sys::process_lock;

/// How much of the journal is read at once, in bytes: little enough to keep clients served, and fewer events than the
/// feed keeps, so fast readers see no gap.
const AT_ONCE: u64 = 64 << 10;

/// The event stream.
#[derive(Debug)]
pub struct Events {
    feed: Arc<Feed>,
    tail: Tail,
    /// Beats that were reported as started and not as ended.
    running: HashSet<BeatId>,
    /// Beats that were reported as ended although their record may still exist.
    ended: HashSet<BeatId>,
}

/// `beat_started`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct BeatStarted {
    /// When, RFC 3339.
    pub ts: String,
    /// The beat's id.
    pub beat: BeatId,
    /// The agent's id.
    pub agent: AgentId,
    /// The workspace's path.
    pub workspace: String,
    /// The name of a named heartbeat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heartbeat: Option<String>,
    /// Whether a daemon started it.
    pub scheduled: bool,
}

/// `beat_ended`, `agent_stuck`, `heartbeat_failing`, `budget_used_up`, `journal_line`: a journal line. The aliases are
/// the keys of older daemons.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JournalLineEvent {
    /// The inode of the line's file.
    #[serde(alias = "journal_inode")]
    pub journal_inode: u64,
    /// The byte offset after the line.
    #[serde(alias = "journal_end")]
    pub journal_end: u64,
    /// The line, without its turns.
    #[serde(flatten)]
    pub entry: JournalEntry,
}

/// `host_started`.
#[derive(Debug, Serialize)]
struct Host<'a> {
    #[serde(flatten)]
    info: &'a AgentInfo,
    /// The host's process id.
    pid: u32,
}

impl Events {
    /// Starts at the journal's current end.
    #[must_use]
    pub fn new(dir: &DataDir) -> Self {
        // An unreadable journal is read from its start once it is readable.
        let tail = Tail::from_end(dir.journal()).unwrap_or_else(|_| Tail::from_start(dir.journal()));
        Self { feed: Feed::new(None, None), tail, running: HashSet::new(), ended: HashSet::new() }
    }

    /// Up to where the journal was read.
    #[must_use]
    pub fn journal(&self) -> JournalPosition {
        read_up_to(&self.tail)
    }

    /// Reports beats that started since the last call.
    pub fn begun(&mut self, survey: &Survey) {
        let beats = survey.running.iter().filter_map(|begun| begun.entry.beat.as_ref());
        let found: HashSet<&BeatId> = beats.collect();
        self.ended.retain(|beat| found.contains(beat));
        for begun in &survey.running {
            let started = BeatStarted::new(&begun.entry, begun.is_scheduled());
            if let Some(started) = started.filter(|started| !self.ended.contains(&started.beat)) {
                self.start(started);
            }
        }
    }

    /// Whether `beat` was reported as started and not as ended.
    #[must_use]
    pub fn has_begun(&self, beat: &BeatId) -> bool {
        self.running.contains(beat)
    }

    /// Reports a started beat, unless it was reported before.
    fn start(&mut self, started: BeatStarted) {
        if self.running.insert(started.beat.clone()) {
            self.push("beat_started", started.agent.as_str(), &started);
        }
    }

    /// Reports that a beat did not start because another one holds the workspace.
    pub fn not_started(&self, beat: &BeatId, agent: &AgentId, error: &str) {
        self.push(
            "beat_refused",
            agent.as_str(),
            &serde_json::json!({ "beat": beat, "agent": agent, "error": error }),
        );
    }

    /// Reports new journal lines, passes them to `see`, and returns whether there may be more. A beat for which
    /// `is_ours` is true is reported as started first if it was not.
    pub fn ended(
        &mut self,
        is_ours: impl Fn(&BeatId) -> bool,
        mut see: impl FnMut(&JournalEntry),
    ) -> io::Result<bool> {
        let mut ended = Vec::new();
        let more = self.tail.read(AT_ONCE, |line| {
            ended.extend(line.entry().map(|entry| (entry, line.position())));
            Ok(())
        });
        for (entry, Position { inode, end }) in ended {
            let agent = entry.agent.clone();
            if !entry.kind.is_beat() {
                let event_type = match entry.kind {
                    LineKind::Stuck => "agent_stuck",
                    LineKind::Failing => "heartbeat_failing",
                    LineKind::Budget => "budget_used_up",
                    LineKind::Beat | LineKind::Undecided | LineKind::Other => "journal_line",
                };
                self.push(
                    event_type,
                    &agent,
                    &JournalLineEvent { journal_inode: inode, journal_end: end, entry },
                );
                continue;
            }
            see(&entry);
            if let Some(started) = BeatStarted::new(&entry, true).filter(|started| is_ours(&started.beat)) {
                self.start(started);
            }
            if let Some(beat) = &entry.beat {
                self.running.remove(beat);
                self.ended.insert(beat.clone());
            }
            self.push(
                "beat_ended",
                &agent,
                &JournalLineEvent { journal_inode: inode, journal_end: end, entry },
            );
        }
        more
    }

    /// Returns a reader of the events from `from` on, or of new events only.
    pub fn attach(&self, from: Option<u64>, started: Timestamp) -> Result<(Attached, Reader), Failure> {
        let next = self.feed.next();
        if let Some(from) = from.filter(|from| *from > next) {
            return Err(failure!(
                "event {from} does not exist yet; the next one is {next}";
                "attach from {next}: event numbers restart with each daemon; compare startedAt"
            ));
        }
        let Position { inode, end } = self.tail.position();
        let started_at = rfc3339(started);
        let attached = Attached { started_at, next, journal_inode: inode, journal_end: end };
        Ok((attached, self.feed.reader(from)))
    }

    /// Reports that a host started or ended; `folder` holds the hosts.
    pub fn host(&self, folder: &Path, change: &HostChange) {
        match change {
            HostChange::Started(record) => {
                let agent = record.info.agent_id.as_str();
                self.push("host_started", agent, &Host { info: &record.info, pid: record.host.pid });
            }
            HostChange::Ended(record) => {
                let agent = &record.info.agent_id;
                let found = process_lock::look(&folder.join(agent.record()));
                let last = found.and_then(|found| Record::parse(&found.text));
                let result = last.filter(|last| last.host == record.host).and_then(|last| last.result);
                let payload =
                    serde_json::json!({ "agent_id": agent, "kind": record.info.kind, "result": result });
                self.push("host_ended", agent.as_str(), &payload);
            }
        }
    }

    /// Reports that a request was opened or closed.
    pub fn request(&self, event: &BrokerEvent) {
        match event {
            BrokerEvent::Opened(row) => self.push("request_opened", &row.agent, row),
            BrokerEvent::Closed(row, how) => {
                let payload = serde_json::json!({ "id": row.id.as_str(), "agent": row.agent, "how": how });
                self.push("request_closed", &row.agent, &payload);
            }
            BrokerEvent::Error(_) => {}
        }
    }

    /// Reports that an account is on hold, or no longer.
    pub fn hold(&self, change: &HoldChange) {
        let account = change.account.as_str();
        let Some(hold) = &change.hold else {
            self.push("account_released", "", &serde_json::json!({ "account": account }));
            return;
        };
        let payload = serde_json::json!({
            "account": account,
            "window": hold.window,
            "resetsAt": rfc3339(hold.resets_at),
            "until": rfc3339(hold.until),
        });
        self.push("account_held", "", &payload);
    }

    /// Ends the stream.
    pub fn end(&self) {
        self.feed.end();
    }

    fn push(&self, event_type: &str, agent: &str, payload: &impl Serialize) {
        self.feed.push(event_line(event_type, agent, self.feed.next(), payload).into());
        self.feed.notify();
    }
}

impl BeatStarted {
    /// The start of the beat of `entry`; `None` if it has no id, or no valid one of its agent.
    fn new(entry: &JournalEntry, scheduled: bool) -> Option<Self> {
        Some(Self {
            ts: entry.ts.clone(),
            beat: entry.beat.clone()?,
            agent: AgentId::parse(&entry.agent).ok()?,
            workspace: entry.workspace.clone(),
            heartbeat: entry.heartbeat.clone(),
            scheduled,
        })
    }
}
