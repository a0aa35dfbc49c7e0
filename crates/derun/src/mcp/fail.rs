//! What a tool says when it cannot do what it was asked. The words are stable: clients may look for them.

use crate::store::StoreError;
use sys::error::Hinted;

/// How many characters of a client's own words are said back to it.
const SHOWN: usize = 100;

/// Why a tool has no answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum ToolError {
    /// An argument that has to be there is not.
    #[error("{0} is required")]
    Missing(&'static str),
    /// An argument is not what it has to be.
    #[error("parse {name}: {problem}")]
    Argument {
        /// Which.
        name: &'static str,
        /// What it should be.
        problem: String,
    },
    /// There is no such argument.
    #[error("unknown argument: {}", shown(.name))]
    Unknown {
        /// Its name.
        name: String,
        /// Those that there are.
        known: String,
    },
    /// There is no such session.
    #[error("session not found: {}", shown(.0))]
    NotFound(String),
    /// No such place in a session, or it cannot be read.
    #[error(transparent)]
    Store(StoreError),
    /// It was let go before it was done.
    #[error("the server is ending")]
    Ending,
}

impl Hinted for ToolError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Unknown { known, .. } => Some(format!("known are {known}")),
            Self::Store(error) => error.hint(),
            Self::Missing(_) | Self::Argument { .. } | Self::NotFound(_) | Self::Ending => None,
        }
    }
}

impl ToolError {
    /// An argument that is not what it has to be.
    pub(super) fn argument(name: &'static str, problem: impl Into<String>) -> Self {
        Self::Argument { name, problem: problem.into() }
    }
}

impl From<StoreError> for ToolError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::NotFound(id) => Self::NotFound(id),
            other => Self::Store(other),
        }
    }
}

/// A client's own words as they are said back to it: the first of them, without control characters.
pub(super) fn shown(words: &str) -> String {
    let plain =
        |character: char| if character.is_control() { char::REPLACEMENT_CHARACTER } else { character };
    let mut shown: String = words.chars().take(SHOWN).map(plain).collect();
    if words.chars().nth(SHOWN).is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_said_back_in_short_and_without_control_characters() {
        assert_eq!(shown("größe"), "größe");
        assert_eq!(shown("a\x1b[31m\r\n\u{85}"), "a\u{fffd}[31m\u{fffd}\u{fffd}\u{fffd}");
        assert_eq!(shown(&"ä".repeat(100)), "ä".repeat(100));
        assert_eq!(shown(&"ä".repeat(101)), format!("{}…", "ä".repeat(100)));
    }
}
