//! Claude Code's stream-json, read incrementally: bytes cut anywhere go in, events come out.
//!
//! Foreign input: unknown types, fields and shapes are skipped, since they grow with every release. Lines are
//! parsed where they lie; only a line cut by the end of a chunk is copied. Memory is bounded by [`MAX_LINE`].

mod json;
mod line;
mod rare;
mod session;

use super::event::Event;
use memchr::memchr;

/// The longest line that is parsed, in bytes. A longer one becomes [`Event::Oversized`].
pub const MAX_LINE: usize = 16 << 20;

/// How much room for cut lines is kept from one to the next, in bytes: growing anew for each costs more than reading it.
const KEPT: usize = 1 << 20;

/// Reads one agent's stdout.
#[derive(Debug, Default)]
pub struct Parser {
    state: State,
}

#[derive(Debug)]
enum State {
    /// The beginning of a line whose end has not come yet; empty between lines.
    Line(Vec<u8>),
    /// In a line that is too long, of which this many bytes went by.
    Skipping(u64),
}

impl Default for State {
    fn default() -> Self {
        Self::Line(Vec::new())
    }
}

impl Parser {
    /// Takes the next bytes and hands every event they complete to `sink`, in order.
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
                    start.shrink_to(KEPT);
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

    /// The stream ended: a last line without a newline counts like any other.
    pub fn finish(&mut self, sink: &mut impl FnMut(Event<'_>)) {
        match std::mem::take(&mut self.state) {
            State::Line(last) => line::parse(&last, sink),
            State::Skipping(bytes) => sink(Event::Oversized { bytes }),
        }
    }
}

#[cfg(test)]
mod tests;
