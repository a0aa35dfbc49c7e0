//! Bursts of output, to measure how fast readers consume it.
//!
//! Input: a line count. Output: numbered lines of model text, written in chunks.

use std::io::Write;
use sys::error::Failure;
use sys::failure;

const PADDING: usize = 900;
const PIECE: usize = 256 * 1024;

/// The number of lines, and the bytes of padding in each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Burst {
    lines: u64,
    padding: usize,
}

impl Burst {
    /// Parses `N` or `N:BYTES`.
    pub(crate) fn parse(word: &str) -> Result<Self, Failure> {
        let (lines, padding) = word.split_once(':').map_or((word, None), |(one, two)| (one, Some(two)));
        let padding = padding.map_or(Ok(PADDING), str::parse);
        match (lines.parse(), padding) {
            (Ok(lines), Ok(padding)) => Ok(Self { lines, padding }),
            _ => Err(failure!("invalid burst: {word} (N or N:BYTES)")),
        }
    }

    /// Passes the lines in chunks to `write`. Stops early if it returns false, and returns whether it completed.
    pub(crate) fn each<E>(self, mut write: impl FnMut(&[u8]) -> Result<bool, E>) -> Result<bool, E> {
        let tail = [b" ", &vec![b'x'; self.padding][..], TAIL].concat();
        let mut piece = Vec::with_capacity(PIECE + HEAD.len() + MIDDLE.len() + tail.len() + 64);
        for number in 1..=self.lines {
            piece.extend_from_slice(HEAD);
            // Writing to a vector cannot fail.
            drop(write!(piece, "{number}"));
            piece.extend_from_slice(MIDDLE);
            drop(write!(piece, "{number}"));
            piece.extend_from_slice(&tail);
            if piece.len() >= PIECE || number == self.lines {
                if !write(&piece)? {
                    return Ok(false);
                }
                piece.clear();
            }
        }
        Ok(true)
    }
}

const HEAD: &[u8] = br#"{"type":"assistant","message":{"id":"msg_burst_"#;
const MIDDLE: &[u8] =
    br#"","type":"message","role":"assistant","model":"fake","content":[{"type":"text","text":"burst "#;
const TAIL: &[u8] = b"\"}],\"stop_reason\":null,\"stop_sequence\":null,\"usage\":{\"input_tokens\":10,\
\"output_tokens\":1}},\"parent_tool_use_id\":null,\"session_id\":\"00000000-0000-4000-8000-000000000001\"}\n";
