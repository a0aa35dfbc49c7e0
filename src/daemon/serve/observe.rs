//! Looks at what others do, and tells clients: the journal, the records of beats, hosts, and stuck agents.

use super::Runner;
use crate::daemon::hosts;
use crate::daemon::state::{BeatSummary, Event};
use crate::daemon::stuck_monitor::{self, Findings};
use murmur_core::id::BeatId;
use murmur_host::state::AgentKind;
use murmur_store::journal::unfinished;
use std::io;
use sys::clock;

impl<L: FnMut(&str)> Runner<L> {
    /// Turns new journal lines into events. An unreadable journal is reported elsewhere.
    pub(super) fn read_journal(&mut self) -> Event {
        let mut lines = Vec::new();
        let more =
            self.events.ended(|beat| self.state.is_ours(beat), |entry| lines.push(BeatSummary::of(entry)));
        Event::JournalRead { lines, more: more.unwrap_or(false) }
    }

    /// Lists the records of beats, except those of ours that are known to have begun: they report their end themselves.
    pub(super) fn survey(&mut self) -> Option<Event> {
        let known = |name: &str| {
            let beat = BeatId::new(name);
            self.state.is_ours(&beat) && self.events.has_begun(&beat)
        };
        let survey = unfinished::survey_except(&self.dir.beats(), known).ok()?;
        self.events.begun(&survey);
        Some(Event::Surveyed(survey))
    }

    /// Turns changes among hosts into events.
    pub(super) fn report_hosts(&mut self, news: io::Result<Vec<hosts::HostChange>>) {
        match news {
            // Beats have events of their own.
            Ok(mut news) => {
                news.retain(|news| news.record().info.kind == AgentKind::Live);
                news.iter().for_each(|news| self.events.host(&self.dir.hosts(), news));
            }
            Err(error) => (self.log)(&format!("cannot watch {}: {error}", self.dir.hosts().display())),
        }
    }

    /// Handles an event of the stuck monitor.
    pub(super) fn handle_agents(&mut self, event: stuck_monitor::Event) {
        let Findings { lines, problems } = self.sources.stuck_monitor.handle(event, clock::now());
        problems.iter().for_each(|problem| (self.log)(problem));
        // An earlier daemon may have kept the same line in the journal reserve.
        for entry in lines {
            if !self.write_behind.is_waiting(&entry) {
                let kept = self.write_behind.keep(entry);
                self.log_error(kept);
            }
        }
    }
}
