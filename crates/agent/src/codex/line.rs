//! Parses one line of the app-server's output into events: a notification, or the response to one of murmur's requests,
//! whose ids are strings that say what was asked. The app-server's own requests have no events: the dialog answers
//! them.

use super::{fields, hooks, item, known, limits, report, thread};
use crate::event::Event;
use crate::unknown::Unknown;
use serde::Deserialize;
use serde_json::value::RawValue;

/// A line. Its parts are read on demand: most lines have no event.
#[derive(Deserialize)]
pub(super) struct CodexMessage<'a> {
    #[serde(borrow, default)]
    pub(super) id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    method: Option<&'a RawValue>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) error: Option<&'a RawValue>,
}

impl<'a> CodexMessage<'a> {
    /// Reads a line; `None` if it is not a JSON object.
    pub(super) fn read(text: &'a str) -> Option<Self> {
        // An array would be read as an object's values in order.
        text.starts_with('{').then(|| serde_json::from_str(text).ok())?
    }

    /// The method of a notification or request.
    pub(super) fn method(&self) -> Option<String> {
        serde_json::from_str(self.method?.get()).ok()
    }

    /// The id, if it is a string, as of murmur's own requests.
    pub(super) fn own_id(&self) -> Option<String> {
        serde_json::from_str(self.id?.get()).ok()
    }

    /// The parameters, as far as `T` has them; `None` if they have another form.
    pub(super) fn params<T: Deserialize<'a>>(&self) -> Option<T> {
        serde_json::from_str(self.params?.get()).ok()
    }
}

/// Passes the events of `line` to `sink`; only [`Event::Garbled`] if it is not a JSON object. Counts what is unknown:
/// methods and items, and fields of those that murmur reads.
pub(crate) fn parse(line: &[u8], sink: &mut impl FnMut(Event<'_>), unknown: &mut Unknown) {
    let text = String::from_utf8_lossy(line);
    let Some(line) = CodexMessage::read(&text) else { return sink(Event::Garbled) };
    let method = line.method();
    fields::count(&text, &line, method.as_deref(), unknown);
    match (method, line.id) {
        (Some(method), None) => notification(&method, &line, sink, unknown),
        (Some(method), Some(_)) if !known::REQUESTS.contains(&&*method) => unknown.add(&[method.as_bytes()]),
        (Some(_), Some(_)) => {}
        (None, Some(_)) => response(&line, sink),
        (None, None) => unknown.add(&[b"no-method"]),
    }
}

fn notification(
    method: &str,
    line: &CodexMessage<'_>,
    sink: &mut impl FnMut(Event<'_>),
    unknown: &mut Unknown,
) {
    let read = match method {
        "item/started" => item::started(line, sink, unknown),
        "item/completed" => item::completed(line, sink, unknown),
        "turn/completed" => report::turn(line, sink),
        "error" => report::error(line, sink),
        "thread/tokenUsage/updated" => report::usage(line, sink),
        "account/rateLimits/updated" => limits::updated(line, sink),
        "hook/completed" => report::hook(line, sink),
        "warning" => report::warning(line, sink),
        _ => {
            if !known::NOTIFICATIONS.contains(&method) {
                unknown.add(&[method.as_bytes()]);
            }
            Some(())
        }
    };
    if read.is_none() {
        sink(Event::Garbled);
    }
}

/// A response. A failed handshake or start of a turn ends the turn that waits for it.
fn response(line: &CodexMessage<'_>, sink: &mut impl FnMut(Event<'_>)) {
    let Some(id) = line.own_id() else { return };
    if let Some(error) = line.error {
        if [thread::INITIALIZE, thread::HOOKS, thread::THREAD, thread::TURN].contains(&id.as_str()) {
            sink(report::refused(&id, error));
        }
    } else if id == thread::HOOKS && !hooks::will_run(line) {
        let text = "Codex would not run murmur's hooks; use a version that murmur was tested with";
        sink(report::failed(text.to_owned(), None));
    } else if id == thread::LIMITS {
        if limits::read(line, sink).is_none() {
            sink(Event::Garbled);
        }
    } else if id == thread::THREAD {
        match thread::Thread::read(line) {
            Some(started) => started.emit(sink),
            None => sink(Event::Garbled),
        }
    }
}
