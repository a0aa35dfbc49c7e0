//! Starts due and requested beats, and handles their end.

use super::Daemon;
use crate::beat::{self, Job, Resumes};
use crate::daemon::beats::{Beat, End};
use crate::daemon::heartbeats::{DeferredBeat, Start};
use crate::daemon::launch::{self, BeatReport};
use crate::daemon::rpc_handlers::StartedBeat;
use crate::journal::unfinished::{self, Phase};
use jiff::SignedDuration;
use sys::error::Failure;
use sys::{clock, failure};

/// How long a beat waits if there is no room for its line.
const FULL_PAUSE: SignedDuration = SignedDuration::from_secs(10);

/// How many beats are started before clients and events get a turn.
const AT_ONCE: usize = 4;

impl<L: FnMut(&str)> Daemon<L> {
    /// Starts due beats and returns whether there were any.
    pub(super) fn start_due(&mut self) -> bool {
        let now = clock::now();
        // An unread line may end a resumed beat, so nothing is resumed before that.
        let due = self.state.start_due(now, !self.unread, AT_ONCE, || beat::new_id(now));
        let is_any_due = !due.is_empty();
        for start in due {
            // A failed start has its line in the journal.
            let _begins = self.start(start, false);
        }
        is_any_due
    }

    /// Starts a beat's process. `requested` is whether a client requested it, who learns if it does not start.
    pub(super) fn start(&mut self, start: Start, requested: bool) -> Result<StartedBeat, Failure> {
        let Start { running, heartbeat, before, resumes } = start;
        self.write_behind.remember(running.workspace, running.name, running.since);
        let path = self.path.clone().unwrap_or_default();
        let mut job = Job { scheduled: true, ..Job::new(&heartbeat, running.beat, path, self.user.clone()) };
        if let Some(DeferredBeat { id, agent, session, .. }) = resumes {
            job.agent = agent;
            job.resumes = Some(Resumes { request: id.as_str().to_owned(), session });
        }
        // Before the process starts, so that no other daemon starts it again and its line has room.
        self.write_behind.ensure_reserve();
        let announced = unfinished::announce(&self.dir, &job.announcement(running.since, before));
        let (may_begin, news) = self.write_behind.check_recorded(&announced);
        if let Some(news) = news {
            (self.log)(&news.line());
        }
        if !may_begin {
            if let Some(running) = self.state.not_started(&job.beat, before, clock::now(), FULL_PAUSE) {
                self.write_behind.forget(running.workspace, running.name);
            }
            return Err(self.write_behind.full().cloned().unwrap_or_default());
        }
        job.announced = announced.is_ok();
        let begins = StartedBeat { beat: job.beat.clone(), agent: job.agent.clone() };
        match launch::start(self.dir.root()) {
            Ok(child) => {
                self.ours.add(child, Beat { pid: None, job, since: running.since, before, requested });
                Ok(begins)
            }
            Err(error) => {
                // No process will write this beat's line.
                self.withdraw(&begins.beat);
                self.state.ended(&begins.beat);
                let failure = failure!("cannot start a process for the beat").because(&error);
                let kept = self.write_behind.keep(job.failed(running.since, failure.line()));
                self.log_error(kept);
                Err(failure)
            }
        }
    }

    /// Handles the end of a beat of ours.
    pub(super) fn ended(&mut self, (beat, said): End) {
        // Reads its line while the beat is still known to be ours.
        self.read_journal();
        let Some(Beat { job, since, before, requested, .. }) = self.ours.take(&beat) else { return };
        let result = match said {
            Ok(BeatReport::Busy) => {
                self.withdraw(&beat);
                if let Some(running) = self.state.found_busy(&beat, before, clock::now()) {
                    self.write_behind.forget(running.workspace.clone(), running.name.clone());
                    if let Some(before) = before {
                        self.write_behind.remember(running.workspace, running.name, before);
                    }
                }
                if requested {
                    self.events.not_started(&beat, &job.agent, "another beat has the workspace");
                }
                self.survey();
                return;
            }
            Ok(BeatReport::Journaled) => Ok(()),
            Ok(BeatReport::Unsaved { line }) => {
                self.withdraw(&beat);
                self.write_behind.keep_of_dead(&line)
            }
            Ok(BeatReport::Waiting) => self.write_behind.recover(),
            Err(error) => {
                self.withdraw(&beat);
                self.write_behind.recover_or_write(&job.failed(since, error.line()))
            }
        };
        if let Some(resumes) = job.resumes {
            self.resumed_beats_ended(&[resumes.request]);
        }
        self.state.ended(&beat);
        self.log_error(result);
    }

    /// Withdraws an announced beat, unless a process took it over.
    fn withdraw(&mut self, beat: &str) {
        if let Err(error) = unfinished::withdraw(&self.dir, beat) {
            (self.log)(&format!("cannot withdraw beat {beat}: {error}"));
        }
    }

    /// Withdraws beats that an earlier daemon announced and no process took over: their heartbeats are due as before.
    pub(super) fn withdraw_announced(&mut self) {
        let survey = unfinished::survey(&self.dir.beats()).unwrap_or_default();
        for begun in survey.announced {
            let Phase::Announced { before } = begun.phase else { continue };
            let (workspace, name) = (begun.entry.workspace.as_ref(), begun.entry.heartbeat.as_deref());
            match (unfinished::withdraw(&self.dir, &begun.entry.beat), begun.entry.started()) {
                (Ok(true), _) => self.state.withdrawn(workspace, name, before, clock::now()),
                // A process is taking it over; its record may not say so yet.
                (Ok(false), Some(at)) => self.record_run(workspace, name, at),
                _ => {}
            }
        }
    }
}
