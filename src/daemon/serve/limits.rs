//! Reads what agents reported of usage limits.

use super::Runner;
use crate::daemon::state::Event;
use crate::limits;
use std::os::unix::fs::MetadataExt;

/// Identifies the contents of a file that is only ever replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileIdentity {
    inode: u64,
    changed: (i64, i64),
}

impl<L: FnMut(&str)> Runner<L> {
    /// Reads limits.json, if it changed.
    pub(super) fn read_limits(&mut self) -> Option<Event> {
        let identity = std::fs::metadata(self.dir.limits())
            .ok()
            .map(|found| FileIdentity { inode: found.ino(), changed: (found.ctime(), found.ctime_nsec()) });
        if identity == self.limits_read {
            return None;
        }
        self.limits_read = identity;
        match limits::read(&self.dir) {
            Ok(limits) => Some(Event::Limits(limits)),
            Err(error) => {
                (self.log)(&format!("warning: {}", error.line()));
                None
            }
        }
    }
}
