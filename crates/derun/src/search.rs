//! Finding lines in captured bytes, portion by portion, with the lines around them.
//!
//! The caller reads and feeds; this decides. A line ends with a newline; one that has not ended yet is left for the
//! next search, and one of more than 64 KiB is searched in parts, up to the first that matches: it is one line all the
//! same, whether lines or matches are counted.

use super::text;
use regex::bytes::{Regex, RegexBuilder};
use std::borrow::Cow;
use std::collections::VecDeque;
use std::mem;
use std::ops::Range;

/// The most of a line that is looked at as one.
pub const MAX_LINE: usize = 64 * 1024;

/// What a match takes of the room besides its text.
const MATCH: usize = 80;
/// What a line around a match takes of the room besides its text.
const AROUND: usize = 4;

/// The largest compiled expression, in bytes.
const MAX_EXPRESSION: usize = 1 << 20;

/// Makes the text of a line from its bytes.
pub type Render = fn(&[u8]) -> String;

/// What is looked for.
#[derive(Debug)]
pub struct Query {
    regex: Regex,
    context: usize,
    render: Option<Render>,
}

/// A line that was found. The first of a search may be cut; the others are whole but for what is too long to be
/// looked at at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The cursor of its first byte, or of the part that matches.
    pub cursor: u64,
    /// Which line it is; 1 is the one where the search began.
    pub line: u64,
    /// The line, or what of it is around the hit.
    pub text: String,
    /// The lines before it, in their order.
    pub before: Vec<String>,
    /// The lines after it, as far as they are there.
    pub after: Vec<String>,
    /// Whether the line is not whole, or there are more lines around it than there was room for.
    pub cut: bool,
}

impl Query {
    /// Lines in which the regular expression `pattern` matches, with up to `context` lines before and after each.
    /// With `render`, its result is what is searched and shown, and not the line's own bytes.
    ///
    /// # Errors
    /// What is wrong with the expression.
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

    /// Where the first hit is in the text of what is searched.
    fn hit(&self, searched: &[u8]) -> Range<usize> {
        let length = |bytes| String::from_utf8_lossy(bytes).len();
        let hit = self.regex.find(searched).map_or(0..0, |hit| hit.range());
        let start = length(&searched[..hit.start]);
        start..start + length(&searched[hit])
    }
}

/// A search on its way.
#[derive(Debug)]
pub struct Search<'q> {
    query: &'q Query,
    room: usize,
    rest: Vec<u8>,
    /// The cursor of the first byte that is not searched: the beginning of a line, or of a part of one.
    next: u64,
    line: u64,
    /// The lines before that one, and of each whether it is only its first part.
    before: VecDeque<(String, bool)>,
    /// Whether there are more before those than were looked at.
    misses_before: bool,
    /// The line that began before the byte at `next`, if one did.
    begun: Option<Begun>,
    found: Vec<Found>,
    is_full: bool,
}

/// A line of which parts were searched.
#[derive(Debug)]
struct Begun {
    /// Its first part, as it is shown around a match.
    first: String,
    /// Whether it was found.
    is_found: bool,
}

impl<'q> Search<'q> {
    /// A search from `cursor` on, for matches of about `room` bytes together; at least one, which is cut to fit.
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

    /// Takes the bytes right before the cursor, for the lines before the first match; `is_all` if there are no more.
    pub fn prime(&mut self, bytes: &[u8], is_all: bool) {
        self.misses_before = !is_all;
        let lines = bytes.split_inclusive(|byte| *byte == b'\n').filter_map(|line| line.strip_suffix(b"\n"));
        for line in lines {
            self.remember(self.context(line.strip_suffix(b"\r").unwrap_or(line)), false);
        }
    }

    /// Searches the bytes that come next.
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

    /// Searches the last line, which no newline ends.
    pub fn finish(&mut self) {
        let line = mem::take(&mut self.rest);
        if !self.is_full && !line.is_empty() {
            self.line(&line, true);
        }
    }

    /// Says that there is more, which is not searched now. What it would add to the last matches is missed.
    pub fn interrupt(&mut self) {
        for found in &mut self.found {
            found.cut |= self.line - found.line <= self.query.context as u64;
        }
    }

    /// Whether there is no room for more. Then the next match is at [`Self::next`].
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.is_full
    }

    /// Where to go on.
    #[must_use]
    pub fn next(&self) -> u64 {
        self.next
    }

    /// What was found.
    #[must_use]
    pub fn found(self) -> Vec<Found> {
        self.found
    }

    /// Looks at one line, with its newline; without one it is a part of a line that is too long, or the last.
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
        // What is left of a line whose last part was full is its end, not an empty line.
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

    /// Adds the line if it matches, and there is room. Says whether it was added.
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
                // A gap between a match and what comes before or after it would mislead.
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
        self.found.push(Found { cursor, line, text, before, after: Vec::new(), cut });
    }

    /// Adds a line to the matches that it comes after. If there is no room for it, the first match does without, and
    /// any other one is left for the next search, which has more room for it.
    fn add_after(&mut self, line: &[u8], is_part: bool) {
        let (context, number) = (self.query.context as u64, self.line);
        let is_near = |found: &Found| number - found.line <= context;
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

    /// The line as it is shown around a match; nothing where lines around matches are not wanted.
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
