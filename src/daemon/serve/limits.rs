//! Reads what agents reported of usage limits.

use super::Runner;
use crate::daemon::state::Event;
use murmur_store::limits;
use sys::file::Stamp;

impl<L: FnMut(&str)> Runner<L> {
    /// Reads limits.json, if it changed.
    pub(super) fn read_limits(&mut self) -> Option<Event> {
        let stamp = Stamp::of(&self.dir.limits());
        if stamp == self.limits_read {
            return None;
        }
        self.limits_read = stamp;
        match limits::read(&self.dir) {
            Ok(limits) => Some(Event::Limits(limits)),
            Err(error) => {
                (self.log)(&format!("warning: {}", error.line()));
                None
            }
        }
    }
}
