//! What a host records when its agent has ended: calls that ran without a decision, and unknown output. Until then it
//! is in the host's record, so that whoever cleans up after a killed host can record it.

use super::protocol::AgentInfo;
use jiff::Timestamp;
use murmur_agent::unknown::Unknown;
use murmur_outcome::notice::{self, EndedAgent};
use murmur_outcome::refused::UndecidedCalls;
use murmur_store::journal::{append, unknown};
use serde::{Deserialize, Serialize};
use sys::error::Failure;
use sys::paths::DataDir;
use sys::unreadable::unwritable;

/// What is not yet recorded of a hosted agent.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Unrecorded {
    /// Calls that ran without a decision.
    #[serde(rename = "unguarded", skip_serializing_if = "UndecidedCalls::is_empty")]
    pub undecided: UndecidedCalls,
    /// Unknown output.
    #[serde(skip_serializing_if = "Unknown::is_empty")]
    pub unknown: Unknown,
    /// The agent's version; empty if it doesn't say.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub version: String,
}

impl Unrecorded {
    /// Whether there is nothing to record.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.undecided.is_empty() && self.unknown.is_empty()
    }

    /// Whether it has as many calls, and as many names of unknown output, as `other`. Every chunk of output is
    /// compared, so how often each name was seen doesn't count.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        let size = |of: &Self| (of.undecided.count(), of.unknown.iter().count());
        size(self) == size(other)
    }

    /// Records it for the agent with this `info`, which ended `now`. What remains could not be recorded.
    ///
    /// # Errors
    /// If the journal, or else the counts of unknown output, are not writable.
    pub fn record(&mut self, dir: &DataDir, info: &AgentInfo, now: Timestamp) -> Result<(), Failure> {
        let agent = EndedAgent {
            agent_id: &info.agent_id,
            backend: &info.backend,
            folder: &info.worktree,
            started: info.started_at.parse().unwrap_or(now),
        };
        let line = notice::undecided(&self.undecided, agent, now);
        let journaled = line.map_or(Ok(()), |line| append::append(&dir.journal(), &line));
        if journaled.is_ok() {
            self.undecided = UndecidedCalls::default();
        }
        let counted = unknown::record(dir, &info.backend.to_string(), &self.version, &self.unknown, now);
        if counted.is_ok() {
            self.unknown = Unknown::default();
        }
        journaled.map_err(|error| unwritable(&dir.journal(), &error))?;
        counted.map_err(|error| unwritable(&dir.unknown(), &error))
    }
}
