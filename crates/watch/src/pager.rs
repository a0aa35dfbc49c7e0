//! Long texts with a position: transcripts, requests and the help.

use crate::rows::{LineKind, TranscriptLine};
use crate::text::wrap;
use std::cell::Cell;
use std::collections::VecDeque;

/// How many lines of a transcript are kept.
pub(crate) const TRANSCRIPT: usize = 10_000;

/// A long text, shown from a position. It is moved by rows, so that no part of a long line is skipped.
#[derive(Debug, Default)]
pub(crate) struct Pager {
    pub(crate) lines: VecDeque<TranscriptLine>,
    /// How many lines were dropped.
    pub(crate) dropped: usize,
    /// The first row on the screen: a line, and a row in it. `None` shows the end and follows it.
    at: Option<(usize, usize)>,
    /// The width and height it was drawn in, and the first row then.
    drawn: Cell<(usize, usize, (usize, usize))>,
    /// Whether the end was on the screen.
    pub(crate) end_was_shown: Cell<bool>,
    /// What was searched for, in lower case.
    pub(crate) search: String,
    /// The last match that the user moved to; scrolling forgets it.
    found: Option<usize>,
}

/// Where the next match was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    /// In the direction of the search.
    Ahead,
    /// Past the end of the text.
    Wrapped,
    /// There is no match but the current one.
    Only,
    /// There is no match.
    Nothing,
}

/// A row of a pager: a part of a line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PagerRow {
    pub(crate) kind: LineKind,
    pub(crate) text: String,
    pub(crate) is_found: bool,
}

impl Pager {
    /// These lines from the beginning.
    pub(crate) fn at_start(lines: impl IntoIterator<Item = TranscriptLine>) -> Self {
        Self { lines: lines.into_iter().collect(), at: Some((0, 0)), ..Self::default() }
    }

    pub(crate) fn push(&mut self, line: TranscriptLine) {
        self.lines.push_back(line);
        if self.lines.len() > TRANSCRIPT {
            self.lines.pop_front();
            self.dropped += 1;
            if let Some((line, _)) = &mut self.at {
                *line = line.saturating_sub(1);
            }
            self.found = self.found.and_then(|line| line.checked_sub(1));
        }
    }

    /// Whether new lines are shown as they come.
    pub(crate) fn follows(&self) -> bool {
        self.at.is_none()
    }

    /// The rows on a screen of this size.
    pub(crate) fn rows(&self, width: usize, height: usize) -> Vec<PagerRow> {
        let end = self.back(self.end(), height, width);
        let from = self.at.map_or(end, |at| at.min(end));
        self.drawn.set((width, height, from));
        if from >= end {
            self.end_was_shown.set(true);
        }
        let mut rows = Vec::new();
        let mut skipped = from.1;
        for line in self.lines.iter().skip(from.0) {
            let is_found = !self.search.is_empty() && line.text.to_lowercase().contains(&self.search);
            for text in wrap(&line.text, width).into_iter().skip(std::mem::take(&mut skipped)) {
                if rows.len() == height {
                    return rows;
                }
                rows.push(PagerRow { kind: line.kind, text, is_found });
            }
        }
        rows
    }

    /// Moves by this many rows.
    pub(crate) fn scroll(&mut self, rows: isize) {
        let (width, height, from) = self.drawn.get();
        let to = match usize::try_from(rows) {
            Ok(down) => self.forward(from, down, width),
            Err(_) => self.back(from, rows.unsigned_abs(), width),
        };
        let end = self.back(self.end(), height, width);
        self.at = (to < end).then_some(to);
        self.found = None;
    }

    /// Moves by this many screens.
    pub(crate) fn page(&mut self, down: bool) {
        let rows = isize::try_from(self.drawn.get().1.saturating_sub(1).max(1)).unwrap_or(1);
        self.scroll(if down { rows } else { -rows });
    }

    pub(crate) fn go_to_start(&mut self) {
        (self.at, self.found) = (Some((0, 0)), None);
    }

    pub(crate) fn go_to_end(&mut self) {
        (self.at, self.found) = (None, None);
    }

    /// Searches for `text`, from the first line on the screen; at the end of the text, backward.
    pub(crate) fn search(&mut self, text: &str) -> bool {
        self.search = text.to_lowercase();
        let from = self.first();
        let found = match self.follows() {
            false => (from..self.lines.len()).chain(0..from).find(|line| self.matches(*line)),
            true => {
                (0..=from).rev().chain((from + 1..self.lines.len()).rev()).find(|line| self.matches(*line))
            }
        };
        self.show_match(found);
        found.is_some()
    }

    /// Moves to the next line that contains what is searched for, or the one before. Wraps around.
    pub(crate) fn find(&mut self, forward: bool) -> Found {
        let from = self.found.unwrap_or_else(|| self.first());
        let found = if forward {
            (from + 1..self.lines.len()).chain(0..=from).find(|line| self.matches(*line))
        } else {
            (0..from).rev().chain((from..self.lines.len()).rev()).find(|line| self.matches(*line))
        };
        self.show_match(found);
        match found {
            None => Found::Nothing,
            Some(line) if line == from => Found::Only,
            Some(line) if forward == (line > from) => Found::Ahead,
            Some(_) => Found::Wrapped,
        }
    }

    fn show_match(&mut self, found: Option<usize>) {
        if let Some(line) = found {
            (self.at, self.found) = (Some((line, 0)), found);
        }
    }

    /// Whether this line contains what is searched for.
    fn matches(&self, line: usize) -> bool {
        let line = self.lines.get(line).filter(|_| !self.search.is_empty());
        line.is_some_and(|line| line.text.to_lowercase().contains(&self.search))
    }

    /// The first line that is on the screen.
    fn first(&self) -> usize {
        self.drawn.get().2.0
    }

    fn end(&self) -> (usize, usize) {
        (self.lines.len(), 0)
    }

    /// The position this many rows before `at`.
    fn back(&self, (mut line, mut row): (usize, usize), mut rows: usize, width: usize) -> (usize, usize) {
        while rows > 0 {
            if row > 0 {
                let up = row.min(rows);
                (row, rows) = (row - up, rows - up);
            } else if line > 0 {
                line -= 1;
                row = self.height(line, width);
            } else {
                break;
            }
        }
        (line, row)
    }

    fn forward(&self, (mut line, mut row): (usize, usize), mut rows: usize, width: usize) -> (usize, usize) {
        while rows > 0 && line < self.lines.len() {
            let left = self.height(line, width) - row;
            if rows < left {
                return (line, row + rows);
            }
            (line, row, rows) = (line + 1, 0, rows - left);
        }
        (line, row)
    }

    fn height(&self, line: usize, width: usize) -> usize {
        self.lines.get(line).map_or(1, |line| wrap(&line.text, width).len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Text;

    fn pager(lines: &[&str]) -> Pager {
        let line = |text: &&str| TranscriptLine { kind: LineKind::Plain, text: Text::new(text) };
        Pager { lines: lines.iter().map(line).collect(), ..Pager::default() }
    }

    fn shown(pager: &Pager) -> Vec<String> {
        pager.rows(4, 2).into_iter().map(|row| row.text).collect()
    }

    #[test]
    fn a_long_line_is_scrolled_row_by_row() {
        let mut pager = pager(&["aaaabbbbcccc", "d"]);
        assert_eq!(shown(&pager), ["cccc", "d"]);
        pager.scroll(-1);
        assert_eq!(shown(&pager), ["bbbb", "cccc"]);
        assert!(!pager.follows());
        pager.scroll(-9);
        assert_eq!(shown(&pager), ["aaaa", "bbbb"]);
        pager.scroll(2);
        assert_eq!(shown(&pager), ["cccc", "d"]);
        assert!(pager.follows());
    }

    #[test]
    fn the_end_counts_as_shown_only_when_it_was_on_the_screen() {
        let mut pager = pager(&["a", "b", "c"]);
        pager.go_to_start();
        shown(&pager);
        assert!(!pager.end_was_shown.get());
        pager.page(true);
        shown(&pager);
        assert!(pager.end_was_shown.get());
    }

    #[test]
    fn a_search_moves_to_the_next_line_that_matches() {
        let mut pager = pager(&["one", "Two", "three", "two", "x", "y"]);
        pager.go_to_start();
        shown(&pager);
        assert!(pager.search("two"));
        assert_eq!(shown(&pager), ["Two", "thre"]);
        assert_eq!(pager.find(true), Found::Ahead);
        assert_eq!(shown(&pager), ["two", "x"]);
        assert_eq!(pager.find(true), Found::Wrapped);
        assert_eq!(shown(&pager), ["Two", "thre"]);
        assert_eq!(pager.find(false), Found::Wrapped);
        assert_eq!(pager.find(false), Found::Ahead);
        assert_eq!(shown(&pager), ["Two", "thre"]);
        assert!(!pager.search("four"));
        assert_eq!(pager.find(true), Found::Nothing);
    }

    #[test]
    fn a_search_finds_what_is_on_the_first_line_of_the_screen() {
        let mut pager = pager(&["make", "x", "y"]);
        pager.go_to_start();
        shown(&pager);
        assert!(pager.search("make"));
        assert_eq!(shown(&pager), ["make", "x"]);
        assert_eq!(pager.find(true), Found::Only);
        // The same at the end of a text that fits on the screen.
        let mut pager = self::pager(&["make", "x"]);
        shown(&pager);
        assert!(pager.search("make"));
        assert_eq!(pager.find(false), Found::Only);
    }

    #[test]
    fn matches_on_the_last_screen_are_found_one_after_another() {
        let mut pager = pager(&["a two", "b", "two", "two"]);
        pager.go_to_start();
        shown(&pager);
        assert!(pager.search("two"));
        for found in [Found::Ahead, Found::Ahead, Found::Wrapped] {
            shown(&pager);
            assert_eq!(pager.find(true), found);
        }
    }
}
