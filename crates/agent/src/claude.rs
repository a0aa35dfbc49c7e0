//! Parses Claude Code's stream-json incrementally: takes chunks of bytes, returns events.
//!
//! Foreign input: unknown types, fields and shapes are skipped, since every release adds some. Lines are parsed in
//! place; only a line that a chunk boundary cuts is copied. [`MAX_LINE`] bounds memory use.

mod json;
mod line;
mod rare;
mod session;

use crate::event::Event;
use memchr::memchr;

/// Maximum length of a line, in bytes. A longer one becomes [`Event::Oversized`].
pub const MAX_LINE: usize = 16 << 20;

/// Capacity to keep between cut lines, in bytes: reallocating for each costs more than parsing it.
const KEPT_CAPACITY: usize = 1 << 20;

/// Parses the stdout of one agent.
#[derive(Debug, Default)]
pub struct Parser {
    state: State,
}

#[derive(Debug)]
enum State {
    /// The beginning of an incomplete line; empty between lines.
    Line(Vec<u8>),
    /// In a line that is too long, after this many bytes of it.
    Skipping(u64),
}

impl Default for State {
    fn default() -> Self {
        Self::Line(Vec::new())
    }
}

impl Parser {
    /// Takes the next bytes and passes every event they complete to `sink`, in order.
    pub fn feed(&mut self, mut bytes: &[u8], sink: &mut impl FnMut(Event<'_>)) {
        while let Some(end) = memchr(b'\n', bytes) {
            let (piece, rest) = (&bytes[..end], &bytes[end + 1..]);
            bytes = rest;
            match &mut self.state {
                State::Line(start) if start.is_empty() && piece.len() <= MAX_LINE => line::parse(piece, sink),
                State::Line(start) if start.len() + piece.len() <= MAX_LINE => {
                    start.extend_from_slice(piece);
                    line::parse(start, sink);
                    start.clear();
                    start.shrink_to(KEPT_CAPACITY);
                }
                State::Line(start) => {
                    sink(Event::Oversized { bytes: (start.len() + piece.len()) as u64 });
                    *start = Vec::new();
                }
                State::Skipping(before) => {
                    sink(Event::Oversized { bytes: *before + piece.len() as u64 });
                    self.state = State::default();
                }
            }
        }
        match &mut self.state {
            State::Line(start) if start.len() + bytes.len() <= MAX_LINE => start.extend_from_slice(bytes),
            State::Line(start) => self.state = State::Skipping((start.len() + bytes.len()) as u64),
            State::Skipping(before) => *before += bytes.len() as u64,
        }
    }

    /// Ends the stream; a last line without a newline counts like any other.
    pub fn finish(&mut self, sink: &mut impl FnMut(Event<'_>)) {
        match std::mem::take(&mut self.state) {
            State::Line(last) => line::parse(&last, sink),
            State::Skipping(bytes) => sink(Event::Oversized { bytes }),
        }
    }
}

#[cfg(test)]
mod tests;
