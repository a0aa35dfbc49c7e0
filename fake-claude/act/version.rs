//! The version that is acted: what Claude Code does with a hook has changed from one to the next.

/// Three numbers, of which `2.1.329 (Claude Code)` has the first three.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Version {
    numbers: [u32; 3],
    text: String,
}

impl Version {
    /// Reads the first word of `text`; what is no number counts as 0.
    pub(crate) fn parse(text: &str) -> Self {
        let text = text.split(' ').next().unwrap_or_default();
        let mut numbers = [0; 3];
        for (number, word) in numbers.iter_mut().zip(text.split('.')) {
            *number = word.parse().unwrap_or_default();
        }
        Self { numbers, text: text.to_owned() }
    }

    /// As it stands in `init`.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Whether it is 2.1.`patch` or newer.
    pub(crate) fn is_at_least(&self, patch: u32) -> bool {
        self.numbers >= [2, 1, patch]
    }

    /// Whether `onFailure` of a hook counts, and with it all that was measured on 2.1.329 and not on 2.1.197.
    pub(crate) fn is_new(&self) -> bool {
        self.is_at_least(295)
    }
}
