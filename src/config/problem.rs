//! One line for a person: which file, where in it, what is wrong, and what to do.

use std::fmt;
use std::path::Path;

/// A place in a text file. Both count from 1; columns count characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The line.
    pub line: u32,
    /// The character in the line.
    pub column: u32,
}

impl Place {
    /// The place of a byte of `text`.
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

impl fmt::Display for Place {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}", self.line, self.column)
    }
}

/// What keeps a heartbeat from running. Shown as one line: `<file>:<line>:<column>: <what>; <what to do>`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct Problem {
    text: Box<str>,
    /// Where in the file, when it is about a place in it.
    pub place: Option<Place>,
}

impl Problem {
    /// A problem at a place of a file.
    #[must_use]
    pub fn at(file: &Path, place: Place, what: impl fmt::Display) -> Self {
        Self { text: one_line(&format!("{}:{place}: {what}", file.display())), place: Some(place) }
    }

    /// A problem with a file or folder as a whole.
    #[must_use]
    pub fn with(path: &Path, what: impl fmt::Display) -> Self {
        Self { text: one_line(&format!("{}: {what}", path.display())), place: None }
    }
}

/// Paths and keys are foreign text: what would end the line or steer a terminal is escaped.
fn one_line(text: &str) -> Box<str> {
    if !text.chars().any(char::is_control) {
        return text.into();
    }
    let escape =
        |letter: char| if letter.is_control() { letter.escape_default().to_string() } else { letter.into() };
    text.chars().map(escape).collect::<String>().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_counts_lines_and_characters_from_one() {
        assert_eq!(Place::of("äb\ncd", 0).to_string(), "1:1");
        assert_eq!(Place::of("äb\ncd", 2).to_string(), "1:2");
        assert_eq!(Place::of("äb\ncd", 5).to_string(), "2:2");
        assert_eq!(Place::of("", 9).to_string(), "1:1");
    }

    #[test]
    fn a_problem_is_one_line_whatever_is_in_it() {
        let problem = Problem::with(Path::new("/a\nb"), "is \u{1b}[31m odd");
        assert_eq!(problem.to_string(), "/a\\nb: is \\u{1b}[31m odd");
    }
}
