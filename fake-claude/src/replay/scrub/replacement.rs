//! A replacement in a text.

/// The length and text of a replacement.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Replacement {
    /// The number of bytes to replace.
    pub(super) length: usize,
    /// The replacement.
    pub(super) instead: String,
}

impl Replacement {
    pub(super) fn new(length: usize, instead: impl Into<String>) -> Option<Self> {
        Some(Self { length, instead: instead.into() })
    }
}
