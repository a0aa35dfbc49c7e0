//! Converts terminal output to plain text: what a terminal would show, line by line, without escape codes.
//!
//! The model is a single line with a cursor: printing overwrites, a progress bar that uses `\r` collapses to its last
//! state, and erasing and moving within the line work. Colors, titles, links, character sets and all other escape
//! codes are removed. Bytes that are not UTF-8 and the control characters U+0080 to U+009F become U+FFFD. Of the
//! control characters, only `\n` and `\t` remain.
//!
//! The rest is approximated. Moving to another line, clearing the screen, and entering or leaving the alternate
//! screen start a new line at the next printed character: the output of a full-screen program appears as lines in the
//! order it was drawn. Lines are not wrapped.
//!
//! Time is linear and memory bounded, for any input. Chunking does not change the result.

mod line;

use line::TerminalLine;
use vte::{Params, Parser, Perform};

/// Converts `bytes`.
#[must_use]
pub fn plain(bytes: &[u8]) -> String {
    let (mut plain, mut out) = (Plain::default(), String::with_capacity(bytes.len()));
    plain.feed(bytes, &mut out);
    plain.finish(&mut out);
    out
}

/// Converts bytes incrementally. A line is emitted when it ends or becomes very long.
#[derive(Default)]
pub struct Plain {
    parser: Parser,
    seen: ParserState,
    /// An incomplete character at the end of the input: the parser loses text after one.
    torn: Vec<u8>,
    line: TerminalLine,
    /// The last printed character, which a code can repeat.
    last: Option<char>,
}

/// The parser's state, as far as it matters here: it buffers operating system commands (window titles, links) without
/// limit, so their text is filtered out first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum ParserState {
    #[default]
    Other,
    Escape,
    Command,
}

const ESCAPE: u8 = 0x1b;

impl std::fmt::Debug for Plain {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Plain").field("seen", &self.seen).field("line", &self.line).finish_non_exhaustive()
    }
}

impl Plain {
    /// Converts `bytes` and appends final text to `out`.
    pub fn feed(&mut self, bytes: &[u8], out: &mut String) {
        let joined;
        let mut rest = match &self.torn[..] {
            [] => bytes,
            torn => {
                joined = [torn, bytes].concat();
                &joined
            }
        };
        let (whole, torn) = rest.split_at(rest.len() - torn(rest));
        self.torn = torn.to_vec();
        rest = whole;
        while let Some(first) = rest.first() {
            let (passed, next) = match self.seen {
                ParserState::Other => match memchr::memchr(ESCAPE, rest) {
                    Some(at) => (0..at + 1, ParserState::Escape),
                    None => (0..rest.len(), ParserState::Other),
                },
                ParserState::Escape => (0..1, after_escape(*first)),
                ParserState::Command => {
                    match rest.iter().position(|byte| matches!(*byte, 7 | 0x18 | 0x1a | ESCAPE)) {
                        Some(at) if rest[at] == ESCAPE => (at..at + 1, ParserState::Escape),
                        Some(at) => (at..at + 1, ParserState::Other),
                        None => (rest.len()..rest.len(), ParserState::Command),
                    }
                }
            };
            self.seen = next;
            self.advance(&rest[passed.clone()], out);
            rest = &rest[passed.end..];
        }
    }

    /// Appends the last line to `out` and resets the state.
    pub fn finish(&mut self, out: &mut String) {
        let mut torn = std::mem::take(&mut self.torn);
        torn.push(ESCAPE);
        self.advance(&torn, out);
        self.line.flush(out);
        *self = Self::default();
    }

    fn advance(&mut self, bytes: &[u8], out: &mut String) {
        let mut terminal = Terminal { line: &mut self.line, last: &mut self.last, out };
        self.parser.advance(&mut terminal, bytes);
    }
}

/// How many bytes at the end of `bytes` are an incomplete character.
fn torn(bytes: &[u8]) -> usize {
    let is_torn = |count: &usize| {
        let end = &bytes[bytes.len() - count..];
        std::str::from_utf8(end).is_err_and(|error| error.valid_up_to() == 0 && error.error_len().is_none())
    };
    (1..=bytes.len().min(3)).find(is_torn).unwrap_or(0)
}

/// The parser's state after an escape followed by `byte`.
fn after_escape(byte: u8) -> ParserState {
    match byte {
        b']' => ParserState::Command,
        0x18 | 0x1a | 0x20..=0x7e => ParserState::Other,
        _ => ParserState::Escape,
    }
}

/// Executes the parser's actions.
struct Terminal<'a> {
    line: &'a mut TerminalLine,
    last: &'a mut Option<char>,
    out: &'a mut String,
}

impl Perform for Terminal<'_> {
    fn print(&mut self, character: char) {
        match character {
            '\u{7f}' => {}
            '\u{80}'..='\u{9f}' => self.line.put(char::REPLACEMENT_CHARACTER, self.out),
            _ => {
                *self.last = Some(character);
                self.line.put(character, self.out);
            }
        }
    }

    fn execute(&mut self, byte: u8) {
        match byte {
            b'\n' => self.line.end(self.out),
            b'\r' => self.line.carriage_return(),
            8 => self.line.go(self.line.column().saturating_sub(1)),
            b'\t' => self.line.tab(self.out),
            // Vertical tab and form feed.
            0xb | 0xc => self.line.leave(0),
            0x80..=0x9f => self.line.put(char::REPLACEMENT_CHARACTER, self.out),
            _ => {}
        }
    }

    fn csi_dispatch(&mut self, params: &Params, intermediates: &[u8], _ignored: bool, action: char) {
        let mut params = params.iter().filter_map(|param| param.first().copied().map(usize::from));
        let first = params.next().unwrap_or(0);
        let second = params.next().unwrap_or(0);
        let count = first.max(1);
        let line = &mut *self.line;
        match (intermediates, action) {
            ([], 'C' | 'a') => line.go(line.column() + count),
            ([], 'D') => line.go(line.column().saturating_sub(count)),
            ([], 'G' | '`') => line.go(count - 1),
            ([] | [b'?'], 'K') | ([] | [b'?'], 'J') => match first {
                0 => line.erase_to_end(),
                1 => line.erase_to_cursor(),
                _ if action == 'K' => line.erase(),
                _ => line.leave(0),
            },
            ([], 'X') => line.erase_some(count),
            ([], 'P') => line.delete(count),
            ([], '@') => line.insert(count),
            ([], 'b') => {
                for character in self.last.iter().cycle().take(count.min(80)) {
                    line.put(*character, self.out);
                }
            }
            ([], 'H' | 'f') => line.leave(second.saturating_sub(1)),
            ([], 'A' | 'B' | 'E' | 'F' | 'd' | 'e') => line.leave(0),
            ([b'?'], 'h' | 'l') if matches!(first, 47 | 1047 | 1049) => line.leave(0),
            ([], 's') => line.save(),
            ([], 'u') => line.restore(),
            _ => {}
        }
    }

    fn esc_dispatch(&mut self, intermediates: &[u8], _ignored: bool, byte: u8) {
        match (intermediates, byte) {
            ([], b'D' | b'E' | b'M' | b'c') => self.line.leave(0),
            ([], b'7') => self.line.save(),
            ([], b'8') => self.line.restore(),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
