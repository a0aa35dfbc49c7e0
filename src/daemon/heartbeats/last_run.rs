//! Last runs: those in config.json, and those known from elsewhere.

use super::{Heartbeats, ScheduledHeartbeat};
use jiff::Timestamp;
use murmur_core::config::heartbeat::HeartbeatId;
use std::collections::HashMap;
use std::path::PathBuf;

/// Last runs by heartbeat.
pub type LastRuns = HashMap<HeartbeatId, Timestamp>;

/// A last run that differs from config.json's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Correction {
    /// The workspace.
    pub workspace: PathBuf,
    /// The name of a named heartbeat.
    pub name: Option<String>,
    /// When it last ran.
    pub at: Timestamp,
    /// The one in config.json, if any.
    pub written: Option<Timestamp>,
}

impl Correction {
    pub(super) fn of(entry: &ScheduledHeartbeat) -> Option<Self> {
        let (at, written) = (entry.last_run?, entry.heartbeat.last_run);
        let name = entry.heartbeat.name.as_deref().map(str::to_owned);
        (written != Some(at)).then(|| Self {
            workspace: entry.heartbeat.workspace.to_path_buf(),
            name,
            at,
            written,
        })
    }
}

impl Heartbeats {
    /// Adds last runs that config.json may not have. Never moves one back.
    pub fn merge_last_runs(&mut self, mut runs: LastRuns, now: Timestamp) {
        for entry in &mut self.entries {
            if entry.ran(runs.remove(&entry.heartbeat.id)) {
                entry.count_from(now);
            }
        }
        self.queue_all();
        for (id, at) in runs {
            let known = self.retired.entry(id).or_insert(at);
            *known = at.max(*known);
        }
    }

    /// The last runs that are later than config.json's.
    #[must_use]
    pub fn unwritten(&self) -> Vec<Correction> {
        let all = self.entries.iter().filter_map(Correction::of);
        all.filter(|correction| Some(correction.at) > correction.written).collect()
    }

    /// The last runs of heartbeats that are not in the configuration.
    #[must_use]
    pub fn retired(&self) -> &LastRuns {
        &self.retired
    }
}
