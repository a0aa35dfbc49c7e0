//! What a heartbeat's agent may not do in addition to the built-in deny list, or that it may do everything.
//!
//! Parsed strictly: anything unknown is an error, because a fallback would mean fewer rules.

use super::checked::{Check, short, strictly};
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use sys::error::Failure;
use sys::failure;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, Visitor};

/// The value of the key `permissions`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Permissions {
    /// No deny list at all, not even the built-in one.
    Skip,
    /// The built-in deny list and these patterns of Claude Code's `--disallowedTools`.
    Deny(Arc<[Box<str>]>),
}

/// The accepted values, for hints.
pub const ACCEPTED: &str = "write \"skip\" or {\"deny\": [\"Bash(curl *)\"]}";

impl Default for Permissions {
    fn default() -> Self {
        Self::Deny(Arc::default())
    }
}

impl Permissions {
    /// The patterns in addition to the built-in ones; none for [`Self::Skip`].
    #[must_use]
    pub fn denied(&self) -> &[Box<str>] {
        match self {
            Self::Skip => &[],
            Self::Deny(patterns) => patterns,
        }
    }

    /// Combines the user's permissions with those of a file that the agent can edit: patterns are merged, `skip` there
    /// has no effect, and patterns there override `skip` here.
    #[must_use]
    pub fn tightened(&self, narrower: &Self) -> Self {
        match (self, narrower) {
            (_, Self::Skip) => self.clone(),
            (Self::Skip, Self::Deny(_)) => narrower.clone(),
            (Self::Deny(ours), Self::Deny(theirs)) => {
                let new = theirs.iter().filter(|pattern| !ours.contains(pattern));
                Self::Deny(ours.iter().chain(new).cloned().collect())
            }
        }
    }
}

/// Checks a pattern. It becomes a command-line argument, so it must not look like an option.
fn check(pattern: &str, index: usize) -> Result<(), Failure> {
    let wrong = if pattern.trim().is_empty() {
        "is empty"
    } else if pattern.starts_with('-') {
        "starts with '-'"
    } else if pattern.chars().any(char::is_control) {
        "has a control character"
    } else {
        return Ok(());
    };
    Err(
        failure!("pattern {} of \"deny\" {wrong}", index + 1; "write a tool pattern such as \"Bash(curl *)\""),
    )
}

impl<'de> Deserialize<'de> for Permissions {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        strictly(deserializer)
    }
}

impl Check for Permissions {
    type Raw = Read;

    fn check(Read(read): Read) -> Result<Self, Failure> {
        read
    }
}

/// The value, or the rule that it violates.
pub(super) struct Read(Result<Permissions, Failure>);

impl<'de> Deserialize<'de> for Read {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(PermissionsVisitor).map(Self)
    }
}

struct PermissionsVisitor;

impl<'de> Visitor<'de> for PermissionsVisitor {
    type Value = Result<Permissions, Failure>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("\"skip\" or {\"deny\": [\"Bash(curl *)\"]}")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        if text == "skip" {
            Ok(Ok(Permissions::Skip))
        } else {
            Ok(Err(failure!("{:?} is not known", short(text); "{ACCEPTED}")))
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut deny: Option<Vec<Box<str>>> = None;
        let mut wrong = None;
        // Read to the end in any case: the caller continues after this map.
        while let Some(key) = map.next_key::<Cow<'de, str>>()? {
            if key == "deny" && deny.is_none() {
                deny = Some(map.next_value()?);
                continue;
            }
            map.next_value::<IgnoredAny>()?;
            wrong.get_or_insert_with(|| {
                if key == "deny" {
                    failure!("\"deny\" is given twice"; "put all patterns in one list")
                } else {
                    failure!("unknown key {key:?}"; "{ACCEPTED}")
                }
            });
        }
        Ok(match (wrong, deny) {
            (Some(wrong), _) => Err(wrong),
            (None, None) => Err(failure!("\"deny\" is missing"; "{ACCEPTED}")),
            (None, Some(deny)) => {
                let checked = deny.iter().enumerate().try_for_each(|(index, pattern)| check(pattern, index));
                checked.map(|()| Permissions::Deny(deny.into()))
            }
        })
    }
}

impl JsonSchema for Permissions {
    fn schema_name() -> Cow<'static, str> {
        "Permissions".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "What the agent may not do: patterns of Claude Code's --disallowedTools on top of the built-in deny list, or \"skip\" to turn off that list and the guard.",
            "oneOf": [
                { "const": "skip" },
                {
                    "type": "object",
                    "properties": {
                        "deny": { "type": "array", "items": { "type": "string", "pattern": "^(?!-)(?=.*\\S)" } }
                    },
                    "required": ["deny"],
                    "additionalProperties": false
                }
            ]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Result<Permissions, String> {
        serde_json::from_str(json).map_err(|error| error.to_string())
    }

    fn deny(patterns: &[&str]) -> Permissions {
        Permissions::Deny(patterns.iter().map(|pattern| Box::from(*pattern)).collect())
    }

    #[test]
    fn only_skip_and_a_deny_list_are_permissions() {
        assert_eq!(read("\"skip\"").unwrap(), Permissions::Skip);
        assert_eq!(read("{\"deny\":[\"Bash(curl *)\",\"Edit\"]}").unwrap(), deny(&["Bash(curl *)", "Edit"]));
        assert_eq!(read("{\"deny\":[]}").unwrap(), Permissions::default());
        for wrong in [
            "null",
            "true",
            "[]",
            "\"Skip\"",
            "\"none\"",
            "{}",
            "{\"deny\":\"Edit\"}",
            "{\"deny\":null}",
            "{\"deny\":[1]}",
            "{\"deny\":[\"\"]}",
            "{\"deny\":[\" \"]}",
            "{\"deny\":[\"--model\"]}",
            "{\"deny\":[\"a\\nb\"]}",
            "{\"deny\":[],\"allow\":[]}",
            "{\"Deny\":[]}",
            "{\"deny\":[],\"deny\":[]}",
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_narrower_deny_list_adds_rules_and_never_drops_one() {
        let both = deny(&["a", "b"]).tightened(&deny(&["b", "c"]));
        assert_eq!(both, deny(&["a", "b", "c"]));
        assert_eq!(deny(&["a"]).tightened(&Permissions::Skip), deny(&["a"]));
        assert_eq!(Permissions::Skip.tightened(&Permissions::Skip), Permissions::Skip);
        assert_eq!(Permissions::Skip.tightened(&deny(&["a"])), deny(&["a"]));
    }
}
