//! Pings: tells a monitor such as Healthchecks when beats start and end, so that it notices missing ones.
//!
//! Those of one heartbeat are sent one after another, in the order in which its beats started and ended: the monitor
//! believes the last one.

use super::news::NamedHeartbeat;
use super::{Input, Notifier};
use ::notify::channel;
use jiff::{SignedDuration, Timestamp};
use murmur_core::config::heartbeat::HeartbeatId;
use murmur_core::id::BeatId;
use murmur_core::outcome::OutcomeKind;
use murmur_store::journal::entry::JournalEntry;
use serde_json::Value;
use std::collections::{BTreeMap, VecDeque};
use sys::clock;

/// How many pings of one heartbeat may wait. Beyond that, the oldest are dropped.
const MAX_WAITING: usize = 16;
/// How long after a beat's end a notifier that starts still pings: later, the monitor would take it for a new beat.
const LATE: SignedDuration = SignedDuration::from_mins(10);

/// What a ping says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A beat started.
    Start,
    /// It ended, and nobody needs to look.
    Ok,
    /// It failed or needs attention.
    Fail,
}

/// A ping.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ping {
    kind: Kind,
    beat: Option<BeatId>,
    text: String,
    /// When the beat ended.
    ended_at: Option<Timestamp>,
}

/// The pings of all heartbeats, by the heartbeat's id.
#[derive(Debug, Default)]
pub(super) struct Pings {
    /// What waits until the heartbeat's last ping is sent; no entry if none is being sent.
    waiting: BTreeMap<String, VecDeque<Ping>>,
    /// The newest beat whose end is known.
    ended: BTreeMap<String, BeatId>,
}

impl Kind {
    /// What is added to the URL's path.
    fn suffix(self) -> &'static str {
        match self {
            Self::Start => "/start",
            Self::Ok => "",
            Self::Fail => "/fail",
        }
    }
}

impl Ping {
    /// The ping for the end of a beat.
    fn end(entry: &JournalEntry) -> Self {
        let is_fine = matches!(entry.outcome, OutcomeKind::Ok | OutcomeKind::Skipped | OutcomeKind::Limited)
            || entry.waiting.is_some();
        let lasted = SignedDuration::from_millis(i64::try_from(entry.duration_ms).unwrap_or(i64::MAX));
        let started_at = entry.ts.parse::<Timestamp>().ok();
        Self {
            kind: if is_fine { Kind::Ok } else { Kind::Fail },
            beat: entry.beat.clone(),
            text: entry.text().map(|text| text.into_owned()).unwrap_or_default(),
            ended_at: started_at.and_then(|at| at.checked_add(lasted).ok()),
        }
    }

    /// Whether it is too late to send it.
    fn is_late(&self, now: Timestamp) -> bool {
        self.ended_at.is_none_or(|at| now.duration_since(at) > LATE)
    }
}

impl Pings {
    /// Returns `ping` if it can be sent now; otherwise it waits.
    fn add(&mut self, heartbeat: &str, ping: Ping) -> Option<Ping> {
        if ping.kind == Kind::Start {
            // The journal is read before events, so an end may be known before its start.
            let ended = self.ended.get(heartbeat);
            if ping.beat.as_ref().is_some_and(|beat| ended.is_some_and(|ended| beat <= ended)) {
                return None;
            }
        } else if let Some(beat) = &ping.beat {
            let newest = self.ended.entry(heartbeat.to_owned()).or_insert_with(|| beat.clone());
            if *newest < *beat {
                newest.clone_from(beat);
            }
        }
        let Some(waiting) = self.waiting.get_mut(heartbeat) else {
            self.waiting.insert(heartbeat.to_owned(), VecDeque::new());
            return Some(ping);
        };
        if waiting.len() >= MAX_WAITING {
            waiting.pop_front();
        }
        waiting.push_back(ping);
        None
    }

    /// A ping was sent, or `has_failed`. Returns the next one of `heartbeat`; after a failure, that is one of its last
    /// beat.
    fn sent(&mut self, heartbeat: &str, has_failed: bool) -> Option<Ping> {
        let waiting = self.waiting.get_mut(heartbeat)?;
        if has_failed && let Some(last) = waiting.back().map(|ping| ping.beat.clone()) {
            waiting.retain(|ping| ping.beat == last);
        }
        let next = waiting.pop_front();
        if next.is_none() {
            self.waiting.remove(heartbeat);
        }
        next
    }
}

impl Notifier {
    /// Pings for a `beat_started` event.
    pub(super) fn ping_start(&mut self, payload: &Value) {
        let text = |key: &str| payload.get(key).and_then(Value::as_str);
        let Some(workspace) = text("workspace") else { return };
        let known = self.names.of(workspace, text("heartbeat"));
        let beat = text("beat").map(BeatId::new);
        // What ended before it is pinged before it.
        self.read_journal(clock::now());
        self.ping(&known, Ping { kind: Kind::Start, beat, text: String::new(), ended_at: None });
    }

    /// Pings for the end of a beat of `heartbeat`; while the notifier catches up, only for the last one, once it is
    /// known.
    pub(super) fn ping_end(&mut self, heartbeat: &NamedHeartbeat, entry: &JournalEntry) {
        let ping = Ping::end(entry);
        match &mut self.missed {
            Some(missed) => drop(missed.pings.insert(heartbeat.id.clone(), (heartbeat.clone(), ping))),
            None => self.ping(heartbeat, ping),
        }
    }

    /// Pings for the last beats that ended while no notifier ran.
    pub(super) fn ping_missed(
        &mut self,
        pings: BTreeMap<HeartbeatId, (NamedHeartbeat, Ping)>,
        now: Timestamp,
    ) {
        for (heartbeat, ping) in pings.into_values().filter(|(_, ping)| !ping.is_late(now)) {
            self.ping(&heartbeat, ping);
        }
    }

    fn ping(&mut self, heartbeat: &NamedHeartbeat, ping: Ping) {
        if self.notify.ping_for(&heartbeat.name).is_some()
            && let Some(ping) = self.pings.add(heartbeat.id.as_str(), ping)
        {
            self.send_ping(heartbeat, ping);
        }
    }

    /// A ping of `heartbeat` was sent, or failed with `error`.
    pub(super) fn pinged(&mut self, heartbeat: &NamedHeartbeat, error: Option<&str>) {
        if error.is_some() {
            self.note(&heartbeat.label, "failed", "ping", error);
        }
        if let Some(next) = self.pings.sent(heartbeat.id.as_str(), error.is_some()) {
            self.send_ping(heartbeat, next);
        }
    }

    /// Sends a ping on a thread of its own. It isn't kept on disk: a late ping would be wrong.
    fn send_ping(&self, heartbeat: &NamedHeartbeat, ping: Ping) {
        let Some(address) = self.notify.ping_for(&heartbeat.name).cloned() else { return };
        let (heartbeat, threads) = (heartbeat.clone(), self.threads.clone());
        std::thread::spawn(move || {
            let beat = ping.beat.as_ref().map(BeatId::as_str);
            let sent = channel::ping(&address, ping.kind.suffix(), beat, &ping.text);
            let error = sent.err().map(|error| error.failure.line());
            let _ended = threads.blocking_send(Input::Pinged(heartbeat, error));
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ping(kind: Kind, beat: &str) -> Ping {
        Ping { kind, beat: Some(BeatId::new(beat)), text: String::new(), ended_at: None }
    }

    #[test]
    fn pings_of_a_heartbeat_wait_for_each_other() {
        let mut pings = Pings::default();
        let all =
            [ping(Kind::Start, "1"), ping(Kind::Fail, "1"), ping(Kind::Start, "2"), ping(Kind::Ok, "2")];
        let sent: Vec<bool> =
            all.iter().map(|ping| pings.add("site", ping.clone()).as_ref() == Some(ping)).collect();
        assert_eq!(sent, [true, false, false, false]);
        // Other heartbeats don't wait.
        assert!(pings.add("other", ping(Kind::Ok, "3")).is_some());
        for expected in [Some(&all[1]), Some(&all[2]), Some(&all[3]), None] {
            assert_eq!(pings.sent("site", false).as_ref(), expected);
        }
        assert!(pings.add("site", ping(Kind::Start, "4")).is_some());
    }

    #[test]
    fn after_a_failure_only_the_last_beat_is_pinged() {
        let mut pings = Pings::default();
        for (kind, beat) in [(Kind::Start, "1"), (Kind::Fail, "1"), (Kind::Start, "2"), (Kind::Ok, "2")] {
            pings.add("site", ping(kind, beat));
        }
        assert_eq!(pings.sent("site", true), Some(ping(Kind::Start, "2")));
        assert_eq!(pings.sent("site", true), Some(ping(Kind::Ok, "2")));
        assert_eq!(pings.sent("site", true), None);
    }

    #[test]
    fn a_start_after_its_end_is_not_pinged() {
        let mut pings = Pings::default();
        assert!(pings.add("site", ping(Kind::Ok, "2")).is_some());
        assert_eq!(pings.sent("site", false), None);
        for (beat, is_sent) in [("1", false), ("2", false), ("3", true)] {
            assert_eq!(pings.add("site", ping(Kind::Start, beat)).is_some(), is_sent, "{beat}");
        }
    }

    #[test]
    fn too_many_pings_drop_the_oldest() {
        let mut pings = Pings::default();
        for beat in 100..120 {
            pings.add("site", ping(Kind::Ok, &beat.to_string()));
        }
        assert_eq!(pings.sent("site", false), Some(ping(Kind::Ok, "104")));
    }

    #[test]
    fn a_ping_is_late_some_minutes_after_the_end() {
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let ended = Ping { ended_at: Some(at("2026-02-03T10:00:00Z")), ..ping(Kind::Ok, "1") };
        assert!(!ended.is_late(at("2026-02-03T10:10:00Z")));
        assert!(ended.is_late(at("2026-02-03T10:10:01Z")));
    }
}
