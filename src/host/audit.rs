//! Whether every call of an agent was decided: what ran, by its events, is held against the lines that the hook writes to
//! decisions.jsonl meanwhile (docs/reference/hook.md, The record).
//!
//! In come events; out goes the first call that ran and was never decided, or that ran although it was denied. The hook writes its line before it answers, so
//! it is there when a call's result comes. What Claude Code refuses before it asks any hook (an unknown tool, an input
//! that is not valid) has a result in `UNRUN`, as measured on 2.1.197, 2.1.329 and 2.1.330.

use crate::agent::event::Event;
use crate::host::process::{breached, ran_denied};
use crate::permit::decision::{By, Verdict};
use crate::pulse::action;
use serde::Deserialize;
use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::PathBuf;
use sys::file::append_from;
use sys::lines::LineBuffer;

/// How the result of a call begins that Claude Code refused by itself. That of a command that failed has its exit code
/// first, so no command can write this.
const UNRUN: [&str; 2] = ["<tool_use_error>", "Permission to use "];

/// How the result of a call begins that a hook refused, or whose hook failed, and how the first line of it goes on.
const REFUSED: [&str; 2] = ["PreToolUse:", " hook error: "];

/// What was refused in a run, and which hooks failed.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Refusals {
    /// The first call that the guard refused, and how many it refused.
    pub by_guard: Option<(String, usize)>,
    /// Why the first hook that failed did so.
    pub failure: Option<String>,
}

/// Watches one agent's calls.
#[derive(Debug)]
pub(super) struct Audit {
    decisions: Decisions,
    /// The calls that have no result yet.
    open: Vec<Open>,
    /// Whether a line was passed over that may have held a call.
    has_lost_calls: bool,
    /// Whether one was that may have held a result.
    has_lost_results: bool,
    failure: Option<String>,
    /// A call that ran although it was denied.
    ran_denied: Option<String>,
}

#[derive(Debug)]
struct Open {
    id: String,
    /// The message that it is part of.
    message: String,
    /// Empty for a call of the agent itself.
    parent: String,
    /// In words, as `Bash(git push)`.
    words: String,
}

impl Audit {
    /// Watches `agent`, whose decisions are appended to `path` from now on.
    pub(super) fn begin(path: PathBuf, agent: &str) -> Self {
        let mut decisions = Decisions {
            path,
            agent: agent.to_owned(),
            source: None,
            verdicts: HashMap::new(),
            by_guard: None,
            breach: None,
            failure: None,
        };
        decisions.source = decisions.open(true);
        let (open, failure) = (Vec::new(), None);
        Self { decisions, open, has_lost_calls: false, has_lost_results: false, failure, ran_denied: None }
    }

    /// Takes what the agent did. `Some` is a call that ran and was not decided.
    pub(super) fn see(&mut self, event: &Event<'_>) -> Option<String> {
        match event {
            Event::ToolUse { message, parent, id, name, input } => {
                let lost = self.without_result(message, parent);
                self.open.push(Open {
                    id: id.clone().into_owned(),
                    message: message.clone().into_owned(),
                    parent: parent.clone().into_owned(),
                    words: words(name, input.0.get()),
                });
                lost
            }
            Event::Text { message, parent, .. } => self.without_result(message, parent),
            Event::ToolResult { id, output, is_error, .. } => self.ended(id, output, *is_error),
            Event::Oversized { .. } => {
                (self.has_lost_calls, self.has_lost_results) = (true, true);
                None
            }
            Event::Garbled => {
                self.has_lost_calls = true;
                None
            }
            Event::Result(_) => {
                let lost = self.without_result("", "");
                self.open.retain(|call| !call.parent.is_empty());
                lost
            }
            _ => None,
        }
    }

    /// What is said of a call that has run, and reached what it may not, as its hook found out afterwards, or was denied; told
    /// once.
    pub(super) fn breach(&mut self, event: &Event<'_>) -> Option<String> {
        if matches!(event, Event::ToolResult { .. } | Event::Result(_)) {
            self.decisions.read();
        }
        self.ran_denied.take().map(|call| ran_denied(&call)).or_else(|| {
            let call = self.decisions.breach.take()?;
            Some(breached(&call))
        })
    }

    /// Whether a decision on this call was recorded.
    pub(super) fn is_decided(&mut self, tool_use_id: &str) -> bool {
        self.decisions.has(tool_use_id)
    }

    /// What was refused until now.
    pub(super) fn refusals(&mut self) -> Refusals {
        self.decisions.read();
        let failure = self.failure.take().or_else(|| self.decisions.failure.clone());
        Refusals { by_guard: self.decisions.by_guard.clone(), failure }
    }

    fn ended(&mut self, id: &str, output: &str, is_error: bool) -> Option<String> {
        let found = self.open.iter().position(|call| call.id == id);
        let words = match found {
            Some(at) => self.open.swap_remove(at).words,
            None if self.has_lost_calls => "a call that could not be read".to_owned(),
            // Of a conversation that goes on.
            None => return None,
        };
        if is_error && UNRUN.iter().any(|start| output.starts_with(start)) {
            return None;
        }
        if self.decisions.has(id) {
            // A decision is good for one call.
            if self.decisions.verdicts.remove(id) == Some(Verdict::Deny) && !is_error {
                self.ran_denied.get_or_insert(words);
            }
            return None;
        }
        let [start, middle] = REFUSED;
        let first = output.lines().next().unwrap_or_default();
        if is_error && first.strip_prefix(start).is_some_and(|rest| rest.contains(middle)) {
            self.failure.get_or_insert_with(|| format!("{words}: {output}"));
            return None;
        }
        Some(words)
    }

    /// A call of an earlier message, whose result must have been in a line that was passed over. It ran: otherwise it
    /// would have had a short one.
    fn without_result(&mut self, message: &str, parent: &str) -> Option<String> {
        if !self.has_lost_results {
            return None;
        }
        let is_over = |call: &Open| call.parent == parent && call.message != message;
        let over: Vec<Open> = self.open.extract_if(.., |call| is_over(call)).collect();
        over.into_iter().find(|call| !self.decisions.has(&call.id)).map(|call| call.words)
    }
}

/// A call in words.
fn words(tool: &str, input: &str) -> String {
    let action = action::of(tool, input);
    if action.is_empty() { tool.to_owned() } else { format!("{tool}({action})") }
}

/// What was decided on an agent's calls since it was started.
#[derive(Debug)]
struct Decisions {
    path: PathBuf,
    agent: String,
    source: Option<Source>,
    /// Of each call that has no result yet, the last.
    verdicts: HashMap<String, Verdict>,
    by_guard: Option<(String, usize)>,
    breach: Option<String>,
    failure: Option<String>,
}

/// What is read at once, in bytes.
const CHUNK: usize = 64 << 10;

/// The file, from where it was not read yet.
#[derive(Debug)]
struct Source {
    file: File,
    /// Its device and number.
    identity: (u64, u64),
    at: u64,
    buffer: LineBuffer,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    agent: String,
    tool: String,
    #[serde(default)]
    input: String,
    #[serde(default)]
    tool_use_id: String,
    verdict: Verdict,
    by: By,
    #[serde(default)]
    reason: String,
    #[serde(default)]
    breach: bool,
}

impl Decisions {
    fn has(&mut self, id: &str) -> bool {
        // Always: a later line may say otherwise.
        self.read();
        self.verdicts.contains_key(id)
    }

    /// Reads on, also where the file was moved away and another one begun.
    fn read(&mut self) {
        if let Some(mut source) = self.source.take() {
            self.take(&mut source);
            self.source = Some(source);
        }
        let identity = |found: std::fs::Metadata| (found.dev(), found.ino());
        let there = self.path.symlink_metadata().ok().map(identity);
        if there.is_some() && there != self.source.as_ref().map(|source| source.identity) {
            // One that can't be read has no decisions.
            if let Some(mut source) = self.open(false) {
                self.take(&mut source);
                self.source = Some(source);
            }
        }
    }

    fn open(&self, at_end: bool) -> Option<Source> {
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
        let file = options.open(&self.path).ok()?;
        let found = file.metadata().ok().filter(std::fs::Metadata::is_file)?;
        let at = if at_end { found.len() } else { 0 };
        Some(Source { file, identity: (found.dev(), found.ino()), at, buffer: LineBuffer::new(usize::MAX) })
    }

    fn take(&mut self, source: &mut Source) {
        // What can't be read holds no decision, and the call is taken to have none.
        let _unread = source.lines(|line| self.add(line));
    }

    fn add(&mut self, line: &[u8]) {
        let Ok(line) = serde_json::from_slice::<Line>(line) else { return };
        if line.agent != self.agent {
            return;
        }
        if line.breach {
            let said = format!("{}: {}", words(&line.tool, &line.input), line.reason);
            self.breach.get_or_insert(said);
            return;
        }
        match (line.verdict, line.by) {
            (Verdict::Deny, By::Guard(_)) => {
                let first = || (words(&line.tool, &line.input), 0);
                self.by_guard.get_or_insert_with(first).1 += 1;
            }
            (_, By::Failure) => {
                self.failure
                    .get_or_insert_with(|| format!("{}: {}", words(&line.tool, &line.input), line.reason));
            }
            _ => {}
        }
        self.verdicts.insert(line.tool_use_id, line.verdict);
    }
}

impl Source {
    fn lines(&mut self, mut sink: impl FnMut(&[u8])) -> io::Result<()> {
        let length = self.file.metadata()?.len();
        if length < self.at {
            // A line that found no room was taken back.
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

#[cfg(test)]
mod tests;
