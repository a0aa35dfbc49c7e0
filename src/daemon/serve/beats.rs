//! The effects on beats: their records, their processes, and the clients that requested them.

use super::Runner;
use crate::beat::{Job, REPLACE, Resumes};
use crate::daemon::heartbeats::{DeferredBeat, Start};
use crate::daemon::rpc_handlers::StartedBeat;
use crate::daemon::state::{Event, Orphan, Recorded};
use murmur_core::config::settings::Settings;
use murmur_core::id::BeatId;
use murmur_store::journal::unfinished::{self, BeatRecord, Phase};
use std::collections::HashSet;
use sys::error::{Failure, Hinted};
use sys::failure;
use sys::process::Signal;

impl<L: FnMut(&str)> Runner<L> {
    /// Gives a beat its record before it has a process, so that no other daemon starts it again and its line has room.
    pub(super) fn announce(&mut self, start: Start) -> Event {
        let Start { running, heartbeat, before, resumes, continues } = start;
        let path = self.path.clone().unwrap_or_default();
        let settings = Settings::read(&self.user.settings.settings()).map_err(|error| error.failure());
        let job = Job::new(&heartbeat, running.beat, path, self.user.clone(), &settings);
        let mut job = Job { scheduled: true, ..job };
        if let Some(DeferredBeat { id, agent, session, .. }) = resumes {
            job.agent = agent;
            job.resumes = Some(Resumes { request: id, session });
        }
        job.continues = continues;
        self.write_behind.ensure_journal_reserve();
        let announced = unfinished::announce(&self.dir, &job.announcement(running.since, before));
        let (may_begin, news) = self.write_behind.check_recorded(&announced);
        if let Some(news) = news {
            (self.log)(&news.line());
        }
        job.announced = announced.is_ok();
        let beat = job.beat.clone();
        let recorded = match (may_begin, job.announced) {
            (true, true) => Recorded::Yes,
            (true, false) => Recorded::No,
            (false, _) => Recorded::NoRoom(self.write_behind.full().cloned().unwrap_or_default()),
        };
        self.sources.processes.add(job, running.since);
        Event::Announced { beat, recorded }
    }

    pub(super) fn spawn(&mut self, beat: BeatId) -> Event {
        match self.sources.processes.start(&beat, self.dir.root()) {
            Ok(()) => Event::Spawned(beat),
            Err(error) => {
                let error = failure!("cannot start a process for the beat").because(&error);
                Event::NotSpawned { beat, error }
            }
        }
    }

    /// Withdraws an announced beat, unless a process took it over.
    pub(super) fn withdraw(&mut self, beat: &BeatId) {
        if let Err(error) = unfinished::withdraw(&self.dir, beat) {
            (self.log)(&format!("cannot withdraw beat {beat}: {error}"));
        }
    }

    /// Withdraws the beats that an earlier daemon announced and no process took over.
    pub(super) fn withdraw_orphans(&self) -> Vec<Orphan> {
        let survey = unfinished::survey(&self.dir.beats()).unwrap_or_default();
        let withdraw = |begun: BeatRecord| {
            let Phase::Announced { before } = begun.phase else { return None };
            let taken_at = match unfinished::withdraw(&self.dir, begun.entry.beat.as_ref()?) {
                Ok(true) => None,
                Ok(false) => Some(begun.entry.started()?),
                Err(_) => return None,
            };
            let (workspace, name) = (begun.entry.workspace.into(), begun.entry.heartbeat);
            Some(Orphan { workspace, name, taken_at, before })
        };
        survey.announced.into_iter().filter_map(withdraw).collect()
    }

    pub(super) fn keep_failure(&mut self, beat: &BeatId, error: &Failure) {
        let Some(process) = self.sources.processes.get(beat) else { return };
        let kept = self.write_behind.keep(process.job.failed(process.since, error));
        self.log_error(kept);
    }

    pub(super) fn recover_or_fail(&mut self, beat: &BeatId, error: &Failure) {
        let Some(process) = self.sources.processes.get(beat) else { return };
        let failed = process.job.failed(process.since, error);
        let written = self.write_behind.recover_or_write(&failed);
        self.log_error(written);
    }

    pub(super) fn find_written(&self, beats: Vec<BeatId>) -> Vec<BeatId> {
        beats.into_iter().filter(|beat| unfinished::is_over(&self.dir, beat)).collect()
    }

    /// Answers the client that requested `beat`. If it is gone, the answer is dropped.
    pub(super) fn answer(&mut self, beat: BeatId, result: Result<(), Failure>) {
        let Some(to) = self.requested.remove(&beat) else { return };
        let started = result.and_then(|()| {
            let process = self.sources.processes.get(&beat);
            let agent = process.map(|process| process.job.agent.clone());
            let agent = agent.ok_or_else(|| failure!("the beat has ended"))?;
            Ok(StartedBeat { beat, agent })
        });
        drop(to.send(started));
    }

    pub(super) fn report_refused(&self, beat: &BeatId) {
        if let Some(process) = self.sources.processes.get(beat) {
            self.events.not_started(beat, &process.job.agent, "another beat is running in the workspace");
        }
    }

    /// Tells all beats started by daemons to end, with their grace period.
    pub(super) fn end_beats(&self) {
        self.sources.processes.signal(Signal::TERM);
        let survey = unfinished::survey(&self.dir.beats()).unwrap_or_default();
        let adopted = survey.running.iter().filter(|begun| begun.is_scheduled());
        let is_ours =
            |begun: &BeatRecord| begun.entry.beat.as_ref().is_some_and(|beat| self.state.is_ours(beat));
        for begun in adopted.filter(|begun| !is_ours(begun)) {
            unfinished::signal(&self.dir.beats(), begun, Signal::TERM);
        }
    }

    /// Tells one beat started by a daemon to end for the next run, with its grace period.
    pub(super) fn replace_beat(&self, beat: &BeatId) {
        if self.sources.processes.signal_one(beat, REPLACE) {
            return;
        }
        let survey = unfinished::survey(&self.dir.beats()).unwrap_or_default();
        let is_it = |begun: &&BeatRecord| begun.is_scheduled() && begun.entry.beat.as_ref() == Some(beat);
        if let Some(begun) = survey.running.iter().find(is_it) {
            unfinished::signal(&self.dir.beats(), begun, REPLACE);
        }
    }

    /// The beats whose processes hold their records: they need no daemon.
    pub(super) fn beats_with_locked_records(&self) -> HashSet<BeatId> {
        let survey = unfinished::survey(&self.dir.beats()).unwrap_or_default();
        survey.running.into_iter().filter_map(|begun| begun.entry.beat).collect()
    }

    /// Whether beats are running that an earlier daemon started.
    pub(super) fn are_others_running(&self) -> bool {
        let survey = unfinished::survey(&self.dir.beats());
        survey.is_ok_and(|survey| survey.running.iter().any(BeatRecord::is_scheduled))
    }
}
