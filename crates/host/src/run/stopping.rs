//! When and why the host ends its agent: its time limit, its turn limit, or a finished turn.

use super::Host;
use crate::audit::UNREAD;
use crate::beat_limits::{TimeLimit, Turns};
use crate::event::{MurmurEvent, Progress};
use crate::protocol::GRACE;
use crate::state::Input;
use crate::watchdogs::Watchdogs;
use murmur_core::config::watchdogs::Watchdog;
use murmur_outcome::breach::undecided;
use murmur_outcome::run::RunEnd;
use std::time::Duration;
use sys::process::{self, Exit, Signal};
use tokio::time::Instant;

/// How an agent's process ended, from its `exit`, why murmur ended it, and whether that took a signal.
///
/// An agent whose stdin was closed after its answer still ends by itself. If it fails then, it may already have failed
/// when the answer was read; the outcome must not depend on which the host noticed first.
pub(super) fn ending(stopped: Option<RunEnd>, is_signaled: bool, exit: Exit) -> RunEnd {
    match (stopped, exit) {
        (Some(RunEnd::Answered), Exit::Code(0)) => RunEnd::Answered,
        (Some(reason), _) if is_signaled || reason != RunEnd::Answered => reason,
        (_, Exit::Code(code)) => RunEnd::Exited(code),
        (_, Exit::Signal(number)) => RunEnd::Signaled(number),
    }
}

impl<S: FnMut(Progress<'_>, Duration)> Host<'_, S> {
    pub(super) fn signal(&mut self, signal: Signal) {
        self.is_signaled = true;
        // It is our unreaped child, so its PID has not been reused.
        if let Some(pid) = self.pid {
            process::signal(pid, signal);
        }
    }

    /// When the time limit is reached; `None` while it is paused.
    pub(super) fn times_out_at(&self) -> Option<Instant> {
        self.time_limit.as_ref().filter(|_| self.stopped.is_none())?.ends_at()
    }

    /// When the agent is ended because its turn is over and no other has started.
    pub(super) fn settles_at(&self) -> Option<Instant> {
        let beat_limits = self.spec.beat_limits.filter(|_| self.stopped.is_none())?;
        let wait = if self.dialog.outlives_turn() { Duration::ZERO } else { beat_limits.background_wait };
        Some(self.begun + self.activity.ended_turn()? + wait)
    }

    /// Pauses the time limit while the agent waits for people.
    pub(super) fn count_time(&mut self) {
        let is_waiting = self.activity.is_waiting();
        if let Some(time_limit) = &mut self.time_limit {
            time_limit.set_paused(is_waiting, Instant::now());
        }
        if let Some(watchdogs) = &mut self.watchdogs {
            watchdogs.wait(is_waiting, self.begun.elapsed());
        }
    }

    /// When the agent seems to hang; `None` while no watchdog counts.
    pub(super) fn hangs_at(&self) -> Option<Instant> {
        let is_working = self.stopped.is_none() && self.activity.ended_turn().is_none();
        let (.., at) = self.watchdogs.as_ref().filter(|_| is_working)?.next()?;
        self.begun.checked_add(at)
    }

    /// Ends an agent that seems to hang.
    pub(super) fn hang(&mut self) {
        let Some((watchdog, limit, _)) = self.watchdogs.as_ref().and_then(Watchdogs::next) else { return };
        let at = self.begun.elapsed();
        self.end_as(|host| {
            let oldest = host.activity.oldest_call(at).filter(|_| watchdog == Watchdog::ToolTimeout);
            RunEnd::Hung { watchdog, limit, doing: oldest.unwrap_or_else(|| host.activity.doing(at)) }
        });
    }

    /// Ends the agent; the first reason counts.
    pub(super) fn end_as(&mut self, reason: impl FnOnce(&Self) -> RunEnd) {
        if self.stopped.is_none() {
            self.stopped = Some(reason(self));
        }
        self.take(Input::Stop { force: false, grace: GRACE });
    }

    pub(super) fn stop(&mut self, force: bool, grace: Duration) {
        let after = self.begun.elapsed();
        if self.stopped.is_none() {
            self.stopped = Some(RunEnd::Stopped { after, doing: self.activity.doing(after) });
        }
        self.take(Input::Stop { force, grace });
    }

    /// Kills the agent because its hook didn't decide on a call.
    pub(super) fn end_undecided(&mut self, call: &str) {
        let waits = call != UNREAD && self.dialog.asks_before(call);
        self.end_breached(undecided(call, !waits));
    }

    /// Kills the agent because a call ran against a decision.
    pub(super) fn end_breached(&mut self, what: String) {
        self.capture.own(MurmurEvent::Problem { text: what.clone() });
        self.stopped.get_or_insert(RunEnd::Breach { what });
        self.take(Input::Stop { force: true, grace: Duration::ZERO });
    }

    /// Ends the agent after its turn; its answer decides the outcome.
    pub(super) fn settle(&mut self, out_of_turns: bool) {
        if self.dialog.outlives_turn() && self.activity.background() == 0 {
            self.stopped.get_or_insert(RunEnd::Answered);
            return self.take(Input::Finish { grace: GRACE });
        }
        self.end_as(|host| RunEnd::Settled { background: host.activity.background(), out_of_turns });
    }

    /// Ends an agent that exceeds its turn limit. With the default limit, its answer still decides the outcome.
    pub(super) fn overrun(&mut self, turns: Turns) {
        if turns.is_set {
            self.end_as(|_| RunEnd::OutOfTurns { limit: turns.most });
        } else {
            self.settle(true);
        }
    }

    /// Handles the time limit. A beat that has answered isn't late because of background tasks.
    pub(super) fn time_out(&mut self) {
        if self.activity.has_only_background() {
            return self.settle(false);
        }
        self.end_as(|host| RunEnd::TimedOut {
            limit: host.spec.beat_limits.map(|beat_limits| beat_limits.time).unwrap_or_default(),
            waited: host.time_limit.as_ref().map(TimeLimit::waited).unwrap_or_default(),
            doing: host.activity.doing(host.begun.elapsed()),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_that_fails_after_its_answer_fails_whenever_that_is_noticed() {
        let answered = || Some(RunEnd::Answered);
        for (stopped, is_signaled, exit, expected) in [
            (None, false, Exit::Code(0), RunEnd::Exited(0)),
            (None, false, Exit::Signal(9), RunEnd::Signaled(9)),
            (answered(), false, Exit::Signal(9), RunEnd::Signaled(9)),
            (None, false, Exit::Code(3), RunEnd::Exited(3)),
            (answered(), false, Exit::Code(3), RunEnd::Exited(3)),
            (answered(), false, Exit::Code(0), RunEnd::Answered),
            // It didn't end when its stdin was closed.
            (answered(), true, Exit::Signal(9), RunEnd::Answered),
            (answered(), true, Exit::Code(143), RunEnd::Answered),
            (Some(RunEnd::OutOfTurns { limit: 1 }), true, Exit::Signal(15), RunEnd::OutOfTurns { limit: 1 }),
            (Some(RunEnd::OutOfTurns { limit: 1 }), false, Exit::Code(1), RunEnd::OutOfTurns { limit: 1 }),
        ] {
            let found = ending(stopped.clone(), is_signaled, exit);
            assert_eq!(found, expected, "{stopped:?}, {is_signaled}, {exit:?}");
        }
    }
}
