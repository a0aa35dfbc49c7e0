//! Shared parts of the scanners: word boundaries in text that may be nested in JSON, and runs of bytes.

use std::cell::Cell;

/// A text that counts byte accesses, so that a test can check that the work is linear.
pub(super) struct Text<'a> {
    pub(super) bytes: &'a [u8],
    accesses: Cell<usize>,
    /// Cache for the last run of unquoted value characters.
    bare: Cell<(usize, usize)>,
    /// Cache for the last run of token characters, start and end: tokens with parts are tried at each part.
    token: Cell<(usize, usize)>,
}

impl<'a> Text<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, accesses: Cell::new(0), bare: Cell::new((0, 0)), token: Cell::new((0, 0)) }
    }

    /// The number of byte accesses.
    #[cfg(test)]
    pub(super) fn accesses(&self) -> usize {
        self.accesses.get()
    }

    pub(super) fn count(&self, bytes: usize) {
        self.accesses.set(self.accesses.get() + bytes);
    }

    pub(super) fn get(&self, at: usize) -> Option<u8> {
        self.bytes.get(at).copied()
    }

    /// The byte before `at`.
    pub(super) fn before(&self, at: usize) -> Option<u8> {
        at.checked_sub(1).and_then(|at| self.get(at))
    }

    /// The length of an opening quote, with its backslashes, before `at`.
    pub(super) fn opening(&self, at: usize) -> usize {
        let before = &self.bytes[at.saturating_sub(8)..at];
        let is_quote = before.last().is_some_and(|byte| b"\"'`".contains(byte));
        let slashes = before.iter().rev().skip(1).take_while(|byte| **byte == b'\\').count();
        if is_quote { slashes + 1 } else { 0 }
    }

    pub(super) fn starts(&self, at: usize, with: &[u8]) -> bool {
        self.bytes.get(at..).is_some_and(|rest| rest.starts_with(with))
    }

    /// The number of bytes from `at` that satisfy `is`.
    pub(super) fn run(&self, at: usize, is: impl Fn(u8) -> bool) -> usize {
        let length = run(self.bytes, at, is);
        self.count(length + 1);
        length
    }

    /// Like [`Self::run`], at most `most`.
    pub(super) fn run_of(&self, at: usize, most: usize, is: impl Fn(u8) -> bool) -> usize {
        let end = at.saturating_add(most).min(self.bytes.len());
        let length = run(&self.bytes[..end], at, is);
        self.count(length + 1);
        length
    }

    /// The number of token characters from `at`.
    pub(super) fn token(&self, at: usize) -> usize {
        let (start, end) = self.token.get();
        if (start..end).contains(&at) {
            return end - at;
        }
        let length = self.run(at, is_token);
        self.token.set((at, at + length));
        length
    }

    /// The number of unquoted value characters from `at`.
    pub(super) fn bare(&self, at: usize) -> usize {
        let (start, end) = self.bare.get();
        if (start..end).contains(&at) {
            return end - at;
        }
        let length = self.run(at, |byte| {
            (byte.is_ascii_graphic() && !b"\\\"'`;,&|<>(){}".contains(&byte)) || !byte.is_ascii()
        });
        self.bare.set((at, at + length));
        length
    }

    /// Finds the first `byte` from `at`, within `most` bytes and the line.
    pub(super) fn find(&self, at: usize, most: usize, byte: u8) -> Option<usize> {
        let length = self.run_of(at, most, |one| one != byte && one != b'\n');
        (self.get(at + length) == Some(byte) && length < most).then_some(at + length)
    }

    /// Up to `most` bytes before `at` on the same line.
    pub(super) fn line_before(&self, at: usize, most: usize) -> &'a [u8] {
        let before = &self.bytes[at.saturating_sub(most)..at];
        self.count(before.len());
        memchr::memrchr(b'\n', before).map_or(before, |end| &before[end + 1..])
    }

    /// Up to `most` bytes from `at` on the same line.
    pub(super) fn line_after(&self, at: usize, most: usize) -> &'a [u8] {
        let length = self.run_of(at, most, |byte| byte != b'\n');
        &self.bytes[at..at + length]
    }
}

/// Whether a word starts at `at`. The `n` of a JSON `\n` does not belong to the word after it.
#[must_use]
pub fn starts_word(bytes: &[u8], at: usize) -> bool {
    let Some(before) = at.checked_sub(1).map(|index| bytes[index]) else { return true };
    (!before.is_ascii_alphanumeric() && before != b'_') || follows_escape(bytes, at)
}

/// Whether `\n`, `\u000a` or the like ends right before `at`, also in JSON nested in a JSON string.
pub(super) fn follows_escape(bytes: &[u8], at: usize) -> bool {
    if at > bytes.len() {
        return false;
    }
    if at >= 2 && bytes[at - 2] == b'\\' && b"nrtbf".contains(&bytes[at - 1]) {
        return true;
    }
    at >= 6
        && bytes[at - 6] == b'\\'
        && bytes[at - 5] == b'u'
        && bytes[at - 4..at].iter().all(u8::is_ascii_hexdigit)
}

/// The number of bytes from `at` that satisfy `is`.
#[must_use]
pub fn run(bytes: &[u8], at: usize, is: impl Fn(u8) -> bool) -> usize {
    bytes.get(at..).unwrap_or_default().iter().take_while(|byte| is(**byte)).count()
}

/// Whether `byte` may be part of a key or token.
pub(super) fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-".contains(&byte)
}

/// Whether `byte` may be part of a word.
pub(super) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Whether a word that extends to `at` ends there.
#[must_use]
pub fn ends_word(bytes: &[u8], at: usize) -> bool {
    bytes.get(at).is_none_or(|byte| !is_token(*byte))
}
