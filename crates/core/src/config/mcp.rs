//! `mcp`: the MCP servers that a heartbeat's agent may use.

use super::checked::{Check, Texts, short, strictly};
use super::file::is_word;
use super::limit::Sourced;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer};
use std::borrow::Cow;
use std::fmt;
use sys::error::Failure;
use sys::failure;

/// The MCP servers that an agent may use; by default all that Claude Code knows.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Mcp {
    /// Only servers of the repository's `.mcp.json`.
    project_only: bool,
    /// Only servers with these names.
    names: Option<Vec<String>>,
}

impl Mcp {
    /// The accepted values, for hints.
    pub(super) const ACCEPTED: &str =
        "write \"none\", \"project\", or a list of the names of MCP servers, such as [\"mail\"]";

    /// Whether all servers are allowed.
    #[must_use]
    pub fn is_all(&self) -> bool {
        *self == Self::default()
    }

    /// Whether the user's own servers are excluded.
    #[must_use]
    pub fn is_project_only(&self) -> bool {
        self.project_only
    }

    /// Whether a server of this name is allowed.
    #[must_use]
    pub fn has_name(&self, name: &str) -> bool {
        self.names.as_ref().is_none_or(|names| names.iter().any(|known| known == name))
    }

    /// The servers that both allow.
    #[must_use]
    pub fn narrowed(&self, other: &Self) -> Self {
        let names = match (&self.names, &other.names) {
            (Some(names), _) => Some(names.iter().filter(|name| other.has_name(name)).cloned().collect()),
            (None, names) => names.clone(),
        };
        Self { project_only: self.project_only || other.project_only, names }
    }

    /// These servers of config.json, or those that a HEARTBEAT.md allows too, and which file says so.
    #[must_use]
    pub fn sourced(&self, front: Option<&Self>) -> Sourced<Self> {
        match front.map(|front| self.narrowed(front)).filter(|narrower| narrower != self) {
            Some(narrower) => Sourced::front(narrower),
            None if self.is_all() => Sourced::default(self.clone()),
            None => Sourced::user(self.clone()),
        }
    }
}

impl fmt::Display for Mcp {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.project_only, self.names.as_deref()) {
            (false, None) => out.write_str("all"),
            (_, Some([])) => out.write_str("none"),
            (true, None) => out.write_str("project"),
            (false, Some(names)) => out.write_str(&names.join(", ")),
            (true, Some(names)) => write!(out, "{} of project", names.join(", ")),
        }
    }
}

impl Check for Mcp {
    type Raw = Texts;

    fn check(written: Texts) -> Result<Self, Failure> {
        let names = |names| Ok(Self { project_only: false, names: Some(names) });
        match written {
            Texts::One(word) if word == "none" => names(Vec::new()),
            Texts::One(word) if word == "project" => Ok(Self { project_only: true, names: None }),
            Texts::One(word) => Err(failure!("{:?} is not known", short(&word); "{}", Self::ACCEPTED)),
            Texts::List(found) => match found.iter().find(|name| !is_word(name)) {
                Some(name) => Err(failure!("{:?} is not a name", short(name); "{}", Self::ACCEPTED)),
                None => names(found),
            },
        }
    }
}

/// The value as written in a configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Written(pub(super) Mcp);

impl Check for Written {
    type Raw = Texts;

    fn check(written: Texts) -> Result<Self, Failure> {
        Mcp::check(written).map(Self)
    }
}

impl<'de> Deserialize<'de> for Written {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        strictly(deserializer)
    }
}

impl JsonSchema for Written {
    fn schema_name() -> Cow<'static, str> {
        "Mcp".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [
            { "enum": ["none", "project"] },
            { "type": "array", "items": { "type": "string" } },
        ] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Result<Mcp, String> {
        let read: Result<Written, _> = serde_json::from_str(json);
        read.map(|written| written.0).map_err(|error| error.to_string())
    }

    #[test]
    fn only_none_project_and_lists_of_names_are_accepted() {
        assert_eq!(read("\"none\"").unwrap(), Mcp { project_only: false, names: Some(Vec::new()) });
        assert_eq!(read("\"project\"").unwrap(), Mcp { project_only: true, names: None });
        assert!(read("[\"a\"]").unwrap().has_name("a"));
        for wrong in ["\"all\"", "[\"\"]", "[\"-x\"]", "[1]", "true", "{}"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn narrowing_keeps_what_both_allow() {
        let of = |json: &str| read(json).unwrap();
        let (none, project, ab) = (of("\"none\""), of("\"project\""), of("[\"a\",\"b\"]"));
        assert_eq!(none.narrowed(&ab), none);
        assert_eq!(ab.narrowed(&none), none);
        assert_eq!(project.narrowed(&none), Mcp { project_only: true, ..none.clone() });
        assert_eq!(ab.narrowed(&of("[\"b\",\"c\"]")), of("[\"b\"]"));
        assert_eq!(Mcp::default().narrowed(&ab), ab);
        assert!(Mcp::default().narrowed(&Mcp::default()).is_all());
    }

    #[test]
    fn it_is_shown_with_the_file_that_decides() {
        let mcp = |json| read(json).unwrap();
        let all = Mcp::default();
        for (user, front, shown) in [
            (all.clone(), None, "all (default)"),
            (mcp("[\"a\",\"b\"]"), None, "a, b (config.json)"),
            (mcp("[\"a\",\"b\"]"), Some(mcp("[\"b\",\"c\"]")), "b (HEARTBEAT.md)"),
            (mcp("[\"a\"]"), Some(mcp("\"project\"")), "a of project (HEARTBEAT.md)"),
            (mcp("\"none\""), Some(mcp("[\"b\"]")), "none (config.json)"),
            (all, Some(mcp("\"project\"")), "project (HEARTBEAT.md)"),
        ] {
            let Sourced { value, source } = user.sourced(front.as_ref());
            assert_eq!(format!("{value} ({source})"), shown);
        }
    }
}
