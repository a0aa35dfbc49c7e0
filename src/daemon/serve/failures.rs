//! Keeps the failures of heartbeats in failures.json.

use super::Runner;
use crate::daemon::state::Event;
use murmur_core::config::heartbeat::HeartbeatId;
use murmur_core::failures::Streak;
use murmur_store::failures;
use sys::file::Stamp;
use sys::unreadable::unwritable;

impl<L: FnMut(&str)> Runner<L> {
    /// Reads failures.json, if it changed.
    pub(super) fn read_failures(&mut self) -> Option<Event> {
        let stamp = Stamp::of(&self.dir.failures());
        if stamp == self.failures_read {
            return None;
        }
        self.failures_read = stamp;
        match failures::read(&self.dir) {
            Ok(streaks) => Some(Event::Failures(streaks)),
            Err(error) => {
                (self.log)(&format!("warning: {}", error.line()));
                None
            }
        }
    }

    /// Writes the failures of a heartbeat.
    pub(super) fn keep_streak(&mut self, id: &HeartbeatId, streak: Option<Streak>) {
        let written = failures::set(&self.dir, id, streak);
        self.log_error(written.map_err(|error| unwritable(&self.dir.failures(), &error)));
    }
}
