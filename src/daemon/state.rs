//! What the daemon decides, purely: heartbeats, what runs, and the time go in; what to start and when to wake
//! come out.
//!
//! Never two beats of one workspace at once, never more than `max_concurrent` in all. A heartbeat that is due and
//! cannot start stays due; it is not queued a second time, so missed times collapse into one run.

mod entry;
mod refusal;

use crate::config::heartbeat::{Heartbeat, HeartbeatId};
use crate::journal::unfinished::Begun;
use crate::permit::request::RequestId;
use jiff::{SignedDuration, Timestamp};
use std::collections::HashMap;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

pub use entry::Entry;
pub use refusal::NotNow;

/// Everything that bears on what is due.
#[derive(Debug, Default)]
pub struct State {
    entries: Vec<Entry>,
    running: Vec<Running>,
    /// Beats that wait for an answer, or to be resumed with one.
    put_off: Vec<PutOff>,
    max_concurrent: usize,
    stopping: bool,
}

/// A beat that runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Running {
    /// The beat's id.
    pub beat: String,
    /// Where it runs.
    pub workspace: PathBuf,
    /// The name of a named heartbeat.
    pub name: Option<String>,
    /// Since when.
    pub since: Timestamp,
    /// Whether this daemon started it; the others were started by hand or by a daemon before this one.
    pub ours: bool,
    /// The request whose answer it goes on with.
    pub resumes: Option<RequestId>,
}

/// A beat that ended without being done: a call of it waits for an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PutOff {
    /// The request.
    pub id: RequestId,
    /// The agent's id, which it keeps.
    pub agent: String,
    /// The backend's id of the conversation.
    pub session: String,
    /// Where it ran.
    pub workspace: PathBuf,
    /// The name of a named heartbeat.
    pub name: Option<String>,
    /// Whether the answer is there.
    pub is_answered: bool,
}

impl Running {
    /// The beat of `begun`, which another process runs.
    #[must_use]
    pub fn by_others(begun: &Begun) -> Option<Self> {
        Some(Self {
            beat: begun.entry.beat.clone(),
            workspace: begun.entry.workspace.clone().into(),
            name: begun.entry.heartbeat.clone(),
            since: begun.entry.started()?,
            ours: false,
            resumes: begun.entry.resumes.as_deref().and_then(|id| RequestId::parse(id).ok()),
        })
    }
}

/// A beat to start.
#[derive(Debug)]
pub struct Start {
    /// It, as it counts from now on.
    pub running: Running,
    /// What to run.
    pub heartbeat: Heartbeat,
    /// The heartbeat's last run before this one.
    pub before: Option<Timestamp>,
    /// The beat that it goes on with.
    pub resumes: Option<PutOff>,
}

/// How long a heartbeat waits that found its workspace taken although nobody was known to be there.
const BUSY_PAUSE: SignedDuration = SignedDuration::from_secs(1);

impl State {
    /// Takes a configuration. What is known of heartbeats that were there before stays known, but a last run
    /// that its user has changed in the file since is taken from there.
    pub fn load(&mut self, heartbeats: Vec<Heartbeat>, max_concurrent: NonZeroU32, now: Timestamp) {
        let mut known: HashMap<HeartbeatId, Entry> =
            self.entries.drain(..).map(|entry| (entry.heartbeat.id.clone(), entry)).collect();
        self.entries = heartbeats
            .into_iter()
            .map(|heartbeat| match known.remove(&heartbeat.id) {
                Some(old)
                    if old.last_run == heartbeat.last_run || old.heartbeat.last_run == heartbeat.last_run =>
                {
                    Entry { heartbeat, ..old }.counted_from(now)
                }
                _ => Entry::new(heartbeat, now),
            })
            .collect();
        self.max_concurrent = usize::try_from(max_concurrent.get()).unwrap_or(usize::MAX);
    }

    /// The clock was set: what counts from a time that has not come yet counts from now.
    pub fn clock_set(&mut self, now: Timestamp) {
        for entry in &mut self.entries {
            entry.not_before = None;
            entry.count_from(now);
        }
    }

    /// Learns of a run that config.json does not know of yet; whether that is news.
    pub fn ran(&mut self, workspace: &Path, name: Option<&str>, at: Timestamp, now: Timestamp) -> bool {
        let found = self.entries.iter_mut().find(|entry| entry.is(workspace, name));
        let Some(entry) = found.filter(|entry| entry.last_run.is_none_or(|last| last < at)) else {
            return false;
        };
        entry.last_run = Some(at);
        entry.anchor = Some(at);
        entry.count_from(now);
        true
    }

    /// config.json has this run now.
    pub fn written(&mut self, workspace: &Path, name: Option<&str>, at: Timestamp) {
        if let Some(entry) = self.entries.iter_mut().find(|entry| entry.is(workspace, name)) {
            entry.heartbeat.last_run = Some(at);
        }
    }

    /// What is to start now, longest due first, and before that what goes on with an answer, if it may. Each counts as
    /// running from here on.
    pub fn start_due(
        &mut self,
        now: Timestamp,
        may_resume: bool,
        mut id: impl FnMut() -> String,
    ) -> Vec<Start> {
        let mut started = Vec::new();
        if self.stopping {
            return started;
        }
        while may_resume
            && self.running.len() < self.max_concurrent
            && let Some((index, resumes)) = self.resumable(now)
        {
            let mut start = self.start(index, now, id());
            if let Some(running) = self.running.last_mut() {
                running.resumes = Some(resumes.id.clone());
                start.running.resumes = Some(resumes.id.clone());
            }
            started.push(Start { resumes: Some(resumes), ..start });
        }
        while self.running.len() < self.max_concurrent
            && let Some(index) = self.longest_due(now)
        {
            started.push(self.start(index, now, id()));
        }
        started
    }

    /// Starts a heartbeat that somebody wants to run now, due or not. It counts as a run.
    ///
    /// # Errors
    /// [`NotNow`].
    pub fn start_now(
        &mut self,
        workspace: &Path,
        name: Option<&str>,
        now: Timestamp,
        id: String,
    ) -> Result<Start, NotNow> {
        if self.stopping {
            return Err(NotNow::Stopping);
        }
        let Some(index) = self.entries.iter().position(|entry| entry.is(workspace, name)) else {
            let here = self.entries.iter().filter(|entry| *entry.heartbeat.workspace == *workspace);
            let names: Vec<&str> =
                here.clone().map(|entry| entry.heartbeat.name.as_deref().unwrap_or("null")).collect();
            let workspace = workspace.to_path_buf();
            return Err(match names.is_empty() {
                true => NotNow::Unknown { workspace },
                false => NotNow::Unnamed { workspace, names: names.join(", ") },
            });
        };
        if self.is_taken(&self.entries[index]) {
            return Err(NotNow::Busy { workspace: workspace.to_path_buf() });
        }
        if self.running.len() >= self.max_concurrent {
            return Err(NotNow::Full { running: self.running.len() });
        }
        Ok(self.start(index, now, id))
    }

    fn start(&mut self, index: usize, now: Timestamp, beat: String) -> Start {
        let entry = &mut self.entries[index];
        let before = entry.last_run.replace(now);
        entry.anchor = Some(now);
        entry.not_before = None;
        entry.count_from(now);
        let running = Running {
            beat,
            workspace: entry.heartbeat.workspace.to_path_buf(),
            name: entry.heartbeat.name.as_deref().map(str::to_owned),
            since: now,
            ours: true,
            resumes: None,
        };
        self.running.push(running.clone());
        Start { running, heartbeat: entry.heartbeat.clone(), before, resumes: None }
    }

    /// The beats that wait for an answer, or to be resumed with one. Their heartbeats are not due meanwhile: what
    /// comes next would ask the same again.
    pub fn put_off(&mut self, put_off: Vec<PutOff>) {
        self.put_off = put_off;
    }

    /// A beat that has its answer and can go on now.
    fn resumable(&self, now: Timestamp) -> Option<(usize, PutOff)> {
        self.put_off.iter().filter(|put_off| self.is_to_resume(put_off)).find_map(|put_off| {
            let index = self.entries.iter().position(|entry| entry.is_of(put_off))?;
            let entry = &self.entries[index];
            let may = entry.not_before.is_none_or(|at| at <= now) && !self.is_taken(entry);
            may.then(|| (index, put_off.clone()))
        })
    }

    fn is_to_resume(&self, put_off: &PutOff) -> bool {
        let mut running = self.running.iter().filter_map(|running| running.resumes.as_ref());
        put_off.is_answered && !running.any(|id| *id == put_off.id)
    }

    /// The request whose answer the last beat of `entry` waits for.
    #[must_use]
    pub fn waits_for(&self, entry: &Entry) -> Option<&RequestId> {
        self.put_off.iter().find(|put_off| entry.is_of(put_off)).map(|put_off| &put_off.id)
    }

    fn is_put_off(&self, entry: &Entry) -> bool {
        self.waits_for(entry).is_some()
    }

    /// A beat of ours is over.
    pub fn ended(&mut self, beat: &str) {
        self.running.retain(|running| running.beat != beat);
    }

    /// A beat of ours did not begin, since another one holds the workspace: it is due again.
    pub fn found_busy(&mut self, beat: &str, before: Option<Timestamp>, now: Timestamp) -> Option<Running> {
        let index = self.running.iter().position(|running| running.beat == beat)?;
        let running = self.running.swap_remove(index);
        let entry =
            self.entries.iter_mut().find(|entry| entry.is(&running.workspace, running.name.as_deref()));
        if let Some(entry) = entry {
            entry.last_run = before;
            entry.anchor = before;
            entry.count_from(now);
            entry.not_before = now.checked_add(BUSY_PAUSE).ok();
        }
        Some(running)
    }

    /// A beat that a daemon before this one announced never began: its heartbeat's last run is `before`, and it is due
    /// as it was.
    pub fn withdrawn(
        &mut self,
        workspace: &Path,
        name: Option<&str>,
        before: Option<Timestamp>,
        now: Timestamp,
    ) {
        if let Some(entry) = self.entries.iter_mut().find(|entry| entry.is(workspace, name)) {
            entry.last_run = before;
            entry.anchor = before;
            entry.count_from(now);
        }
    }

    /// The beats of others that run now.
    pub fn others(&mut self, running: Vec<Running>) {
        let ours: Vec<Running> = self.running.drain(..).filter(|running| running.ours).collect();
        let theirs = running.into_iter().filter(|other| ours.iter().all(|our| our.beat != other.beat));
        self.running = theirs.collect();
        self.running.extend(ours);
    }

    /// No more beats.
    pub fn stop(&mut self) {
        self.stopping = true;
    }

    /// When to look again, if nothing happens before. `None` where only an event can change anything.
    #[must_use]
    pub fn wake_at(&self) -> Option<Timestamp> {
        if self.stopping || self.running.len() >= self.max_concurrent {
            return None;
        }
        let free = self.entries.iter().filter(|entry| !self.is_taken(entry));
        // One that could not be resumed at once is tried again.
        let again = |entry: &Entry| {
            let mut waiting = self.put_off.iter().filter(|put_off| entry.is_of(put_off));
            entry.not_before.filter(|_| waiting.any(|put_off| self.is_to_resume(put_off)))
        };
        free.filter_map(|entry| if self.is_put_off(entry) { again(entry) } else { entry.due() }).min()
    }

    /// The heartbeat that is due for longest and whose workspace is free.
    fn longest_due(&self, now: Timestamp) -> Option<usize> {
        let due = |(index, entry): (usize, &Entry)| Some((entry.due().filter(|at| *at <= now)?, index));
        let is_free = |entry: &Entry| !self.is_taken(entry) && !self.is_put_off(entry);
        let free = self.entries.iter().enumerate().filter(|(_, entry)| is_free(entry));
        free.filter_map(due).min().map(|(_, index)| index)
    }

    fn is_taken(&self, entry: &Entry) -> bool {
        self.running.iter().any(|running| running.workspace == *entry.heartbeat.workspace)
    }

    /// Whether that heartbeat is one of them.
    #[must_use]
    pub fn has(&self, workspace: &Path, name: Option<&str>) -> bool {
        self.entries.iter().any(|entry| entry.is(workspace, name))
    }

    /// The heartbeats.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// What runs.
    #[must_use]
    pub fn running(&self) -> &[Running] {
        &self.running
    }
}

#[cfg(test)]
mod tests;
