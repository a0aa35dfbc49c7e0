//! What the daemon learns of others: beats that began and ended, hosts that came and went, agents that are stuck.

use super::Daemon;
use crate::daemon::hosts;
use crate::daemon::lookout::{Happened, News};
use crate::daemon::state::Running;
use crate::host::state::Kind;
use crate::journal::unfinished;
use jiff::Timestamp;
use std::io;
use std::path::Path;
use sys::clock;

impl<L: FnMut(&str)> Daemon<L> {
    /// Looks at all that a beat leaves on disk when it begins and when it ends.
    pub(super) fn look(&mut self) {
        // In this order, so that a beat is not told to have begun after its end.
        self.survey();
        self.tell();
    }

    /// Makes events of the journal's new lines. A journal that cannot be read is complained of by those who need it.
    pub(super) fn tell(&mut self) {
        let mut over = Vec::new();
        let now = clock::now();
        let ended = self.events.ended(
            |beat| self.ours.hold(beat),
            |entry| {
                over.extend(entry.resumes.clone());
                // A beat by hand may be over before anybody looked.
                if let (false, Some(at)) = (self.ours.hold(&entry.beat), entry.started()) {
                    self.state.ran(entry.workspace.as_ref(), entry.heartbeat.as_deref(), at, now);
                }
            },
        );
        self.unread = ended.unwrap_or(false);
        self.resumed_are_over(&over);
    }

    /// Makes events of hosts that came and went.
    pub(super) fn tell_of_hosts(&mut self, news: io::Result<Vec<hosts::News>>) {
        match news {
            // Beats have events of their own.
            Ok(mut news) => {
                news.retain(|news| news.record().card.kind == Kind::Live);
                news.iter().for_each(|news| self.events.host(&self.dir.hosts(), news));
            }
            Err(error) => (self.log)(&format!("cannot look after {}: {error}", self.dir.hosts().display())),
        }
    }

    /// A daemon before this one began a beat, and may have died before it wrote that down.
    pub(super) fn learn(&mut self, workspace: &Path, name: Option<&str>, at: Timestamp) {
        if self.state.ran(workspace, name, at, clock::now()) {
            self.upkeep.remember(workspace.to_path_buf(), name.map(str::to_owned), at);
        }
    }

    /// Looks who else runs a beat, and whether somebody died over one.
    pub(super) fn survey(&mut self) {
        // Of our own beats that were told to have begun, their process says what becomes of them.
        let known = |beat: &str| self.ours.hold(beat) && self.events.has_begun(beat);
        let Ok(survey) = unfinished::survey_except(&self.dir.beats(), known) else { return };
        self.events.begun(&survey);
        let others = survey.running.iter().filter(|begun| !self.ours.hold(&begun.entry.beat));
        let others: Vec<(Running, bool)> =
            others.filter_map(|begun| Some((Running::by_others(begun)?, begun.is_scheduled()))).collect();
        for (other, scheduled) in &others {
            if *scheduled {
                self.learn(&other.workspace, other.name.as_deref(), other.since);
            } else {
                // Whoever began it by hand writes that down.
                self.state.ran(&other.workspace, other.name.as_deref(), other.since, clock::now());
            }
        }
        self.state.others(others.into_iter().map(|(other, _)| other).collect());
        if survey.dead.iter().any(|(_, begun)| !begun.is_over()) {
            let recovered = self.upkeep.recover();
            self.say(recovered);
        }
        let recounted = self.upkeep.recount(unfinished::waiting_of(&self.dir, &survey));
        self.say(recounted);
    }

    /// Takes what a look at the agents came to, or that there is reason for one.
    pub(super) fn take_agents(&mut self, happened: Happened) {
        self.stirred |= matches!(happened, Happened::Seen(_));
        let News { lines, troubles } = self.lookout.take(happened, clock::now());
        troubles.iter().for_each(|trouble| (self.log)(trouble));
        // A daemon before this one may have had no room for one.
        for entry in lines {
            if !self.upkeep.keeps(&entry) {
                let kept = self.upkeep.keep(entry);
                self.say(kept);
            }
        }
    }
}
