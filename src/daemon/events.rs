//! The daemon's stream of events: what begins by the records in `beats/`, what ends by the journal's lines.
//!
//! So beats by hand and of earlier daemons are in it as well, and every line of the journal that comes while the
//! daemon runs is one event, with the place behind it: who loses the daemon reads on from there. Nothing here waits;
//! the loop says when there may be something new.

use super::broker::Told;
use super::client::Attached;
use super::hosts::News;
use crate::host::protocol::Card;
use crate::host::record::Record;
use crate::journal::entry::{Entry, LineKind};
use crate::journal::tail::{Position, Tail};
use crate::journal::unfinished::Survey;
use crate::rpc::envelope::event_line;
use crate::rpc::feed::{Feed, Reader};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::io;
use std::path::Path;
use std::sync::Arc;
use sys::clock::rfc3339;
use sys::error::Failure;
use sys::failure;
use sys::held;
use sys::paths::DataDir;

/// How much of the journal is read at once, in bytes, so that a flood of lines keeps no question waiting, and is fewer
/// events than the feed keeps: no reader that is quick enough finds a gap.
const AT_ONCE: u64 = 64 << 10;

/// The stream.
#[derive(Debug)]
pub struct Events {
    feed: Arc<Feed>,
    tail: Tail,
    /// Beats whose beginning was told and whose end was not.
    running: HashSet<String>,
    /// Beats whose end was told although their record may still be there.
    ended: HashSet<String>,
}

/// `beat_started`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Started {
    /// When, RFC 3339.
    pub ts: String,
    /// The beat's id.
    pub beat: String,
    /// The agent's id.
    pub agent: String,
    /// The workspace's path.
    pub workspace: String,
    /// The name of a named heartbeat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heartbeat: Option<String>,
    /// Whether a daemon started it.
    pub scheduled: bool,
}

/// `beat_ended`, `agent_stuck`, `journal_line`: a line of the journal.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Ended {
    /// The file the line is in.
    pub journal_inode: u64,
    /// The byte behind the line.
    pub journal_end: u64,
    /// The line, without its turns.
    #[serde(flatten)]
    pub entry: Entry,
}

/// `host_started`.
#[derive(Debug, Serialize)]
struct Host<'a> {
    #[serde(flatten)]
    card: &'a Card,
    /// The host's process.
    pid: u32,
}

impl Events {
    /// The first event will be of what comes behind the journal's end as it is now.
    #[must_use]
    pub fn new(dir: &DataDir) -> Self {
        // One that cannot be read now is read from its start once it can be; who follows knows what it has seen.
        let tail = Tail::from_end(dir.journal()).unwrap_or_else(|_| Tail::from_start(dir.journal()));
        Self { feed: Feed::new(String::new(), None), tail, running: HashSet::new(), ended: HashSet::new() }
    }

    /// Tells of beats that have begun since the last look.
    pub fn begun(&mut self, survey: &Survey) {
        let found: HashSet<&str> = survey.running.iter().map(|begun| begun.entry.beat.as_str()).collect();
        self.ended.retain(|beat| found.contains(beat.as_str()));
        for begun in &survey.running {
            if !self.ended.contains(&begun.entry.beat) {
                self.start(Started::new(&begun.entry, begun.is_scheduled()));
            }
        }
    }

    /// Whether `beat` was told to have begun, and not to have ended.
    #[must_use]
    pub fn has_begun(&self, beat: &str) -> bool {
        self.running.contains(beat)
    }

    /// Tells of a beat that has begun, unless that was told.
    fn start(&mut self, started: Started) {
        if self.running.insert(started.beat.clone()) {
            self.push("beat_started", &started.agent, &started);
        }
    }

    /// A beat that was to begin did not, since another one has the workspace.
    pub fn not_begun(&self, beat: &str, agent: &str, error: &str) {
        self.push(
            "beat_refused",
            agent,
            &serde_json::json!({ "beat": beat, "agent": agent, "error": error }),
        );
    }

    /// Tells of the journal's new lines, shows them to `see`, and says whether there may be more. A beat of which `is_ours` is true has
    /// begun, even if it was over before anybody looked.
    ///
    /// # Errors
    /// What the system says of reading the journal.
    pub fn ended(&mut self, is_ours: impl Fn(&str) -> bool, mut see: impl FnMut(&Entry)) -> io::Result<bool> {
        let mut ended = Vec::new();
        let more = self.tail.read(AT_ONCE, |line| {
            ended.extend(line.entry().map(|entry| (entry, line.position())));
            Ok(())
        });
        for (entry, Position { inode, end }) in ended {
            let agent = entry.agent.clone();
            if !entry.kind.is_beat() {
                let event_type = if entry.kind == LineKind::Stuck { "agent_stuck" } else { "journal_line" };
                self.push(event_type, &agent, &Ended { journal_inode: inode, journal_end: end, entry });
                continue;
            }
            see(&entry);
            if is_ours(&entry.beat) {
                self.start(Started::new(&entry, true));
            }
            self.running.remove(&entry.beat);
            if !entry.beat.is_empty() {
                self.ended.insert(entry.beat.clone());
            }
            self.push("beat_ended", &agent, &Ended { journal_inode: inode, journal_end: end, entry });
        }
        more
    }

    /// A reader of the events from `from` on, or of those to come; and what goes with it.
    ///
    /// # Errors
    /// That there is no such event yet.
    pub fn attach(&self, from: Option<u64>, started: Timestamp) -> Result<(Attached, Reader), Failure> {
        let next = self.feed.next();
        if let Some(from) = from.filter(|from| *from > next) {
            return Err(failure!(
                "there is no event {from}, the next one is {next}";
                "attach from {next} on: numbers begin anew with every daemon, and started_at tells one from another"
            ));
        }
        let Position { inode, end } = self.tail.position();
        let started_at = rfc3339(started);
        let attached = Attached { started_at, next, journal_inode: inode, journal_end: end };
        Ok((attached, self.feed.reader(from)))
    }

    /// Tells of a host that came or went; hosts are in `folder`.
    pub fn host(&self, folder: &Path, news: &News) {
        match news {
            News::Began(record) => {
                let agent = record.card.agent_id.as_str();
                self.push("host_started", agent, &Host { card: &record.card, pid: record.host.pid });
            }
            News::Ended(record) => {
                let agent = &record.card.agent_id;
                let found = held::look(&folder.join(agent.record()));
                let last = found.and_then(|found| Record::parse(&found.text));
                let result = last.filter(|last| last.host == record.host).and_then(|last| last.result);
                let payload =
                    serde_json::json!({ "agent_id": agent, "kind": record.card.kind, "result": result });
                self.push("host_ended", agent.as_str(), &payload);
            }
        }
    }

    /// Tells of a request that waits for a person, or that does not any more.
    pub fn request(&self, told: &Told) {
        match told {
            Told::Requested(row) => self.push("request_opened", &row.agent, row),
            Told::Closed(row, how) => {
                let payload = serde_json::json!({ "id": row.id.as_str(), "agent": row.agent, "how": how });
                self.push("request_closed", &row.agent, &payload);
            }
            Told::Trouble(_) => {}
        }
    }

    /// There will be no more.
    pub fn end(&self) {
        self.feed.end();
    }

    fn push(&self, event_type: &str, agent: &str, payload: &impl Serialize) {
        self.feed.push(event_line(event_type, agent, self.feed.next(), payload).into());
        self.feed.tell();
    }
}

impl Started {
    fn new(entry: &Entry, scheduled: bool) -> Self {
        Self {
            ts: entry.ts.clone(),
            beat: entry.beat.clone(),
            agent: entry.agent.clone(),
            workspace: entry.workspace.clone(),
            heartbeat: entry.heartbeat.clone(),
            scheduled,
        }
    }
}
