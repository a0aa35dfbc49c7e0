//! Reads what keeps heartbeats from starting: what agents reported of usage limits, and what the journal says of
//! budgets.

use super::Runner;
use crate::daemon::budgets::{self, NewlyUsedUp};
use crate::daemon::heartbeats::Held;
use crate::daemon::state::Event;
use crate::outcome::notice;
use jiff::Timestamp;
use murmur_core::config::heartbeat::{Heartbeat, HeartbeatId};
use murmur_store::limits;
use std::collections::HashMap;
use std::io;
use sys::clock;
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

    /// Takes over the budgets of `heartbeats`; returns those that are over budget. Reports budgets that beats used up
    /// while no daemon ran.
    pub(super) fn load_budgets(&mut self, heartbeats: &[Heartbeat]) -> HashMap<HeartbeatId, Held> {
        let now = clock::now();
        let loaded = self.budgets.load(&self.dir.journal(), heartbeats.iter(), now);
        if self.log_unread_budgets(loaded) == Some(true) {
            let found = self.budgets.unreported(&self.dir.journal(), heartbeats.iter(), now);
            for newly in self.log_unread_budgets(found).unwrap_or_default() {
                self.report_budget(&newly, now);
            }
        }
        budgets::held(self.budgets.ledger(), heartbeats.iter(), now)
    }

    /// Reads new journal lines. Each budget that they use up gets a journal line of its own.
    pub(super) fn read_budgets(&mut self) -> Option<Event> {
        let now = clock::now();
        let heartbeats = self.state.heartbeats().entries().iter().map(|entry| &entry.heartbeat);
        if self.budgets.ledger().is_ahead(now) {
            let counted = self.budgets.count_again(&self.dir.journal(), heartbeats, now);
            self.log_unread_budgets(counted);
        } else {
            let read = self.budgets.read();
            let used_up = self.log_unread_budgets(read).unwrap_or_default();
            if used_up.is_empty() {
                return None;
            }
            for newly in &used_up {
                self.report_budget(newly, now);
            }
        }
        let heartbeats = self.state.heartbeats().entries().iter().map(|entry| &entry.heartbeat);
        Some(Event::OverBudget(budgets::held(self.budgets.ledger(), heartbeats, now)))
    }

    fn report_budget(&mut self, newly: &NewlyUsedUp, now: Timestamp) {
        let NewlyUsedUp { workspace, heartbeat, used_up } = newly;
        let line = notice::budget(workspace, heartbeat.as_deref(), used_up, now);
        (self.log)(line.summary.as_deref().unwrap_or_default());
        let kept = self.write_behind.keep(line);
        self.log_error(kept);
    }

    fn log_unread_budgets<T>(&mut self, read: io::Result<T>) -> Option<T> {
        let path = self.dir.journal();
        read.map_err(|error| {
            (self.log)(&format!("warning: cannot read {} for budgets: {error}", path.display()));
        })
        .ok()
    }
}
