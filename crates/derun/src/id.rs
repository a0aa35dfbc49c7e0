//! The id of a session, which is also the name of its folder, draft or pack (spec 4, Security).

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::io;
use sys::error::Hinted;
use sys::random;
use sys::text::is_invisible;

/// The maximum length of an id, in bytes.
const MAX: usize = 128;

/// A validated id: a single path component below `sessions/`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SessionId(String);

/// Why a string is not a valid id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    /// It is empty.
    #[error("invalid session id: it is empty")]
    Empty,
    /// It exceeds 128 bytes.
    #[error("invalid session id: it has {0} bytes, but the limit is 128")]
    Long(usize),
    /// It starts with a dot, like `.`, `..` and hidden files, or ends with a dot or a space, which some systems drop.
    #[error("invalid session id {0:?}: it begins with a dot, or ends with a dot or a space")]
    Edge(String),
    /// It contains a character with a special meaning for file systems, terminals or paths.
    #[error("invalid session id {0:?}: it contains {1:?}")]
    Character(String, char),
}

impl Hinted for IdError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Empty => HINT.to_owned(),
            Self::Long(..) => "use a shorter one".to_owned(),
            Self::Edge(..) => HINT.to_owned(),
            Self::Character(..) => HINT.to_owned(),
        })
    }
}

const HINT: &str = "use letters, digits, '-', '_' and '.'";

impl SessionId {
    /// Validates `text`.
    pub fn parse(text: &str) -> Result<Self, IdError> {
        if text.is_empty() {
            return Err(IdError::Empty);
        }
        if text.len() > MAX {
            return Err(IdError::Long(text.len()));
        }
        // Windows drops trailing dots and spaces, so two names would be the same.
        if text.starts_with('.') || text.ends_with(['.', ' ']) {
            return Err(IdError::Edge(text.to_owned()));
        }
        // Invisible and bidirectional characters could make two ids look the same.
        let means_something = |c: &char| is_invisible(*c) || r#"/\:*?"<>|"#.contains(*c);
        match text.chars().find(means_something) {
            Some(character) => Err(IdError::Character(text.to_owned(), character)),
            None => Ok(Self(text.to_owned())),
        }
    }

    /// A new id: a ULID, so that ids sort by start time.
    pub fn new(at: Timestamp) -> io::Result<Self> {
        let milliseconds = u64::try_from(at.as_millisecond()).unwrap_or_default();
        let mut random = [0; 16];
        random[..10].copy_from_slice(&random::bytes::<10>()?);
        Ok(Self(ulid::Ulid::from_parts(milliseconds, u128::from_le_bytes(random)).to_string()))
    }

    /// When a session with a generated id started, to the millisecond; `None` for other ids.
    #[must_use]
    pub fn time(&self) -> Option<Timestamp> {
        let milliseconds = ulid::Ulid::from_string(&self.0).ok()?.timestamp_ms();
        Timestamp::from_millisecond(i64::try_from(milliseconds).ok()?).ok()
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for SessionId {
    type Error = IdError;

    fn try_from(text: String) -> Result<Self, IdError> {
        Self::parse(&text)
    }
}

impl From<SessionId> for String {
    fn from(id: SessionId) -> Self {
        id.0
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_traversal_is_not_a_valid_id() {
        for text in [
            "", ".", "..", ".hidden", "a/b", "/", r"a\b", "C:x", "a\nb", "a\0", "\u{7f}", "\u{85}", "x.",
            "x ",
        ] {
            assert!(SessionId::parse(text).is_err(), "{text:?}");
        }
        assert!(SessionId::parse(&"x".repeat(129)).is_err());
        for text in ["build-42", "größe", "a b", "v1.2", &"x".repeat(128)] {
            assert_eq!(SessionId::parse(text).unwrap().as_str(), text);
        }
    }

    #[test]
    fn new_ids_are_valid_and_sort_by_time() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let (first, second) = (SessionId::new(at(1)).unwrap(), SessionId::new(at(2)).unwrap());
        assert!(first < second);
        assert_eq!(first.as_str().len(), 26);
        assert_eq!(SessionId::parse(first.as_str()).unwrap(), first);
    }
}
