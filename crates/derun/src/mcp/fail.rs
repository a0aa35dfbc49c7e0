//! Errors of tools. Their messages are stable: clients may match them.

use crate::store::StoreError;
use sys::error::Hinted;

/// How many characters of a client's input to repeat.
const SHOWN: usize = 100;

/// Why a tool failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum ToolError {
    /// A required argument is missing.
    #[error("{0} is required")]
    Missing(&'static str),
    /// An argument is invalid.
    #[error("parse {name}: {problem}")]
    Argument {
        /// Its name.
        name: &'static str,
        /// What is wrong.
        problem: String,
    },
    /// The argument does not exist.
    #[error("unknown argument: {}", shown(.name))]
    Unknown {
        /// Its name.
        name: String,
        /// The arguments that exist.
        known: String,
    },
    /// The session does not exist.
    #[error("session not found: {}", shown(.0))]
    NotFound(String),
    /// The cursor is out of range, or the session is not readable.
    #[error(transparent)]
    Store(StoreError),
    /// The server shut down before the call finished.
    #[error("the server is shutting down")]
    Ending,
}

impl Hinted for ToolError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Unknown { known, .. } => Some(format!("use one of: {known}")),
            Self::Store(error) => error.hint(),
            Self::Missing(_) | Self::Argument { .. } | Self::NotFound(_) | Self::Ending => None,
        }
    }
}

impl ToolError {
    /// An invalid argument.
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

/// A client's input as repeated in errors: shortened, without control characters.
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
    fn client_input_is_repeated_shortened_and_without_control_characters() {
        assert_eq!(shown("größe"), "größe");
        assert_eq!(shown("a\x1b[31m\r\n\u{85}"), "a\u{fffd}[31m\u{fffd}\u{fffd}\u{fffd}");
        assert_eq!(shown(&"ä".repeat(100)), "ä".repeat(100));
        assert_eq!(shown(&"ä".repeat(101)), format!("{}…", "ä".repeat(100)));
    }
}
