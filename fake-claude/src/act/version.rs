//! The simulated version: the handling of hooks differs between versions of Claude Code.

/// Three numbers, as in `2.1.329 (Claude Code)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Version {
    numbers: [u32; 3],
    text: String,
}

impl Version {
    /// Parses the first word of `text`; an invalid number counts as 0.
    pub(crate) fn parse(text: &str) -> Self {
        let text = text.split(' ').next().unwrap_or_default();
        let mut numbers = [0; 3];
        for (number, word) in numbers.iter_mut().zip(text.split('.')) {
            *number = word.parse().unwrap_or_default();
        }
        Self { numbers, text: text.to_owned() }
    }

    /// The form in `init`.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Whether it is at least 2.1.`patch`.
    pub(crate) fn is_at_least(&self, patch: u32) -> bool {
        self.numbers >= [2, 1, patch]
    }

    /// Whether it has `onFailure` hooks and everything else that was measured on 2.1.329 but not on 2.1.197.
    pub(crate) fn is_new(&self) -> bool {
        self.is_at_least(295)
    }
}
