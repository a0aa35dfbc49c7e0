//! Splits captured bytes into text without breaking characters or losing bytes.
//!
//! The bytes may start and end anywhere in a session. Valid UTF-8 becomes text; the rest stays bytes.

use std::ops::Range;
use std::str;

/// The maximum number of bytes that a broken character has on one side.
const REST: usize = 3;

/// The longest escape code to wait for.
const MAX_ESCAPE: usize = 4096;
/// The maximum number of pieces.
const MAX_PIECES: usize = 64;

const ESCAPE: u8 = 0x1b;
const BELL: u8 = 7;

/// A piece of some bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece<'a> {
    /// Complete characters.
    Text(&'a str),
    /// Bytes that are not text.
    Bytes(&'a [u8]),
}

impl Piece<'_> {
    /// Its size in bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Bytes(bytes) => bytes.len(),
        }
    }

    /// Whether it is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The start of `text`: complete characters of at most `most` bytes in total.
#[must_use]
pub fn cut(text: &str, most: usize) -> &str {
    let end = (0..=most.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or_default()]
}

/// The text around `hit`, or the start of the hit: complete characters of at most `most` bytes in total.
#[must_use]
pub fn around(text: &str, hit: Range<usize>, most: usize) -> &str {
    let before = most.saturating_sub(hit.len()) / 2;
    let from = hit.start.saturating_sub(before).min(text.len().saturating_sub(most));
    let from = (from..text.len()).find(|from| text.is_char_boundary(*from)).unwrap_or_default();
    cut(&text[from..], most)
}

/// How many bytes at the end of `bytes` are the start of a character that later bytes could complete.
#[must_use]
pub fn begun(bytes: &[u8]) -> usize {
    let tails = (1..=REST.min(bytes.len())).rev().map(|length| &bytes[bytes.len() - length..]);
    let is_begun = |tail: &&[u8]| {
        str::from_utf8(tail).is_err_and(|error| error.valid_up_to() == 0 && error.error_len().is_none())
    };
    tails.into_iter().find(is_begun).map_or(0, <[u8]>::len)
}

/// How many bytes at the start of `bytes` can only be the end of an earlier character.
#[must_use]
pub fn left_over(bytes: &[u8]) -> usize {
    bytes.iter().take(REST).take_while(|byte| (0x80..0xc0).contains(*byte)).count()
}

/// How many of `bytes` can be returned now. An incomplete character waits for its rest, unless nothing follows
/// (`is_last`), or there is nothing else and the page is full (`is_full`).
#[must_use]
pub fn ready(bytes: &[u8], is_full: bool, is_last: bool) -> usize {
    let begun = begun(bytes);
    if is_last || (is_full && begun == bytes.len()) { bytes.len() } else { bytes.len() - begun }
}

/// How many bytes at the end of `bytes` are the start of an escape code that later bytes could complete, unless it
/// exceeds 4 KiB.
#[must_use]
pub fn begun_escape(bytes: &[u8]) -> usize {
    let recent = &bytes[bytes.len().saturating_sub(MAX_ESCAPE)..];
    let Some(start) = memchr::memrchr(ESCAPE, recent) else { return 0 };
    let code = &recent[start + 1..];
    let is_whole = match code.split_first() {
        None => false,
        Some((b'[', rest)) => rest.iter().any(|byte| (0x40..0x7f).contains(byte) || *byte < 0x20),
        // A command ends with BEL, or with another escape code, which would be the last one.
        Some((b']' | b'P' | b'X' | b'^' | b'_', rest)) => rest.contains(&BELL),
        Some(_) => code.iter().any(|byte| !(0x20..0x30).contains(byte)),
    };
    if is_whole { 0 } else { code.len() + 1 }
}

/// Splits `bytes` into text, in pieces as long as possible, and bytes that are not text. If there would be more than
/// 64 pieces, the last one has the rest, as bytes.
#[must_use]
pub fn pieces(bytes: &[u8]) -> Vec<Piece<'_>> {
    // A fast path: most output is text.
    if let Ok(text) = str::from_utf8(bytes) {
        return if text.is_empty() { Vec::new() } else { vec![Piece::Text(text)] };
    }
    let mut pieces: Vec<Piece<'_>> = Vec::new();
    let mut at = 0;
    for chunk in bytes.utf8_chunks() {
        let (text, invalid) = (chunk.valid(), chunk.invalid());
        if !text.is_empty() {
            pieces.push(Piece::Text(text));
        }
        at += text.len() + invalid.len();
        match pieces.last_mut() {
            _ if invalid.is_empty() => {}
            Some(Piece::Bytes(before)) => *before = &bytes[at - invalid.len() - before.len()..at],
            _ => pieces.push(Piece::Bytes(invalid)),
        }
        if pieces.len() > MAX_PIECES {
            pieces.truncate(MAX_PIECES - 1);
            let kept: usize = pieces.iter().map(Piece::len).sum();
            pieces.push(Piece::Bytes(&bytes[kept..]));
            break;
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(bytes: &[u8]) -> Vec<Piece<'_>> {
        pieces(bytes)
    }

    #[test]
    fn incomplete_characters_are_bytes_and_the_rest_is_text() {
        let euro = "€".as_bytes();
        assert_eq!(all(b""), []);
        assert_eq!(all("größe".as_bytes()), [Piece::Text("größe")]);
        let torn = [&euro[1..], b"ab", &euro[..2]].concat();
        assert_eq!(all(&torn), [Piece::Bytes(&euro[1..]), Piece::Text("ab"), Piece::Bytes(&euro[..2])]);
        assert_eq!(
            all(b"a\xff\xfeb\xff"),
            [Piece::Text("a"), Piece::Bytes(b"\xff\xfe"), Piece::Text("b"), Piece::Bytes(b"\xff")]
        );
        assert_eq!(begun(b"\xe0\x80"), 0);
        assert_eq!(begun("😀".as_bytes().split_last().unwrap().1), 3);
    }

    #[test]
    fn mostly_binary_data_has_few_pieces() {
        let bytes = b"ab\xff".repeat(1000);
        let pieces = all(&bytes);
        assert_eq!(
            (pieces.len(), pieces[62], pieces[63]),
            (64, Piece::Text("ab"), Piece::Bytes(&bytes[95..]))
        );
        let fewer = all(&bytes[..96]);
        assert_eq!((fewer.len(), fewer[63]), (64, Piece::Bytes(b"\xff")));
    }

    #[test]
    fn text_around_a_match_is_cut_at_character_boundaries() {
        for (hit, most, expected) in [
            (0..1, 4, "aäb"),
            (3..4, 3, "bä"),
            (3..4, 1, "b"),
            (7..8, 4, "äcd"),
            (0..8, 4, "aäb"),
            (0..0, 99, "aäbäcd"),
        ] {
            assert_eq!(around("aäbäcd", hit.clone(), most), expected, "{hit:?} {most}");
        }
    }

    #[test]
    fn an_incomplete_character_waits_unless_nothing_follows() {
        let euro = &"€".as_bytes()[..2];
        assert_eq!(ready(euro, false, false), 0);
        assert_eq!(ready(euro, true, false), 2);
        assert_eq!(ready(euro, false, true), 2);
        assert_eq!(ready(b"a\xe2\x82", true, false), 1);
        assert_eq!(ready("a€".as_bytes(), true, false), 4);
    }

    #[test]
    fn an_incomplete_escape_code_is_detected() {
        for (bytes, begun) in [
            (&b"a"[..], 0),
            (b"a\x1b", 1),
            (b"a\x1b[", 2),
            (b"a\x1b[31", 4),
            (b"a\x1b[31m", 0),
            (b"a\x1b[31mb", 0),
            (b"a\x1b(", 2),
            (b"a\x1b(B", 0),
            (b"a\x1b7", 0),
            (b"\x1b]0;title", 9),
            (b"\x1b]0;title\x07", 0),
            (b"\x1b]0;title\x1b\\", 0),
        ] {
            assert_eq!(begun_escape(bytes), begun, "{bytes:?}");
        }
    }

    proptest! {
        #[test]
        fn pieces_concatenate_to_the_input(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let together: Vec<u8> = pieces(&bytes)
                .into_iter()
                .flat_map(|piece| match piece {
                    Piece::Text(text) => text.as_bytes().to_vec(),
                    Piece::Bytes(bytes) => bytes.to_vec(),
                })
                .collect();
            prop_assert_eq!(together, bytes);
        }

        #[test]
        fn text_in_pages_stays_text_and_makes_progress(text in "\\PC{0,40}", most in 1_usize..20) {
            let bytes = text.as_bytes();
            let mut at = 0;
            let mut seen = String::new();
            while at < bytes.len() {
                let end = bytes.len().min(at + most);
                let page = &bytes[at..end];
                let ready = ready(page, page.len() == most, end == bytes.len());
                prop_assert!(ready > 0);
                for piece in pieces(&page[..ready]) {
                    match piece {
                        Piece::Text(text) => seen.push_str(text),
                        Piece::Bytes(_) => prop_assert!(most < 4),
                    }
                }
                at += ready;
            }
            prop_assert!(most < 4 || seen == text);
        }
    }
}
