//! A JSON scanner that works in place: unwanted values are skipped at memory speed, and strings are decoded only on
//! demand.
//!
//! There are two more readers of JSON text, each for something that the others can't do. This one takes the few wanted
//! members of Claude Code's lines in one pass. `murmur_core::config::json` knows the position of each part of a file,
//! for edits. The cursor of `murmur_core::usage` accepts only lines as murmur writes them; serde reads the rest.
//!
//! Lenient on purpose: in skipped values it looks only at brackets and quotes. `None` always means that the text is
//! truncated or not JSON.

use memchr::memchr;
use std::borrow::Cow;

/// A position in a text.
#[derive(Debug)]
pub(super) struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
}

/// A string in its original spelling, without quotes.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Text<'a>(pub(super) &'a [u8]);

impl<'a> Scanner<'a> {
    pub(super) fn new(text: &'a [u8]) -> Self {
        Self { text, at: 0 }
    }

    /// Whether only whitespace is left.
    pub(super) fn is_at_end(&mut self) -> bool {
        self.peek().is_none()
    }

    /// Calls `take` with the raw name of each member, to read the member's value. Skips a value that is not an object.
    pub(super) fn members(&mut self, mut take: impl FnMut(&mut Self, &'a [u8]) -> Option<()>) -> Option<()> {
        if self.peek()? != b'{' {
            return self.skip();
        }
        self.at += 1;
        if self.peek()? == b'}' {
            self.at += 1;
            return Some(());
        }
        loop {
            let Text(name) = self.string()?;
            self.expect(b':')?;
            take(self, name)?;
            if self.another(b'}')? == Another::No {
                return Some(());
            }
        }
    }

    /// Calls `take` to read each element. Skips a value that is not an array.
    pub(super) fn elements(&mut self, mut take: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        if self.peek()? != b'[' {
            return self.skip();
        }
        self.at += 1;
        if self.peek()? == b']' {
            self.at += 1;
            return Some(());
        }
        loop {
            take(self)?;
            if self.another(b']')? == Another::No {
                return Some(());
            }
        }
    }

    /// Reads a string; any other value is `Some(None)`.
    pub(super) fn text(&mut self) -> Option<Option<Text<'a>>> {
        if self.peek()? == b'"' { self.string().map(Some) } else { self.skip().map(|()| None) }
    }

    /// Reads a string; any other value counts as empty.
    pub(super) fn text_or_empty(&mut self) -> Option<Text<'a>> {
        self.text().map(Option::unwrap_or_default)
    }

    /// Reads a value in its original spelling.
    pub(super) fn raw(&mut self) -> Option<&'a [u8]> {
        self.peek()?;
        let start = self.at;
        self.skip()?;
        Some(&self.text[start..self.at])
    }

    /// Whether the next value is an array.
    pub(super) fn is_array(&mut self) -> bool {
        self.peek() == Some(b'[')
    }

    /// Skips a value. Nesting uses no stack.
    pub(super) fn skip(&mut self) -> Option<()> {
        match self.peek()? {
            b'"' => self.string().map(drop),
            b'{' | b'[' => self.skip_nested(),
            b'-' | b'0'..=b'9' | b'a'..=b'z' => {
                let rest = &self.text[self.at..];
                self.at += rest.iter().position(|byte| ends_a_scalar(*byte)).unwrap_or(rest.len());
                Some(())
            }
            _ => None,
        }
    }

    fn skip_nested(&mut self) -> Option<()> {
        let mut depth = 0_usize;
        loop {
            let byte = *self.text.get(self.at)?;
            match byte {
                b'"' => {
                    self.string()?;
                    continue;
                }
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth -= 1,
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                return Some(());
            }
        }
    }

    fn string(&mut self) -> Option<Text<'a>> {
        self.expect(b'"')?;
        let start = self.at;
        loop {
            let quote = self.at + memchr(b'"', &self.text[self.at..])?;
            self.at = quote + 1;
            // A quote ends the string unless an odd number of backslashes precedes it.
            let before = &self.text[start..quote];
            let backslashes = before.iter().rev().take_while(|byte| **byte == b'\\').count();
            if backslashes.is_multiple_of(2) {
                return Some(Text(before));
            }
        }
    }

    fn peek(&mut self) -> Option<u8> {
        while let Some(byte) = self.text.get(self.at) {
            if !matches!(byte, b' ' | b'\t' | b'\r' | b'\n') {
                return Some(*byte);
            }
            self.at += 1;
        }
        None
    }

    fn expect(&mut self, wanted: u8) -> Option<()> {
        (self.peek()? == wanted).then(|| self.at += 1)
    }

    fn another(&mut self, end: u8) -> Option<Another> {
        let byte = self.peek()?;
        self.at += 1;
        match byte {
            b',' => Some(Another::Yes),
            _ if byte == end => Some(Another::No),
            _ => None,
        }
    }
}

#[derive(PartialEq, Eq)]
enum Another {
    Yes,
    No,
}

fn ends_a_scalar(byte: u8) -> bool {
    matches!(byte, b',' | b'}' | b']' | b':' | b'"' | b' ' | b'\t' | b'\r' | b'\n')
}

impl<'a> Text<'a> {
    /// Decodes the string. Invalid Unicode, such as half a surrogate pair, becomes U+FFFD.
    pub(super) fn decode(self) -> Cow<'a, str> {
        let Some(first) = memchr(b'\\', self.0) else { return String::from_utf8_lossy(self.0) };
        let mut decoded = Vec::with_capacity(self.0.len());
        let (plain, mut rest) = self.0.split_at(first);
        decoded.extend_from_slice(plain);
        while let [b'\\', escaped, after @ ..] = rest {
            rest = after;
            match escaped {
                b'n' => decoded.push(b'\n'),
                b't' => decoded.push(b'\t'),
                b'r' => decoded.push(b'\r'),
                b'b' => decoded.push(8),
                b'f' => decoded.push(12),
                b'u' => {
                    let (character, after) = unicode(rest);
                    decoded.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                    rest = after;
                }
                other => decoded.push(*other),
            }
            let plain = memchr(b'\\', rest).unwrap_or(rest.len());
            decoded.extend_from_slice(&rest[..plain]);
            rest = &rest[plain..];
        }
        let decoded = String::from_utf8(decoded);
        Cow::Owned(decoded.unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
    }
}

/// Decodes the character after a `\u`, and returns the rest.
fn unicode(text: &[u8]) -> (char, &[u8]) {
    let Some((first, after)) = unit(text) else { return (char::REPLACEMENT_CHARACTER, text) };
    if let Some(character) = char::from_u32(first) {
        return (character, after);
    }
    let second = after.strip_prefix(b"\\u").and_then(unit);
    match second {
        Some((second @ 0xdc00..=0xdfff, end)) if first < 0xdc00 => {
            let code = 0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00);
            (char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER), end)
        }
        _ => (char::REPLACEMENT_CHARACTER, after),
    }
}

/// Reads four hexadecimal digits.
fn unit(text: &[u8]) -> Option<(u32, &[u8])> {
    let (digits, after) = text.split_at_checked(4)?;
    let value = digits.iter().try_fold(0, |value, digit| Some(value << 4 | char::from(*digit).to_digit(16)?));
    Some((value?, after))
}
