//! Due heartbeats that may not start now: outside active hours, too late, or while their last beat runs.

use super::{DroppedRuns, Heartbeats, Running, ScheduledHeartbeat};
use jiff::{SignedDuration, Timestamp};
use murmur_core::config::schedule_options::Overlap;
use murmur_core::id::BeatId;
use murmur_core::schedule;
use murmur_core::schedule::timely::{self, StartDecision};
use sys::clock::rfc3339;

/// How long to wait until a beat is told again to end for the next run: a process that was still starting has missed
/// the signal.
const REPEAT_AFTER: SignedDuration = SignedDuration::from_secs(5);

const YEAR: SignedDuration = SignedDuration::from_hours(365 * 24);

impl Heartbeats {
    /// Decides on every due heartbeat whose options may keep it from starting now.
    pub(super) fn settle(&mut self, now: Timestamp) {
        if !self.have_options {
            return;
        }
        let deferred = self.deferred.iter();
        let deferred: Vec<usize> =
            deferred.filter_map(|beat| self.index_of(&beat.workspace, beat.name.as_deref())).collect();
        for index in deferred {
            self.change(index, |entry| entry.open(now));
        }
        let due = self.queue.range(..=(now, usize::MAX)).map(|(_, index)| *index);
        let due: Vec<usize> = due
            .filter(|index| self.entries[*index].heartbeat.settings.options.is_some())
            .filter(|index| !self.is_deferred(&self.entries[*index]))
            .collect();
        for index in due {
            let runs = self.own_beat(&self.entries[index]).is_some();
            let mut dropped = None;
            self.change(index, |entry| dropped = entry.settle(runs, now));
            self.dropped.extend(dropped);
        }
    }

    /// Takes what to log about runs that were dropped.
    pub fn take_dropped(&mut self) -> Vec<String> {
        std::mem::take(&mut self.dropped)
    }

    /// The running beats to end because their heartbeats are due again. Each is returned again after 5 s.
    pub fn replace(&mut self, now: Timestamp) -> Vec<BeatId> {
        self.settle(now);
        let due = self.overlapping().filter(|(at, overlap, _)| *overlap == Overlap::Replace && *at <= now);
        let beats: Vec<BeatId> = due.map(|(.., running)| running.beat.clone()).collect();
        self.replaced.retain(|beat, _| self.running.all().iter().any(|running| running.beat == *beat));
        self.replaced.extend(beats.iter().map(|beat| (beat.clone(), now)));
        beats
    }

    /// When to act on a heartbeat that is due while its last beat runs, if `overlap` says to.
    pub(super) fn overlaps_at(&self) -> Option<Timestamp> {
        self.overlapping().map(|(at, ..)| at).min()
    }

    /// Running beats that can't be waited for, and when to act on them.
    fn overlapping(&self) -> impl Iterator<Item = (Timestamp, Overlap, &Running)> {
        let running = self.running.all().iter().filter(|_| self.have_options);
        running.filter_map(|running| {
            let entry = &self.entries[self.index_of(&running.workspace, running.name.as_deref())?];
            let overlap = entry.overlap().filter(|overlap| *overlap != Overlap::Queue)?;
            let waits = self.is_deferred(entry) || entry.continues().is_some();
            let due = entry.due().filter(|_| !waits)?;
            let again = self.replaced.get(&running.beat).and_then(|last| last.checked_add(REPEAT_AFTER).ok());
            Some((again.map_or(due, |again| due.max(again)), overlap, running))
        })
    }

    /// The running beat of a heartbeat.
    fn own_beat(&self, entry: &ScheduledHeartbeat) -> Option<&Running> {
        self.running.all().iter().find(|running| entry.is(&running.workspace, running.name.as_deref()))
    }
}

impl ScheduledHeartbeat {
    fn overlap(&self) -> Option<Overlap> {
        Some(self.heartbeat.settings.options.as_ref()?.overlap?.value)
    }

    /// When it runs next, as its schedule and options say.
    pub(super) fn counted(&self) -> Option<Timestamp> {
        let heartbeat = &self.heartbeat;
        let schedule = heartbeat.schedule.as_ref()?;
        match &heartbeat.settings.options {
            Some(options) => timely::planned(schedule, options, &heartbeat.id, self.anchor),
            None => schedule::next_run(schedule, self.anchor),
        }
    }

    /// Why it runs later than its schedule says, for people, as of `now`; `None` if it doesn't, or something else holds
    /// it.
    #[must_use]
    pub fn delay(&self, now: Timestamp) -> Option<String> {
        let next = self.next_run().filter(|next| *next > now && self.paused.is_none())?;
        if self.held().is_some_and(|held| held.until >= next) || self.continues().is_some() {
            return None;
        }
        if self.retry_at() == Some(next) {
            return Some("a retry after an error".to_owned());
        }
        let (schedule, options) =
            (self.heartbeat.schedule.as_ref()?, self.heartbeat.settings.options.as_ref()?);
        let planned = schedule::next_run(schedule, self.anchor)?;
        let wanted = planned.max(now);
        let closed = options.closed_at(wanted).filter(|_| wanted < next);
        match (closed, &options.jitter) {
            (Some(key), _) => Some(format!("earlier times are excluded by {key}")),
            (None, Some(jitter)) if planned < next => {
                Some(format!("delayed by jitter, at most {}", jitter.value))
            }
            (None, _) => None,
        }
    }

    /// Decides whether it may start now that it is due. `runs` is whether its last beat still runs. If the run is
    /// dropped, returns what to log about that.
    fn settle(&mut self, runs: bool, now: Timestamp) -> Option<String> {
        if self.next.is_none_or(|next| next > now) {
            self.wait_for_active_hours(now);
            return None;
        }
        let heartbeat = &self.heartbeat;
        let (Some(schedule), Some(options), Some(next)) =
            (&heartbeat.schedule, &heartbeat.settings.options, self.next)
        else {
            return None;
        };
        let mut why = "it is too late";
        let decision = match self.overlap() {
            Some(Overlap::Skip) if runs && next <= now => {
                why = "the previous one is still running";
                StartDecision::Skip(timely::skipped(schedule, next, now))
            }
            _ => timely::decide(schedule, options, &heartbeat.id, (next, !self.seen), now),
        };
        self.seen = true;
        match decision {
            StartDecision::Start => {}
            StartDecision::Wait(Some(opens)) => self.opens = Some(opens),
            StartDecision::Wait(None) => self.next = None,
            StartDecision::Later(at) => {
                self.opens = Some(at);
                // A new configuration doesn't bring it forward.
                self.not_before = Some(at);
            }
            StartDecision::Skip(from) => {
                let dropped =
                    format!("dropped a run of {} that was due at {}: {why}", heartbeat.id, rfc3339(next));
                let count = self.dropped.as_ref().map_or(0, |dropped| dropped.count) + 1;
                self.dropped = Some(DroppedRuns { count, last: next, why });
                self.anchor = Some(from);
                self.count_from(now);
                self.wait_for_active_hours(now);
                return Some(dropped);
            }
        }
        None
    }

    /// Keeps a start that isn't scheduled (a retry, a beat to continue, or a change of files) until its active hours
    /// begin.
    fn wait_for_active_hours(&mut self, now: Timestamp) {
        if self.due().is_some_and(|due| due <= now) {
            self.open(now);
        }
    }

    /// Sets when its active hours begin, if they haven't.
    fn open(&mut self, now: Timestamp) {
        if let Some(options) = &self.heartbeat.settings.options {
            let opens = timely::opens(options, &self.heartbeat.id, now);
            // If they never begin, it looks again in a year.
            self.opens = opens.or_else(|| now.checked_add(YEAR).ok()).filter(|opens| *opens > now);
        }
    }
}

#[cfg(test)]
mod clocks;
#[cfg(test)]
mod tests;
