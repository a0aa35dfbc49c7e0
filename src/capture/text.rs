//! Cutting captured bytes into text, so that no character is torn and no byte is lost.
//!
//! Bytes come from anywhere in a session and end anywhere. What is valid UTF-8 is text; what is not stays bytes.

use std::str;

/// The most bytes of a character that can be missing or left over.
const REST: usize = 3;

/// The longest escape code that is waited for.
const MAX_ESCAPE: usize = 4096;
const ESCAPE: u8 = 0x1b;
const BELL: u8 = 7;

/// A part of some bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece<'a> {
    /// Whole characters.
    Text(&'a str),
    /// Bytes that are no text.
    Bytes(&'a [u8]),
}

impl Piece<'_> {
    /// How many bytes it has.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Bytes(bytes) => bytes.len(),
        }
    }

    /// Whether it has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The beginning of `text`, whole characters of at most `most` bytes together.
#[must_use]
pub fn cut(text: &str, most: usize) -> &str {
    let end = (0..=most.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or_default()]
}

/// How many bytes at the end of `bytes` begin a character that the bytes behind them could complete.
#[must_use]
pub fn begun(bytes: &[u8]) -> usize {
    let tails = (1..=REST.min(bytes.len())).rev().map(|length| &bytes[bytes.len() - length..]);
    let is_begun = |tail: &&[u8]| {
        str::from_utf8(tail).is_err_and(|error| error.valid_up_to() == 0 && error.error_len().is_none())
    };
    tails.into_iter().find(is_begun).map_or(0, <[u8]>::len)
}

/// How many bytes at the start of `bytes` can only be the end of a character that began before them.
#[must_use]
pub fn left_over(bytes: &[u8]) -> usize {
    bytes.iter().take(REST).take_while(|byte| (0x80..0xc0).contains(*byte)).count()
}

/// How many of `bytes` can be given out now. A character that has only begun waits for its rest: not if nothing
/// comes behind (`is_last`), and not if nothing else is there and no more could be asked for (`is_full`).
#[must_use]
pub fn ready(bytes: &[u8], is_full: bool, is_last: bool) -> usize {
    let begun = begun(bytes);
    if is_last || (is_full && begun == bytes.len()) { bytes.len() } else { bytes.len() - begun }
}

/// How many bytes at the end of `bytes` begin an escape code of a terminal that the bytes behind them could complete.
/// One of more than 4 KiB is not waited for.
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

/// `bytes` in pieces: one of text if they are text, with the torn characters at both ends as bytes; one of bytes if
/// there is something in them that is no text.
pub fn pieces(bytes: &[u8]) -> impl Iterator<Item = Piece<'_>> {
    let (head, rest) = bytes.split_at(left_over(bytes));
    let (middle, tail) = rest.split_at(rest.len() - begun(rest));
    let parts = match str::from_utf8(middle) {
        Ok(text) => [Piece::Bytes(head), Piece::Text(text), Piece::Bytes(tail)],
        Err(_) => [Piece::Bytes(bytes), Piece::Bytes(&[]), Piece::Bytes(&[])],
    };
    parts.into_iter().filter(|piece| !piece.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(bytes: &[u8]) -> Vec<Piece<'_>> {
        pieces(bytes).collect()
    }

    #[test]
    fn torn_characters_are_bytes_and_the_rest_is_text() {
        let euro = "€".as_bytes();
        assert_eq!(all(b""), []);
        assert_eq!(all("größe".as_bytes()), [Piece::Text("größe")]);
        let torn = [&euro[1..], b"ab", &euro[..2]].concat();
        assert_eq!(all(&torn), [Piece::Bytes(&euro[1..]), Piece::Text("ab"), Piece::Bytes(&euro[..2])]);
        assert_eq!(all(b"a\xffb"), [Piece::Bytes(b"a\xffb")]);
        assert_eq!(begun(b"\xe0\x80"), 0);
        assert_eq!(begun("😀".as_bytes().split_last().unwrap().1), 3);
    }

    #[test]
    fn a_begun_character_waits_unless_waiting_is_in_vain() {
        let euro = &"€".as_bytes()[..2];
        assert_eq!(ready(euro, false, false), 0);
        assert_eq!(ready(euro, true, false), 2);
        assert_eq!(ready(euro, false, true), 2);
        assert_eq!(ready(b"a\xe2\x82", true, false), 1);
        assert_eq!(ready("a€".as_bytes(), true, false), 4);
    }

    #[test]
    fn an_escape_code_that_has_only_begun_is_noticed() {
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
        fn pieces_are_the_bytes(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let together: Vec<u8> = pieces(&bytes)
                .flat_map(|piece| match piece {
                    Piece::Text(text) => text.as_bytes().to_vec(),
                    Piece::Bytes(bytes) => bytes.to_vec(),
                })
                .collect();
            prop_assert_eq!(together, bytes);
        }

        #[test]
        fn text_in_pages_is_text_and_reading_goes_on(text in "\\PC{0,40}", most in 1_usize..20) {
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
