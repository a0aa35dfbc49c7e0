//! The decisions on an agent's calls, followed in decisions.jsonl as it grows and is rotated.

use super::describe;
use murmur_core::id::AgentId;
use murmur_core::permit::decision::{DecidedBy, DecisionKind};
use murmur_outcome::refused::RefusedCalls;
use murmur_store::journal::decisions::read::Decided;
use murmur_store::journal::decisions::{DecisionLine, WITHDRAWN};
use secrets::mask;
use serde_json::{Map, Value};
use std::collections::{HashMap, VecDeque};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::PathBuf;
use sys::clock;
use sys::file::append_from;
use sys::lines::LineBuffer;

/// Decisions on an agent's calls since it was started.
#[derive(Debug)]
pub(super) struct Decisions {
    path: PathBuf,
    agent: AgentId,
    source: Option<Source>,
    /// The number of the first part of the rotated file that was not followed.
    unread: u64,
    /// The latest decision on each call without a result.
    pub(super) by_call: HashMap<String, DecisionKind>,
    /// The last calls that were decided and are over, oldest first.
    over: VecDeque<String>,
    /// The lines that allow these calls.
    allowing: HashMap<String, Vec<u8>>,
    /// The calls that were denied, in order: id and tool.
    denied: Vec<(String, String)>,
    pub(super) by_guard: Option<RefusedCalls>,
    pub(super) unanswered: Option<RefusedCalls>,
    pub(super) by_backend: Option<RefusedCalls>,
    /// The last call that was denied, and why.
    pub(super) last_denied: Option<String>,
    pub(super) breach: Option<String>,
    pub(super) failure: Option<String>,
}

/// How many calls that are over to remember. Their results can arrive before their hooks' connections are closed.
const OVER: usize = 64;

/// How much is read at once, in bytes.
const CHUNK: usize = 64 << 10;

/// The open file and the read position.
#[derive(Debug)]
struct Source {
    file: File,
    /// Its device and inode.
    identity: (u64, u64),
    at: u64,
    buffer: LineBuffer,
}

impl Decisions {
    /// Follows the decisions on `agent`'s calls that are appended to `path` from now on.
    pub(super) fn begin(path: PathBuf, agent: AgentId) -> Self {
        let mut decisions = Self {
            path,
            agent,
            source: None,
            unread: 0,
            by_call: HashMap::new(),
            over: VecDeque::new(),
            allowing: HashMap::new(),
            denied: Vec::new(),
            by_guard: None,
            unanswered: None,
            by_backend: None,
            last_denied: None,
            breach: None,
            failure: None,
        };
        let (source, number) = decisions.open(true);
        decisions.follow(source, number);
        decisions
    }

    /// Whether there is a decision on the call `id`.
    pub(super) fn has(&mut self, id: &str) -> bool {
        // Read every time: a later line may override an earlier one.
        self.read();
        self.by_call.contains_key(id)
    }

    /// Whether there is a decision on the call `id`, or was before its result.
    pub(super) fn has_or_had(&mut self, id: &str) -> bool {
        self.has(id) || self.over.iter().any(|over| over == id)
    }

    /// Records a decision that has no line.
    pub(super) fn deny(&mut self, id: &str, tool: &str) {
        self.decide(id.to_owned(), tool, DecisionKind::Deny);
    }

    /// Records that the call `id`, which was allowed, will not run, for this reason.
    pub(super) fn overrule(&mut self, id: &str, reason: &str) {
        self.read();
        let Some(line) = self.allowing.get(id) else { return };
        if let Ok(line) = overruled(line, reason) {
            self.append_bytes(&line);
        }
    }

    /// Appends a decision of murmur's own.
    pub(super) fn append(&mut self, line: &DecisionLine<'_>) {
        if let Ok(mut line) = serde_json::to_vec(line) {
            line.push(b'\n');
            self.append_bytes(&line);
        }
    }

    fn append_bytes(&mut self, line: &[u8]) {
        if rotate::append_line(&self.path, line).is_err() {
            self.add(line);
        }
    }

    /// Takes the decision on the call `id`, which is over.
    pub(super) fn end(&mut self, id: &str) -> Option<DecisionKind> {
        self.allowing.remove(id);
        let decision = self.by_call.remove(id)?;
        if self.over.len() == OVER {
            self.over.pop_front();
        }
        self.over.push_back(id.to_owned());
        Some(decision)
    }

    fn decide(&mut self, id: String, tool: &str, decision: DecisionKind) {
        // A later decision on a call replaces an earlier one.
        self.denied.retain(|(known, _)| id.is_empty() || *known != id);
        if decision == DecisionKind::Deny {
            self.denied.push((id.clone(), tool.to_owned()));
        }
        self.by_call.insert(id, decision);
    }

    /// The tools whose calls were denied, in order, one entry per call.
    pub(super) fn denials(&mut self) -> Vec<String> {
        self.read();
        self.denied.iter().map(|(_, tool)| tool.clone()).collect()
    }

    /// Reads new lines, also when the file was rotated.
    pub(super) fn read(&mut self) {
        let identity = |found: std::fs::Metadata| (found.dev(), found.ino());
        let there = self.path.symlink_metadata().ok().map(identity);
        // Only then: nothing is appended to a file after it was rotated.
        if let Some(mut source) = self.source.take() {
            self.take(&mut source);
            self.source = Some(source);
        }
        if there.is_some() && there != self.source.as_ref().map(|source| source.identity) {
            let (source, number) = self.open(false);
            self.read_parts(number);
            // An unreadable file has no decisions.
            if let Some(mut source) = source {
                self.take(&mut source);
                self.follow(Some(source), number);
            }
        }
    }

    /// Follows `source`, which will be the part `number`.
    fn follow(&mut self, source: Option<Source>, number: u64) {
        self.unread = number + u64::from(source.is_some());
        self.source = source;
    }

    /// Reads the parts that came and went between two looks at the path, up to the part `number`.
    fn read_parts(&mut self, number: u64) {
        for part in rotate::parts(&self.path).unwrap_or_default() {
            if !(self.unread..number).contains(&part.number()) {
                continue;
            }
            // An unreadable part has no decisions.
            let bytes = part.open().ok().and_then(|content| content.into_bytes().ok()).unwrap_or_default();
            bytes.split(|byte| *byte == b'\n').for_each(|line| self.add(line));
        }
        self.unread = self.unread.max(number);
    }

    /// Opens the file; also returns the number that it will have as a part.
    fn open(&self, at_end: bool) -> (Option<Source>, u64) {
        let number = || rotate::parts(&self.path).ok().and_then(|parts| Some(parts.last()?.number() + 1));
        let number = || number().unwrap_or(1);
        loop {
            let before = number();
            let source = self.open_file(at_end);
            if number() == before {
                return (source, before);
            }
        }
    }

    fn open_file(&self, at_end: bool) -> Option<Source> {
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
        let file = options.open(&self.path).ok()?;
        let found = file.metadata().ok().filter(std::fs::Metadata::is_file)?;
        let at = if at_end { found.len() } else { 0 };
        Some(Source { file, identity: (found.dev(), found.ino()), at, buffer: LineBuffer::new(usize::MAX) })
    }

    fn take(&mut self, source: &mut Source) {
        // Without a readable decision, the call counts as undecided.
        let _unread = source.lines(|line| self.add(line));
    }

    fn add(&mut self, bytes: &[u8]) {
        let Ok(line) = serde_json::from_slice::<Decided>(bytes) else { return };
        if line.agent != self.agent.as_str() {
            return;
        }
        if line.breach {
            let what = format!("{}: {}", describe(&line.tool, &line.input), line.reason);
            self.breach.get_or_insert(what);
            return;
        }
        if line.decision == DecisionKind::Deny {
            self.last_denied = Some(mask(&format!("{}: {}", describe(&line.tool, &line.input), line.reason)));
        }
        match (line.decision, &line.by) {
            (DecisionKind::Deny, DecidedBy::Guard(_)) => count(&mut self.by_guard, &line),
            (DecisionKind::Deny, DecidedBy::Nobody) => count(&mut self.unanswered, &line),
            (DecisionKind::Deny, DecidedBy::Backend) => count(&mut self.by_backend, &line),
            (_, DecidedBy::Failure) => {
                self.failure
                    .get_or_insert_with(|| format!("{}: {}", describe(&line.tool, &line.input), line.reason));
            }
            _ => {}
        }
        match line.decision {
            DecisionKind::Allow => self.allowing.insert(line.tool_use_id.clone(), bytes.to_owned()),
            DecisionKind::Deny | DecisionKind::Defer => self.allowing.remove(&line.tool_use_id),
        };
        // Nobody denied a call whose request ended with its agent: such a call doesn't run, but is no denial.
        let is_withdrawn = line.by == DecidedBy::Nobody && line.reason == WITHDRAWN;
        self.decide(line.tool_use_id, &line.tool, line.decision);
        if is_withdrawn {
            self.denied.pop();
        }
    }
}

/// The line that replaces `line`, which allows a call.
fn overruled(line: &[u8], reason: &str) -> serde_json::Result<Vec<u8>> {
    let mut line: Map<String, Value> = serde_json::from_slice(line)?;
    line.insert("ts".to_owned(), clock::rfc3339(clock::now()).into());
    line.insert("decision".to_owned(), serde_json::to_value(DecisionKind::Deny)?);
    line.insert("by".to_owned(), serde_json::to_value(DecidedBy::Backend)?);
    line.insert("reason".to_owned(), reason.into());
    line.insert("durationMs".to_owned(), 0.into());
    for key in ["answers", "request", "answeredBy"] {
        line.remove(key);
    }
    let mut line = serde_json::to_vec(&line)?;
    line.push(b'\n');
    Ok(line)
}

/// Adds the call of `line` to `refused`.
fn count(refused: &mut Option<RefusedCalls>, line: &Decided) {
    let none = || RefusedCalls { first: describe(&line.tool, &line.input), count: 0 };
    refused.get_or_insert_with(none).count += 1;
}

impl Source {
    fn lines(&mut self, mut sink: impl FnMut(&[u8])) -> io::Result<()> {
        let length = self.file.metadata()?.len();
        if length < self.at {
            // An incomplete line was truncated because the disk was full.
            (self.at, self.buffer) = (length, LineBuffer::new(usize::MAX));
        }
        loop {
            match append_from(&self.file, self.buffer.space(), self.at, CHUNK)? {
                0 => return Ok(()),
                read => self.at += read as u64,
            }
            while self.buffer.find().is_some() {
                sink(self.buffer.line());
            }
        }
    }
}
