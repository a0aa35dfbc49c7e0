//! What a host records when its agent has ended: calls that ran without a decision, and unknown output. Until then it
//! is in the host's record, so that whoever cleans up after a killed host can record it.

use super::local_rules::UndecidedCalls;
use super::protocol::AgentInfo;
use jiff::Timestamp;
use murmur_agent::unknown::Unknown;
use murmur_core::outcome::{OutcomeKind, SUMMARY, first_characters};
use murmur_store::journal::entry::{JournalEntry, LineKind};
use murmur_store::journal::{append, unknown};
use serde::{Deserialize, Serialize};
use sys::clock::rfc3339;
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
        let line = self.undecided.journal_line(info, now);
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

impl UndecidedCalls {
    /// The journal line about these calls of an agent that ended `now`; `None` if there are none.
    fn journal_line(&self, info: &AgentInfo, now: Timestamp) -> Option<JournalEntry> {
        let first = self.calls.first()?;
        let others = match self.count() - 1 {
            0 => String::new(),
            others => format!(" and {others} more"),
        };
        let refused = [(&self.by_guard, "the guard refuses"), (&self.by_rules, "your rules deny")];
        let refused = refused
            .into_iter()
            .filter_map(|(calls, refuses)| Some(format!("; {refuses} {}", calls.as_ref()?.first)));
        let refused: String = refused.collect();
        let summary =
            format!("agent {} ran calls without a decision: {first}{others}{refused}", info.agent_id);
        let started = info.started_at.parse().unwrap_or(now);
        Some(JournalEntry {
            summary: Some(first_characters(&summary, SUMMARY)),
            kind: LineKind::Undecided,
            agent: info.agent_id.to_string(),
            backend: info.backend.clone(),
            undecided: self.calls.clone(),
            undecided_more: self.more,
            ..JournalEntry::new(
                rfc3339(started),
                info.worktree.display().to_string(),
                OutcomeKind::Attention,
                u64::try_from(now.duration_since(started).as_millis()).unwrap_or_default(),
            )
        })
    }
}
