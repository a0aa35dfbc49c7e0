//! Why calls of a beat were denied, from decisions.jsonl.

use super::choose::Run;
use jiff::Timestamp;
use murmur_agent::transcript::Call;
use murmur_core::permit::decision::{By, Verdict};
use murmur_store::journal::decisions::read::{Filter, newest};
use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use sys::paths::DataDir;

/// The denials of a beat. They are read once a call has failed, and again while the beat is running.
#[derive(Debug)]
pub(in crate::cli) struct Denials {
    path: PathBuf,
    filter: Filter,
    is_running: bool,
    /// The last decision on each call: why it was denied, or `None` if it was not.
    decided: Option<HashMap<String, Option<String>>>,
}

impl Denials {
    /// The denials of `run`.
    pub(super) fn new(dir: &DataDir, run: &Run) -> Self {
        let filter = Filter { name: Some(run.entry.agent.clone()), since: run.entry.started() };
        Self { path: dir.decisions(), filter, is_running: run.is_running, decided: None }
    }

    /// The denials of the agent of a beat that begins.
    pub(in crate::cli) fn from_now(dir: &DataDir, agent: &str, now: Timestamp) -> Self {
        let filter = Filter { name: Some(agent.to_owned()), since: Some(now) };
        Self { path: dir.decisions(), filter, is_running: true, decided: None }
    }

    /// Why the call was denied: `by the guard: …`, or the reason alone, which names a rule or a person. `None` if it was not.
    pub(super) fn of(&mut self, call: &Call) -> io::Result<Option<String>> {
        if !call.result.as_ref().is_some_and(|result| result.is_error) {
            return Ok(None);
        }
        let decided =
            match self.decided.take().filter(|decided| !self.is_running || decided.contains_key(&call.id)) {
                Some(decided) => decided,
                None => self.read()?,
            };
        let denied = decided.get(&call.id).cloned().flatten();
        self.decided = Some(decided);
        Ok(denied)
    }

    fn read(&self) -> io::Result<HashMap<String, Option<String>>> {
        let (found, _unreadable) = newest(&self.path, &self.filter, usize::MAX)?;
        Ok(found
            .into_iter()
            .map(|found| {
                let why = match found.decided.by {
                    By::Guard(_) => format!("by the guard: {}", found.decided.reason),
                    _ => found.decided.reason,
                };
                (found.decided.tool_use_id, (found.decided.verdict == Verdict::Deny).then_some(why))
            })
            .collect())
    }
}
