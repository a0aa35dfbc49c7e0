//! The running beats and the workspaces they hold.

use super::HeartbeatRef;
use jiff::Timestamp;
use murmur_core::id::BeatId;
use murmur_core::permit::request::RequestId;
use murmur_store::journal::unfinished::BeatRecord;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// A running beat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Running {
    /// The beat's id.
    pub beat: BeatId,
    /// Where it runs.
    pub workspace: PathBuf,
    /// The name of a named heartbeat.
    pub name: Option<String>,
    /// When it started.
    pub since: Timestamp,
    /// Whether this daemon started it; others were started manually or by an earlier daemon.
    pub ours: bool,
    /// The request whose answer it was resumed with.
    pub resumes: Option<RequestId>,
}

impl Running {
    /// Its heartbeat.
    #[must_use]
    pub fn heartbeat(&self) -> HeartbeatRef {
        HeartbeatRef { workspace: self.workspace.clone(), name: self.name.clone() }
    }

    /// The beat of `begun`, which another process runs.
    #[must_use]
    pub fn by_others(begun: &BeatRecord) -> Option<Self> {
        Some(Self {
            beat: begun.entry.beat.clone()?,
            workspace: begun.entry.workspace.clone().into(),
            name: begun.entry.heartbeat.clone(),
            since: begun.entry.started()?,
            ours: false,
            resumes: begun.entry.resumes.clone(),
        })
    }
}

/// All running beats, indexed by workspace.
#[derive(Debug, Default)]
pub(super) struct RunningBeats {
    beats: Vec<Running>,
    /// How many beats run in a workspace: more than one only until the end of one is noticed.
    workspaces: HashMap<PathBuf, usize>,
}

impl RunningBeats {
    pub(super) fn add(&mut self, running: Running) {
        *self.workspaces.entry(running.workspace.clone()).or_default() += 1;
        self.beats.push(running);
    }

    pub(super) fn remove(&mut self, beat: &BeatId) -> Option<Running> {
        let index = self.beats.iter().position(|running| running.beat == *beat)?;
        let running = self.beats.swap_remove(index);
        if let Some(count) = self.workspaces.get_mut(&running.workspace) {
            *count -= 1;
            if *count == 0 {
                self.workspaces.remove(&running.workspace);
            }
        }
        Some(running)
    }

    /// Keeps ours and replaces the rest with `others`.
    pub(super) fn replace_others(&mut self, others: Vec<Running>) {
        let (ours, known): (Vec<Running>, Vec<Running>) =
            std::mem::take(&mut self.beats).into_iter().partition(|running| running.ours);
        if known == others {
            self.beats = known.into_iter().chain(ours).collect();
            return;
        }
        self.workspaces.clear();
        let theirs = others.into_iter().filter(|other| ours.iter().all(|our| our.beat != other.beat));
        let theirs: Vec<Running> = theirs.collect();
        theirs.into_iter().chain(ours).for_each(|running| self.add(running));
    }

    pub(super) fn holds(&self, workspace: &Path) -> bool {
        self.workspaces.contains_key(workspace)
    }

    pub(super) fn all(&self) -> &[Running] {
        &self.beats
    }

    pub(super) fn len(&self) -> usize {
        self.beats.len()
    }
}
