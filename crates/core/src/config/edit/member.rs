//! Sets one member of an object: replaces it in place, or inserts it after the last.

use super::layout::{self, Layout};
use super::splice::{Splices, spans, splice, without};
use crate::config::json::{Object, span};

/// The object `text` with `key` set to `value` (JSON). Of duplicate keys the last is changed.
pub(super) fn set(text: &str, key: &str, value: &str) -> String {
    let Ok(object) = Object::parse(text) else { return text.to_owned() };
    if let Some(member) = object.get(key) {
        return splice(text, span(text, member.value), value);
    }
    let key = layout::quoted(key);
    match (object.0.last(), Layout::of_object(text, &object)) {
        (Some(last), Some(Layout { before, colon, .. })) => {
            let end = span(text, last.value).end;
            splice(text, end..end, &format!(",{before}{key}{colon}{value}"))
        }
        _ => splice(text, 1..1, &format!("{key}: {value}")),
    }
}

/// The object `text` without `key`.
pub(super) fn remove(text: &str, key: &str) -> String {
    let Ok(object) = Object::parse(text) else { return text.to_owned() };
    let spans = spans(text, &object);
    let goes = |index: usize| object.0.get(index).is_some_and(|member| member.name() == key);
    let mut splices = Splices::default();
    match (without(&spans, goes), spans.first(), spans.last()) {
        (Some(ranges), _, _) => splices.delete(ranges),
        (None, Some(first), Some(last)) => splices.replace(first.start..last.end, ""),
        (None, _, _) => {}
    }
    splices.apply(text)
}

/// The object `text` with `key` in the place of `old`, or added if `old` is not there.
pub(super) fn replace(text: &str, old: &str, key: &str, value: &str) -> String {
    let place =
        Object::parse(text).ok().and_then(|object| object.get(old).map(|found| span(text, found.key)));
    match place {
        Some(place) if Object::parse(text).is_ok_and(|object| object.get(key).is_none()) => {
            let mut text = text.to_owned();
            text.replace_range(place, &layout::quoted(key));
            set(&text, key, value)
        }
        _ => set(&remove(text, old), key, value),
    }
}

/// A new object with one member, as a value in the object `outer` and in its layout.
pub(super) fn nested(outer: &str, key: &str, value: &str) -> String {
    let around = Object::parse(outer).ok().and_then(|object| Layout::of_object(outer, &object));
    let layout = match around {
        Some(around) if around.is_lines() => Layout {
            colon: around.colon.clone(),
            ..Layout::lines(around.newline(), around.indent(), around.unit())
        },
        Some(around) => around,
        None => Layout::inline(),
    };
    layout::object(&[(key, value.to_owned())], &layout)
}
