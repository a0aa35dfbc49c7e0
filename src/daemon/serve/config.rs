//! Reloads config.json and writes last runs to it.

use super::Daemon;
use crate::config::heartbeat::HeartbeatId;
use crate::daemon::heartbeats::Correction;
use sys::shell;

impl<L: FnMut(&str)> Daemon<L> {
    pub(super) fn reload(&mut self) {
        let (problems, corrections) = self.config_watcher.reload(&mut self.state);
        for problem in problems {
            (self.log)(&problem);
        }
        for correction in &corrections {
            self.warn_of(correction);
        }
        self.correct(corrections);
    }

    /// Warns that a last run in config.json is ignored.
    pub(super) fn warn_of(&mut self, correction: &Correction) {
        let Correction { workspace, name, at, said } = correction;
        let id = HeartbeatId::new(workspace, name.as_deref());
        // A last run in the future is reported as a problem of config.json.
        if said.is_some_and(|said| said < *at) && !std::mem::replace(&mut self.warned_of_set_back, true) {
            let named =
                name.as_deref().map(|name| format!(" --name {}", shell::word(name))).unwrap_or_default();
            (self.log)(&format!(
                "warning: lastRun of {id} is older than its last run and is ignored; to run it now: murmur beat {}{named}",
                shell::path(workspace)
            ));
        }
    }

    /// Schedules the correct last runs to be written to config.json.
    pub(super) fn correct(&mut self, corrections: Vec<Correction>) {
        for Correction { workspace, name, at, .. } in corrections {
            self.write_behind.remember(workspace, name, at);
        }
    }

    /// Writes the last runs to config.json.
    pub(super) fn flush(&mut self) {
        if self.folder.check().is_some() {
            // It may be in the middle of being deleted.
            self.write_behind.postpone_flush();
            return;
        }
        match self.write_behind.flush(&self.state) {
            Ok(runs) => {
                for ((workspace, name), at) in runs {
                    self.state.set_written(&workspace, name.as_deref(), at);
                }
            }
            Err(error) => (self.log)(&error.line()),
        }
    }
}
