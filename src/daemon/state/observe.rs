//! Follows what changes without this daemon: config.json, the journal, and the beats of others.

use super::{BeatSummary, Configuration, Effect, Orphan, Stage, State};
use crate::daemon::heartbeats::{Correction, HeartbeatRef, LastRuns, Running, StreakChange};
use crate::daemon::last_runs::MissedRuns;
use jiff::Timestamp;
use murmur_core::config::heartbeat::HeartbeatId;
use murmur_store::journal::unfinished::Survey;
use std::path::Path;
use sys::shell;

impl State {
    pub(super) fn loaded(&mut self, configuration: Configuration, now: Timestamp) -> Vec<Effect> {
        let Configuration { heartbeats, max_concurrent, accounts, over_budget } = configuration;
        let corrections = self.heartbeats.load(heartbeats, max_concurrent, now);
        self.heartbeats.set_accounts(&accounts, now);
        self.heartbeats.set_over_budget(over_budget, now);
        let warning = corrections.iter().find_map(|correction| self.set_back_warning(correction));
        let warning = warning.map(Effect::Log).into_iter();
        warning.chain(remember(corrections)).collect()
    }

    /// The warning that a last run in config.json is ignored, unless it was given before.
    fn set_back_warning(&mut self, correction: &Correction) -> Option<String> {
        let Correction { workspace, name, at, written } = correction;
        // A last run in the future is reported as a problem of config.json.
        if written.is_none_or(|written| written >= *at)
            || std::mem::replace(&mut self.warned_of_set_back, true)
        {
            return None;
        }
        let id = HeartbeatId::new(workspace, name.as_deref());
        let named =
            name.as_deref().map(|name| format!(" {}", shell::option("--name", name))).unwrap_or_default();
        Some(format!(
            "warning: lastRun of {id} is older than its last run and is ignored; to run it now: murmur beat {}{named}",
            shell::path(workspace)
        ))
    }

    pub(super) fn saved_runs(
        &mut self,
        runs: LastRuns,
        as_of: Option<Timestamp>,
        now: Timestamp,
    ) -> Vec<Effect> {
        self.heartbeats.merge_last_runs(runs, now);
        // Withdraw orphans after the saved runs, which may include them, and before the journal is read: a beat that
        // ended before the survey already has its line.
        vec![Effect::WithdrawOrphans, Effect::Survey, Effect::ReadMissedRuns(as_of)]
    }

    pub(super) fn missed_runs(&mut self, missed: MissedRuns, now: Timestamp) -> Vec<Effect> {
        self.heartbeats.merge_last_runs(missed.last, now);
        let ended = missed.uncounted.iter().flat_map(|line| self.beat_ended(line, now));
        let mut effects: Vec<Effect> = ended.collect();
        effects.extend(remember(self.heartbeats.unwritten()));
        effects
    }

    /// Counts the end of a beat.
    fn beat_ended(&mut self, line: &BeatSummary, now: Timestamp) -> impl Iterator<Item = Effect> + use<> {
        let change = self.heartbeats.beat_ended(line, now);
        change.into_iter().flat_map(|StreakChange { id, streak, report }| {
            let report = report.map(|line| Effect::Report(Box::new(line)));
            std::iter::once(Effect::KeepStreak(id, streak)).chain(report)
        })
    }

    /// The heartbeats of withdrawn beats are due as before.
    pub(super) fn orphaned(&mut self, orphans: Vec<Orphan>, now: Timestamp) -> Vec<Effect> {
        let mut effects = Vec::new();
        for Orphan { workspace, name, taken_at, before } in orphans {
            match taken_at {
                // Its record may not say yet that a process has it.
                Some(at) => effects.extend(self.record_run(&workspace, name.as_deref(), at, now)),
                None => self.heartbeats.withdrawn(&workspace, name.as_deref(), before, now),
            }
        }
        effects
    }

    /// Records a run that this daemon did not start: of a manual beat, or of an earlier daemon that died before
    /// recording it.
    fn record_run(
        &mut self,
        workspace: &Path,
        name: Option<&str>,
        at: Timestamp,
        now: Timestamp,
    ) -> Option<Effect> {
        let is_news = self.heartbeats.record_run(workspace, name, at, now);
        let heartbeat = || HeartbeatRef { workspace: workspace.to_path_buf(), name: name.map(str::to_owned) };
        is_news.then(|| Effect::RememberRun(heartbeat(), at))
    }

    pub(super) fn beats_changed(&self) -> Vec<Effect> {
        match self.stage {
            // In this order, so that no beat is reported as started after its end.
            Stage::Starting(_) | Stage::Running => {
                let read =
                    [Effect::ReadLimits, Effect::ReadFailures, Effect::ReadBudgets, Effect::ReadJournal];
                std::iter::once(Effect::Survey).chain(read).collect()
            }
            Stage::Leaving => vec![Effect::FindLockedRecords],
            Stage::EndingOthers => vec![Effect::FindOthers],
            Stage::Ending | Stage::Killing | Stage::Draining | Stage::Over => Vec::new(),
        }
    }

    /// Applies what the records say of the beats of others.
    pub(super) fn surveyed(&mut self, survey: &Survey, now: Timestamp) -> Vec<Effect> {
        let mut effects = Vec::new();
        let mut others = Vec::new();
        for begun in &survey.running {
            if begun.entry.beat.as_ref().is_some_and(|beat| self.is_ours(beat)) {
                continue;
            }
            let Some(other) = Running::by_others(begun) else { continue };
            effects.extend(self.record_run(&other.workspace, other.name.as_deref(), other.since, now));
            others.push(other);
        }
        self.heartbeats.set_others(others, now);
        if survey.dead.iter().any(|dead| !dead.begun.is_over()) {
            effects.push(Effect::RecoverLines);
        }
        effects.push(Effect::RecountLines { in_records: survey.waiting() });
        effects
    }

    pub(super) fn journal_read(
        &mut self,
        lines: Vec<BeatSummary>,
        more: bool,
        now: Timestamp,
    ) -> Vec<Effect> {
        self.unread = more;
        let (mut resumed, mut effects) = (Vec::new(), Vec::new());
        for line in lines {
            // A manual beat may have ended before it was noticed.
            let is_ours = line.beat.as_ref().is_some_and(|beat| self.is_ours(beat));
            if let (false, Some(at)) = (is_ours, line.started) {
                effects.extend(self.record_run(&line.workspace, line.name.as_deref(), at, now));
            }
            effects.extend(self.beat_ended(&line, now));
            resumed.extend(line.resumes);
        }
        if !resumed.is_empty() {
            effects.push(Effect::ResumesEnded(resumed));
        }
        if matches!(self.stage, Stage::Draining) && !more {
            self.stage = Stage::Over;
            effects.push(Effect::EndEvents);
        }
        effects
    }
}

/// Plans to write the correct last runs to config.json.
fn remember(corrections: Vec<Correction>) -> impl Iterator<Item = Effect> {
    let remember =
        |Correction { workspace, name, at, .. }| Effect::RememberRun(HeartbeatRef { workspace, name }, at);
    corrections.into_iter().map(remember)
}
