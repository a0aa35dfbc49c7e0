//! All mistakes in a TOML file: one after another is left out, until the rest is readable.
//!
//! In: the text, and what reads it up to the first mistake. Out: the value, or every mistake with its place.

use super::text_of;
use crate::config::problem::{Position, Problem};
use std::collections::BTreeSet;
use std::ops::Range;
use std::path::Path;
use sys::error::{Failure, Hinted};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The most mistakes to look for.
const MAX_MISTAKES: usize = 64;

/// Reads `bytes` with `parse`, which stops at the first mistake. Fails with all mistakes, in the order of the file.
pub fn every<T>(
    bytes: &[u8],
    file: &Path,
    parse: impl Fn(&[u8], &Path) -> Result<T, Problem>,
) -> Result<T, Problem> {
    let mut next = match parse(bytes, file) {
        Ok(value) => return Ok(value),
        Err(problem) => problem,
    };
    let mut text = text_of(bytes, file)?.to_owned();
    let (mut found, mut left_out) = (Vec::new(), Vec::new());
    loop {
        let before = left_out.len();
        for problem in next.split() {
            let start = problem.place().map(|place| offset(&text, place));
            let part = start.and_then(|start| leave_out(&mut text, start));
            if !part.as_ref().is_some_and(|part| is_result(&problem, part, &left_out)) {
                found.push(problem.clone());
            }
            left_out.extend(part.map(|part| (part, problem)));
        }
        match parse(text.as_bytes(), file) {
            Err(problem) if left_out.len() > before && found.len() < MAX_MISTAKES => next = problem,
            _ => break,
        }
    }
    match Problem::first_of(found) {
        Some(problem) => Err(problem),
        None => parse(bytes, file),
    }
}

/// The problem `wrong` with the table that begins at byte `start`: at the first key that it names, or else at the
/// table.
pub(in crate::config) fn problem_in(text: &[u8], file: &Path, start: usize, wrong: Failure) -> Problem {
    let source = text_of(text, file).unwrap_or_default();
    let message = wrong.to_string();
    let named = message.split('"').nth(1).unwrap_or_default();
    let entries = entries(source);
    let table = entries.iter().position(|entry| entry.is_header() && entry.range.contains(&start));
    let own = entries.iter().find(|entry| entry.table == table && entry.key(source) == Some(named));
    let start = own.filter(|_| table.is_some()).map_or(start, |entry| entry.value);
    Problem::at(file, Position::of(source, start), wrong)
}

/// The keys of the innermost of these `tables`, even if their values are wrong.
pub(in crate::config) fn names(bytes: &[u8], tables: &[&str]) -> BTreeSet<String> {
    let text = std::str::from_utf8(bytes).unwrap_or_default().trim_start_matches('\u{feff}');
    let mut table = toml::from_str::<toml::Table>(text).unwrap_or_default();
    for name in tables {
        let inner = table.remove(*name).map(toml::Value::try_into::<toml::Table>);
        table = inner.and_then(Result::ok).unwrap_or_default();
    }
    table.into_iter().map(|(name, _)| name).collect()
}

/// The key whose value contains byte `start`.
pub(super) fn key_at(text: &str, start: usize) -> Option<&str> {
    let entries = entries(text);
    entries.iter().find(|entry| (entry.value..entry.range.end).contains(&start))?.key(text)
}

/// A key with its value, or the header of a table.
pub(super) struct Entry {
    /// From the beginning of its line to its end.
    pub(super) range: Range<usize>,
    /// Where the value begins; for a header, its end.
    pub(super) value: usize,
    /// The header of the table that it is in; `None` at the top level.
    pub(super) table: Option<usize>,
}

impl Entry {
    pub(super) fn is_header(&self) -> bool {
        self.value == self.range.end
    }

    pub(super) fn key<'a>(&self, text: &'a str) -> Option<&'a str> {
        Some(text.get(self.range.start..self.value)?.trim_end().strip_suffix('=')?.trim())
    }
}

/// The entries of a text; none unless it is TOML. A header comes before the entries of its table.
pub(super) fn entries(text: &str) -> Vec<Entry> {
    let mut entries = Vec::new();
    if let Ok(root) = DeTable::parse(text) {
        collect(root.get_ref(), None, text, &mut entries);
    }
    entries
}

fn collect(tables: &DeTable<'_>, table: Option<usize>, text: &str, entries: &mut Vec<Entry>) {
    let is_header = |value: &Spanned<DeValue<'_>>| {
        matches!(value.get_ref(), DeValue::Table(_))
            && text.get(value.span()).is_some_and(|header| header.starts_with('['))
    };
    for (key, value) in tables {
        match value.get_ref() {
            DeValue::Array(all) if all.iter().any(is_header) => {
                all.iter().for_each(|one| collect_table(one, table, text, entries));
            }
            DeValue::Table(_) if is_header(value) => collect_table(value, table, text, entries),
            // Without a header of its own: parts of a dotted key, or of another table's header.
            DeValue::Table(inner) if !text[value.span()].starts_with('{') => {
                collect(inner, table, text, entries);
            }
            _ => {
                let line = text[..key.span().start].rfind('\n').map_or(0, |newline| newline + 1);
                entries.push(Entry { range: line..value.span().end, value: value.span().start, table });
            }
        }
    }
}

fn collect_table(table: &Spanned<DeValue<'_>>, around: Option<usize>, text: &str, entries: &mut Vec<Entry>) {
    let index = entries.len();
    entries.push(Entry { range: table.span(), value: table.span().end, table: around });
    if let DeValue::Table(inner) = table.get_ref() {
        collect(inner, Some(index), text, entries);
    }
}

/// What was left out of a text.
struct LeftOut {
    /// Where the header of its table begins, if that has one.
    table: Option<usize>,
    /// The key; `None` for a table.
    key: Option<String>,
}

/// Blanks the entry at byte `start`, for a header also its table, so that everything else stays where it is. `None` if
/// there is no entry.
fn leave_out(text: &mut String, start: usize) -> Option<LeftOut> {
    let entries = entries(text);
    let index = entries.iter().position(|entry| entry.range.contains(&start))?;
    let is_within = |mut inner: usize| loop {
        match entries[inner].table {
            _ if inner == index => break true,
            Some(around) => inner = around,
            None => break false,
        }
    };
    let ranges: Vec<&Range<usize>> =
        (0..entries.len()).filter(|inner| is_within(*inner)).map(|inner| &entries[inner].range).collect();
    let blank = |(at, letter): (usize, char)| match ranges.iter().any(|range| range.contains(&at)) {
        true if letter != '\n' => " ".repeat(letter.len_utf8()),
        _ => letter.to_string(),
    };
    let blanked = text.char_indices().map(blank).collect();
    let found = &entries[index];
    let table = if found.is_header() { Some(index) } else { found.table };
    let table = table.map(|table| entries[table].range.start);
    let key = found.key(text).map(str::to_owned);
    *text = blanked;
    Some(LeftOut { table, key })
}

/// The byte at a position.
fn offset(text: &str, place: Position) -> usize {
    let number = |count: u32| usize::try_from(count.saturating_sub(1)).unwrap_or(usize::MAX);
    let before: usize = text.split_inclusive('\n').take(number(place.line)).map(str::len).sum();
    let line = text[before..].chars().take(number(place.column));
    before + line.map(char::len_utf8).sum::<usize>()
}

/// Whether something is missing in the table of `part` only because it was wrong, or misspelled, and has been left out.
fn is_result(problem: &Problem, part: &LeftOut, left_out: &[(LeftOut, Problem)]) -> bool {
    let message = problem.to_string();
    let is_missing = message.contains(" is missing") || message.contains(" without ");
    let names = |word: &str| {
        let is_named = |(other, before): &(LeftOut, Problem)| {
            other.key.as_deref() == Some(word) || before.line().contains(&format!("{word:?}"))
        };
        left_out.iter().any(|before| before.0.table == part.table && is_named(before))
    };
    is_missing && message.split('"').skip(1).step_by(2).any(names)
}

#[cfg(test)]
mod tests;
