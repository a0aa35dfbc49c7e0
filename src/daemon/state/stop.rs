//! Stops the daemon, with or without its beats.

use super::{Effect, Stage, StartRequest, State};
use crate::daemon::client::Beats;
use crate::daemon::data_folder::Lost;
use crate::daemon::heartbeats::StartRefusal;
use murmur_core::id::BeatId;
use std::collections::HashSet;
use std::time::Duration;
use sys::error::{Failure, Hinted};

/// How long beats may take to end: their grace period and stopping what is left of them.
const ENDING: Duration = Duration::from_secs(8);

/// How long to wait for a beat to take over its record before leaving it.
const BEGINNING: Duration = Duration::from_secs(8);

impl State {
    /// Whether a client may stop the daemon like this: once beats were told to end, they cannot be left running.
    pub fn check_stop(&self, beats: Beats) -> Result<(), Failure> {
        let is_ending = matches!(self.stage, Stage::Ending | Stage::Killing | Stage::EndingOthers);
        if is_ending && beats == Beats::Leave {
            return Err("the daemon is already stopping, and its beats were told to end".into());
        }
        Ok(())
    }

    pub(super) fn stop(&mut self, beats: Beats) -> Vec<Effect> {
        let mut effects = vec![Effect::ReportStopping];
        let next = match (&self.stage, beats) {
            (Stage::Starting(_) | Stage::Running, Beats::Leave) => {
                effects.push(Effect::SetTimeout(Some(BEGINNING)));
                Stage::Leaving
            }
            (Stage::Starting(_) | Stage::Running | Stage::Leaving, Beats::End) => {
                effects.extend([Effect::EndBeats, Effect::SetTimeout(Some(ENDING))]);
                Stage::Ending
            }
            _ => return Vec::new(),
        };
        self.heartbeats.stop();
        if let Stage::Starting(requests) = std::mem::replace(&mut self.stage, next) {
            let refused =
                |request: StartRequest| Effect::Answer(request.id, Err(StartRefusal::Stopping.failure()));
            effects.extend(requests.into_iter().map(refused));
        }
        effects.extend(self.after_conclusion());
        effects
    }

    /// Stops because the data folder was moved or deleted. If only a file is gone, beats continue for the next daemon;
    /// without the folder nobody could find them.
    pub(super) fn stop_without_folder(&mut self, lost: Lost) -> Vec<Effect> {
        if self.is_stopping() {
            return Vec::new();
        }
        let message = lost.stop_message();
        let is_folder = matches!(lost, Lost::Folder(_));
        self.lost = Some(lost);
        let close = is_folder.then_some(Effect::StopWriting);
        let mut effects: Vec<Effect> = [Effect::Log(message)].into_iter().chain(close).collect();
        effects.push(Effect::CheckHosts);
        effects.extend(self.stop(if is_folder { Beats::End } else { Beats::Leave }));
        effects
    }

    /// Continues stopping after one of our beats has ended.
    pub(super) fn after_conclusion(&mut self) -> Vec<Effect> {
        match self.stage {
            Stage::Leaving => vec![Effect::FindLockedRecords],
            Stage::Ending | Stage::Killing if self.beats.is_empty() => {
                self.stage = Stage::EndingOthers;
                vec![Effect::SetTimeout(Some(ENDING)), Effect::FindOthers]
            }
            _ => Vec::new(),
        }
    }

    /// Once every beat of ours has a record, the daemon can leave them.
    pub(super) fn records_locked(&mut self, locked: &HashSet<BeatId>) -> Vec<Effect> {
        let is_left =
            matches!(self.stage, Stage::Leaving) && self.beats.keys().all(|beat| locked.contains(beat));
        if is_left { self.finish() } else { Vec::new() }
    }

    pub(super) fn others_running(&mut self, are_running: bool) -> Vec<Effect> {
        let have_ended = matches!(self.stage, Stage::EndingOthers) && !are_running;
        if have_ended { self.finish() } else { Vec::new() }
    }

    /// The end of the beats of others would not be noticed.
    pub(super) fn beats_unwatched(&mut self) -> Vec<Effect> {
        if matches!(self.stage, Stage::EndingOthers) { self.finish() } else { Vec::new() }
    }

    pub(super) fn timed_out(&mut self) -> Vec<Effect> {
        match self.stage {
            Stage::Ending => {
                // They did not react, for example because they are stopped. Their agents die with them.
                self.stage = Stage::Killing;
                vec![Effect::SetTimeout(None), Effect::KillBeats]
            }
            Stage::Leaving | Stage::EndingOthers => self.finish(),
            _ => Vec::new(),
        }
    }

    fn finish(&mut self) -> Vec<Effect> {
        if matches!(self.lost, Some(Lost::Folder(_))) {
            // Nothing can be written, and another folder may have taken its place.
            self.stage = Stage::Over;
            return vec![Effect::SetTimeout(None), Effect::ReportLostLines, Effect::EndEvents];
        }
        self.stage = Stage::Draining;
        vec![
            Effect::SetTimeout(None),
            Effect::WriteRuns,
            Effect::CheckReplaced,
            Effect::WriteLastLines,
            // Clients get every event until now.
            Effect::Survey,
            Effect::ReadJournal,
        ]
    }
}
