//! When the host's loop ends its agent, and for what reason: its time, its turns, or nothing more to come of it.

use super::Host;
use crate::host::event::{Own, Progress};
use crate::host::limits::{Allowance, Turns};
use crate::host::process::{Ending, undecided};
use crate::host::protocol::GRACE;
use crate::host::state::Input;
use std::time::Duration;
use tokio::time::Instant;

impl<S: FnMut(Progress<'_>, Duration)> Host<'_, S> {
    /// When its time is up, if it runs.
    pub(super) fn times_out_at(&self) -> Option<Instant> {
        self.allowance.as_ref().filter(|_| self.stopped.is_none())?.ends_at()
    }

    /// When it is ended because its turn is over and no other has begun.
    pub(super) fn settles_at(&self) -> Option<Instant> {
        let limits = self.spec.limits.filter(|_| self.stopped.is_none())?;
        Some(self.begun + self.watched.ended_turn()? + limits.background_wait)
    }

    /// Has its time stand still while it waits for people.
    pub(super) fn count_time(&mut self) {
        let is_waiting = self.watched.is_waiting();
        if let Some(allowance) = &mut self.allowance {
            allowance.stand_still(is_waiting, Instant::now());
        }
    }

    /// Ends it, for this reason if it is the first one.
    pub(super) fn end_as(&mut self, reason: impl FnOnce(&Self) -> Ending) {
        if self.stopped.is_none() {
            self.stopped = Some(reason(self));
        }
        self.take(Input::Stop { force: false, grace: GRACE });
    }

    pub(super) fn stop(&mut self, force: bool, grace: Duration) {
        let after = self.begun.elapsed();
        if self.stopped.is_none() {
            self.stopped = Some(Ending::Stopped { after, doing: self.watched.doing(after) });
        }
        self.take(Input::Stop { force, grace });
    }

    /// Kills it: a call of it ran that murmur had not decided on.
    pub(super) fn end_undecided(&mut self, call: String) {
        self.keep.own(Own::Problem { text: undecided(&call) });
        self.stopped.get_or_insert(Ending::Undecided { call });
        self.take(Input::Stop { force: true, grace: Duration::ZERO });
    }

    /// Kills it: a call of it did what it may not.
    pub(super) fn end_breached(&mut self, said: String) {
        self.keep.own(Own::Problem { text: said.clone() });
        self.stopped.get_or_insert(Ending::Breach { said });
        self.take(Input::Stop { force: true, grace: Duration::ZERO });
    }

    /// Ends it, as its turn is over: its answer decides.
    pub(super) fn settle(&mut self, out_of_turns: bool) {
        self.end_as(|host| Ending::Settled { background: host.watched.background(), out_of_turns });
    }

    /// It went on by itself beyond its turns.
    pub(super) fn overrun(&mut self, turns: Turns) {
        if turns.is_set {
            self.end_as(|_| Ending::OutOfTurns { limit: turns.most });
        } else {
            self.settle(true);
        }
    }

    /// Its time is up. Tasks in the background are no reason to call a beat late that has answered.
    pub(super) fn time_out(&mut self) {
        if self.watched.has_only_background() {
            return self.settle(false);
        }
        self.end_as(|host| Ending::TimedOut {
            limit: host.spec.limits.map(|limits| limits.time).unwrap_or_default(),
            waited: host.allowance.as_ref().map(Allowance::waited).unwrap_or_default(),
            doing: host.watched.doing(host.begun.elapsed()),
        });
    }
}
