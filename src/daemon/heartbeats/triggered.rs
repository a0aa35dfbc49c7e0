//! Heartbeats that file changes start (`on`).
//!
//! A beat starts once its files have been left alone for [`DEBOUNCE`], or [`MAX_DEBOUNCE`] after the first change.
//! Changes during the heartbeat's own beats don't count, or an agent's edits would start it again and again. If it has
//! a gate that can tell who made the changes, they start the next beat. Changes during beats that other changes
//! started never count: two heartbeats would start each other forever.

use super::{HeartbeatId, Heartbeats, Running, ScheduledHeartbeat};
use jiff::{SignedDuration, Timestamp};
use murmur_core::config::gate::Condition;
use murmur_core::config::limit::{MIN_INTERVAL, Source};

/// How long files must be left alone before their heartbeat starts.
pub(super) const DEBOUNCE: SignedDuration = SignedDuration::from_secs(2);

/// How long after the first change their heartbeat starts, even if they still change.
const MAX_DEBOUNCE: SignedDuration = SignedDuration::from_secs(30);

/// Changes of files that start a heartbeat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileChanges {
    first: Timestamp,
    last: Timestamp,
}

/// How long after a beat its workspace's changes still count as its own: they are reported with a delay.
const OWN_CHANGES: SignedDuration = SignedDuration::from_millis(500);

impl Heartbeats {
    /// Records that files of these heartbeats changed.
    pub fn files_changed(&mut self, ids: &[HeartbeatId], now: Timestamp) {
        for id in ids {
            let Some(index) = self.indices.get(id).copied() else { continue };
            let entry = &self.entries[index];
            let mut own = self.running.all().iter().filter(|running| self.is_own(entry, running)).peekable();
            if own.peek().is_none() {
                self.change(index, |entry| entry.files_changed(now));
            } else if own.all(|running| entry.may_ask_gate(running)) {
                self.entries[index].changed_meanwhile = true;
            }
        }
    }

    /// Records that the beat `ended` has ended.
    pub(super) fn record_beat_end(&mut self, ended: &Running, now: Timestamp) {
        if !self.have_options {
            return;
        }
        for index in 0..self.entries.len() {
            let entry = &self.entries[index];
            if entry.may_ask_gate(ended) {
                if std::mem::take(&mut self.entries[index].changed_meanwhile) {
                    self.change(index, |entry| entry.files_changed(now));
                }
            } else if self.is_own(entry, ended) {
                self.entries[index].own_changes_end = Some(now);
            }
        }
    }

    /// Whether changes by the beat `running` don't start `entry`.
    fn is_own(&self, entry: &ScheduledHeartbeat, running: &Running) -> bool {
        let name = running.name.as_deref();
        let is_triggered = || {
            let of = self.index_of(&running.workspace, name).and_then(|index| self.entries.get(index));
            running.ours && of.is_some_and(|of| of.started_by.is_some())
        };
        *entry.heartbeat.workspace == *running.workspace
            && (entry.is(&running.workspace, name) || is_triggered())
    }
}

impl ScheduledHeartbeat {
    /// Whether `running` is its own beat, and its gates can tell whose changes there are.
    fn may_ask_gate(&self, running: &Running) -> bool {
        let gates = &self.heartbeat.settings.gates.when.0;
        self.is(&running.workspace, running.name.as_deref())
            && gates.iter().any(|gate| matches!(gate.condition, Condition::Changed(_)))
    }

    fn files_changed(&mut self, now: Timestamp) {
        let own = self.own_changes_end.is_some_and(|ended| now.duration_since(ended).abs() <= OWN_CHANGES);
        if !own && self.may_start() && self.is_triggered() {
            let first = self.changed.map_or(now, |changes| changes.first);
            self.changed = Some(FileChanges { first, last: now });
        }
    }

    /// Whether file changes start it.
    pub(super) fn is_triggered(&self) -> bool {
        self.heartbeat.settings.options.as_ref().is_some_and(|options| options.on.is_some())
    }

    /// When it is due because files changed; at most once a minute if an agent could have asked for it.
    pub(super) fn trigger_due(&self) -> Option<Timestamp> {
        let on = self.heartbeat.settings.options.as_ref()?.on.as_ref()?;
        let changes = self.changed.filter(|_| self.may_start())?;
        let due = changes.last.checked_add(DEBOUNCE).ok()?.min(changes.first.checked_add(MAX_DEBOUNCE).ok()?);
        let last = self.last_run.filter(|_| on.source == Source::Heartbeat);
        let earliest = last.and_then(|last| last.checked_add(MIN_INTERVAL.signed()).ok());
        Some(earliest.map_or(due, |earliest| due.max(earliest)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{at, heartbeat, with_options};
    use super::*;
    use murmur_core::config::gate::{Gate, When};
    use murmur_core::config::heartbeat::Heartbeat;
    use murmur_core::config::interval::Interval;
    use murmur_core::config::limit::Sourced;
    use murmur_core::config::schedule_options::ScheduleOptions;
    use murmur_core::id::BeatId;
    use std::num::NonZeroU32;
    use std::path::Path;
    use std::sync::Arc;

    /// `/a`, which has no schedule but these keys, and `/a nightly`, which has only a schedule.
    fn two(keys: &str) -> Heartbeats {
        let mut keys: serde_json::Value = serde_json::from_str(keys).unwrap();
        let source = if keys["front"] == true { Source::Heartbeat } else { Source::ConfigJson };
        let on = Some(Sourced { value: serde_json::from_value(keys["on"].take()).unwrap(), source });
        let active_hours = keys.get("activeHours").cloned();
        let active_hours = active_hours.map(|hours| Sourced {
            value: serde_json::from_value(hours).unwrap(),
            source: Source::ConfigJson,
        });
        let options = ScheduleOptions {
            on,
            active_hours: active_hours.into_iter().collect(),
            ..ScheduleOptions::default()
        };
        let mut settings = with_options(options);
        if keys["gated"] == true {
            let (condition, timeout) = (Condition::Changed([Box::from("src")].into()), Interval::MAX);
            Arc::make_mut(&mut settings).gates.when = When([Gate { condition, timeout }].into());
        }
        let triggered = Heartbeat { schedule: None, settings, ..heartbeat("/a", None, 30, None) };
        let mut state = Heartbeats::default();
        let nightly = Heartbeat { schedule: None, ..heartbeat("/a", Some("nightly"), 30, None) };
        state.load(vec![triggered, nightly], NonZeroU32::new(4).unwrap(), at("09:00:00"));
        state
    }

    fn changed(state: &mut Heartbeats, now: &str) {
        let ids = [
            HeartbeatId::parse("/a"),
            HeartbeatId::new(Path::new("/a"), Some("nightly")),
            HeartbeatId::parse("/b"),
        ];
        state.files_changed(&ids, at(now));
    }

    /// The beats that start now; they go on.
    fn starts(state: &mut Heartbeats, now: &str) -> Vec<BeatId> {
        let started = state.start_due(at(now), true, usize::MAX, || BeatId::new(now));
        assert!(started.iter().all(|start| start.running.name.is_none()));
        started.into_iter().map(|start| start.running.beat).collect()
    }

    #[test]
    fn a_beat_starts_two_seconds_after_the_last_change() {
        let mut state = two(r#"{"on":{"path":"src"}}"#);
        assert!(starts(&mut state, "09:00:00").is_empty());
        assert_eq!(state.wake_at(), None, "it has no schedule");
        changed(&mut state, "10:00:00");
        changed(&mut state, "10:00:01");
        assert_eq!(state.wake_at(), Some(at("10:00:03")));
        assert!(starts(&mut state, "10:00:02").is_empty());
        assert_eq!(starts(&mut state, "10:00:03").len(), 1);
        assert_eq!(state.wake_at(), None);
    }

    #[test]
    fn a_heartbeat_md_starts_beats_at_most_once_a_minute() {
        let mut state = two(r#"{"on":{"path":"src"},"front":true}"#);
        changed(&mut state, "10:00:00");
        let beat = starts(&mut state, "10:00:02").remove(0);
        state.ended(&beat, at("10:00:03"));
        changed(&mut state, "10:00:07");
        assert!(starts(&mut state, "10:00:09").is_empty());
        assert_eq!(state.wake_at(), Some(at("10:01:02")));
        assert_eq!(starts(&mut state, "10:01:02").len(), 1);
    }

    #[test]
    fn changes_by_a_beat_do_not_start_another() {
        let mut state = two(r#"{"on":{"path":"src"}}"#);
        changed(&mut state, "10:00:00");
        let beat = starts(&mut state, "10:00:02").remove(0);
        changed(&mut state, "10:00:05");
        state.ended(&beat, at("10:00:06"));
        changed(&mut state, "10:00:06");
        assert_eq!(state.wake_at(), None);
        changed(&mut state, "10:00:07");
        assert_eq!(starts(&mut state, "10:00:09").len(), 1);
    }

    #[test]
    fn changes_during_its_own_beat_start_another_if_a_gate_decides() {
        let mut state = two(r#"{"on":{"path":"src"},"gated":true}"#);
        changed(&mut state, "10:00:00");
        let beat = starts(&mut state, "10:00:02").remove(0);
        changed(&mut state, "10:00:05");
        assert_eq!(state.replace(at("10:00:08")), [], "it isn't due before the end");
        state.ended(&beat, at("10:00:09"));
        assert_eq!(state.wake_at(), Some(at("10:00:11")));
        let beat = starts(&mut state, "10:00:11").remove(0);
        state.ended(&beat, at("10:00:12"));
        assert_eq!(state.wake_at(), None);
        // Reported late.
        changed(&mut state, "10:00:12");
        assert_eq!(starts(&mut state, "10:00:14").len(), 1);
    }

    #[test]
    fn files_that_never_stop_changing_start_a_beat() {
        let mut state = two(r#"{"on":{"path":"src"}}"#);
        for second in 0..40 {
            changed(&mut state, &format!("10:00:{second:02}"));
        }
        assert_eq!(state.wake_at(), Some(at("10:00:30")));
        assert_eq!(starts(&mut state, "10:00:40").len(), 1);
        assert_eq!(state.wake_at(), None);
    }

    #[test]
    fn changes_by_another_heartbeat_start_one_beat_after_its_own() {
        let mut state = two(r#"{"on":{"path":"src"}}"#);
        let nightly = state.start_now(Path::new("/a"), Some("nightly"), at("10:00:00"), BeatId::new("n"));
        let nightly = nightly.unwrap().running.beat;
        changed(&mut state, "10:00:05");
        assert!(starts(&mut state, "10:00:09").is_empty(), "the workspace is taken");
        state.ended(&nightly, at("10:01:00"));
        let beat = starts(&mut state, "10:01:00").remove(0);
        changed(&mut state, "10:01:01");
        state.ended(&beat, at("10:01:02"));
        assert_eq!(state.wake_at(), None);
    }

    #[test]
    fn heartbeats_that_changes_start_do_not_start_each_other() {
        let on = serde_json::from_str(r#"{"path":"src"}"#).unwrap();
        let on = Some(Sourced { value: on, source: Source::ConfigJson });
        let settings = with_options(ScheduleOptions { on, ..ScheduleOptions::default() });
        let of = |name| Heartbeat {
            schedule: None,
            settings: Arc::clone(&settings),
            ..heartbeat("/a", name, 30, None)
        };
        let mut state = Heartbeats::default();
        state.load(vec![of(None), of(Some("nightly"))], NonZeroU32::new(4).unwrap(), at("09:00:00"));
        let first = HeartbeatId::new(Path::new("/a"), None);
        state.files_changed(&[first], at("10:00:00"));
        let beat = starts(&mut state, "10:00:02").remove(0);
        changed(&mut state, "10:00:03");
        state.ended(&beat, at("10:00:04"));
        changed(&mut state, "10:00:04");
        assert_eq!(state.wake_at(), None);
    }

    #[test]
    fn a_change_outside_active_hours_waits_for_them() {
        let mut state = two(r#"{"on":{"path":"src"},"activeHours":"12:00-13:00"}"#);
        changed(&mut state, "10:00:00");
        assert!(starts(&mut state, "10:00:02").is_empty());
        assert_eq!(state.wake_at(), Some(at("12:00:00")));
        assert_eq!(starts(&mut state, "12:00:00").len(), 1);
        assert_eq!(state.wake_at(), None);
    }

    #[test]
    fn a_beat_that_could_not_start_is_tried_again() {
        let mut state = two(r#"{"on":{"path":"src"}}"#);
        changed(&mut state, "10:00:00");
        let beat = starts(&mut state, "10:00:02").remove(0);
        state.found_busy(&beat, None, at("10:00:02"));
        assert_eq!(state.wake_at(), Some(at("10:00:03")));
        assert_eq!(starts(&mut state, "10:00:03").len(), 1);
    }
}
