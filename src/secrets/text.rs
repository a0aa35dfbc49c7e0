//! What the scanners share: where a word starts in text that may stand inside JSON, and runs of bytes.

use std::cell::Cell;

/// A place in the text and what is to stand there.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Found {
    /// How many bytes it replaces.
    pub(crate) length: usize,
    /// What replaces them.
    pub(crate) instead: String,
}

impl Found {
    pub(crate) fn new(length: usize, instead: impl Into<String>) -> Option<Self> {
        Some(Self { length, instead: instead.into() })
    }
}

/// A text that counts how many of its bytes are looked at, so that a test can hold the work against the length.
pub(super) struct Text<'a> {
    pub(super) bytes: &'a [u8],
    looked_at: Cell<usize>,
    /// The last run of characters of a value without quotes, likewise.
    bare: Cell<(usize, usize)>,
    /// The last run of token characters, from where to where: tokens with parts are tried at each part.
    token: Cell<(usize, usize)>,
}

impl<'a> Text<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, looked_at: Cell::new(0), bare: Cell::new((0, 0)), token: Cell::new((0, 0)) }
    }

    /// How many bytes were looked at, those looked at twice counted twice.
    #[cfg(test)]
    pub(super) fn looked_at(&self) -> usize {
        self.looked_at.get()
    }

    pub(super) fn look(&self, bytes: usize) {
        self.looked_at.set(self.looked_at.get() + bytes);
    }

    pub(super) fn get(&self, at: usize) -> Option<u8> {
        self.bytes.get(at).copied()
    }

    /// The byte before `at`.
    pub(super) fn before(&self, at: usize) -> Option<u8> {
        at.checked_sub(1).and_then(|at| self.get(at))
    }

    /// How many bytes of an opening quote, with its backslashes, stand before `at`.
    pub(super) fn opening(&self, at: usize) -> usize {
        let before = &self.bytes[at.saturating_sub(8)..at];
        let is_quote = before.last().is_some_and(|byte| b"\"'`".contains(byte));
        let slashes = before.iter().rev().skip(1).take_while(|byte| **byte == b'\\').count();
        if is_quote { slashes + 1 } else { 0 }
    }

    pub(super) fn starts(&self, at: usize, with: &[u8]) -> bool {
        self.bytes.get(at..).is_some_and(|rest| rest.starts_with(with))
    }

    /// How many bytes from `at` on satisfy `is`.
    pub(super) fn run(&self, at: usize, is: impl Fn(u8) -> bool) -> usize {
        let length = run(self.bytes, at, is);
        self.look(length + 1);
        length
    }

    /// Likewise, at most `most`.
    pub(super) fn run_of(&self, at: usize, most: usize, is: impl Fn(u8) -> bool) -> usize {
        let end = at.saturating_add(most).min(self.bytes.len());
        let length = run(&self.bytes[..end], at, is);
        self.look(length + 1);
        length
    }

    /// How many token characters there are from `at` on.
    pub(super) fn token(&self, at: usize) -> usize {
        let (start, end) = self.token.get();
        if (start..end).contains(&at) {
            return end - at;
        }
        let length = self.run(at, is_token);
        self.token.set((at, at + length));
        length
    }

    /// How many characters of a value without quotes there are from `at` on.
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

    /// The first `byte` from `at` on, within `most` bytes and the line.
    pub(super) fn find(&self, at: usize, most: usize, byte: u8) -> Option<usize> {
        let length = self.run_of(at, most, |one| one != byte && one != b'\n');
        (self.get(at + length) == Some(byte) && length < most).then_some(at + length)
    }

    /// Up to `most` bytes before `at`, of the same line.
    pub(super) fn line_before(&self, at: usize, most: usize) -> &'a [u8] {
        let before = &self.bytes[at.saturating_sub(most)..at];
        self.look(before.len());
        memchr::memrchr(b'\n', before).map_or(before, |end| &before[end + 1..])
    }

    /// Up to `most` bytes from `at` on, of the same line.
    pub(super) fn line_after(&self, at: usize, most: usize) -> &'a [u8] {
        let length = self.run_of(at, most, |byte| byte != b'\n');
        &self.bytes[at..at + length]
    }
}

/// Whether the byte at `at` begins a word. The `n` of a JSON `\n` and the like ends no word.
pub(crate) fn starts_word(bytes: &[u8], at: usize) -> bool {
    let Some(before) = at.checked_sub(1).map(|index| bytes[index]) else { return true };
    (!before.is_ascii_alphanumeric() && before != b'_') || follows_escape(bytes, at)
}

/// Whether `\n`, `\u000a` or the like ends right before `at`, also in JSON within a JSON string.
pub(crate) fn follows_escape(bytes: &[u8], at: usize) -> bool {
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

/// How many bytes from `at` on satisfy `is`.
pub(crate) fn run(bytes: &[u8], at: usize, is: impl Fn(u8) -> bool) -> usize {
    bytes.get(at..).unwrap_or_default().iter().take_while(|byte| is(**byte)).count()
}

/// Whether `byte` may be part of a key or token.
pub(crate) fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-".contains(&byte)
}

/// Whether `byte` may be part of a word.
pub(super) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Whether a word that ends right before `at` ends there.
pub(crate) fn ends_word(bytes: &[u8], at: usize) -> bool {
    bytes.get(at).is_none_or(|byte| !is_token(*byte))
}
