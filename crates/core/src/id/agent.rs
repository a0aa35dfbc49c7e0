//! Agent ids. An id also names the host's files and is set in the agent's environment.

use serde::{Deserialize, Serialize};
use std::fmt;
use sys::error::Hinted;
use sys::paths::{MAX_NAME, is_plain, readable};

/// A validated id: a single path component of plain characters.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct AgentId(String);

/// A string that is not a valid agent id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid agent id {0:?}")]
pub struct IdError(String);

impl std::borrow::Borrow<str> for AgentId {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl Hinted for IdError {
    fn hint(&self) -> Option<String> {
        Some(format!(
            "use 1 to {MAX_NAME} letters, digits, '-', '_' and '.', and begin with neither '-' nor '.'"
        ))
    }
}

impl AgentId {
    /// Validates `text`.
    pub fn parse(text: &str) -> Result<Self, IdError> {
        if is_plain(text) { Ok(Self(text.to_owned())) } else { Err(IdError(text.to_owned())) }
    }

    /// Makes an id for people: `names` in plain characters, cut if it would be too long, and `tail`, which makes it
    /// unique.
    #[must_use]
    pub fn readable(names: &[&str], tail: &str) -> Self {
        let tail = readable(tail);
        let mut id = names.iter().map(|name| readable(name)).collect::<Vec<_>>().join("-");
        id.truncate(MAX_NAME.saturating_sub(tail.len() + 1));
        Self(format!("{id}-{tail}"))
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name of the socket in the hosts folder.
    #[must_use]
    pub fn socket(&self) -> String {
        format!("{}.sock", self.0)
    }

    /// The name of the record in the hosts folder.
    #[must_use]
    pub fn record(&self) -> String {
        format!("{}.json", self.0)
    }

    /// The name of the host's own log in the hosts folder.
    #[must_use]
    pub fn log(&self) -> String {
        format!("{}.log", self.0)
    }
}

impl fmt::Display for AgentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl std::str::FromStr for AgentId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        Self::parse(text)
    }
}

impl TryFrom<String> for AgentId {
    type Error = IdError;

    fn try_from(text: String) -> Result<Self, IdError> {
        Self::parse(&text)
    }
}

impl From<AgentId> for String {
    fn from(id: AgentId) -> Self {
        id.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_a_single_visible_path_component() {
        for good in ["site-0a1b2c3d", "agent-abc123", "x", "_x", "a.b_c", &"a".repeat(MAX_NAME)] {
            assert_eq!(AgentId::parse(good).unwrap().as_str(), good);
        }
        for bad in ["", ".", "..", ".x", "-x", "../x", "a/b", "a b", "ä", "a\n", &"a".repeat(MAX_NAME + 1)] {
            assert!(AgentId::parse(bad).is_err(), "{bad:?}");
        }
        assert!(serde_json::from_str::<AgentId>("\"../x\"").is_err());
    }

    #[test]
    fn a_readable_id_is_valid_whatever_the_names_are() {
        assert_eq!(AgentId::readable(&["my site", "tests"], "0a1b2c3d").as_str(), "my-site-tests-0a1b2c3d");
        for name in ["", "../x", "-x", "ä", &"a".repeat(200)] {
            let id = AgentId::readable(&[name, name], "0a1b2c3d");
            assert_eq!(AgentId::parse(id.as_str()), Ok(id));
        }
    }
}
