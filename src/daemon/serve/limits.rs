//! Reads what keeps heartbeats from starting: what agents reported of usage limits, and what the journal says of
//! budgets.

use super::Runner;
use crate::daemon::budgets::{self, NewlyUsedUp};
use crate::daemon::heartbeats::HeartbeatHold;
use crate::daemon::state::Event;
use jiff::Timestamp;
use murmur_core::config::heartbeat::{Heartbeat, HeartbeatId};
use murmur_outcome::notice;
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

    /// Loads the budgets of `heartbeats`; returns those that are over budget. Reports budgets that beats used up
    /// while no daemon ran.
    pub(super) fn load_budgets(&mut self, heartbeats: &[Heartbeat]) -> HashMap<HeartbeatId, HeartbeatHold> {
        let now = clock::now();
        let loaded = self.budgets.load(&self.dir.journal(), heartbeats.iter(), now);
        let unreported = match loaded {
            Ok(true) => self.budgets.unreported(&self.dir.journal(), heartbeats.iter(), now),
            loaded => loaded.map(|_| Vec::new()),
        };
        self.report_budgets(unreported, now);
        budgets::held(self.budgets.ledger(), heartbeats.iter(), now)
    }

    /// Reads new journal lines. Each budget that they use up gets a journal line of its own.
    pub(super) fn read_budgets(&mut self) -> Option<Event> {
        let now = clock::now();
        let journal = self.dir.journal();
        let heartbeats = || self.state.heartbeats().entries().iter().map(|entry| &entry.heartbeat);
        if self.budgets.is_outdated(now) {
            let counted = self.budgets.count_again(&journal, heartbeats(), now);
            let unreported = counted.and_then(|()| self.budgets.unreported(&journal, heartbeats(), now));
            self.report_budgets(unreported, now);
        } else {
            let (used_up, read) = self.budgets.read();
            let is_unchanged = used_up.is_empty();
            self.report_budgets(Ok(used_up), now);
            self.report_budgets(read.map(|()| Vec::new()), now);
            if is_unchanged {
                return None;
            }
        }
        let heartbeats = self.state.heartbeats().entries().iter().map(|entry| &entry.heartbeat);
        Some(Event::OverBudget(budgets::held(self.budgets.ledger(), heartbeats, now)))
    }

    /// Reports budgets that are used up, or why the journal is not readable.
    fn report_budgets(&mut self, used_up: io::Result<Vec<NewlyUsedUp>>, now: Timestamp) {
        let used_up = used_up.unwrap_or_else(|error| {
            let problem = format!("cannot read {} for budgets: {error}", self.dir.journal().display());
            let warning = format!("warning: {problem}");
            if self.budgets.fail(problem) {
                (self.log)(&warning);
            }
            Vec::new()
        });
        for NewlyUsedUp { workspace, heartbeat, used_up } in used_up {
            let line = notice::budget(&workspace, heartbeat.as_deref(), &used_up, now);
            (self.log)(line.summary.as_deref().unwrap_or_default());
            let kept = self.write_behind.keep(line);
            self.log_error(kept);
        }
    }
}
