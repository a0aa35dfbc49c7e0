//! Parses an agent's stdout incrementally: takes chunks of bytes, returns events.
//!
//! Every backend writes lines; each line is parsed by itself, so that parsing can begin at any line, as replay does.
//! Lines are parsed in place; only a line that a chunk boundary cuts is copied. [`MAX_LINE`] bounds memory use.
//!
//! Not `sys::lines::LineBuffer`: it would copy every line.

use super::event::{Event, MAX_LINE};
use super::unknown::Unknown;
use super::{acp, claude, codex};
use memchr::memchr;

/// Capacity to keep between cut lines, in bytes: reallocating for each costs more than parsing it.
const KEPT_CAPACITY: usize = 1 << 20;

/// The form of a backend's output.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Dialect {
    /// Claude Code's `--output-format stream-json`.
    #[default]
    StreamJson,
    /// The JSON-RPC of `codex app-server`.
    CodexAppServer,
    /// The Agent Client Protocol.
    Acp,
}

/// Parses the stdout of one agent.
#[derive(Debug, Default)]
pub struct Parser {
    dialect: Dialect,
    state: State,
    unknown: Unknown,
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

impl Dialect {
    /// A marker in every line that ends a turn. In quoted text its quotes are escaped; other lines may contain it too.
    #[must_use]
    pub fn end_of_turn(self) -> &'static [u8] {
        match self {
            Self::StreamJson => claude::END_OF_TURN,
            Self::CodexAppServer => codex::END_OF_TURN,
            Self::Acp => acp::END_OF_TURN,
        }
    }

    /// Passes the events of `line` (without its newline) to `sink`. A blank line has none; a line that is not a JSON
    /// object has only [`Event::Garbled`]. Counts what is `unknown`.
    fn parse(self, line: &[u8], sink: &mut impl FnMut(Event<'_>), unknown: &mut Unknown) {
        let line = line.trim_ascii();
        match self {
            _ if line.is_empty() => {}
            Self::StreamJson => claude::parse(line, sink, unknown),
            Self::CodexAppServer => codex::parse(line, sink, unknown),
            Self::Acp => acp::parse(line, sink, unknown),
        }
    }
}

impl Parser {
    /// A parser for output in `dialect`.
    #[must_use]
    pub fn new(dialect: Dialect) -> Self {
        Self { dialect, state: State::default(), unknown: Unknown::default() }
    }

    /// What it has read so far and doesn't know.
    #[must_use]
    pub fn unknown(&self) -> &Unknown {
        &self.unknown
    }

    /// Takes the next bytes and passes every event they complete to `sink`, in order.
    pub fn feed(&mut self, mut bytes: &[u8], sink: &mut impl FnMut(Event<'_>)) {
        let (dialect, unknown) = (self.dialect, &mut self.unknown);
        while let Some(end) = memchr(b'\n', bytes) {
            let (piece, rest) = (&bytes[..end], &bytes[end + 1..]);
            bytes = rest;
            match &mut self.state {
                State::Line(start) if start.is_empty() && piece.len() <= MAX_LINE => {
                    dialect.parse(piece, sink, unknown);
                }
                State::Line(start) if start.len() + piece.len() <= MAX_LINE => {
                    start.extend_from_slice(piece);
                    dialect.parse(start, sink, unknown);
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

    /// Frees the buffer of a stream that is expected to pause.
    pub fn rest(&mut self) {
        if let State::Line(start) = &mut self.state {
            start.shrink_to_fit();
        }
    }

    /// Ends the stream; a last line without a newline counts like any other.
    pub fn finish(&mut self, sink: &mut impl FnMut(Event<'_>)) {
        match std::mem::take(&mut self.state) {
            State::Line(last) => self.dialect.parse(&last, sink, &mut self.unknown),
            State::Skipping(bytes) => sink(Event::Oversized { bytes }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_over_the_limit_is_skipped_and_the_next_one_parses() {
        let mut parser = Parser::default();
        let mut seen = Vec::new();
        let mut sink = |event: Event<'_>| seen.push(format!("{event:?}"));
        parser.feed(b"{\"type\":\"user\",\"x\":\"", &mut sink);
        for _ in 0..100 {
            parser.feed(&[b'a'; 1 << 20], &mut sink);
            if let State::Line(kept) = &parser.state {
                assert!(kept.capacity() <= 2 * MAX_LINE);
            }
        }
        parser.feed(b"\"}\n{\"type\":\"result\",\"result\":\"after\"}\n", &mut sink);
        assert_eq!(seen[0], format!("Oversized {{ bytes: {} }}", 100 * (1 << 20) + 22));
        assert!(seen[1].contains("after"));
        assert_eq!(seen.len(), 2);
    }
}
