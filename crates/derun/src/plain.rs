//! Terminal output as plain text: what a terminal would show of these bytes, line by line, without escape codes.
//!
//! One line is modelled, with a cursor: printing overwrites, a progress bar that begins anew with `\r` collapses to
//! its last state, and erasing and moving on the line do what they say. Colours, titles, links, charsets and every
//! other escape code vanish. Bytes that are no UTF-8 become U+FFFD, and so do the control characters U+0080 to
//! U+009F. No control character but `\n` and `\t` is left.
//!
//! The rest is approximated. A move to another line, clearing the screen, and entering or leaving the alternate
//! screen start a new line as soon as something is printed: what a full-screen program draws comes as lines in the
//! order in which it drew them. Lines are not wrapped.
//!
//! Time is linear in the bytes and memory bounded, whatever they are. Cutting them up differently changes nothing.

mod line;

use line::Line;
use vte::{Params, Parser, Perform};

/// What a terminal would show of `bytes`.
#[must_use]
pub fn plain(bytes: &[u8]) -> String {
    let (mut plain, mut out) = (Plain::default(), String::with_capacity(bytes.len()));
    plain.feed(bytes, &mut out);
    plain.finish(&mut out);
    out
}

/// The same for bytes that come one after the other. A line comes out when it ends or becomes very long.
#[derive(Default)]
pub struct Plain {
    parser: Parser,
    seen: Seen,
    /// The beginning of a character whose end is to come: the parser loses text behind such a character.
    torn: Vec<u8>,
    line: Line,
    /// The last character printed, which a code can have repeated.
    last: Option<char>,
}

/// Where in the parser's states we are, as far as it matters: it collects operating system commands (window titles,
/// links) without a bound, so their text does not get to it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Seen {
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
    /// Takes `bytes`, and appends to `out` what cannot change any more.
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
                Seen::Other => match memchr::memchr(ESCAPE, rest) {
                    Some(at) => (0..at + 1, Seen::Escape),
                    None => (0..rest.len(), Seen::Other),
                },
                Seen::Escape => (0..1, after_escape(*first)),
                Seen::Command => {
                    match rest.iter().position(|byte| matches!(*byte, 7 | 0x18 | 0x1a | ESCAPE)) {
                        Some(at) if rest[at] == ESCAPE => (at..at + 1, Seen::Escape),
                        Some(at) => (at..at + 1, Seen::Other),
                        None => (rest.len()..rest.len(), Seen::Command),
                    }
                }
            };
            self.seen = next;
            self.advance(&rest[passed.clone()], out);
            rest = &rest[passed.end..];
        }
    }

    /// Appends to `out` what there is of the last line. What is fed then begins anew.
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

/// How many bytes at the end of `bytes` are the beginning of a character.
fn torn(bytes: &[u8]) -> usize {
    let is_torn = |count: &usize| {
        let end = &bytes[bytes.len() - count..];
        std::str::from_utf8(end).is_err_and(|error| error.valid_up_to() == 0 && error.error_len().is_none())
    };
    (1..=bytes.len().min(3)).find(is_torn).unwrap_or(0)
}

/// What the parser does at `byte` after an escape.
fn after_escape(byte: u8) -> Seen {
    match byte {
        b']' => Seen::Command,
        0x18 | 0x1a | 0x20..=0x7e => Seen::Other,
        _ => Seen::Escape,
    }
}

/// Does what the parser finds.
struct Terminal<'a> {
    line: &'a mut Line,
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
