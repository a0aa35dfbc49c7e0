//! Turns an agent's bytes into events. The same bytes give the same events, however they are chunked.
//!
//! An event is emitted at the newline that ends its line. The parser remembers where each unfinished line starts, so
//! parsing can resume in the middle of a session.
//!
//! Not `sys::lines::LineBuffer`: it skips a line that is too long, which becomes several events here.

use super::event::Derived;
use derun::record::Channel;
use memchr::{memchr, memrchr};
use murmur_agent::event::Event;
use murmur_agent::parser::{Dialect, Parser};
use murmur_agent::unknown::Unknown;

/// Longer stderr lines, in bytes, become several events.
const MAX_STDERR_LINE: usize = 64 << 10;

/// The parser.
#[derive(Debug, Default)]
pub struct OutputParser {
    stdout: Parser,
    stderr: Vec<u8>,
    /// Where the unfinished line on stdout starts.
    stdout_line: Option<u64>,
    /// Where the unfinished line on stderr starts.
    stderr_line: Option<u64>,
}

/// Session offsets of the unfinished line on each channel: all of a channel's bytes before it have become events.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct LineStarts {
    /// On stdout.
    pub stdout: u64,
    /// On stderr.
    pub stderr: u64,
}

impl LineStarts {
    /// The offset for `channel`.
    #[must_use]
    pub fn of(&self, channel: Channel) -> u64 {
        if channel == Channel::Stderr { self.stderr } else { self.stdout }
    }
}

impl OutputParser {
    /// A parser for output in `dialect`.
    #[must_use]
    pub fn new(dialect: Dialect) -> Self {
        Self { stdout: Parser::new(dialect), ..Self::default() }
    }

    /// Parses the next bytes of `channel`; the first is at session offset `at`.
    pub fn feed(&mut self, channel: Channel, at: u64, bytes: &[u8], sink: &mut impl FnMut(Derived<'_>)) {
        if bytes.is_empty() {
            return;
        }
        if channel == Channel::Stderr {
            return self.feed_stderr(at, bytes, sink);
        }
        self.stdout.feed(bytes, &mut |event: Event<'_>| sink(Derived::Agent(&event)));
        match memrchr(b'\n', bytes) {
            Some(last) if last + 1 == bytes.len() => self.stdout_line = None,
            Some(last) => self.stdout_line = Some(at + last as u64 + 1),
            None => _ = self.stdout_line.get_or_insert(at),
        }
    }

    fn feed_stderr(&mut self, at: u64, mut bytes: &[u8], sink: &mut impl FnMut(Derived<'_>)) {
        let end = at + bytes.len() as u64;
        while !bytes.is_empty() {
            let room = MAX_STDERR_LINE - self.stderr.len();
            let piece = &bytes[..room.min(bytes.len())];
            let (taken, is_whole) = match memchr(b'\n', piece) {
                Some(newline) => (newline + 1, true),
                None => (piece.len(), piece.len() == room),
            };
            self.stderr_line.get_or_insert(end - bytes.len() as u64);
            self.stderr.extend_from_slice(&piece[..taken]);
            bytes = &bytes[taken..];
            if is_whole {
                self.end_stderr(sink);
            }
        }
    }

    fn end_stderr(&mut self, sink: &mut impl FnMut(Derived<'_>)) {
        let line = self.stderr.strip_suffix(b"\n").unwrap_or(&self.stderr);
        sink(Derived::Stderr(&String::from_utf8_lossy(line)));
        self.stderr.clear();
        self.stderr_line = None;
    }

    /// Frees the buffer of output that is expected to pause.
    pub fn rest(&mut self) {
        self.stdout.rest();
    }

    /// Ends the input: a last line without a newline becomes an event too.
    pub fn finish(&mut self, sink: &mut impl FnMut(Derived<'_>)) {
        self.stdout.finish(&mut |event: Event<'_>| sink(Derived::Agent(&event)));
        if !self.stderr.is_empty() {
            self.end_stderr(sink);
        }
    }

    /// The unknown output so far.
    #[must_use]
    pub fn unknown(&self) -> &Unknown {
        self.stdout.unknown()
    }

    /// Where unfinished lines start, once all bytes before `at` have been parsed.
    #[must_use]
    pub fn line_starts(&self, at: u64) -> LineStarts {
        LineStarts { stdout: self.stdout_line.unwrap_or(at), stderr: self.stderr_line.unwrap_or(at) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    type Stretches = Vec<(Channel, Vec<u8>)>;

    fn lines(parser: &mut OutputParser, at: u64, stretches: &[(Channel, Vec<u8>)]) -> Vec<String> {
        let mut found = Vec::new();
        let mut sink = |event: Derived<'_>| found.push(String::from_utf8(event.line("a", 0)).unwrap());
        let mut at = at;
        for (channel, bytes) in stretches {
            parser.feed(*channel, at, bytes, &mut sink);
            at += bytes.len() as u64;
        }
        found
    }

    fn stretch() -> impl Strategy<Value = (Channel, Vec<u8>)> {
        let line = r#"{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}}"#;
        let piece = prop_oneof![
            Just(format!("{line}\n")),
            Just(line[..40].to_owned()),
            Just(line[40..].to_owned() + "\n"),
            Just("\n".to_owned()),
            Just("warning: ü\nand more".to_owned()),
            Just("y".repeat(MAX_STDERR_LINE - 3)),
        ];
        let channel = prop_oneof![Just(Channel::Stdout), Just(Channel::Stderr)];
        (channel, piece).prop_map(|(channel, text)| (channel, text.into_bytes()))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]
        #[test]
        fn resuming_anywhere_yields_the_remaining_events(
            stretches in prop::collection::vec(stretch(), 1..12),
            cut in 0_usize..12,
            grain in 1_usize..7000,
        ) {
            let whole = lines(&mut OutputParser::default(), 0, &stretches);
            let cut = cut.min(stretches.len());
            let mut first = OutputParser::default();
            let before = lines(&mut first, 0, &stretches[..cut]);
            let taken = stretches[..cut].iter().map(|(_, bytes)| bytes.len() as u64).sum();
            let line_starts = first.line_starts(taken);
            // Feed unfinished lines again, in different pieces.
            let mut again: Stretches = Vec::new();
            let (mut at, mut pieces) = (0, Vec::new());
            for (index, (channel, bytes)) in stretches.iter().enumerate() {
                for piece in bytes.chunks(grain) {
                    let skip = if index < cut {
                        usize::try_from(line_starts.of(*channel).saturating_sub(at)).unwrap().min(piece.len())
                    } else {
                        0
                    };
                    pieces.push((at + skip as u64, *channel, piece[skip..].to_vec()));
                    at += piece.len() as u64;
                }
            }
            let mut second = OutputParser::default();
            let mut after = Vec::new();
            for (at, channel, bytes) in pieces {
                again.clear();
                again.push((channel, bytes));
                after.extend(lines(&mut second, at, &again));
            }
            prop_assert_eq!([before, after].concat(), whole);
        }
    }

    #[test]
    fn an_unterminated_line_is_parsed_at_the_end() {
        let mut parser = OutputParser::default();
        let stretches = [(Channel::Stderr, b"half".to_vec()), (Channel::Stdout, b"{}".to_vec())];
        assert!(lines(&mut parser, 0, &stretches).is_empty());
        assert_eq!(parser.line_starts(6), LineStarts { stdout: 4, stderr: 0 });
        let mut found = Vec::new();
        parser.finish(&mut |event| found.push(event.line("a", found.len() as u64)));
        let text = String::from_utf8(found.concat()).unwrap();
        assert_eq!(
            text,
            "{\"event_type\":\"stderr\",\"agent_id\":\"a\",\"offset\":0,\"payload\":{\"text\":\"half\"}}\n"
        );
    }
}
