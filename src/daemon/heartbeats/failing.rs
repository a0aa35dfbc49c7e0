//! Heartbeats whose beats fail: when a beat is retried, and until when a heartbeat that keeps failing runs less often.

use super::{HeartbeatHold, Heartbeats, HoldKind, ScheduledHeartbeat};
use crate::daemon::state::BeatSummary;
use jiff::{SignedDuration, Timestamp};
use murmur_core::config::heartbeat::HeartbeatId;
use murmur_core::failures::{self, BeatEnd, Streak};
use murmur_outcome::notice::{self, Failing};
use murmur_store::failures::Streaks;
use murmur_store::journal::entry::JournalEntry;

/// How the failures of a heartbeat changed.
#[derive(Debug)]
pub struct StreakChange {
    /// The heartbeat.
    pub id: HeartbeatId,
    /// Its failures now; `None` if there are none.
    pub streak: Option<Streak>,
    /// The journal line that reports that it keeps failing, or that its beats are always replaced.
    pub report: Option<JournalEntry>,
}

impl Heartbeats {
    /// Sets the failures of all heartbeats.
    pub fn set_streaks(&mut self, streaks: Streaks, now: Timestamp) {
        self.streaks = streaks;
        self.move_streaks_to_past(now);
        self.apply_streaks();
    }

    /// Failures in the future are from before the clock was set back.
    pub(super) fn move_streaks_to_past(&mut self, now: Timestamp) {
        for streak in self.streaks.values_mut() {
            let ahead = streak.started_at.duration_since(now).max(SignedDuration::ZERO);
            streak.started_at = streak.started_at.min(now);
            streak.retry_at = streak.retry_at.and_then(|at| at.checked_sub(ahead).ok());
        }
    }

    /// Decides again when failing heartbeats run.
    pub(super) fn apply_streaks(&mut self) {
        for entry in &mut self.entries {
            entry.set_streak(self.streaks.get(entry.heartbeat.id.as_str()).cloned());
        }
        self.queue_all();
    }

    /// Records the end of a beat; `None` if that changes nothing.
    pub fn beat_ended(&mut self, line: &BeatSummary, now: Timestamp) -> Option<StreakChange> {
        let index = self.index_of(&line.workspace, line.name.as_deref())?;
        let entry = &self.entries[index];
        let (before, id) = (&entry.streak, entry.heartbeat.id.clone());
        let times = (line.started?, line.ended?);
        let mut streak =
            failures::after(before.as_ref(), &entry.heartbeat.settings.on_failure, line.end, times);
        if streak == *before {
            return None;
        }
        let mut report = None;
        if let Some(streak) = &mut streak
            && !streak.reported
            && failures::keeps_failing(streak, entry.heartbeat.settings.on_failure.breaker.value)
        {
            streak.reported = true;
            report = Some(entry.report(line, streak, now));
        }
        if let (BeatEnd::Replaced, Some(failures::MANY_REPLACED)) =
            (line.end, streak.as_ref().map(|streak| streak.replaced))
        {
            report = Some(notice::always_replaced(&entry.heartbeat, failures::MANY_REPLACED, now));
        }
        match &streak {
            Some(streak) => self.streaks.insert(id.as_str().to_owned(), streak.clone()),
            None => self.streaks.remove(id.as_str()),
        };
        self.change(index, |entry| entry.set_streak(streak.clone()));
        Some(StreakChange { id, streak, report })
    }
}

impl ScheduledHeartbeat {
    pub(super) fn set_streak(&mut self, streak: Option<Streak>) {
        self.slowed = streak.as_ref().and_then(|streak| self.slowed_by(streak)).map(Box::new);
        self.streak = streak;
    }

    fn slowed_by(&self, streak: &Streak) -> Option<HeartbeatHold> {
        let heartbeat = &self.heartbeat;
        let (breaker, schedule) = (heartbeat.settings.on_failure.breaker.value, heartbeat.schedule.as_ref());
        let until = failures::slowed_until(streak, breaker, schedule, self.is_triggered())?;
        Some(HeartbeatHold { kind: HoldKind::Failures, until, why: notice::in_a_row(streak) })
    }

    /// When to retry its last beat.
    pub(super) fn retry_at(&self) -> Option<Timestamp> {
        let streak = self.streak.as_ref()?;
        let is_last = self.last_run.is_none_or(|last| last <= streak.started_at);
        streak.retry_at.filter(|_| is_last)
    }

    /// Whether a beat that started then is counted, or is from before `murmur resume`. Beats before the last success
    /// are not known.
    #[must_use]
    pub fn has_counted(&self, started: Timestamp) -> bool {
        self.streak.as_ref().is_some_and(|streak| started <= streak.started_at)
    }

    /// How often it has failed in a row.
    #[must_use]
    pub fn failures(&self) -> u32 {
        self.streak.as_ref().map_or(0, |streak| streak.failures)
    }

    /// What keeps it from starting for longest: usage limits, budgets or failures.
    #[must_use]
    pub fn held(&self) -> Option<&HeartbeatHold> {
        self.holds().max_by_key(|held| held.until)
    }

    /// What else keeps it from starting.
    #[must_use]
    pub fn also_held(&self) -> Option<&HeartbeatHold> {
        let held = self.held()?;
        self.holds().find(|other| other.kind != held.kind)
    }

    fn holds(&self) -> impl Iterator<Item = &HeartbeatHold> {
        self.limited.as_deref().into_iter().chain(self.slowed.as_deref())
    }

    fn report(&self, line: &BeatSummary, streak: &Streak, now: Timestamp) -> JournalEntry {
        let failing = Failing {
            workspace: &line.workspace,
            heartbeat: line.name.as_deref(),
            agent: &line.agent,
            streak,
            slowed_until: self.slowed_by(streak).map(|held| held.until),
            has_schedule: self.heartbeat.schedule.is_some(),
        };
        notice::failing(failing, now)
    }
}

#[cfg(test)]
mod tests;
