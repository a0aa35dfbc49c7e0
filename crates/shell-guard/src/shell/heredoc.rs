//! The end of a here-document.

use memchr::memchr;

/// A here-document's delimiter.
#[derive(Debug, Clone)]
pub(super) struct Delimiter {
    line: Vec<u8>,
    strips_tabs: bool,
}

impl Delimiter {
    /// Reads the delimiter after `<<` and returns the index after it.
    pub(super) fn read(bytes: &[u8], mut at: usize) -> (Self, usize) {
        let strips_tabs = bytes.get(at) == Some(&b'-');
        at += usize::from(strips_tabs);
        while matches!(bytes.get(at), Some(b' ' | b'\t')) {
            at += 1;
        }
        let (mut line, mut quote) = (Vec::new(), None);
        while let Some(byte) = bytes.get(at) {
            match (quote, byte) {
                (None, b'\'' | b'"') => quote = Some(*byte),
                (Some(open), byte) if open == *byte => quote = None,
                (None, b'\\') => {
                    at += 1;
                    line.extend(bytes.get(at));
                }
                (None, b' ' | b'\t' | b'\n' | b';' | b'|' | b'&' | b'(' | b')' | b'<' | b'>') => break,
                (_, byte) => line.push(*byte),
            }
            at += 1;
        }
        (Self { line, strips_tabs }, at.min(bytes.len()))
    }

    /// Returns the index after the here-document that starts at `at`.
    pub(super) fn end(&self, bytes: &[u8], mut at: usize) -> usize {
        while at < bytes.len() {
            let end = memchr(b'\n', &bytes[at..]).map_or(bytes.len(), |length| at + length);
            let mut line = &bytes[at..end];
            if self.strips_tabs {
                line = &line[line.iter().take_while(|byte| **byte == b'\t').count()..];
            }
            at = end + 1;
            if line == self.line {
                break;
            }
        }
        at.min(bytes.len())
    }
}
