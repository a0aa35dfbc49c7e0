//! Follows what others do: beats that start and end, hosts that come and go, agents that get stuck.

use super::Daemon;
use crate::daemon::heartbeats::Running;
use crate::daemon::hosts;
use crate::daemon::stuck_monitor::{Event, Findings};
use crate::host::state::Kind;
use crate::journal::unfinished;
use jiff::Timestamp;
use std::io;
use std::path::Path;
use sys::clock;

impl<L: FnMut(&str)> Daemon<L> {
    /// Checks everything that beats write when they start and end.
    pub(super) fn check_beats(&mut self) {
        // In this order, so that no beat is reported as started after its end.
        self.survey();
        self.read_journal();
    }

    /// Turns new journal lines into events. An unreadable journal is reported elsewhere.
    pub(super) fn read_journal(&mut self) {
        let mut over = Vec::new();
        let now = clock::now();
        let ended = self.events.ended(
            |beat| self.ours.contains(beat),
            |entry| {
                over.extend(entry.resumes.clone());
                // A manual beat may have ended before it was noticed.
                if let (false, Some(at)) = (self.ours.contains(&entry.beat), entry.started()) {
                    self.state.record_run(entry.workspace.as_ref(), entry.heartbeat.as_deref(), at, now);
                }
            },
        );
        self.unread = ended.unwrap_or(false);
        self.resumed_beats_ended(&over);
    }

    /// Turns changes among hosts into events.
    pub(super) fn report_hosts(&mut self, news: io::Result<Vec<hosts::HostChange>>) {
        match news {
            // Beats have events of their own.
            Ok(mut news) => {
                news.retain(|news| news.record().card.kind == Kind::Live);
                news.iter().for_each(|news| self.events.host(&self.dir.hosts(), news));
            }
            Err(error) => (self.log)(&format!("cannot watch {}: {error}", self.dir.hosts().display())),
        }
    }

    /// Records a beat of an earlier daemon, which may have died before it did.
    pub(super) fn record_run(&mut self, workspace: &Path, name: Option<&str>, at: Timestamp) {
        if self.state.record_run(workspace, name, at, clock::now()) {
            self.write_behind.remember(workspace.to_path_buf(), name.map(str::to_owned), at);
        }
    }

    /// Looks for beats that others run, and for beats whose process died.
    pub(super) fn survey(&mut self) {
        // Our own beats report their end themselves.
        let known = |beat: &str| self.ours.contains(beat) && self.events.has_begun(beat);
        let Ok(survey) = unfinished::survey_except(&self.dir.beats(), known) else { return };
        self.events.begun(&survey);
        let others = survey.running.iter().filter(|begun| !self.ours.contains(&begun.entry.beat));
        let others: Vec<(Running, bool)> =
            others.filter_map(|begun| Some((Running::by_others(begun)?, begun.is_scheduled()))).collect();
        for (other, scheduled) in &others {
            if *scheduled {
                self.record_run(&other.workspace, other.name.as_deref(), other.since);
            } else {
                // A manual beat writes its last run itself.
                self.state.record_run(&other.workspace, other.name.as_deref(), other.since, clock::now());
            }
        }
        self.state.set_others(others.into_iter().map(|(other, _)| other).collect());
        if survey.dead.iter().any(|(_, begun)| !begun.is_over()) {
            let recovered = self.write_behind.recover();
            self.log_error(recovered);
        }
        let recounted = self.write_behind.recount(unfinished::waiting_of(&self.dir, &survey));
        self.log_error(recounted);
    }

    /// Handles an event of the stuck monitor.
    pub(super) fn handle_agents(&mut self, event: Event) {
        self.dirty |= matches!(event, Event::Scanned(_));
        let Findings { lines, problems } = self.stuck_monitor.handle(event, clock::now());
        problems.iter().for_each(|problem| (self.log)(problem));
        // An earlier daemon may have kept the same line in the reserve.
        for entry in lines {
            if !self.write_behind.is_waiting(&entry) {
                let kept = self.write_behind.keep(entry);
                self.log_error(kept);
            }
        }
    }
}
