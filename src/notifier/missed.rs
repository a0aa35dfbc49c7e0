//! What happened while no notifier ran: only what is still true is news.

use super::Notifier;
use super::news::NamedHeartbeat;
use super::ping::Ping;
use ::notify::changes::{self, Beat};
use ::notify::event::Event;
use ::notify::outbox::KEPT;
use ::notify::state::State;
use jiff::Timestamp;
use murmur_core::config::heartbeat::HeartbeatId;
use murmur_core::config::notify::{EventKind, Notify};
use murmur_core::outcome::OutcomeKind;
use std::collections::BTreeMap;
use sys::clock;

/// What was missed.
#[derive(Debug, Default)]
pub(super) struct Missed {
    /// Events other than the ends of beats, each with its heartbeat's id.
    events: Vec<(String, Event)>,
    /// The last ping of each heartbeat, by its id.
    pub(super) pings: BTreeMap<HeartbeatId, (NamedHeartbeat, Ping)>,
}

impl Missed {
    /// Records the end of a beat. One that is ok ends all trouble of its heartbeat.
    pub(super) fn beat_ended(&mut self, state: &mut State, beat: Beat<'_>, notify: &Notify, now: Timestamp) {
        if beat.outcome == OutcomeKind::Ok && !beat.is_waiting && !beat.was_stopped {
            // A success doesn't undo calls that ran without a decision.
            self.events.retain(|(id, event)| id != beat.id || event.kind == EventKind::Attention);
        }
        changes::record_beat(state, beat, notify, now);
    }

    /// Records another event, in place of those of its kind. Ignores one that is too old to be delivered.
    pub(super) fn add(&mut self, id: &str, event: Event, now: Timestamp) {
        if event.kind != EventKind::Attention {
            self.events.retain(|(known, earlier)| known != id || earlier.kind != event.kind);
        }
        let at = event.ts.parse::<Timestamp>();
        if at.is_ok_and(|at| now.duration_since(at) < KEPT) {
            self.events.push((id.to_owned(), event));
        }
    }
}

impl Notifier {
    /// Reads the rest of what was missed, and reports what is still true.
    pub(super) fn report_missed(&mut self) {
        let now = clock::now();
        self.read_journal(now);
        let Some(Missed { events, pings }) = self.missed.take() else { return };
        for (id, event) in events {
            self.happened(&id, event, now);
        }
        for event in changes::cooled_down(&mut self.state, now) {
            self.tell(&event, now);
        }
        self.ping_missed(pings, now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_beat_that_is_ok_ends_the_trouble_of_its_heartbeat() {
        let (mut missed, mut state) = (Missed::default(), State::default());
        let now: Timestamp = "2026-02-03T10:00:00Z".parse().unwrap();
        let event = |kind, at: &str| Event::new(kind, at.to_owned(), "");
        for id in ["/a", "/b"] {
            for kind in [EventKind::Stuck, EventKind::Breaker, EventKind::Breaker, EventKind::Attention] {
                missed.add(id, event(kind, "2026-02-03T09:00:00Z"), now);
            }
        }
        missed.add("/c", event(EventKind::Budget, "2026-02-02T09:00:00Z"), now);
        let beat = Beat {
            id: "/a",
            outcome: OutcomeKind::Ok,
            is_waiting: false,
            was_stopped: false,
            cost_usd: None,
            event: event(EventKind::Recovered, ""),
        };
        missed.beat_ended(&mut state, beat, &Notify::default(), now);
        let left: Vec<(&str, EventKind)> =
            missed.events.iter().map(|(id, event)| (id.as_str(), event.kind)).collect();
        let expected = [
            ("/a", EventKind::Attention),
            ("/b", EventKind::Stuck),
            ("/b", EventKind::Breaker),
            ("/b", EventKind::Attention),
        ];
        assert_eq!(left, expected);
    }
}
