//! Sets one member of an object: replaces it in place, or inserts it after the last.

use super::layout::{self, Layout};
use crate::config::json::{Object, span};

/// The object `text` with `key` set to `value` (JSON). Of duplicate keys the last is changed.
pub(super) fn set(text: &str, key: &str, value: &str) -> String {
    let Ok(object) = Object::parse(text) else { return text.to_owned() };
    let spliced = |range: std::ops::Range<usize>, new: &str| {
        [text.get(..range.start), Some(new), text.get(range.end..)].into_iter().flatten().collect::<String>()
    };
    if let Some(member) = object.get(key) {
        return spliced(span(text, member.value), value);
    }
    let key = layout::quoted(key);
    match (object.0.last(), Layout::of_object(text, &object)) {
        (Some(last), Some(Layout { before, colon, .. })) => {
            let end = span(text, last.value).end;
            spliced(end..end, &format!(",{before}{key}{colon}{value}"))
        }
        _ => spliced(1..1, &format!("{key}: {value}")),
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
