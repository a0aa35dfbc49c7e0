//! Replaces several ranges of a text at once, and removes parts of objects and arrays with their commas.

use crate::config::json::{Object, span};
use std::ops::Range;

/// Non-overlapping replacements in a text.
#[derive(Debug, Default)]
pub struct Splices(Vec<(Range<usize>, String)>);

impl Splices {
    /// Puts `new` in the place of `range`.
    pub fn replace(&mut self, range: Range<usize>, new: impl Into<String>) {
        self.0.push((range, new.into()));
    }

    /// Removes these ranges.
    pub fn delete(&mut self, ranges: impl IntoIterator<Item = Range<usize>>) {
        self.0.extend(ranges.into_iter().map(|range| (range, String::new())));
    }

    /// Applies all replacements to `source`.
    #[must_use]
    pub fn apply(mut self, source: &str) -> String {
        self.0.sort_by_key(|(range, _)| (range.start, range.end));
        let mut out =
            String::with_capacity(source.len() + self.0.iter().map(|(_, new)| new.len()).sum::<usize>());
        let mut copied = 0;
        for (range, new) in self.0 {
            out.push_str(source.get(copied..range.start).unwrap_or_default());
            out.push_str(&new);
            copied = range.end;
        }
        out.push_str(source.get(copied..).unwrap_or_default());
        out
    }
}

/// `source` with `new` in the place of `range`.
#[must_use]
pub fn splice(source: &str, range: Range<usize>, new: &str) -> String {
    [source.get(..range.start), Some(new), source.get(range.end..)].into_iter().flatten().collect()
}

/// The ranges of an object's members, from key to value, in the text that it was parsed from.
#[must_use]
pub fn spans(source: &str, object: &Object<'_>) -> Vec<Range<usize>> {
    let members = object.0.iter();
    members.map(|member| span(source, member.key).start..span(source, member.value).end).collect()
}

/// The ranges to delete to remove those parts of an object or array, at `spans`, for which `goes` is true; `None` if no
/// part would remain.
///
/// A part is removed with the comma and whitespace before it, so that an appended part leaves no trace; the first with
/// those after it.
#[must_use]
pub fn without(spans: &[Range<usize>], goes: impl Fn(usize) -> bool) -> Option<Vec<Range<usize>>> {
    let mut deleted = Vec::new();
    let mut kept_end = None;
    let mut first_gone = None;
    for (index, span) in spans.iter().enumerate() {
        if !goes(index) {
            if let (None, Some(start)) = (kept_end, first_gone) {
                deleted.push(start..span.start);
            }
            kept_end = Some(span.end);
        } else if kept_end.is_none() {
            first_gone.get_or_insert(span.start);
        } else {
            let before =
                index.checked_sub(1).and_then(|before| spans.get(before)).map_or(span.start, |span| span.end);
            deleted.push(before..span.end);
        }
    }
    kept_end.map(|_| deleted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_removed_with_one_comma_each() {
        let source = "[ 10, 20 ,30,  40 ]";
        let spans = [2..4, 6..8, 10..12, 15..17];
        let left = |gone: &[usize]| {
            let mut splices = Splices::default();
            splices.delete(without(&spans, |index| gone.contains(&index))?);
            Some(splices.apply(source))
        };
        assert_eq!(left(&[]).unwrap(), source);
        assert_eq!(left(&[0]).unwrap(), "[ 20 ,30,  40 ]");
        assert_eq!(left(&[0, 1, 3]).unwrap(), "[ 30 ]");
        assert_eq!(left(&[1, 2]).unwrap(), "[ 10,  40 ]");
        assert_eq!(left(&[3]).unwrap(), "[ 10, 20 ,30 ]");
        assert_eq!(left(&[0, 1, 2, 3]), None);
    }
}
