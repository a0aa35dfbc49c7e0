//! What the scanners share: where a word starts in text that may stand inside JSON, and runs of bytes.

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

/// Whether the byte at `at` begins a word. The `n` of a JSON `\n` and the like ends no word.
pub(crate) fn starts_word(bytes: &[u8], at: usize) -> bool {
    let Some(before) = at.checked_sub(1).map(|index| bytes[index]) else { return true };
    if !before.is_ascii_alphanumeric() && before != b'_' {
        return true;
    }
    let escaped = |letter: usize| at >= letter && backslashes_before(bytes, at - letter + 1) % 2 == 1;
    if b"nrtbf".contains(&before) && at >= 2 && escaped(2) {
        return true;
    }
    at >= 6
        && bytes[at - 5] == b'u'
        && bytes[at - 4..at].iter().all(u8::is_ascii_hexdigit)
        && backslashes_before(bytes, at - 5) % 2 == 1
}

/// How many backslashes end right before `at`.
fn backslashes_before(bytes: &[u8], at: usize) -> usize {
    bytes[..at].iter().rev().take_while(|byte| **byte == b'\\').count()
}

/// How many bytes from `at` on satisfy `is`.
pub(crate) fn run(bytes: &[u8], at: usize, is: impl Fn(u8) -> bool) -> usize {
    bytes.get(at..).unwrap_or_default().iter().take_while(|byte| is(**byte)).count()
}

/// Whether `byte` may be part of a key or token.
pub(crate) fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-".contains(&byte)
}

/// Whether a word that ends right before `at` ends there.
pub(crate) fn ends_word(bytes: &[u8], at: usize) -> bool {
    bytes.get(at).is_none_or(|byte| !is_token(*byte))
}
