//! Counts lines and columns of a file on the way through it: once for the file, not once per entry.

use crate::config::json;
use crate::config::problem::Position;

/// A place in a file.
pub(super) struct Cursor {
    offset: usize,
    at: Position,
}

impl Cursor {
    /// The start of the text at `offset`.
    pub(super) fn new(offset: usize) -> Self {
        Self { offset, at: Position { line: 1, column: 1 } }
    }

    /// Moves forward to `part`, which is a slice of `source`, and returns its place.
    pub(super) fn place(&mut self, source: &str, part: &str) -> Position {
        let start = json::span(source, part).start;
        let between = source.get(self.offset..start).unwrap_or_default();
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        match between.rfind('\n') {
            Some(newline) => {
                let lines = count(memchr::memchr_iter(b'\n', between.as_bytes()).count());
                let rest = between.get(newline + 1..).unwrap_or_default();
                self.at = Position { line: self.at.line + lines, column: 1 + count(rest.chars().count()) };
            }
            None => self.at.column += count(between.chars().count()),
        }
        self.offset = start;
        self.at
    }
}
