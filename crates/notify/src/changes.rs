//! Decides which events are news: one message per change, not per beat.
//!
//! A heartbeat's trouble is reported once, until its outcome or its text changes (numbers in it don't count: "9 days
//! old" is not news after "8 days old"). After a message, the next one about the same heartbeat waits for the cooldown;
//! only what is still true then is sent.

use crate::event::Event;
use crate::state::{Heartbeat, OtherReport, PostponedEvent, State};
use jiff::civil::Time;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan};
use murmur_core::config::notify::{EventKind, Notify};
use murmur_core::outcome::OutcomeKind;
use std::fmt::Write as _;
use sys::clock::rfc3339;

/// The end of a beat.
#[derive(Debug, Clone)]
pub struct Beat<'a> {
    /// The heartbeat's id.
    pub id: &'a str,
    /// Its outcome.
    pub outcome: OutcomeKind,
    /// Whether it waits for an answer; the request has its own event.
    pub is_waiting: bool,
    /// Whether a person stopped it.
    pub was_stopped: bool,
    /// What it cost, in US dollars.
    pub cost_usd: Option<f64>,
    /// Its text and details; the outcome decides its kind.
    pub event: Event,
}

/// How many heartbeats the digest lists.
const LISTED: usize = 50;

/// Records the end of a beat, and returns the event to send now, if there is one.
pub fn beat_ended(state: &mut State, beat: Beat<'_>, notify: &Notify, now: Timestamp) -> Option<Event> {
    let id = beat.id;
    record_beat(state, beat, notify, now);
    state.heartbeats.get_mut(id)?.due(now)
}

/// Records the end of a beat. [`cooled_down`] returns the event to send, if there is one: whoever reads what happened
/// long ago calls it after the last beat, and so learns only what is still true.
pub fn record_beat(state: &mut State, beat: Beat<'_>, notify: &Notify, now: Timestamp) {
    let tally = state.tally.entry(beat.id.to_owned()).or_default();
    tally.name = beat.event.label().unwrap_or_default().to_owned();
    *tally.outcomes.entry(beat.outcome.to_string()).or_default() += 1;
    tally.cost_usd += beat.cost_usd.unwrap_or_default();
    // A beat that was skipped, that a person stopped, or that waits for an answer says nothing about the heartbeat.
    let kind = match beat.outcome {
        _ if beat.is_waiting || beat.was_stopped => return,
        OutcomeKind::Skipped => return,
        OutcomeKind::Ok => None,
        OutcomeKind::Attention => Some(EventKind::Attention),
        OutcomeKind::Error => Some(EventKind::Error),
        OutcomeKind::Limited => Some(EventKind::Limited),
    };
    let known = state.heartbeats.entry(beat.id.to_owned()).or_default();
    if kind.is_none() {
        // Calls that ran without a decision don't become undone.
        let is_lasting = |event: &Event| event.kind == EventKind::Attention;
        known
            .others
            .values_mut()
            .for_each(|other| other.held = other.held.take().filter(|held| is_lasting(&held.event)));
    }
    let fingerprint = kind.map_or_else(String::new, |kind| fingerprint(kind, &beat.event.text));
    if fingerprint == known.told {
        known.held = None;
        return;
    }
    let event = Event { kind: kind.unwrap_or(EventKind::Recovered), ..beat.event };
    let due = cooled_down_at(known.told_at, notify, now);
    known.held = Some(PostponedEvent { event, fingerprint, due });
}

/// Records an event about the heartbeat `id` other than the end of a beat, and returns the event to send now, if there
/// is one: the next of its kind waits for the cooldown.
pub fn happened(
    state: &mut State,
    id: &str,
    mut event: Event,
    notify: &Notify,
    now: Timestamp,
) -> Option<Event> {
    let known = state.heartbeats.entry(id.to_owned()).or_default();
    known.others.retain(|_, other| other.held.is_some() || cooled_down_at(other.told_at, notify, now) > now);
    // Each agent may be stuck.
    let agent = event.agent.as_deref().filter(|_| event.kind == EventKind::Stuck).unwrap_or_default();
    let known = known.others.entry(format!("{} {agent}", event.kind.as_str())).or_default();
    if event.kind == EventKind::Attention
        && let Some(PostponedEvent { event: earlier, .. }) = &known.held
    {
        event.text = format!("{}\n{}", earlier.text, event.text);
    }
    let due = cooled_down_at(known.told_at, notify, now);
    known.held = Some(PostponedEvent { event, fingerprint: String::new(), due });
    known.due(now)
}

/// When the next event after one that was told at `told_at` may be sent.
fn cooled_down_at(told_at: Option<Timestamp>, notify: &Notify, now: Timestamp) -> Timestamp {
    let cooldown = SignedDuration::try_from(notify.cooldown.duration()).unwrap_or(SignedDuration::MAX);
    told_at.and_then(|at| at.checked_add(cooldown).ok()).unwrap_or(now).max(now)
}

/// Returns the events whose cooldown is over.
pub fn cooled_down(state: &mut State, now: Timestamp) -> Vec<Event> {
    let mut events = Vec::new();
    for heartbeat in state.heartbeats.values_mut() {
        events.extend(heartbeat.due(now));
        events.extend(heartbeat.others.values_mut().filter_map(|other| other.due(now)));
    }
    events
}

impl OtherReport {
    /// The event whose cooldown is over, which counts as told from now on.
    fn due(&mut self, now: Timestamp) -> Option<Event> {
        let held = self.held.take_if(|held| held.due <= now)?;
        self.told_at = Some(now);
        Some(held.event)
    }
}

impl Heartbeat {
    /// The event whose cooldown is over, which counts as told from now on.
    fn due(&mut self, now: Timestamp) -> Option<Event> {
        let held = self.held.take_if(|held| held.due <= now)?;
        (self.told, self.told_at) = (held.fingerprint, Some(now));
        Some(held.event)
    }
}

/// The daily digest, if it is due; the first one a day after notifications were set up.
pub fn digest(state: &mut State, notify: &Notify, now: Timestamp, zone: &TimeZone) -> Option<Event> {
    let at = notify.digest?;
    let last = *state.digested_at.get_or_insert(now);
    if next_digest(at, last, zone)? > now {
        return None;
    }
    state.digested_at = Some(now);
    let tally = std::mem::take(&mut state.tally);
    let mut text = String::new();
    for (id, tally) in tally.iter().take(LISTED) {
        let name = if tally.name.is_empty() { id } else { &tally.name };
        let outcomes: Vec<String> =
            tally.outcomes.iter().map(|(outcome, count)| format!("{count} {outcome}")).collect();
        let _infallible = write!(text, "{name}: {}", outcomes.join(", "));
        if tally.cost_usd > 0.0 {
            let _infallible = write!(text, ", ${:.2}", tally.cost_usd);
        }
        text.push('\n');
    }
    if tally.len() > LISTED {
        let _infallible = writeln!(text, "and {} more heartbeats; see: murmur usage", tally.len() - LISTED);
    }
    if tally.is_empty() {
        text.push_str("No beat has run since the last digest.");
    }
    text.truncate(text.trim_end().len());
    Some(Event::new(EventKind::Digest, rfc3339(now), text))
}

/// When [`cooled_down`] or [`digest`] has something to do.
#[must_use]
pub fn wake_at(state: &State, notify: &Notify, zone: &TimeZone) -> Option<Timestamp> {
    let held = state.heartbeats.values().flat_map(|heartbeat| {
        let others = heartbeat.others.values().filter_map(|other| other.held.as_ref());
        heartbeat.held.iter().chain(others).map(|held| held.due)
    });
    let digest = notify.digest.and_then(|at| next_digest(at, state.digested_at?, zone));
    held.chain(digest).min()
}

/// The first time after `last` that clocks show `at`.
fn next_digest(at: Time, last: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
    let local = last.to_zoned(zone.clone());
    let on = |date: jiff::civil::Date| Some(date.to_datetime(at).to_zoned(zone.clone()).ok()?.timestamp());
    let today = on(local.date())?;
    if today > last { Some(today) } else { on(local.date().checked_add(1.day()).ok()?) }
}

/// What distinguishes one trouble from another: its kind and its text without numbers.
fn fingerprint(kind: EventKind, text: &str) -> String {
    let mut plain = format!("{} ", kind.as_str());
    let mut in_number = false;
    for letter in text.chars().take(300) {
        let is_digit = letter.is_ascii_digit();
        if !is_digit {
            plain.push(letter);
        } else if !in_number {
            plain.push('#');
        }
        in_number = is_digit;
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(minute: i64) -> Timestamp {
        "2026-02-03T10:00:00Z".parse::<Timestamp>().unwrap() + SignedDuration::from_mins(minute)
    }

    fn end(state: &mut State, outcome: OutcomeKind, text: &str, minute: i64) -> Option<String> {
        let event = Event {
            heartbeat: Some("site".to_owned()),
            ..Event::new(EventKind::Test, rfc3339(at(minute)), text)
        };
        let beat =
            Beat { id: "/site", outcome, is_waiting: false, was_stopped: false, cost_usd: Some(0.5), event };
        beat_ended(state, beat, &Notify::default(), at(minute)).map(text_of)
    }

    fn text_of(event: Event) -> String {
        format!("{} {}", event.kind.as_str(), event.text)
    }

    #[test]
    fn trouble_is_reported_once_until_it_changes_or_ends() {
        let mut state = State::default();
        for (minute, outcome, text, expected) in [
            (0, OutcomeKind::Ok, "", None),
            (
                30,
                OutcomeKind::Attention,
                "the backup is 8 days old",
                Some("attention the backup is 8 days old"),
            ),
            (60, OutcomeKind::Attention, "the backup is 9 days old", None),
            (90, OutcomeKind::Attention, "the disk is full", Some("attention the disk is full")),
            (120, OutcomeKind::Skipped, "nothing changed", None),
            (150, OutcomeKind::Error, "exit code 1", Some("error exit code 1")),
            (180, OutcomeKind::Error, "exit code 2", None),
            (210, OutcomeKind::Ok, "", Some("recovered ")),
            (240, OutcomeKind::Ok, "", None),
            (270, OutcomeKind::Limited, "five_hour limit", Some("limited five_hour limit")),
        ] {
            assert_eq!(end(&mut state, outcome, text, minute).as_deref(), expected, "{minute}");
        }
    }

    #[test]
    fn after_the_cooldown_only_the_last_state_is_reported() {
        let mut state = State::default();
        assert!(end(&mut state, OutcomeKind::Error, "a", 0).is_some());
        assert!(end(&mut state, OutcomeKind::Ok, "", 1).is_none());
        assert!(end(&mut state, OutcomeKind::Error, "b", 2).is_none());
        assert_eq!(wake_at(&state, &Notify::default(), &TimeZone::UTC), Some(at(10)));
        assert_eq!(cooled_down(&mut state, at(9)), []);
        let events: Vec<String> = cooled_down(&mut state, at(10)).into_iter().map(text_of).collect();
        assert_eq!(events, ["error b"]);
        // Flapping that ends where it began is no news.
        assert!(end(&mut state, OutcomeKind::Ok, "", 12).is_none());
        assert!(end(&mut state, OutcomeKind::Error, "b", 13).is_none());
        assert_eq!(wake_at(&state, &Notify::default(), &TimeZone::UTC), None);
    }

    #[test]
    fn an_agent_that_is_stuck_again_within_the_cooldown_is_no_news_until_its_end() {
        let (mut state, notify) = (State::default(), Notify::default());
        let stuck = |state: &mut State, kind, text: &str, minute| {
            let event = Event::new(kind, rfc3339(at(minute)), text);
            happened(state, "/site", event, &notify, at(minute)).map(text_of)
        };
        let later = |state: &mut State, minute| -> Vec<String> {
            cooled_down(state, at(minute)).into_iter().map(text_of).collect()
        };
        assert_eq!(stuck(&mut state, EventKind::Stuck, "a", 0).as_deref(), Some("stuck a"));
        // Each kind has its own cooldown.
        assert_eq!(stuck(&mut state, EventKind::Breaker, "b", 1).as_deref(), Some("breaker b"));
        assert_eq!(stuck(&mut state, EventKind::Stuck, "c", 2), None);
        assert_eq!(wake_at(&state, &notify, &TimeZone::UTC), Some(at(10)));
        // A beat that is ok ends it.
        end(&mut state, OutcomeKind::Ok, "", 3);
        assert_eq!(later(&mut state, 10), [""; 0]);
        assert_eq!(stuck(&mut state, EventKind::Stuck, "d", 12).as_deref(), Some("stuck d"));
        assert_eq!(stuck(&mut state, EventKind::Stuck, "e", 14), None);
        state = serde_json::from_str(&serde_json::to_string(&state).unwrap()).unwrap();
        assert_eq!(later(&mut state, 22), ["stuck e"]);
        // Calls that ran without a decision are all told.
        assert!(stuck(&mut state, EventKind::Attention, "f", 30).is_some());
        for (text, minute) in [("g", 31), ("h", 32)] {
            assert_eq!(stuck(&mut state, EventKind::Attention, text, minute), None);
        }
        assert_eq!(later(&mut state, 40), ["attention g\nh"]);
    }

    #[test]
    fn trouble_that_began_and_ended_long_ago_is_no_news() {
        use OutcomeKind::{Attention, Error, Ok};
        let mut state = State::default();
        let missed = |state: &mut State, outcomes: &[OutcomeKind], minute| {
            for outcome in outcomes {
                let event = Event::new(EventKind::Test, String::new(), "x");
                let (is_waiting, was_stopped, outcome) = (false, false, *outcome);
                let beat = Beat { id: "/site", outcome, is_waiting, was_stopped, cost_usd: None, event };
                record_beat(state, beat, &Notify::default(), at(minute));
            }
            cooled_down(state, at(minute)).into_iter().map(text_of).collect::<Vec<_>>()
        };
        assert_eq!(missed(&mut state, &[Attention, Ok, Ok], 0), [""; 0]);
        assert_eq!(missed(&mut state, &[Ok, Error, Attention], 30), ["attention x"]);
        assert_eq!(missed(&mut state, &[Ok, Attention], 60), [""; 0]);
        assert_eq!(missed(&mut state, &[Error, Ok], 90), ["recovered x"]);
    }

    #[test]
    fn a_beat_that_was_stopped_or_waits_is_not_news() {
        let mut state = State::default();
        for (is_waiting, was_stopped) in [(true, false), (false, true)] {
            let event = Event::new(EventKind::Test, String::new(), "x");
            let beat = Beat {
                id: "/site",
                outcome: OutcomeKind::Error,
                is_waiting,
                was_stopped,
                cost_usd: None,
                event,
            };
            assert_eq!(beat_ended(&mut state, beat, &Notify::default(), at(0)), None);
        }
    }

    #[test]
    fn the_digest_counts_the_beats_of_a_day() {
        let notify = Notify { digest: Some(Time::constant(11, 0, 0, 0)), ..Notify::default() };
        let mut state = State::default();
        assert_eq!(digest(&mut state, &notify, at(0), &TimeZone::UTC), None);
        let _told = end(&mut state, OutcomeKind::Ok, "", 5);
        let _told = end(&mut state, OutcomeKind::Error, "x", 6);
        assert_eq!(wake_at(&state, &notify, &TimeZone::UTC), Some(at(60)));
        assert_eq!(digest(&mut state, &notify, at(59), &TimeZone::UTC), None);
        let event = digest(&mut state, &notify, at(60), &TimeZone::UTC).unwrap();
        assert_eq!(event.text, "site: 1 error, 1 ok, $1.00");
        assert_eq!(wake_at(&state, &notify, &TimeZone::UTC), Some(at(60 + 24 * 60)));
        let event = digest(&mut state, &notify, at(60 + 24 * 60), &TimeZone::UTC).unwrap();
        assert_eq!(event.text, "No beat has run since the last digest.");
    }
}
