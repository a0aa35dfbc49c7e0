//! Searches captured output for lines, incrementally, with context lines.
//!
//! The caller reads the output and feeds it. A line ends with a newline; an unfinished line is left for the next
//! search. A line of more than 64 KiB is searched in parts, up to the first match, but still counts as one line and
//! one match.

use super::text;
use regex::bytes::{Regex, RegexBuilder};
use std::borrow::Cow;
use std::collections::VecDeque;
use std::mem;
use std::ops::Range;

/// The maximum size of a line or part that is searched at once.
pub const MAX_LINE: usize = 64 * 1024;

/// The size of a match besides its text, as counted toward the limit.
const MATCH: usize = 80;
/// The size of a context line besides its text, as counted toward the limit.
const AROUND: usize = 4;

/// The maximum size of a compiled expression, in bytes.
const MAX_EXPRESSION: usize = 1 << 20;

/// Converts a line's bytes to text.
pub type Render = fn(&[u8]) -> String;

/// What to search for.
#[derive(Debug)]
pub struct Query {
    regex: Regex,
    context: usize,
    render: Option<Render>,
}

/// A matching line. The first of a search may be shortened; others are complete, except lines that are too long to be
/// searched at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchMatch {
    /// The cursor of its first byte, or of the matching part.
    pub cursor: u64,
    /// The line number, counted from 1 at the start of the search.
    pub line: u64,
    /// The line, or the part around the match.
    pub text: String,
    /// Context lines before it, in order.
    pub before: Vec<String>,
    /// Context lines after it, as far as they exist.
    pub after: Vec<String>,
    /// Whether the line is incomplete, or context lines were omitted.
    pub cut: bool,
}

impl Query {
    /// A search for lines that match the regular expression `pattern`, with up to `context` lines before and after
    /// each. With `render`, its result is searched and shown instead of the line's bytes.
    pub fn new(
        pattern: &str,
        ignore_case: bool,
        context: usize,
        render: Option<Render>,
    ) -> Result<Self, regex::Error> {
        let mut builder = RegexBuilder::new(pattern);
        builder.case_insensitive(ignore_case).size_limit(MAX_EXPRESSION);
        Ok(Self { regex: builder.build()?, context, render })
    }

    fn shown<'a>(&self, line: &'a [u8]) -> Cow<'a, str> {
        match self.render {
            Some(render) => Cow::Owned(render(line)),
            None => String::from_utf8_lossy(line),
        }
    }

    /// The position of the first match in the searched text.
    fn hit(&self, searched: &[u8]) -> Range<usize> {
        let length = |bytes| String::from_utf8_lossy(bytes).len();
        let hit = self.regex.find(searched).map_or(0..0, |hit| hit.range());
        let start = length(&searched[..hit.start]);
        start..start + length(&searched[hit])
    }
}

/// A search in progress.
#[derive(Debug)]
pub struct Search<'q> {
    query: &'q Query,
    room: usize,
    rest: Vec<u8>,
    /// The cursor of the first byte not searched: the start of a line, or of a part of one.
    next: u64,
    line: u64,
    /// Lines before that one, and whether each is only the first part.
    before: VecDeque<(String, bool)>,
    /// Whether there are earlier lines that were not read.
    misses_before: bool,
    /// The unfinished line, if there is one.
    begun: Option<Begun>,
    found: Vec<SearchMatch>,
    is_full: bool,
}

/// A line that is being searched in parts.
#[derive(Debug)]
struct Begun {
    /// Its first part, as shown in context.
    first: String,
    /// Whether it has matched.
    is_found: bool,
}

impl<'q> Search<'q> {
    /// A search from `cursor` on, for matches of about `room` bytes in total; at least one, shortened to fit.
    #[must_use]
    pub fn new(query: &'q Query, cursor: u64, room: usize) -> Self {
        Self {
            query,
            room,
            rest: Vec::new(),
            next: cursor,
            line: 1,
            before: VecDeque::new(),
            misses_before: false,
            begun: None,
            found: Vec::new(),
            is_full: false,
        }
    }

    /// Adds the bytes right before the cursor as context of the first match; `is_all` if there are no more.
    pub fn prime(&mut self, bytes: &[u8], is_all: bool) {
        self.misses_before = !is_all;
        let lines = bytes.split_inclusive(|byte| *byte == b'\n').filter_map(|line| line.strip_suffix(b"\n"));
        for line in lines {
            self.remember(self.context(line.strip_suffix(b"\r").unwrap_or(line)), false);
        }
    }

    /// Searches the next bytes.
    pub fn feed(&mut self, mut bytes: &[u8]) {
        while !self.is_full {
            let window = &bytes[..bytes.len().min(MAX_LINE - self.rest.len())];
            let end = match memchr::memchr(b'\n', window) {
                Some(end) => end + 1,
                None if self.rest.len() + window.len() == MAX_LINE => window.len(),
                None => return self.rest.extend_from_slice(window),
            };
            if self.rest.is_empty() {
                self.line(&window[..end], false);
            } else {
                let mut line = mem::take(&mut self.rest);
                line.extend_from_slice(&window[..end]);
                self.line(&line, false);
                line.clear();
                self.rest = line;
            }
            bytes = &bytes[end..];
        }
    }

    /// Searches the last line, which has no newline.
    pub fn finish(&mut self) {
        let line = mem::take(&mut self.rest);
        if !self.is_full && !line.is_empty() {
            self.line(&line, true);
        }
    }

    /// Stops the search although there is more output. Context lines of the last matches may be missing.
    pub fn interrupt(&mut self) {
        for found in &mut self.found {
            found.cut |= self.line - found.line <= self.query.context as u64;
        }
    }

    /// Whether the limit is reached. The next match is then at [`Self::next`].
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.is_full
    }

    /// Where to continue.
    #[must_use]
    pub fn next(&self) -> u64 {
        self.next
    }

    /// The matches.
    #[must_use]
    pub fn found(self) -> Vec<SearchMatch> {
        self.found
    }

    /// Searches a line with its newline; without one, it is a part of a long line, or the last line.
    fn line(&mut self, whole: &[u8], is_last: bool) {
        let goes_on = !is_last && !whole.ends_with(b"\n");
        let begun = self.begun.take();
        let is_part = begun.is_some() || goes_on;
        let line = whole.strip_suffix(b"\n").unwrap_or(whole);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if begun.is_none() {
            self.add_after(line, is_part);
        }
        let is_found_already = begun.as_ref().is_some_and(|begun| begun.is_found);
        // After a full part, an empty rest is the end of the line, not an empty line.
        let is_rest = begun.is_some() && line.is_empty();
        let is_found = is_found_already || (!self.is_full && !is_rest && self.find(line, is_part));
        if self.is_full {
            self.begun = begun;
            return;
        }
        self.next += whole.len() as u64;
        if goes_on {
            let first = begun.map_or_else(|| self.context(line), |begun| begun.first);
            self.begun = Some(Begun { first, is_found });
            return;
        }
        match begun {
            Some(begun) => self.remember(begun.first, true),
            None => self.remember(self.context(line), false),
        }
        self.line += 1;
    }

    /// Adds the line if it matches and fits; returns whether it was added.
    fn find(&mut self, line: &[u8], is_part: bool) -> bool {
        let rendered = self.query.render.map(|render| render(line));
        let searched = rendered.as_deref().map_or(line, str::as_bytes);
        if !self.query.regex.is_match(searched) {
            return false;
        }
        let text = String::from_utf8_lossy(searched).into_owned();
        self.add(searched, text, is_part);
        !self.is_full
    }

    fn add(&mut self, searched: &[u8], mut text: String, is_part: bool) {
        let mut cut = is_part || (self.misses_before && self.before.len() < self.query.context);
        if self.found.is_empty() {
            if text.len() > self.room {
                cut = true;
                let hit = self.query.hit(searched);
                text = text::around(&text, hit, self.room).to_owned();
            }
            self.room -= text.len();
        } else {
            let around: usize = self.before.iter().map(|(line, _)| line.len() + AROUND).sum();
            let Some(room) = self.room.checked_sub(MATCH + text.len()).filter(|room| *room >= around) else {
                self.is_full = true;
                return;
            };
            self.room = room;
        }
        let mut before = Vec::new();
        for (line, is_part) in self.before.iter().rev() {
            let Some(room) = self.room.checked_sub(line.len() + AROUND) else {
                // A gap between a match and its context would be misleading.
                self.room = 0;
                cut = true;
                break;
            };
            self.room = room;
            cut |= is_part;
            before.push(line.clone());
        }
        before.reverse();
        let (cursor, line) = (self.next, self.line);
        self.found.push(SearchMatch { cursor, line, text, before, after: Vec::new(), cut });
    }

    /// Adds a line to the context of previous matches. If it doesn't fit, it is omitted from the first match, and any
    /// other match is left for the next search, which has more room.
    fn add_after(&mut self, line: &[u8], is_part: bool) {
        let (context, number) = (self.query.context as u64, self.line);
        let is_near = |found: &SearchMatch| number - found.line <= context;
        let first = self.found.iter().rposition(|found| !is_near(found)).map_or(0, |far| far + 1);
        let mut text = None;
        for index in first..self.found.len() {
            let text = text.get_or_insert_with(|| self.query.shown(line));
            if let Some(room) = self.room.checked_sub(text.len() + AROUND) {
                self.room = room;
                self.found[index].after.push(text.to_string());
                self.found[index].cut |= is_part;
                continue;
            }
            self.room = 0;
            if index == 0 {
                self.found[index].cut = true;
            }
            if let Some(left) = self.found.get(index.max(1)) {
                self.next = left.cursor;
                self.is_full = true;
                self.found.truncate(index.max(1));
            }
            return;
        }
    }

    /// The line as shown in context; empty if no context is wanted.
    fn context(&self, line: &[u8]) -> String {
        if self.query.context == 0 { String::new() } else { self.query.shown(line).into_owned() }
    }

    fn remember(&mut self, line: String, is_part: bool) {
        if self.query.context == 0 {
            return;
        }
        if self.before.len() == self.query.context {
            self.before.pop_front();
        }
        self.before.push_back((line, is_part));
    }
}

#[cfg(test)]
mod tests;
