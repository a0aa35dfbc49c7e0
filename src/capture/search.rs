//! Finding lines in captured bytes, portion by portion, with the lines around them.
//!
//! The caller reads and feeds; this decides. A line ends with a newline; one that has not ended yet is left for the
//! next search, and one of more than 64 KiB is searched in parts.

use super::text;
use regex::bytes::{Regex, RegexBuilder};
use std::borrow::Cow;
use std::collections::VecDeque;
use std::mem;

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

/// A line that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The cursor of its first byte.
    pub cursor: u64,
    /// Which line it is; 1 is the one where the search began.
    pub line: u64,
    /// The line.
    pub text: String,
    /// The lines before it, in their order.
    pub before: Vec<String>,
    /// The lines after it, as far as they are there and there was room.
    pub after: Vec<String>,
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
}

/// A search on its way.
#[derive(Debug)]
pub struct Search<'q> {
    query: &'q Query,
    room: usize,
    rest: Vec<u8>,
    /// The cursor of the first byte that is not searched: the beginning of a line.
    next: u64,
    line: u64,
    before: VecDeque<String>,
    found: Vec<Found>,
    is_full: bool,
}

impl<'q> Search<'q> {
    /// A search from `cursor` on, for matches of about `room` bytes together; at least one, which is cut to fit.
    #[must_use]
    pub fn new(query: &'q Query, cursor: u64, room: usize) -> Self {
        let (rest, before, found) = (Vec::new(), VecDeque::new(), Vec::new());
        Self { query, room, rest, next: cursor, line: 1, before, found, is_full: false }
    }

    /// Takes the bytes right before the cursor, for the lines before the first match.
    pub fn prime(&mut self, bytes: &[u8]) {
        let lines = bytes.split_inclusive(|byte| *byte == b'\n').filter_map(|line| line.strip_suffix(b"\n"));
        for line in lines {
            self.remember(line);
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
                self.line(&window[..end]);
            } else {
                let mut line = mem::take(&mut self.rest);
                line.extend_from_slice(&window[..end]);
                self.line(&line);
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
            self.line(&line);
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

    /// Looks at one line, with its newline.
    fn line(&mut self, whole: &[u8]) {
        let line = whole.strip_suffix(b"\n").unwrap_or(whole);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let rendered = self.query.render.map(|render| render(line));
        let searched = rendered.as_deref().map_or(line, str::as_bytes);
        self.add_after(line);
        if self.query.regex.is_match(searched) {
            let text = rendered.unwrap_or_else(|| String::from_utf8_lossy(line).into_owned());
            self.add(text);
            if self.is_full {
                return;
            }
        }
        self.remember(line);
        self.next += whole.len() as u64;
        self.line += 1;
    }

    fn add(&mut self, mut text: String) {
        let around: usize = self.before.iter().map(|line| line.len() + AROUND).sum();
        if self.found.is_empty() {
            text.truncate(text::cut(&text, self.room).len());
        } else if MATCH + text.len() + around > self.room {
            self.is_full = true;
            return;
        }
        self.room = self.room.saturating_sub(MATCH + text.len());
        let mut before = Vec::new();
        for line in self.before.iter().rev() {
            let Some(room) = self.room.checked_sub(line.len() + AROUND) else { break };
            self.room = room;
            before.push(line.clone());
        }
        before.reverse();
        self.found.push(Found { cursor: self.next, line: self.line, text, before, after: Vec::new() });
    }

    /// Adds a line to the matches that it comes after.
    fn add_after(&mut self, line: &[u8]) {
        let (context, number) = (self.query.context as u64, self.line);
        let near = self.found.iter_mut().rev().take_while(|found| number - found.line <= context);
        let mut text = None;
        for found in near {
            let text = text.get_or_insert_with(|| self.query.shown(line));
            match self.room.checked_sub(text.len() + AROUND) {
                Some(room) => self.room = room,
                None => {
                    // A gap in what follows a match would mislead.
                    self.room = 0;
                    return;
                }
            }
            found.after.push(text.to_string());
        }
    }

    fn remember(&mut self, line: &[u8]) {
        if self.query.context == 0 {
            return;
        }
        if self.before.len() == self.query.context {
            self.before.pop_front();
        }
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        self.before.push_back(self.query.shown(line).into_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn query(pattern: &str, context: usize) -> Query {
        Query::new(pattern, false, context, None).unwrap()
    }

    fn texts(found: &[Found]) -> Vec<(u64, u64, &str)> {
        found.iter().map(|found| (found.cursor, found.line, &found.text[..])).collect()
    }

    #[test]
    fn a_line_is_found_with_those_around_it() {
        let query = query("^two$", 2);
        let mut search = Search::new(&query, 10, 1000);
        search.prime(b"torn\nzero\n");
        search.feed(b"one\r\ntw");
        search.feed(b"o\nthree\nfour\nfive\nsi");
        assert_eq!((search.next(), search.is_full()), (35, false));
        let found = search.found();
        assert_eq!(texts(&found), [(15, 2, "two")]);
        assert_eq!(
            (&found[0].before[..], &found[0].after[..]),
            (&["zero".into(), "one".into()][..], &["three".to_owned(), "four".to_owned()][..])
        );
    }

    #[test]
    fn an_unended_line_is_searched_when_nothing_comes() {
        let query = query("x", 0);
        let mut search = Search::new(&query, 0, 1000);
        search.feed(b"x");
        assert_eq!(search.next(), 0);
        search.finish();
        assert_eq!(search.next(), 1);
        assert_eq!(texts(&search.found()), [(0, 1, "x")]);
    }

    #[test]
    fn a_full_answer_says_where_the_next_match_is() {
        let query = query("x", 0);
        let mut search = Search::new(&query, 0, 3 * (MATCH + 2));
        search.feed(b"x1\n--\nx2\nx3\nx4\nx5\n");
        assert!(search.is_full());
        assert_eq!(search.next(), 12);
        assert_eq!(search.found().len(), 3);
    }

    #[test]
    fn a_match_that_is_too_long_is_cut() {
        let query = query("ä", 0);
        let mut search = Search::new(&query, 0, 5);
        search.feed("ääääääääää\n".as_bytes());
        assert_eq!(texts(&search.found()), [(0, 1, "ää")]);
    }

    #[test]
    fn what_is_searched_is_what_is_shown() {
        let render: Render = |line| String::from_utf8_lossy(line).replace('*', "");
        let query = Query::new("^ERROR", true, 0, Some(render)).unwrap();
        let mut search = Search::new(&query, 0, 1000);
        search.feed(b"*err*or\n");
        assert_eq!(texts(&search.found()), [(0, 1, "error")]);
    }

    #[test]
    fn an_endless_line_is_searched_in_parts() {
        let query = query("needle", 0);
        let mut search = Search::new(&query, 0, 1000);
        let block = vec![b'x'; MAX_LINE + 7];
        search.feed(&block);
        search.feed(b"needle\n");
        assert_eq!(search.next(), MAX_LINE as u64 + 14);
        assert_eq!(search.found().len(), 1);
    }

    proptest! {
        #[test]
        fn however_it_is_fed_it_finds_what_a_look_at_every_line_finds(
            text in "[ab\n]{0,60}",
            cuts in prop::collection::vec(0_usize..60, 0..6),
        ) {
            let query = query("ab", 0);
            let mut search = Search::new(&query, 0, usize::MAX);
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(text.len())).collect();
            cuts.extend([0, text.len()]);
            cuts.sort_unstable();
            for pair in cuts.windows(2) {
                search.feed(&text.as_bytes()[pair[0]..pair[1]]);
            }
            search.finish();
            prop_assert_eq!(search.next(), text.len() as u64);
            let found = search.found();
            let mut expected = Vec::new();
            let mut at = 0;
            for (number, line) in text.split('\n').enumerate() {
                if line.contains("ab") {
                    expected.push((at, number as u64 + 1, line));
                }
                at += line.len() as u64 + 1;
            }
            prop_assert_eq!(texts(&found), expected);
        }
    }
}
