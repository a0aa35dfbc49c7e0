//! `on`: files whose changes start a heartbeat.

use super::checked::{Check, strictly};
use super::gate::Patterns;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer};
use serde_json::Value;
use std::borrow::Cow;
use std::fmt;
use sys::error::Failure;
use sys::failure;

/// Paths and globs in the workspace, at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct On(Box<[Box<str>]>);

impl On {
    /// The accepted values, for hints.
    pub(super) const ACCEPTED: &str =
        "write {\"path\": \"src/**\"}, with a path or glob in the workspace, or a list of these";

    /// The paths and globs, as written.
    #[must_use]
    pub fn paths(&self) -> &[Box<str>] {
        &self.0
    }

    /// Compiles them.
    ///
    /// # Errors
    /// Never for patterns from a configuration, which are checked when it is read.
    pub fn patterns(&self) -> Result<Patterns, Failure> {
        Patterns::new(&self.0)
    }
}

impl fmt::Display for On {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "changes of {}", self.0.join(", "))
    }
}

impl Check for On {
    type Raw = Value;

    fn check(value: Value) -> Result<Self, Failure> {
        let wrong = || failure!("it has a wrong value"; "{}", Self::ACCEPTED);
        let Some(path) = value.as_object().filter(|object| object.len() == 1).and_then(|on| on.get("path"))
        else {
            return Err(wrong());
        };
        let paths: Option<Vec<&str>> = match path {
            Value::String(path) => Some(vec![path]),
            Value::Array(paths) => paths.iter().map(Value::as_str).collect(),
            _ => None,
        };
        let Some(paths) = paths.filter(|paths| !paths.is_empty()) else { return Err(wrong()) };
        let on = Self(paths.into_iter().map(Into::into).collect());
        on.patterns().map(|_| on)
    }
}

impl<'de> Deserialize<'de> for On {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        strictly(deserializer)
    }
}

impl JsonSchema for On {
    fn schema_name() -> Cow<'static, str> {
        "On".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "properties": { "path": { "anyOf": [
                { "type": "string" },
                { "type": "array", "items": { "type": "string" }, "minItems": 1 },
            ] } },
            "required": ["path"],
            "additionalProperties": false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::checked::from_json;

    fn read(text: &str) -> Result<String, String> {
        let on = from_json::<On>(text).unwrap();
        on.map(|on| on.to_string()).map_err(|failure| failure.line())
    }

    #[test]
    fn one_path_or_several() {
        assert_eq!(read(r#"{"path":"src/**"}"#).unwrap(), "changes of src/**");
        assert_eq!(read(r#"{"path":["a","b/*.md"]}"#).unwrap(), "changes of a, b/*.md");
    }

    #[test]
    fn anything_else_is_one_error() {
        for wrong in ["\"src\"", "{}", "[]", "3", r#"{"path":[]}"#, r#"{"path":3}"#, r#"{"path":"a","at":1}"#]
        {
            assert!(read(wrong).unwrap_err().starts_with("it has a wrong value; write {\"path\""), "{wrong}");
        }
        assert!(read(r#"{"path":"../a"}"#).unwrap_err().contains("leaves the workspace"));
        assert!(read(r#"{"path":["a","b["]}"#).unwrap_err().contains("is not a glob"));
    }
}
