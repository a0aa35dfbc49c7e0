//! Paused heartbeats: none of their beats starts, neither a due one nor one to resume.

use super::{Heartbeats, ScheduledHeartbeat};
use crate::daemon::pauses::{PausedUntil, Pauses};
use jiff::Timestamp;
use murmur_core::schedule::NEVER_RAN;

impl Heartbeats {
    /// Sets which heartbeats are paused.
    pub fn set_pauses(&mut self, pauses: Pauses) {
        if self.pauses != pauses {
            self.entries.iter_mut().for_each(|entry| entry.pause(&pauses));
            self.pauses = pauses;
            self.queue_all();
        }
    }

    /// Which heartbeats are paused.
    #[must_use]
    pub fn pauses(&self) -> &Pauses {
        &self.pauses
    }
}

impl ScheduledHeartbeat {
    pub(super) fn pause(&mut self, pauses: &Pauses) {
        self.paused = pauses.hold(&self.heartbeat.id);
    }

    /// When it is due unless a start fails; `None` if it is paused indefinitely or never runs.
    #[must_use]
    pub fn next_run(&self) -> Option<Timestamp> {
        if self.heartbeat.never_runs {
            return None;
        }
        let paused = match self.paused {
            Some(PausedUntil::Open) => return None,
            Some(PausedUntil::Until(until)) => Some(until),
            None => None,
        };
        Some(self.planned()?).max(self.opens).max(paused)
    }

    /// When a beat of it may be resumed at the earliest; `None` if that needs a person.
    pub(super) fn resumes_from(&self) -> Option<Timestamp> {
        let paused = match self.paused {
            Some(PausedUntil::Open) => return None,
            Some(PausedUntil::Until(until)) => Some(until),
            None => None,
        };
        let held = self.limited.as_ref().map(|held| held.until);
        let latest = [self.not_before, held, paused].into_iter().flatten().max();
        self.heartbeat.is_enabled().then(|| latest.unwrap_or(NEVER_RAN))
    }
}

#[cfg(test)]
mod tests {
    use super::super::HeartbeatId;
    use super::super::fixture::{answered, at, heartbeat, with_options};
    use super::*;
    use crate::daemon::pauses::Pause;
    use murmur_core::config::heartbeat::Heartbeat;
    use murmur_core::config::limit::{Source, Sourced};
    use murmur_core::config::schedule_options::ScheduleOptions;
    use murmur_core::id::BeatId;
    use std::num::NonZeroU32;
    use std::path::Path;

    fn pauses(heartbeat: Option<&str>, until: Option<&str>) -> Pauses {
        let pause =
            Pause { heartbeat: heartbeat.map(str::to_owned), until: until.map(at), ..Pause::default() };
        Pauses::new(vec![pause])
    }

    fn starts(state: &mut Heartbeats, now: &str) -> Vec<String> {
        let started = state.start_due(at(now), true, usize::MAX, || BeatId::new(now));
        let ended = started.iter().map(|start| start.running.workspace.display().to_string()).collect();
        started.iter().for_each(|start| state.ended(&start.running.beat, Timestamp::UNIX_EPOCH));
        ended
    }

    /// Two heartbeats, `/a` and `/b`, that never ran.
    fn two() -> Heartbeats {
        let mut state = Heartbeats::default();
        let both = ["/a", "/b"].map(|path| heartbeat(path, None, 30, None));
        state.load(both.to_vec(), NonZeroU32::new(4).unwrap(), at("10:00:00"));
        state
    }

    #[test]
    fn a_paused_heartbeat_starts_once_when_it_is_resumed() {
        let mut state = two();
        state.set_pauses(pauses(Some("/a"), None));
        assert_eq!(starts(&mut state, "10:00:00"), ["/b"]);
        assert_eq!(state.wake_at(), Some(at("10:30:00")), "the other one");
        assert_eq!(starts(&mut state, "12:00:00"), ["/b"]);
        state.set_pauses(Pauses::default());
        assert_eq!(starts(&mut state, "12:00:01"), ["/a"]);
        assert!(starts(&mut state, "12:00:02").is_empty(), "missed times are one run");
    }

    #[test]
    fn a_pause_ends_by_itself_also_for_heartbeats_that_are_loaded_meanwhile() {
        let mut state = Heartbeats::default();
        state.set_pauses(pauses(None, Some("11:00:00")));
        let both = ["/a", "/b"].map(|path| heartbeat(path, None, 90, None));
        state.load(both.to_vec(), NonZeroU32::new(4).unwrap(), at("10:00:00"));
        assert!(starts(&mut state, "10:00:00").is_empty());
        assert_eq!(state.wake_at(), Some(at("11:00:00")));
        state.load(both.to_vec(), NonZeroU32::new(4).unwrap(), at("10:30:00"));
        assert!(starts(&mut state, "10:59:59").is_empty());
        assert_eq!(starts(&mut state, "11:00:00"), ["/a", "/b"]);
        // The file still has the pause.
        assert_eq!(starts(&mut state, "12:30:00"), ["/a", "/b"]);
    }

    #[test]
    fn a_pause_survives_a_clock_that_is_set() {
        let mut state = two();
        state.set_pauses(pauses(Some("/a"), Some("11:00:00")));
        state.clock_set(at("08:00:00"));
        assert_eq!(starts(&mut state, "08:00:00"), ["/b"]);
        state.clock_set(at("10:59:00"));
        assert_eq!(starts(&mut state, "10:59:00"), ["/b"]);
        state.clock_set(at("11:00:00"));
        assert_eq!(starts(&mut state, "11:00:00"), ["/a"]);
    }

    #[test]
    fn no_beat_is_resumed_while_its_heartbeat_is_paused_or_disabled() {
        let mut state = two();
        state.set_deferred(vec![answered(false)]);
        state.set_pauses(pauses(Some("/a"), None));
        assert_eq!(starts(&mut state, "10:00:00"), ["/b"]);
        state.set_pauses(pauses(Some("/a"), Some("10:20:00")));
        assert!(starts(&mut state, "10:10:00").is_empty());
        assert_eq!(state.wake_at(), Some(at("10:20:00")));
        let enabled = Sourced { value: false, source: Source::ConfigJson };
        let disabled = Heartbeat {
            settings: with_options(ScheduleOptions { enabled, ..ScheduleOptions::default() }),
            ..heartbeat("/a", None, 30, None)
        };
        state.load(vec![disabled], NonZeroU32::MIN, at("10:20:00"));
        assert!(starts(&mut state, "10:20:00").is_empty());
        assert_eq!(state.wake_at(), None);
        state.load(vec![heartbeat("/a", None, 30, None)], NonZeroU32::MIN, at("10:21:00"));
        assert_eq!(starts(&mut state, "10:21:00"), ["/a"]);
    }

    #[test]
    fn a_person_can_start_a_paused_heartbeat() {
        let mut state = two();
        state.set_pauses(pauses(None, None));
        assert!(starts(&mut state, "10:00:00").is_empty());
        assert_eq!(state.wake_at(), None);
        assert!(state.start_now(Path::new("/a"), None, at("10:00:00"), BeatId::new("now")).is_ok());
        assert_eq!(state.pauses().hold(&HeartbeatId::parse("/a")), Some(PausedUntil::Open));
    }
}
