//! The daemon's state machine: an [`Event`] and the time go in, and [`Effect`]s to carry out come out. Pure, except
//! that new beats get random ids.
//!
//! The runner (`serve.rs`) handles some inputs without it: it answers status and attach commands, passes commands about
//! requests to the broker, batches writes (write-behind), and keeps track of hosts, agents, the notifier and edits of
//! config.json.
//!
//! The daemon goes through its `Stage`s, and each beat that it starts through its `Phase`s. Effects are carried out in
//! their order. If the result of one is an event, that event and its own effects come before the next effect.
//!
//! `state/beats.rs` starts beats and handles their end, `state/observe.rs` follows config.json, the journal and the
//! beats of others, and `state/stop.rs` stops the daemon.

mod beat_summary;
mod beats;
mod event;
mod observe;
mod stop;
#[cfg(test)]
mod tests;

use super::data_folder::Lost;
use super::heartbeats::{HeartbeatRef, Heartbeats};
use jiff::Timestamp;
use murmur_core::id::BeatId;
use murmur_core::permit::request::RequestId;
use std::collections::HashMap;

pub use beat_summary::BeatSummary;
pub use event::{Configuration, Effect, Event, Orphan, Recorded, StartRequest};

/// The state on which the daemon's decisions depend.
#[derive(Debug)]
pub struct State {
    stage: Stage,
    heartbeats: Heartbeats,
    /// The beats that this daemon starts.
    beats: HashMap<BeatId, Beat>,
    /// What was moved or deleted, if that is why it stops.
    lost: Option<Lost>,
    /// Whether the journal may have lines that have not been read.
    unread: bool,
    /// Whether it was logged that setting a last run back has no effect.
    warned_of_set_back: bool,
    new_id: fn(Timestamp) -> BeatId,
}

/// How far the daemon has come.
#[derive(Debug)]
enum Stage {
    /// It finds the PATH for agents. Requested beats wait for that.
    Starting(Vec<StartRequest>),
    /// It starts beats.
    Running,
    /// It waits until each of its beats has a record, then leaves them to the next daemon.
    Leaving,
    /// It has told its beats to end.
    Ending,
    /// It has killed its beats, which did not end in time.
    Killing,
    /// Its beats have ended, and those of earlier daemons were told to.
    EndingOthers,
    /// It sends the last journal lines to clients.
    Draining,
    /// There is nothing left to do.
    Over,
}

/// A beat that this daemon starts.
#[derive(Debug)]
struct Beat {
    phase: Phase,
    /// The heartbeat's previous run.
    before: Option<Timestamp>,
    /// Whether a client requested it; otherwise it was due.
    requested: bool,
    /// The request whose answer it was resumed with.
    resumes: Option<RequestId>,
}

/// How far a beat has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// It gets a record, so that no other daemon starts it again and its line has room.
    Announcing,
    /// It gets a process.
    Spawning {
        /// Whether it has a record.
        recorded: bool,
    },
    /// Its process runs.
    Running {
        /// Whether it had a record before it had a process: the record exists until its line is in the journal.
        recorded: bool,
    },
}

impl State {
    /// The state of a daemon that has not begun. `new_id` makes the id of a beat that starts at a time.
    #[must_use]
    pub fn new(new_id: fn(Timestamp) -> BeatId) -> Self {
        Self {
            stage: Stage::Starting(Vec::new()),
            heartbeats: Heartbeats::default(),
            beats: HashMap::new(),
            lost: None,
            unread: false,
            warned_of_set_back: false,
            new_id,
        }
    }

    /// Handles `event` and returns what to do.
    pub fn on(&mut self, event: Event, now: Timestamp) -> Vec<Effect> {
        match event {
            Event::Started => {
                let survey = [Effect::Survey, Effect::SurveyHosts];
                [Effect::ReadPauses, Effect::Reload, Effect::ReadLimits, Effect::ReadFailures]
                    .into_iter()
                    .chain(survey)
                    .collect()
            }
            Event::PathFound => self.path_found(),
            Event::Idle => self.start_due(now),
            Event::Due => vec![Effect::ExpireRequests, Effect::ScanAgents],
            Event::ClockSet => {
                self.heartbeats.clock_set(now);
                vec![Effect::RescanAgents, Effect::ReadBudgets]
            }
            Event::Tick => {
                self.heartbeats.clock_set(now);
                vec![Effect::Reload, Effect::Survey, Effect::ReadJournal, Effect::CheckFolder]
            }
            // config.json may have been fixed.
            Event::Edited => vec![Effect::ReadEdits, Effect::RetryRuns],
            Event::HeartbeatsEdited(edited) => match self.heartbeats.edit(edited, now) {
                true => Vec::new(),
                false => vec![Effect::Reload],
            },
            Event::Loaded(configuration) => self.loaded(configuration, now),
            Event::PausesRead(pauses) => {
                self.heartbeats.set_pauses(pauses);
                Vec::new()
            }
            Event::RunsWritten(runs) => {
                for (HeartbeatRef { workspace, name }, at) in runs {
                    self.heartbeats.set_written(&workspace, name.as_deref(), at);
                }
                Vec::new()
            }
            Event::SavedRuns { runs, as_of } => self.saved_runs(runs, as_of, now),
            Event::MissedRuns(missed) => self.missed_runs(missed, now),
            Event::Orphaned(orphans) => self.orphaned(orphans, now),
            Event::BeatsChanged => self.beats_changed(),
            Event::BeatsUnwatched => self.beats_unwatched(),
            Event::Surveyed(survey) => self.surveyed(&survey, now),
            Event::JournalRead { lines, more } => self.journal_read(lines, more, now),
            Event::Unread => vec![Effect::ReadJournal],
            Event::FilesChanged(heartbeats) => {
                self.heartbeats.files_changed(&heartbeats, now);
                Vec::new()
            }
            Event::Limits(limits) => {
                self.heartbeats.set_limits(limits, now).into_iter().map(Effect::ReportHold).collect()
            }
            Event::Failures(streaks) => {
                self.heartbeats.set_streaks(streaks, now);
                Vec::new()
            }
            Event::OverBudget(over_budget) => {
                self.heartbeats.set_over_budget(over_budget, now);
                Vec::new()
            }
            Event::Deferred(beats) => {
                self.heartbeats.set_deferred(beats);
                Vec::new()
            }
            Event::Requested(request) => self.requested(request),
            Event::Decide { request, is_last } => self.decide(request, is_last, now),
            Event::Written(beats) => {
                beats.iter().for_each(|beat| self.heartbeats.ended(beat, now));
                Vec::new()
            }
            Event::Announced { beat, recorded } => self.announced(beat, recorded, now),
            Event::Spawned(beat) => self.spawned(beat),
            Event::NotSpawned { beat, error } => self.not_spawned(beat, error, now),
            // The journal is read while the beat is still known to be ours.
            Event::Exited { beat, report } => {
                vec![
                    Effect::ReadLimits,
                    Effect::ReadFailures,
                    Effect::ReadBudgets,
                    Effect::ReadJournal,
                    Effect::Then(Box::new(Event::Concluded { beat, report })),
                ]
            }
            Event::Concluded { beat, report } => self.concluded(beat, report, now),
            Event::Stop(beats) => self.stop(beats),
            Event::Lost(lost) => self.stop_without_folder(lost),
            Event::RecordsLocked(locked) => self.records_locked(&locked),
            Event::OthersRunning(are_running) => self.others_running(are_running),
            Event::TimedOut => self.timed_out(),
        }
    }

    /// Catches up on whatever happened while no daemon ran, and then starts the beats that were requested meanwhile.
    fn path_found(&mut self) -> Vec<Effect> {
        let Stage::Starting(requests) = &mut self.stage else { return Vec::new() };
        let requests = std::mem::take(requests);
        self.stage = Stage::Running;
        // A resumed beat may just have ended: its line is read before anything starts.
        self.unread = true;
        let catch_up = [
            Effect::CheckAgent,
            Effect::RepairJournal,
            Effect::ExpireRequests,
            Effect::SurveyHosts,
            // A killed host may have left only its socket, which a survey does not see.
            Effect::ReapHosts,
            // Missed ends of beats count on top of them.
            Effect::ReadFailures,
            Effect::ReadSavedRuns,
            Effect::ReadLimits,
            Effect::ReadBudgets,
            Effect::ScanAgents,
        ];
        let requested = requests.into_iter().map(|request| Effect::Then(Box::new(Event::Requested(request))));
        catch_up.into_iter().chain(requested).collect()
    }

    /// The heartbeats.
    #[must_use]
    pub fn heartbeats(&self) -> &Heartbeats {
        &self.heartbeats
    }

    /// When to send [`Event::Idle`] again if nothing else happens; `None` if only an event can change anything.
    #[must_use]
    pub fn wake_at(&self) -> Option<Timestamp> {
        self.heartbeats.wake_at()
    }

    /// Whether this daemon starts or runs `beat`.
    #[must_use]
    pub fn is_ours(&self, beat: &BeatId) -> bool {
        self.beats.contains_key(beat)
    }

    /// Whether the journal may have lines that have not been read.
    #[must_use]
    pub fn has_unread(&self) -> bool {
        self.unread
    }

    /// Whether the PATH for agents is not known yet.
    #[must_use]
    pub fn is_starting(&self) -> bool {
        matches!(self.stage, Stage::Starting(_))
    }

    /// Whether beats may start.
    #[must_use]
    pub fn is_running(&self) -> bool {
        matches!(self.stage, Stage::Running)
    }

    /// Whether it is stopping.
    #[must_use]
    pub fn is_stopping(&self) -> bool {
        !self.is_starting() && !self.is_running()
    }

    /// Whether there is nothing left to do.
    #[must_use]
    pub fn is_over(&self) -> bool {
        matches!(self.stage, Stage::Over)
    }

    /// What was moved or deleted, if that is why it stops.
    #[must_use]
    pub fn lost(&self) -> Option<&Lost> {
        self.lost.as_ref()
    }
}
