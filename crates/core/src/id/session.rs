//! The ids of agents' sessions.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The backend's id of a session, which is a conversation with an agent. Not the id of a capture session, which is
/// derun's.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SessionId(String);

impl SessionId {
    /// The id `text`.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it can be an argument, which it becomes when the session is resumed: then it must not be an option or a
    /// path.
    #[must_use]
    pub fn is_argument(&self) -> bool {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        let text = &self.0;
        text.len() <= 128 && !text.is_empty() && !text.starts_with('-') && text.bytes().all(fits)
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// A session id that is an empty string in JSON if it is unknown.
pub mod empty_if_unknown {
    use super::SessionId;
    use serde::{Deserialize, Deserializer, Serializer};

    /// Writes the id, or an empty string.
    pub fn serialize<S: Serializer>(id: &Option<SessionId>, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(id.as_ref().map_or("", SessionId::as_str))
    }

    /// Reads an id; `None` if it is empty.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<SessionId>, D::Error> {
        let text = String::deserialize(deserializer)?;
        Ok(Some(text).filter(|text| !text.is_empty()).map(SessionId))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_argument_is_not_an_option_or_a_path() {
        let is_argument = |text: &str| SessionId::new(text).is_argument();
        assert!(is_argument("0199aabb-ccdd-7000-8000-000000000000") && is_argument("ses_1"));
        for other in
            ["", "--settings=/tmp/x.json", "-p", "../../x", "a b", "a\u{1b}[31m", "a\n", &"a".repeat(129)]
        {
            assert!(!is_argument(other), "{other:?}");
        }
    }
}
