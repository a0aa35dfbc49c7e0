//! Text for people on a terminal: long lines are broken between words.
//!
//! Lines that are indented by four spaces or more are quoted, such as the command of a request. They stay as they are,
//! so that no break looks like a part of them. A word that is longer than a row stays whole as well.

use std::io::{self, Write};
use unicode_width::UnicodeWidthChar;

/// The indentation of quoted lines.
const QUOTED: usize = 4;

/// The indentation of what is left of a broken line of a list.
const LISTED: usize = 2;

/// The narrowest terminal for which lines are broken.
#[cfg(unix)]
const NARROWEST: usize = 20;

/// The width of the terminal that standard output is; `None` if it isn't one.
#[must_use]
pub fn output_width() -> Option<usize> {
    width_of(&io::stdout())
}

/// The width of the terminal that standard error is; `None` if it isn't one.
#[must_use]
pub fn error_width() -> Option<usize> {
    width_of(&io::stderr())
}

#[cfg(unix)]
fn width_of(stream: &impl std::os::fd::AsFd) -> Option<usize> {
    // Fails if it is not a terminal.
    let size = sys::terminal::size_of(stream).ok();
    size.map(|size| usize::from(size.ws_col)).filter(|columns| *columns >= NARROWEST)
}

/// A console breaks lines itself.
#[cfg(windows)]
fn width_of<T>(_stream: &T) -> Option<usize> {
    None
}

/// `text` with its lines broken for a terminal of `width` columns; unchanged without one.
#[must_use]
pub fn wrapped(text: &str, width: Option<usize>) -> String {
    with_hanging(text, width, 0)
}

/// The same for a list with an entry on each line: what is left of a broken line is indented.
#[must_use]
pub fn wrapped_list(text: &str, width: Option<usize>) -> String {
    with_hanging(text, width, LISTED)
}

fn with_hanging(text: &str, width: Option<usize>, hang: usize) -> String {
    let Some(width) = width else { return text.to_owned() };
    let mut rows = String::with_capacity(text.len());
    text.split_inclusive('\n').for_each(|line| wrap(&mut rows, line, width, hang));
    rows
}

/// Breaks the lines that are written to it.
#[derive(Debug)]
pub struct Wrapped<W> {
    out: W,
    width: Option<usize>,
    /// The indentation of what is left of a line that isn't indented.
    hang: usize,
    /// The beginning of a line.
    begun: Vec<u8>,
}

impl<W: Write> Wrapped<W> {
    /// Writes to `out`, a terminal of `width` columns if it is one.
    pub fn new(out: W, width: Option<usize>) -> Self {
        Self { out, width, hang: 0, begun: Vec::new() }
    }

    /// Writes a list, as [`wrapped_list`].
    pub fn list(out: W, width: Option<usize>) -> Self {
        Self { hang: LISTED, ..Self::new(out, width) }
    }

    /// What it writes to, and whether the rest could be written.
    pub fn finish(mut self) -> (W, io::Result<()>) {
        let written = self.end();
        (self.out, written)
    }

    /// Writes a line that isn't complete.
    fn end(&mut self) -> io::Result<()> {
        let rest = std::mem::take(&mut self.begun);
        self.out.write_all(&rest)
    }
}

impl<W: Write> Write for Wrapped<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(width) = self.width else { return self.out.write(bytes) };
        match bytes.iter().rposition(|byte| *byte == b'\n') {
            None => self.begun.extend_from_slice(bytes),
            Some(end) => {
                self.begun.extend_from_slice(&bytes[..=end]);
                let lines = std::mem::replace(&mut self.begun, bytes[end + 1..].to_vec());
                let rows = with_hanging(&String::from_utf8_lossy(&lines), Some(width), self.hang);
                self.out.write_all(rows.as_bytes())?;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.end()?;
        self.out.flush()
    }
}

fn wrap(rows: &mut String, line: &str, width: usize, hang: usize) {
    let (text, end) = line.split_at(line.trim_end_matches(['\n', '\r']).len());
    let indent = text.len() - text.trim_start_matches(' ').len();
    // Most lines are shorter, and long ones may be megabytes.
    if text.len() <= width || indent >= QUOTED {
        return rows.push_str(line);
    }
    let (mut used, mut hanging) = (0, None);
    // How many visible words there were, and how many spaces after them.
    let (mut seen, mut gap) = (0, 0);
    for word in words(text) {
        let blank = word.len() - word.trim_start_matches(' ').len();
        let columns = columns(word);
        gap += blank;
        if columns > blank {
            // After a label, further rows are aligned with its text.
            if seen == 1 && indent > 0 && gap > 1 && used + blank <= width * 2 / 5 {
                hanging = Some(used + blank);
            }
            (seen, gap) = (seen + 1, 0);
        }
        if used + columns > width && used > indent {
            let below = hanging.unwrap_or(if indent > 0 { indent + 2 } else { hang });
            rows.push('\n');
            rows.extend(std::iter::repeat_n(' ', below));
            rows.push_str(&word[blank..]);
            used = below + columns - blank;
        } else {
            rows.push_str(word);
            used += columns;
        }
    }
    rows.push_str(end);
}

/// The words of a line, each with the spaces before it.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let start = rest.len() - rest.trim_start_matches(' ').len();
        let end = rest[start..].find(' ').map_or(rest.len(), |end| start + end);
        let (word, after) = rest.split_at(end);
        rest = after;
        (!word.is_empty()).then_some(word)
    })
}

/// The width of a word, without escape sequences.
fn columns(word: &str) -> usize {
    let mut letters = word.chars();
    let mut columns = 0;
    while let Some(letter) = letters.next() {
        if letter == '\u{1b}' {
            // `ESC [`, parameters, and a final letter.
            letters.by_ref().skip(1).find(|letter| ('@'..='~').contains(letter));
        } else {
            columns += letter.width().unwrap_or(0);
        }
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_broken_between_words() {
        for (line, expected) in [
            ("one two three four five six", "one two three four\nfive six"),
            ("  one two three four five six", "  one two three four\n    five six"),
            ("  last  one two three four", "  last  one two\n        three four"),
            ("    one two three four five six", "    one two three four five six"),
            ("see /a/path/that/is/very/long/indeed", "see\n/a/path/that/is/very/long/indeed"),
            ("\u{1b}[1mone\u{1b}[0m two three four five", "\u{1b}[1mone\u{1b}[0m two three four\nfive"),
            (
                "  \u{1b}[2mlast \u{1b}[0m one two three four",
                "  \u{1b}[2mlast \u{1b}[0m one two\n        three four",
            ),
            ("日本語 日本語 日本語 日", "日本語 日本語 日本語\n日"),
            ("one. Two,  three. Four", "one. Two,  three.\nFour"),
            ("short\r", "short\r"),
        ] {
            assert_eq!(wrapped(&format!("{line}\n"), Some(20)), format!("{expected}\n"), "{line}");
            assert_eq!(wrapped(line, None), line);
        }
    }

    #[test]
    fn pieces_of_a_line_are_put_together() {
        let mut out = Wrapped::new(Vec::new(), Some(20));
        for piece in ["one two", " three four five", " six\nnext", ": "] {
            out.write_all(piece.as_bytes()).unwrap();
        }
        assert_eq!(out.out, b"one two three four\nfive six\n");
        assert_eq!(out.finish().0, b"one two three four\nfive six\nnext: ");
        let mut list = Wrapped::list(Vec::new(), Some(20));
        list.write_all(b"one two three four five six\n").unwrap();
        assert_eq!(list.out, b"one two three four\n  five six\n");
    }
}
