//! A problem with a configuration file, on one line: the file, the position, what is wrong, and a hint.

use std::fmt;
use std::path::Path;
use sys::error::{Failure, Hinted, one_line};

/// A position in a text file. Both numbers count from 1; columns count characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The line.
    pub line: u32,
    /// The character in the line.
    pub column: u32,
}

impl Position {
    /// The position of a byte of `text`.
    #[must_use]
    pub fn of(text: &str, offset: usize) -> Self {
        let before = text.get(..offset).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX).saturating_add(1);
        Self {
            line: count(memchr::memchr_iter(b'\n', before.as_bytes()).count()),
            column: count(before.get(line_start..).unwrap_or_default().chars().count()),
        }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}", self.line, self.column)
    }
}

/// What keeps a heartbeat from running. Displayed as `<file>:<line>:<column>: <what>`, with a hint.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.text)]
pub struct Problem(Box<Parts>);

/// Behind a pointer because every heartbeat has room for a problem, and few have one.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Parts {
    text: Box<str>,
    hint: Option<Box<str>>,
    place: Option<Position>,
    /// Other problems of the same heartbeat or file.
    more: Box<[Problem]>,
}

impl Problem {
    /// A problem at a position in a file.
    #[must_use]
    pub fn at(file: &Path, place: Position, what: impl Into<Failure>) -> Self {
        let mut problem = Self::new(&format!("{}:{place}", file.display()), &what.into());
        problem.0.place = Some(place);
        problem
    }

    /// A problem with a file or folder as a whole.
    #[must_use]
    pub fn with(path: &Path, what: impl Into<Failure>) -> Self {
        Self::new(&path.display().to_string(), &what.into())
    }

    /// A problem at a place in a file, if that is known.
    #[must_use]
    pub fn within(path: &Path, place: Option<Position>, what: impl Into<Failure>) -> Self {
        match place {
            Some(place) => Self::at(path, place, what),
            None => Self::with(path, what),
        }
    }

    /// The first of these problems of one heartbeat or file, in the order of the text, with the others; `None` if there
    /// are none.
    #[must_use]
    pub fn first_of(mut problems: Vec<Self>) -> Option<Self> {
        problems.sort_by_key(Self::place);
        let mut problems = problems.into_iter();
        let mut first = problems.next()?;
        first.0.more = problems.collect();
        Some(first)
    }

    /// The position in the file, if the problem has one.
    #[must_use]
    pub fn place(&self) -> Option<Position> {
        self.0.place
    }

    /// This problem and the others, each on its own.
    pub(super) fn split(mut self) -> impl Iterator<Item = Self> {
        let more = std::mem::take(&mut self.0.more);
        std::iter::once(self).chain(more)
    }

    /// This problem and the others of the same heartbeat or file.
    pub fn all(&self) -> impl Iterator<Item = &Self> {
        std::iter::once(self).chain(&self.0.more)
    }

    /// The same as [`Self::all`], as failures.
    #[must_use]
    pub fn failures(&self) -> Vec<Failure> {
        self.all().map(Hinted::failure).collect()
    }

    // Paths and keys are foreign text and must not break the line.
    fn new(before: &str, what: &Failure) -> Self {
        let hint = what.to_do().map(|hint| one_line(hint).into());
        let text = one_line(&format!("{before}: {what}")).into();
        Self(Box::new(Parts { text, hint, place: None, more: Box::default() }))
    }
}

impl Hinted for Problem {
    fn hint(&self) -> Option<String> {
        self.0.hint.as_deref().map(str::to_owned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_counts_lines_and_characters_from_one() {
        assert_eq!(Position::of("äb\ncd", 0).to_string(), "1:1");
        assert_eq!(Position::of("äb\ncd", 2).to_string(), "1:2");
        assert_eq!(Position::of("äb\ncd", 5).to_string(), "2:2");
        assert_eq!(Position::of("", 9).to_string(), "1:1");
    }

    #[test]
    fn a_problem_is_one_line_whatever_is_in_it() {
        let problem = Problem::with(Path::new("/a\nb"), "is \u{1b}[31m odd");
        assert_eq!(problem.to_string(), "/a\\nb: is \\u{1b}[31m odd");
    }
}
