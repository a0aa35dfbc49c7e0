//! Looks at what others do, and tells clients: the journal, the records of beats, hosts, and stuck agents.

use super::Runner;
use crate::daemon::hosts;
use crate::daemon::state::{Event, JournalLine};
use crate::daemon::stuck_monitor::{self, Findings};
use murmur_core::failures::BeatEnd;
use murmur_core::id::BeatId;
use murmur_core::outcome;
use murmur_core::permit::request::RequestId;
use murmur_host::state::AgentKind;
use murmur_store::journal::entry::JournalEntry;
use murmur_store::journal::unfinished;
use std::io;
use sys::clock;

fn end_of(entry: &JournalEntry) -> BeatEnd {
    use outcome::OutcomeKind::{Attention, Error, Limited, Ok, Skipped};
    match entry.outcome {
        Ok | Attention => BeatEnd::Success,
        Error if entry.early_end == Some(outcome::EarlyEnd::Replaced) => BeatEnd::Replaced,
        Error if !entry.is_stopped() => BeatEnd::Failure { retryable: entry.retryable },
        // Without a hold, nothing else would make its heartbeat wait.
        Limited if entry.limit.as_ref().is_some_and(|limit| limit.hold_until.is_none()) => {
            BeatEnd::Failure { retryable: false }
        }
        Error | Limited | Skipped => BeatEnd::Neither,
    }
}

impl<L: FnMut(&str)> Runner<L> {
    /// Turns new journal lines into events. An unreadable journal is reported elsewhere.
    pub(super) fn read_journal(&mut self) -> Event {
        let mut lines = Vec::new();
        let more = self.events.ended(
            |beat| self.state.is_ours(beat),
            |entry| {
                lines.push(JournalLine {
                    beat: entry.beat.clone(),
                    workspace: (&entry.workspace).into(),
                    name: entry.heartbeat.clone(),
                    started: entry.started(),
                    ended: entry.ended(),
                    end: end_of(entry),
                    agent: entry.agent.clone(),
                    resumes: entry.resumes.as_deref().and_then(|id| RequestId::parse(id).ok()),
                });
            },
        );
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
        // An earlier daemon may have kept the same line in the reserve.
        for entry in lines {
            if !self.write_behind.is_waiting(&entry) {
                let kept = self.write_behind.keep(entry);
                self.log_error(kept);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::{EarlyEnd, OutcomeKind};
    use murmur_core::usage_limit::Account;
    use murmur_store::limits::LimitReached;

    #[test]
    fn only_failures_count_towards_the_breaker() {
        let end = |outcome, early_end| {
            let entry = JournalEntry::new(String::new(), String::new(), outcome, 0);
            end_of(&JournalEntry { early_end, ..entry })
        };
        let failure = BeatEnd::Failure { retryable: false };
        let limit = |hold_until| LimitReached {
            account: Account::default(),
            window: "five_hour".to_owned(),
            resets_at: None,
            hold_until,
        };
        for (hold_until, expected) in [(Some(String::new()), BeatEnd::Neither), (None, failure)] {
            let entry = JournalEntry::new(String::new(), String::new(), OutcomeKind::Limited, 0);
            assert_eq!(end_of(&JournalEntry { limit: Some(limit(hold_until)), ..entry }), expected);
        }
        for (outcome, early_end, expected) in [
            (OutcomeKind::Ok, None, BeatEnd::Success),
            (OutcomeKind::Error, None, failure),
            (OutcomeKind::Error, Some(EarlyEnd::TimedOut), failure),
            (OutcomeKind::Error, Some(EarlyEnd::Stopped), BeatEnd::Neither),
            (OutcomeKind::Error, Some(EarlyEnd::Replaced), BeatEnd::Replaced),
            (OutcomeKind::Skipped, None, BeatEnd::Neither),
        ] {
            assert_eq!(end(outcome, early_end), expected, "{outcome} {early_end:?}");
        }
    }
}
