//! A set of bytes, for searching text that may be long.

/// The set: whether it contains each byte.
pub(super) struct ByteSet([bool; 256]);

impl ByteSet {
    /// The set of these bytes.
    pub(super) const fn of(bytes: &[u8]) -> Self {
        let (mut contains, mut at) = ([false; 256], 0);
        while at < bytes.len() {
            contains[bytes[at] as usize] = true;
            at += 1;
        }
        Self(contains)
    }

    pub(super) fn contains(&self, byte: u8) -> bool {
        self.0[usize::from(byte)]
    }

    /// The index of its first byte in `text`.
    pub(super) fn find_in(&self, text: &[u8]) -> Option<usize> {
        text.iter().position(|byte| self.contains(*byte))
    }
}
