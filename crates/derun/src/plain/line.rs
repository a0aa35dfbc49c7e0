//! A terminal line: columns and a cursor; text overwrites what is under it.
//!
//! A character takes one or more columns (wide characters two, a tab up to eight). Overwriting a part of it turns the
//! rest into blanks, as terminals do. No operation costs more than [`LIMIT`].

use unicode_width::UnicodeWidthChar;

/// The number of columns that can still be overwritten. Earlier columns of a longer line have been emitted: a
/// terminal that wraps cannot return there either.
pub(super) const LIMIT: usize = 2048;

/// How far the cursor can move, or blanks be inserted, beyond the text. No terminal is wider, and a few bytes must
/// not create many.
const WIDE: usize = 512;

/// The maximum size of combining characters on one character, in bytes; further ones take a column.
const MARKS: usize = 64;

/// A column.
#[derive(Debug, Clone, Default)]
struct Cell {
    /// The character that starts here; `None` in its further columns.
    begins: Option<char>,
    /// Its combining characters.
    marks: String,
}

const BLANK: Cell = Cell { begins: Some(' '), marks: String::new() };

/// The line and its cursor.
#[derive(Debug, Default)]
pub(super) struct TerminalLine {
    cells: Vec<Cell>,
    /// The number of columns that have been emitted.
    passed: usize,
    cursor: usize,
    /// Whether the cursor has moved to another line, which starts at the next write.
    left: bool,
    /// The number of lines so far.
    number: u64,
    /// The saved cursor position.
    saved: Option<(u64, usize, bool)>,
}

impl TerminalLine {
    /// Writes a character at the cursor.
    pub(super) fn put(&mut self, character: char, out: &mut String) {
        if self.left && (self.passed > 0 || !self.cells.is_empty()) {
            let cursor = self.cursor;
            self.end(out);
            self.cursor = cursor;
        }
        self.left = false;
        while self.cells.len() < self.cursor {
            self.cells.push(BLANK);
        }
        let width = if character.is_ascii() { 1 } else { character.width().unwrap_or(1) };
        if width == 0 && self.combine(character) {
            return;
        }
        self.write(character, width.max(1), out);
    }

    /// Adds a zero-width character to the one before the cursor, if possible.
    fn combine(&mut self, character: char) -> bool {
        let Some(last) = self.cursor.checked_sub(1) else { return false };
        let first = self.first(last);
        let Some(cell) = self.cells.get_mut(first) else { return false };
        let has_room = cell.marks.len() < MARKS;
        if has_room {
            cell.marks.push(character);
        }
        has_room
    }

    fn write(&mut self, character: char, width: usize, out: &mut String) {
        let end = self.cursor + width;
        if self.cursor < self.cells.len() {
            self.part(self.cursor);
            self.part(end);
        }
        self.cells.resize(self.cells.len().max(end), BLANK);
        self.cells[self.cursor..end].fill(Cell::default());
        self.cells[self.cursor].begins = Some(character);
        self.cursor = end;
        if end == self.cells.len() && end >= LIMIT {
            let passed = self.first(end - LIMIT / 2);
            self.cells.drain(..passed).for_each(|cell| show(&cell, out));
            self.passed += passed;
            self.cursor -= passed;
        }
    }

    /// The column where the character at `column` starts.
    fn first(&self, column: usize) -> usize {
        let before = self.cells.get(..=column).unwrap_or(&self.cells);
        before.iter().rposition(|cell| cell.begins.is_some()).unwrap_or(0)
    }

    /// Turns a character that extends across `column` into blanks.
    fn part(&mut self, column: usize) {
        if self.cells.get(column).is_some_and(|cell| cell.begins.is_none()) {
            let first = self.first(column);
            let behind = self.cells[column..].iter().position(|cell| cell.begins.is_some());
            let end = behind.map_or(self.cells.len(), |behind| column + behind);
            self.cells[first..end].fill(BLANK);
        }
    }

    /// Moves to the next tab stop. At the end of the text, the tab is kept.
    pub(super) fn tab(&mut self, out: &mut String) {
        let width = 8 - (self.passed + self.cursor) % 8;
        if !self.left && self.cursor == self.cells.len() {
            self.write('\t', width, out);
        } else {
            self.go(self.passed + self.cursor + width);
        }
    }

    /// The cursor's column.
    pub(super) fn column(&self) -> usize {
        self.passed + self.cursor
    }

    /// Moves the cursor to a column of this line.
    pub(super) fn go(&mut self, column: usize) {
        let most = if self.left { WIDE } else { self.cells.len().max(WIDE) };
        self.cursor = column.saturating_sub(self.passed).min(most);
    }

    /// Moves the cursor to the start of the line.
    pub(super) fn carriage_return(&mut self) {
        self.cursor = 0;
    }

    /// Moves the cursor to `column` of another line.
    pub(super) fn leave(&mut self, column: usize) {
        self.left = true;
        self.cursor = column.min(WIDE);
    }

    /// Ends the line.
    pub(super) fn end(&mut self, out: &mut String) {
        self.flush(out);
        out.push('\n');
        self.number += 1;
        (self.passed, self.cursor, self.left) = (0, 0, false);
    }

    /// Emits the rest of the line.
    pub(super) fn flush(&mut self, out: &mut String) {
        self.cells.drain(..).for_each(|cell| show(&cell, out));
    }

    /// Saves the cursor position.
    pub(super) fn save(&mut self) {
        self.saved = Some((self.number, self.column(), self.left));
    }

    /// Restores the cursor position.
    pub(super) fn restore(&mut self) {
        match self.saved {
            Some((number, column, left)) if number == self.number => {
                self.left = left;
                self.go(column);
            }
            _ => self.leave(0),
        }
    }

    /// Turns these columns into blanks.
    fn blank(&mut self, from: usize, to: usize) {
        let to = to.min(self.cells.len());
        if !self.left && from < to {
            self.part(from);
            self.part(to);
            self.cells[from..to].fill(BLANK);
        }
    }

    /// Erases from the cursor to the end.
    pub(super) fn erase_to_end(&mut self) {
        if !self.left {
            self.part(self.cursor);
            self.cells.truncate(self.cursor);
        }
    }

    /// Erases up to and including the cursor.
    pub(super) fn erase_to_cursor(&mut self) {
        self.blank(0, self.cursor + 1);
    }

    /// Erases the whole line.
    pub(super) fn erase(&mut self) {
        if !self.left {
            self.cells.clear();
        }
    }

    /// Erases `count` columns from the cursor on.
    pub(super) fn erase_some(&mut self, count: usize) {
        self.blank(self.cursor, self.cursor + count);
    }

    /// Deletes `count` columns; the rest moves left.
    pub(super) fn delete(&mut self, count: usize) {
        let end = (self.cursor + count).min(self.cells.len());
        if !self.left && self.cursor < end {
            self.part(self.cursor);
            self.part(end);
            self.cells.drain(self.cursor..end);
        }
    }

    /// Inserts `count` blanks at the cursor.
    pub(super) fn insert(&mut self, count: usize) {
        if !self.left && self.cursor < self.cells.len() {
            self.part(self.cursor);
            let blanks = std::iter::repeat_n(BLANK, count.min(WIDE));
            self.cells.splice(self.cursor..self.cursor, blanks);
            self.cells.truncate(LIMIT);
        }
    }
}

fn show(cell: &Cell, out: &mut String) {
    out.extend(cell.begins);
    out.push_str(&cell.marks);
}
