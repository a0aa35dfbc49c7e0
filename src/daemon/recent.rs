//! Last runs on their way to config.json: gathered, so that many beats are one write, and made up for after a
//! crash from what the journal and `beats/` know.

use crate::config::edit::{self, EditError, LastRun};
use crate::journal::entry::Entry;
use crate::journal::read::{Backward, Entries};
use crate::sys::paths::DataDir;
use jiff::{SignedDuration, Timestamp};
use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

/// Runs that config.json does not have yet.
#[derive(Debug, Default)]
pub struct Pending {
    runs: Runs,
}

/// When what began: by workspace and, for a named heartbeat, name.
pub type Runs = BTreeMap<(PathBuf, Option<String>), Timestamp>;

impl Pending {
    /// Adds a run.
    pub fn add(&mut self, workspace: PathBuf, name: Option<String>, at: Timestamp) {
        self.runs.insert((workspace, name), at);
    }

    /// Takes a run back that did not begin after all.
    pub fn forget(&mut self, workspace: PathBuf, name: Option<String>) {
        self.runs.remove(&(workspace, name));
    }

    /// Whether there is nothing to write.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Writes them all, and returns what was written. On an error they stay.
    ///
    /// # Errors
    /// Why config.json was left as it is.
    pub fn flush(&mut self, dir: &DataDir) -> Result<Runs, EditError> {
        let mut runs = Vec::with_capacity(self.runs.len());
        for ((workspace, name), at) in &self.runs {
            runs.push(LastRun { workspace, name: name.as_deref(), at: *at });
        }
        edit::apply_at_once(&dir.config(), &dir.config_lock(), |source| edit::set_last_run(source, &runs))?;
        Ok(std::mem::take(&mut self.runs))
    }
}

/// How long before config.json's last change a run may have begun that it does not know of: a daemon writes runs
/// within a second. One that began earlier and is not in it was taken out by its user.
const MARGIN: SignedDuration = SignedDuration::from_secs(2);

/// The runs in the journal that config.json, last changed at `config_changed`, may not know of, newest first.
///
/// # Errors
/// What the system says of reading.
pub fn missed_runs(dir: &DataDir, config_changed: Timestamp) -> io::Result<Vec<Entry>> {
    let since = config_changed.checked_sub(MARGIN).unwrap_or(Timestamp::MIN);
    let mut entries = Entries::new(Backward::open(&dir.journal())?, Some(since));
    let mut runs = Vec::new();
    while let Some((entry, _)) = entries.next_entry(|_| true)? {
        if entry.kind.is_beat() && entry.started().is_some_and(|started| started >= since) {
            runs.push(entry);
        }
    }
    Ok(runs)
}
