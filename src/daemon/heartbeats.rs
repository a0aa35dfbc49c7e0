//! Decides which heartbeats to start, and when to wake up, from their schedules, the running beats and the time. Pure.
//!
//! At most one beat per workspace and `max_concurrent` in total run at once. A due heartbeat that cannot start stays
//! due; it is not queued twice, so missed times collapse into one run.

mod deferred_beat;
mod edited;
mod entry;
mod failing;
#[cfg(test)]
pub(super) mod fixture;
mod heartbeat_ref;
mod held;
mod last_run;
mod paused;
mod refusal;
mod running;
mod timely;
mod triggered;

use super::pauses::Pauses;
use jiff::{SignedDuration, Timestamp};
use murmur_core::config::heartbeat::{Heartbeat, HeartbeatId};
use murmur_core::id::{BeatId, SessionId};
use murmur_core::permit::request::RequestId;
use murmur_store::failures::Streaks;
use murmur_store::limits::Limits;
use std::collections::{BTreeSet, HashMap};
use std::num::NonZeroU32;
use std::path::Path;

pub use deferred_beat::DeferredBeat;
pub use entry::{DroppedRuns, ScheduledHeartbeat};
pub use failing::StreakChange;
pub use heartbeat_ref::HeartbeatRef;
pub use held::{Accounts, HeartbeatHold, HoldChange, HoldKind};
pub use last_run::{Correction, LastRuns};
pub use refusal::{StartRefusal, approve_hint};
pub use running::Running;
use running::RunningBeats;

/// Everything that determines what is due.
#[derive(Debug, Default)]
pub struct Heartbeats {
    entries: Vec<ScheduledHeartbeat>,
    /// The index of each heartbeat in `entries`.
    indices: HashMap<HeartbeatId, usize>,
    /// When each heartbeat is due, and its index in `entries`. Heartbeats that are never due are left out.
    queue: BTreeSet<(Timestamp, usize)>,
    running: RunningBeats,
    /// Beats that wait for an answer or to be resumed.
    deferred: Vec<DeferredBeat>,
    /// The last runs of heartbeats that are not in the configuration, in case they come back.
    retired: LastRuns,
    /// Which heartbeats a person has paused.
    pauses: Pauses,
    /// When running beats were last told to end because their heartbeats are due again.
    replaced: HashMap<BeatId, Timestamp>,
    /// What to log about runs that were dropped.
    dropped: Vec<String>,
    /// Whether any heartbeat has options.
    have_options: bool,
    max_concurrent: usize,
    stopping: bool,
    limits: Limits,
    /// How often each heartbeat has failed in a row.
    streaks: Streaks,
    /// The heartbeats whose budgets are used up.
    over_budget: HashMap<HeartbeatId, HeartbeatHold>,
}

/// A beat to start.
#[derive(Debug)]
pub struct Start {
    /// The beat, now counted as running.
    pub running: Running,
    /// What to run.
    pub heartbeat: Heartbeat,
    /// The heartbeat's previous run.
    pub before: Option<Timestamp>,
    /// The deferred beat that it resumes.
    pub resumes: Option<DeferredBeat>,
    /// The session that it continues, which a usage limit stopped.
    pub continues: Option<SessionId>,
}

/// How long a heartbeat waits after its workspace turned out to be taken.
const BUSY_PAUSE: SignedDuration = SignedDuration::from_secs(1);

impl Heartbeats {
    /// Loads a configuration. A last run in the file only moves the known one forward, at most to `now`. Returns the
    /// last runs in the file that differ from the known ones.
    pub fn load(
        &mut self,
        heartbeats: Vec<Heartbeat>,
        max_concurrent: NonZeroU32,
        now: Timestamp,
    ) -> Vec<Correction> {
        let mut corrections = Vec::new();
        // By their index in `indices`: a table of them would be as large as both lists together.
        let mut known: Vec<Option<ScheduledHeartbeat>> =
            std::mem::take(&mut self.entries).into_iter().map(Some).collect();
        self.entries = heartbeats
            .into_iter()
            .map(|heartbeat| {
                let last_run = heartbeat.last_run;
                let index = self.indices.get(&heartbeat.id);
                let (is_news, before, mut entry) = match index.and_then(|index| known.get_mut(*index)?.take())
                {
                    Some(old) => {
                        let before = old.heartbeat.last_run;
                        (before != last_run, before, ScheduledHeartbeat { heartbeat, ..old })
                    }
                    None => {
                        let last_run = self.retired.remove(&heartbeat.id);
                        (true, None, ScheduledHeartbeat::new(heartbeat, last_run))
                    }
                };
                // A `lastRun` older than the known one, but newer than the file's previous value, was not set back.
                let is_later =
                    before.is_some_and(|before| last_run.is_some_and(|at| before < at && at <= now));
                if is_news {
                    entry.ran(last_run.map(|at| at.min(now)));
                    corrections.extend(Correction::of(&entry).filter(|_| !is_later));
                }
                entry.pause(&self.pauses);
                entry.counted_from(now)
            })
            .collect();
        let ids = self.entries.iter().map(|entry| entry.heartbeat.id.clone());
        self.indices = ids.enumerate().map(|(index, id)| (id, index)).collect();
        let gone =
            known.into_iter().flatten().filter(|entry| !self.indices.contains_key(&entry.heartbeat.id));
        self.retired.extend(gone.filter_map(|entry| Some((entry.heartbeat.id, entry.last_run?))));
        self.have_options = self.entries.iter().any(|entry| entry.heartbeat.settings.options.is_some());
        self.queue_all();
        self.max_concurrent = usize::try_from(max_concurrent.get()).unwrap_or(usize::MAX);
        corrections
    }

    /// The clock was set: schedules that count from a time in the future count from now.
    pub fn clock_set(&mut self, now: Timestamp) {
        for entry in &mut self.entries {
            entry.not_before = None;
            entry.count_from(now);
        }
        self.move_streaks_to_past(now);
        self.apply_limits(now);
    }

    /// Records a run that config.json may not have; returns whether it is new.
    pub fn record_run(
        &mut self,
        workspace: &Path,
        name: Option<&str>,
        at: Timestamp,
        now: Timestamp,
    ) -> bool {
        let Some(index) = self.index_of(workspace, name) else { return false };
        let is_news = self.entries[index].last_run.is_none_or(|last| last < at);
        if is_news {
            self.change(index, |entry| entry.set_last_run(Some(at), now));
        }
        is_news
    }

    /// Records that config.json has this run.
    pub fn set_written(&mut self, workspace: &Path, name: Option<&str>, at: Timestamp) {
        if let Some(index) = self.index_of(workspace, name) {
            self.entries[index].heartbeat.last_run = Some(at);
        }
    }

    /// Decides which beats to start now, at most `most`: first those to resume, if allowed, then those due for longest.
    /// Each counts as running from now on.
    pub fn start_due(
        &mut self,
        now: Timestamp,
        may_resume: bool,
        most: usize,
        mut id: impl FnMut() -> BeatId,
    ) -> Vec<Start> {
        let mut started = Vec::new();
        if self.stopping {
            return started;
        }
        self.settle(now);
        while may_resume
            && self.running.len() < self.max_concurrent
            && started.len() < most
            && let Some((index, resumes)) = self.resumable(now)
        {
            let start = self.start(index, now, id(), Some(resumes.id.clone()));
            started.push(Start { resumes: Some(resumes), ..start });
        }
        while self.running.len() < self.max_concurrent
            && started.len() < most
            && let Some(index) = self.longest_due(now)
        {
            started.push(self.start(index, now, id(), None));
        }
        started
    }

    /// Starts a heartbeat on request, due or not. It counts as a run.
    pub fn start_now(
        &mut self,
        workspace: &Path,
        name: Option<&str>,
        now: Timestamp,
        id: BeatId,
    ) -> Result<Start, StartRefusal> {
        if self.stopping {
            return Err(StartRefusal::Stopping);
        }
        let Some(index) = self.index_of(workspace, name) else {
            let here = self.entries.iter().filter(|entry| *entry.heartbeat.workspace == *workspace);
            let names = here.map(|entry| entry.heartbeat.name.as_deref().unwrap_or("null"));
            return Err(StartRefusal::not_found(workspace, names));
        };
        if let (Some(name), false) = (name, self.entries[index].is_approved()) {
            return Err(StartRefusal::Unapproved {
                workspace: workspace.to_path_buf(),
                name: name.to_owned(),
            });
        }
        if let Some(held) = self.entries[index].limited.as_deref().filter(|held| now < held.until) {
            return Err(StartRefusal::Held(held.clone()));
        }
        if self.is_taken(&self.entries[index]) {
            return Err(StartRefusal::Busy { workspace: workspace.to_path_buf() });
        }
        if self.running.len() >= self.max_concurrent {
            return Err(StartRefusal::Full { running: self.running.len() });
        }
        Ok(self.start(index, now, id, None))
    }

    fn start(&mut self, index: usize, now: Timestamp, beat: BeatId, resumes: Option<RequestId>) -> Start {
        let before = self.entries[index].last_run;
        let continues = self.entries[index].continues().filter(|_| resumes.is_none()).cloned();
        self.change(index, |entry| {
            entry.not_before = None;
            entry.started_by = entry.changed.take();
            entry.set_last_run(Some(now), now);
        });
        let entry = &self.entries[index];
        let running = Running {
            beat,
            workspace: entry.heartbeat.workspace.to_path_buf(),
            name: entry.heartbeat.name.as_deref().map(str::to_owned),
            since: now,
            ours: true,
            resumes,
        };
        let heartbeat = entry.heartbeat.clone();
        self.running.add(running.clone());
        Start { running, heartbeat, before, resumes: None, continues }
    }

    /// A beat of ours ended.
    pub fn ended(&mut self, beat: &BeatId, now: Timestamp) {
        while let Some(ended) = self.running.remove(beat) {
            self.record_beat_end(&ended, now);
        }
    }

    /// A beat of ours did not start because another one holds the workspace: it is due again.
    pub fn found_busy(
        &mut self,
        beat: &BeatId,
        before: Option<Timestamp>,
        now: Timestamp,
    ) -> Option<Running> {
        self.not_started(beat, before, now, BUSY_PAUSE)
    }

    /// A beat of ours did not start: it is due again after `pause`.
    pub fn not_started(
        &mut self,
        beat: &BeatId,
        before: Option<Timestamp>,
        now: Timestamp,
        pause: SignedDuration,
    ) -> Option<Running> {
        let running = self.running.remove(beat)?;
        if let Some(index) = self.index_of(&running.workspace, running.name.as_deref()) {
            self.change(index, |entry| {
                entry.set_last_run(before, now);
                entry.not_before = now.checked_add(pause).ok();
                entry.changed = entry.changed.or(entry.started_by.take());
                entry.seen = true;
            });
        }
        Some(running)
    }

    /// A beat that an earlier daemon announced never started: its heartbeat's last run is `before` again.
    pub fn withdrawn(
        &mut self,
        workspace: &Path,
        name: Option<&str>,
        before: Option<Timestamp>,
        now: Timestamp,
    ) {
        if let Some(index) = self.index_of(workspace, name) {
            self.change(index, |entry| entry.set_last_run(before, now));
        }
    }

    /// Sets the running beats of others.
    pub fn set_others(&mut self, running: Vec<Running>, now: Timestamp) {
        let others = self.running.all().iter().filter(|known| !known.ours && self.have_options);
        let before: Vec<Running> = others.cloned().collect();
        self.running.replace_others(running);
        let over: Vec<_> = before.iter().filter(|known| !self.running.holds(&known.workspace)).collect();
        over.into_iter().for_each(|ended| self.record_beat_end(ended, now));
    }

    /// Starts no more beats.
    pub fn stop(&mut self) {
        self.stopping = true;
    }

    /// When to call [`Self::start_due`] again; `None` if only an event can change anything.
    #[must_use]
    pub fn wake_at(&self) -> Option<Timestamp> {
        if self.stopping {
            return None;
        }
        if self.running.len() >= self.max_concurrent {
            return self.overlaps_at();
        }
        let due = self.queue.iter().find(|(_, index)| self.is_free(*index)).map(|(at, _)| *at);
        due.into_iter().chain(self.resumes_at()).chain(self.overlaps_at()).min()
    }

    /// The heartbeat that has been due for longest and can start.
    fn longest_due(&self, now: Timestamp) -> Option<usize> {
        let mut due = self.queue.range(..=(now, usize::MAX)).map(|(_, index)| *index);
        due.find(|index| self.is_free(*index))
    }

    /// Whether the heartbeat at `index` may start when due.
    fn is_free(&self, index: usize) -> bool {
        self.entries.get(index).is_some_and(|entry| !self.is_taken(entry) && !self.is_deferred(entry))
    }

    fn is_taken(&self, entry: &ScheduledHeartbeat) -> bool {
        self.running.holds(&entry.heartbeat.workspace)
    }

    fn index_of(&self, workspace: &Path, name: Option<&str>) -> Option<usize> {
        let index = self.indices.get(&HeartbeatId::new(workspace, name)).copied()?;
        // Ids are text: two paths that are not UTF-8 can have the same.
        if self.entries[index].is(workspace, name) {
            return Some(index);
        }
        self.entries.iter().position(|entry| entry.is(workspace, name))
    }

    /// Changes the heartbeat at `index` and updates the queue.
    fn change(&mut self, index: usize, change: impl FnOnce(&mut ScheduledHeartbeat)) {
        let entry = &mut self.entries[index];
        let before = entry.due();
        change(entry);
        let after = entry.due();
        if before != after {
            before.map(|at| self.queue.remove(&(at, index)));
            after.map(|at| self.queue.insert((at, index)));
        }
    }

    fn queue_all(&mut self) {
        let entries = self.entries.iter().enumerate();
        self.queue = entries.filter_map(|(index, entry)| Some((entry.due()?, index))).collect();
    }

    /// Whether the heartbeat is configured.
    #[must_use]
    pub fn has(&self, workspace: &Path, name: Option<&str>) -> bool {
        self.index_of(workspace, name).is_some()
    }

    /// The heartbeats.
    #[must_use]
    pub fn entries(&self) -> &[ScheduledHeartbeat] {
        &self.entries
    }

    /// The running beats.
    #[must_use]
    pub fn running(&self) -> &[Running] {
        self.running.all()
    }
}

#[cfg(test)]
mod tests;
