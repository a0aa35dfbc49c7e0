//! Last runs waiting to be written to config.json, batched into one write.

use jiff::Timestamp;
use murmur_core::config::edit::{self, EditError, LastRun};
use std::collections::BTreeMap;
use std::path::PathBuf;
use sys::clock;
use sys::paths::DataDir;
use sys::replace::{Care, Replaced};

/// Runs that are not in config.json yet.
#[derive(Debug, Default)]
pub struct PendingRuns {
    runs: Runs,
}

/// When heartbeats started, by workspace and, for a named heartbeat, name.
pub type Runs = BTreeMap<(PathBuf, Option<String>), Timestamp>;

impl PendingRuns {
    /// Adds a run.
    pub fn add(&mut self, workspace: PathBuf, name: Option<String>, at: Timestamp) {
        let known = self.runs.entry((workspace, name)).or_insert(at);
        *known = at.max(*known);
    }

    /// Removes a run that did not start after all.
    pub fn forget(&mut self, workspace: PathBuf, name: Option<String>) {
        self.runs.remove(&(workspace, name));
    }

    /// Whether there is nothing to write.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Writes all runs. Returns them and the file that was replaced. On an error they stay pending.
    pub fn flush(&mut self, dir: &DataDir, care: Care) -> Result<(Runs, Option<Replaced>), EditError> {
        let mut runs = Vec::with_capacity(self.runs.len());
        for ((workspace, name), at) in &self.runs {
            runs.push(LastRun { workspace, name: name.as_deref(), at: *at });
        }
        let now = clock::now();
        let edit = |source: &str| edit::set_last_run(source, &runs, now);
        let replaced = edit::apply_at_once(&dir.config(), &dir.config_lock(), care, edit)?;
        Ok((std::mem::take(&mut self.runs), replaced))
    }
}
