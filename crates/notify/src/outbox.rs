//! What a channel has to deliver next, and when to retry.
//!
//! Events stay in the outbox until their channel has delivered them, or for [`KEPT`]. While a channel fails, it waits
//! longer after each attempt; when it works again, what has accumulated goes out as one message.

use crate::event::Event;
use crate::state::{ChannelState, Delivery, State};
use crate::tokens;
use jiff::{SignedDuration, Timestamp};
use murmur_core::config::notify::{EventKind, Notify};
use murmur_core::permit::request::RequestId;

/// How long delivery of an event is retried.
pub const KEPT: SignedDuration = SignedDuration::from_hours(24);
/// How many events a channel may have to deliver; beyond that, the oldest are dropped.
pub const MAX_QUEUED: usize = 500;
/// More events than this are sent as one message.
const SINGLE: usize = 3;
/// So many messages may be sent within [`WINDOW`]; the next events go out together after it.
const BURST: usize = 10;
const WINDOW: SignedDuration = SignedDuration::from_mins(10);
/// How long to wait after each failed attempt, in seconds; the last one is repeated.
const BACKOFF: [i64; 7] = [5, 30, 60, 300, 900, 1800, 3600];

/// What to deliver.
#[derive(Debug, Clone, PartialEq)]
pub struct Batch {
    /// The channel.
    pub channel: String,
    /// The numbers of the entries.
    pub ids: Vec<u64>,
    /// Their events.
    pub events: Vec<Event>,
}

/// Adds `event` for every channel that wants it. Returns what had to be dropped.
pub fn add(state: &mut State, event: &Event, notify: &Notify, now: Timestamp) -> Vec<Delivery> {
    let channels: Vec<String> =
        notify.channels_for(event.kind, event.heartbeat.as_deref()).map(str::to_owned).collect();
    let mut dropped = Vec::new();
    for channel in channels {
        let mut own = state.outbox.iter().enumerate().filter(|(_, entry)| entry.channel == channel);
        let oldest = own.next().map(|(at, _)| at);
        if let Some(oldest) = oldest.filter(|_| own.count() + 1 >= MAX_QUEUED) {
            dropped.push(state.outbox.remove(oldest));
        }
        let id = state.next;
        state.next += 1;
        state.outbox.push(Delivery { id, channel, since: now, event: event.clone() });
    }
    dropped
}

/// Removes what is older than [`KEPT`], belongs to a channel that no longer exists, or is about a request that was
/// closed; returns what wasn't delivered for one of the first two reasons.
pub fn prune(state: &mut State, notify: &Notify, now: Timestamp) -> Vec<Delivery> {
    tokens::prune(&mut state.tokens, now);
    state.channels.retain(|name, _| notify.channels.contains_key(name));
    let is_over = |entry: &Delivery| {
        now.duration_since(entry.since) >= KEPT || !notify.channels.contains_key(&entry.channel)
    };
    state.outbox.extract_if(.., |entry| is_over(entry)).collect()
}

/// Forgets a request that was closed, perhaps because it `expired`.
pub fn close(state: &mut State, request: &RequestId, expired: bool, now: Timestamp) {
    state.requests.remove(request);
    tokens::close(&mut state.tokens, request, expired, now);
    state.outbox.retain(|entry| entry.event.request_id() != Some(request));
}

/// What `channel` should deliver now.
#[must_use]
pub fn next(state: &State, channel: &str, notify: &Notify, now: Timestamp) -> Option<Batch> {
    if due_at(state, channel, notify, now)? > now {
        return None;
    }
    let own = || state.outbox.iter().filter(|entry| entry.channel == channel);
    // Requests can't wait, and are answered one by one.
    let request = own().find(|entry| entry.event.kind == EventKind::Waiting);
    let entries: Vec<&Delivery> = match request {
        Some(request) => vec![request],
        None if own().count() > SINGLE || is_busy(state, channel, now) => own().collect(),
        None => own().take(1).collect(),
    };
    Some(Batch {
        channel: channel.to_owned(),
        ids: entries.iter().map(|entry| entry.id).collect(),
        events: entries.into_iter().map(|entry| entry.event.clone()).collect(),
    })
}

/// When `channel` has something to deliver.
#[must_use]
pub fn due_at(state: &State, channel: &str, notify: &Notify, now: Timestamp) -> Option<Timestamp> {
    let mut own = state.outbox.iter().filter(|entry| entry.channel == channel).peekable();
    own.peek()?;
    let has_request = own.any(|entry| entry.event.kind == EventKind::Waiting);
    let channel = state.channels.get(channel);
    let retry = channel.and_then(|channel| channel.retry_at).unwrap_or(now).max(now);
    let burst_end = channel.filter(|_| !has_request).and_then(|channel| burst_ends(channel, now));
    let at = burst_end.map_or(retry, |burst_end| retry.max(burst_end));
    Some(notify.quiet_hours.as_ref().map_or(at, |quiet| quiet.until(at)))
}

/// When the next of [`channels`](Notify::channels) has something to deliver, except for `busy` ones.
#[must_use]
pub fn wake_at(
    state: &State,
    notify: &Notify,
    now: Timestamp,
    is_busy: impl Fn(&str) -> bool,
) -> Option<Timestamp> {
    let idle = notify.channels.keys().filter(|name| !is_busy(name));
    let expiry = state.outbox.first().and_then(|entry| entry.since.checked_add(KEPT).ok());
    idle.filter_map(|name| due_at(state, name, notify, now)).chain(expiry).min()
}

/// Records a delivery.
pub fn delivered(state: &mut State, batch: &Batch, now: Timestamp) {
    state.outbox.retain(|entry| !batch.ids.contains(&entry.id));
    let channel = state.channels.entry(batch.channel.clone()).or_default();
    (channel.failures, channel.error, channel.retry_at) = (0, None, None);
    channel.sent.retain(|at| now.duration_since(*at) < WINDOW);
    channel.sent.push(now);
}

/// Records a failed attempt. If the message itself is at fault, it isn't retried.
pub fn failed(state: &mut State, batch: &Batch, error: String, is_final: bool, now: Timestamp) {
    if is_final {
        state.outbox.retain(|entry| !batch.ids.contains(&entry.id));
    }
    let channel = state.channels.entry(batch.channel.clone()).or_default();
    let step = usize::try_from(channel.failures).unwrap_or(usize::MAX).min(BACKOFF.len() - 1);
    channel.failures = channel.failures.saturating_add(1);
    channel.error = Some(error);
    channel.retry_at = now.checked_add(SignedDuration::from_secs(BACKOFF[step])).ok();
}

fn is_busy(state: &State, channel: &str, now: Timestamp) -> bool {
    let sent = state.channels.get(channel).map(|channel| channel.sent.as_slice()).unwrap_or_default();
    sent.iter().filter(|at| now.duration_since(**at) < WINDOW).count() + 1 >= BURST
}

/// When the channel may send again after too many messages.
fn burst_ends(channel: &ChannelState, now: Timestamp) -> Option<Timestamp> {
    let mut recent = channel.sent.iter().rev().filter(|at| now.duration_since(**at) < WINDOW);
    recent.nth(BURST - 1)?.checked_add(WINDOW).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use murmur_core::config::settings::Settings;
    use std::path::Path;

    fn notify(more: &str) -> Notify {
        let text = format!("[notify]\n{more}\n[notify.channels.a]\ntype = \"desktop\"\n");
        Settings::parse(text.as_bytes(), Path::new("/c.toml")).unwrap().notify
    }

    fn at(second: i64) -> Timestamp {
        "2026-02-03T10:00:00Z".parse::<Timestamp>().unwrap() + SignedDuration::from_secs(second)
    }

    fn event(kind: EventKind, text: &str) -> Event {
        Event::new(kind, String::new(), text)
    }

    #[test]
    fn a_failing_channel_waits_longer_each_time_and_then_sends_everything_at_once() {
        let (notify, mut state) = (notify(""), State::default());
        assert_eq!(next(&state, "a", &notify, at(0)), None);
        let mut now = 0;
        for (number, wait) in [5, 30, 60, 300, 900, 1800, 3600, 3600].into_iter().enumerate() {
            add(&mut state, &event(EventKind::Error, &number.to_string()), &notify, at(now));
            let batch = next(&state, "a", &notify, at(now)).unwrap();
            failed(&mut state, &batch, "HTTP status 500".to_owned(), false, at(now));
            assert_eq!(next(&state, "a", &notify, at(now + wait - 1)), None, "{number}");
            assert_eq!(wake_at(&state, &notify, at(now), |_| false), Some(at(now + wait)));
            now += wait;
        }
        let batch = next(&state, "a", &notify, at(now)).unwrap();
        assert_eq!(batch.events.len(), 8);
        delivered(&mut state, &batch, at(now));
        assert_eq!((state.outbox.len(), state.channels["a"].failures), (0, 0));
    }

    #[test]
    fn an_event_is_given_up_after_a_day_and_a_bad_message_at_once() {
        let (notify, mut state) = (notify(""), State::default());
        add(&mut state, &event(EventKind::Error, "x"), &notify, at(0));
        assert_eq!(prune(&mut state, &notify, at(86_399)), []);
        assert_eq!(prune(&mut state, &notify, at(86_400)).len(), 1);
        add(&mut state, &event(EventKind::Error, "y"), &notify, at(0));
        let batch = next(&state, "a", &notify, at(0)).unwrap();
        failed(&mut state, &batch, "HTTP status 400".to_owned(), true, at(0));
        assert!(state.outbox.is_empty());
    }

    #[test]
    fn quiet_hours_hold_everything_until_they_end() {
        let (notify, mut state) = (notify("quiet-hours = \"09:00-10:30 UTC\""), State::default());
        add(&mut state, &event(EventKind::Error, "x"), &notify, at(0));
        assert_eq!(next(&state, "a", &notify, at(0)), None);
        assert_eq!(wake_at(&state, &notify, at(0), |_| false), Some(at(1800)));
        assert!(next(&state, "a", &notify, at(1800)).is_some());
    }

    #[test]
    fn too_many_messages_become_one_but_requests_go_out_at_once() {
        let (notify, mut state) = (notify(""), State::default());
        for second in 0..20 {
            add(&mut state, &event(EventKind::Error, "x"), &notify, at(second));
            if let Some(batch) = next(&state, "a", &notify, at(second)) {
                delivered(&mut state, &batch, at(second));
            }
        }
        assert_eq!((state.channels["a"].sent.len(), state.outbox.len()), (10, 10));
        add(&mut state, &event(EventKind::Waiting, "push?"), &notify, at(20));
        let batch = next(&state, "a", &notify, at(20)).unwrap();
        assert_eq!(batch.events, [event(EventKind::Waiting, "push?")]);
        delivered(&mut state, &batch, at(20));
        assert_eq!(next(&state, "a", &notify, at(600)), None);
        assert_eq!(next(&state, "a", &notify, at(621)).unwrap().events.len(), 10);
    }

    #[test]
    fn the_oldest_are_dropped_when_there_are_too_many() {
        let (notify, mut state) = (notify(""), State::default());
        for number in 0..MAX_QUEUED {
            assert_eq!(add(&mut state, &event(EventKind::Error, &number.to_string()), &notify, at(0)), []);
        }
        let dropped = add(&mut state, &event(EventKind::Error, "last"), &notify, at(0));
        assert_eq!((dropped.len(), dropped[0].event.text.as_str(), state.outbox.len()), (1, "0", MAX_QUEUED));
    }

    #[test]
    fn a_closed_request_is_forgotten() {
        let (notify, mut state) = (notify(""), State::default());
        let id = RequestId::parse("7ggs733k").unwrap();
        let request = crate::event::Request {
            id: id.clone(),
            is_question: false,
            tool: "Bash".to_owned(),
            input: serde_json::Value::Null,
            cwd: String::new(),
            doubt: None,
            expires_at: None,
        };
        let waiting = Event { request: Some(request), ..event(EventKind::Waiting, "") };
        add(&mut state, &waiting, &notify, at(0));
        state.requests.insert(id.clone());
        close(&mut state, &id, false, at(1));
        assert_eq!((state.outbox.len(), state.requests.len()), (0, 0));
    }
}
