//! Last runs waiting to be written to config.json, batched into one write.

use super::heartbeats::HeartbeatRef;
use jiff::Timestamp;
use murmur_core::config::edit::{self, EditError, LastRun};
use std::collections::BTreeMap;
use sys::clock;
use sys::paths::DataDir;
use sys::replace::{OpenWriters, Replaced};

/// Runs that are not in config.json yet.
#[derive(Debug, Default)]
pub struct PendingRuns {
    runs: Runs,
}

/// When heartbeats started.
pub type Runs = BTreeMap<HeartbeatRef, Timestamp>;

impl PendingRuns {
    /// Adds a run.
    pub fn add(&mut self, heartbeat: HeartbeatRef, at: Timestamp) {
        let known = self.runs.entry(heartbeat).or_insert(at);
        *known = at.max(*known);
    }

    /// Removes a run that did not start after all.
    pub fn forget(&mut self, heartbeat: &HeartbeatRef) {
        self.runs.remove(heartbeat);
    }

    /// Whether there is nothing to write.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Writes all runs. Returns them and the file that was replaced. On an error they stay pending.
    pub fn flush(
        &mut self,
        dir: &DataDir,
        open_writers: OpenWriters,
    ) -> Result<(Runs, Option<Replaced>), EditError> {
        let mut runs = Vec::with_capacity(self.runs.len());
        for (HeartbeatRef { workspace, name }, at) in &self.runs {
            runs.push(LastRun { workspace, name: name.as_deref(), at: *at });
        }
        let now = clock::now();
        let edit = |source: &str| edit::set_last_run(source, &runs, now);
        let replaced = edit::apply_at_once(&dir.config(), &dir.config_lock(), open_writers, edit)?;
        Ok((std::mem::take(&mut self.runs), replaced))
    }
}
