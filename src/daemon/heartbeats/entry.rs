//! A heartbeat and its schedule.

use super::triggered::FileChanges;
use super::{DeferredBeat, HeartbeatHold};
use crate::daemon::pauses::PausedUntil;
use jiff::Timestamp;
use murmur_core::config::backend::Backend;
use murmur_core::config::heartbeat::Heartbeat;
use murmur_core::config::reserve::OnLimit;
use murmur_core::failures::Streak;
use murmur_core::id::SessionId;
use murmur_core::schedule;
use murmur_core::usage_limit::Account;
use murmur_store::limits::StoppedBeat;
use std::path::Path;

/// Runs that were dropped since the daemon started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DroppedRuns {
    /// How many.
    pub count: u32,
    /// When the last one was due.
    pub last: Timestamp,
    /// Why the last one was dropped.
    pub why: &'static str,
}

/// A heartbeat and where it is in its schedule.
#[derive(Debug)]
pub struct ScheduledHeartbeat {
    /// The heartbeat, as the configuration has it.
    pub heartbeat: Heartbeat,
    /// When it last started, as far as known; may be later than in config.json.
    pub last_run: Option<Timestamp>,
    /// What the next run counts from: the last run, or now if the clock was set back before that.
    pub(super) anchor: Option<Timestamp>,
    /// When it is due; `None` if never, or not until its file is edited or it is approved.
    pub next: Option<Timestamp>,
    /// Do not retry a failed start before this.
    pub(super) not_before: Option<Timestamp>,
    /// The program that runs its agent.
    pub(super) backend: Backend,
    /// The account that it uses.
    pub(super) account: Account,
    /// Why it may not start before a time, because of usage limits or budgets.
    pub(super) limited: Option<Box<HeartbeatHold>>,
    /// How often it has failed in a row.
    pub(super) streak: Option<Streak>,
    /// Why its schedule may not start it before a time, because of its failures.
    pub(super) slowed: Option<Box<HeartbeatHold>>,
    /// The session of its last beat, if a usage limit stopped that.
    pub(super) stopped: Option<Box<StoppedBeat>>,
    /// Until when a person has paused it.
    pub(super) paused: Option<PausedUntil>,
    /// When it may start at the earliest, if it was due outside its active hours.
    pub(super) opens: Option<Timestamp>,
    /// Whether it was seen to be due, so that it was not missed.
    pub(super) seen: bool,
    /// Its runs that were dropped.
    pub(super) dropped: Option<DroppedRuns>,
    /// When files that start it changed since it last started; `None` if they didn't.
    pub(super) changed: Option<FileChanges>,
    /// Whether files changed during its beat, if its gates can tell who changed them.
    pub(super) changed_meanwhile: bool,
    /// The changes that started its last beat.
    pub(super) started_by: Option<FileChanges>,
    /// When a beat whose changes don't start it last ended.
    pub(super) own_changes_end: Option<Timestamp>,
}

impl ScheduledHeartbeat {
    pub(super) fn new(heartbeat: Heartbeat, last_run: Option<Timestamp>) -> Self {
        Self {
            heartbeat,
            last_run,
            anchor: last_run,
            next: None,
            not_before: None,
            backend: Backend::default(),
            account: Account::default(),
            limited: None,
            streak: None,
            slowed: None,
            stopped: None,
            paused: None,
            opens: None,
            seen: false,
            dropped: None,
            changed: None,
            changed_meanwhile: false,
            started_by: None,
            own_changes_end: None,
        }
    }

    /// The program that runs its agent.
    pub fn backend(&self) -> &Backend {
        &self.backend
    }

    /// Its runs that were dropped since the daemon started.
    pub fn dropped(&self) -> Option<&DroppedRuns> {
        self.dropped.as_ref()
    }

    /// Moves the last run forward to `at`, never back; returns whether it changed.
    pub(super) fn ran(&mut self, at: Option<Timestamp>) -> bool {
        let is_news = at > self.last_run;
        if is_news {
            self.last_run = at;
            self.anchor = at;
        }
        is_news
    }

    pub(super) fn counted_from(mut self, now: Timestamp) -> Self {
        self.count_from(now);
        self
    }

    pub(super) fn count_from(&mut self, now: Timestamp) {
        // Keep only a delay by jitter, which set `not_before` too: nothing brings that start forward.
        self.opens = self.opens.filter(|_| self.opens == self.not_before);
        let Some(schedule) = self.heartbeat.schedule.as_ref().filter(|_| self.may_start()) else {
            self.next = None;
            return;
        };
        self.anchor = schedule::anchor(schedule, self.anchor, now);
        let next = self.counted();
        self.seen &= next == self.next;
        self.next = next;
    }

    /// Whether the daemon may start it at all.
    pub(super) fn may_start(&self) -> bool {
        !self.heartbeat.unedited && self.is_approved() && self.heartbeat.is_enabled()
    }

    /// Whether it may run: it was approved, or ran before approvals existed.
    pub fn is_approved(&self) -> bool {
        self.heartbeat.approved || self.last_run.is_some()
    }

    /// Sets the last run, and counts the next from it.
    pub(super) fn set_last_run(&mut self, last: Option<Timestamp>, now: Timestamp) {
        self.last_run = last;
        self.anchor = last;
        self.count_from(now);
    }

    pub(super) fn due(&self) -> Option<Timestamp> {
        let next = if self.continues().is_some() { schedule::NEVER_RAN } else { self.own_due()? };
        let slowed = self.slowed.as_ref().map(|slowed| slowed.until);
        Some(next.max(self.resumes_from()?)).max(self.opens).max(slowed)
    }

    /// When its schedule, a change of files or a retry makes it due.
    fn own_due(&self) -> Option<Timestamp> {
        let starts = self.next.is_some() || self.is_triggered() && self.may_start();
        let retry = self.retry_at().filter(|_| starts);
        [self.next, self.trigger_due(), retry].into_iter().flatten().min()
    }

    /// When it should run next, according to its schedule and to a beat to continue.
    pub fn planned(&self) -> Option<Timestamp> {
        let held = self.held().map(|held| held.until);
        if self.continues().is_some() { held.or(self.last_run) } else { self.own_due() }
    }

    /// The session to continue when it starts next: its last beat was stopped by a usage limit.
    pub(super) fn continues(&self) -> Option<&SessionId> {
        let stopped = self.stopped.as_ref()?;
        let is_last = self.last_run.is_none_or(|last| last <= stopped.started_at);
        let may = self.heartbeat.settings.on_limit.value == OnLimit::Resume
            && (self.next.is_some() || self.is_triggered() && self.may_start());
        (is_last && may).then_some(&stopped.session)
    }

    pub(super) fn is_of(&self, deferred: &DeferredBeat) -> bool {
        self.is(&deferred.workspace, deferred.name.as_deref())
    }

    pub(super) fn is(&self, workspace: &Path, name: Option<&str>) -> bool {
        *self.heartbeat.workspace == *workspace && self.heartbeat.name.as_deref() == name
    }
}
