//! `requires`: the MCP servers that a heartbeat requires.

use super::checked::{Check, List, short, strictly};
use super::file::is_word;
use schemars::JsonSchema;
use serde::de::{Deserialize, Deserializer};
use sys::error::Failure;
use sys::failure;

/// Names of MCP servers.
#[derive(Debug, Clone, Default, PartialEq, Eq, JsonSchema)]
pub struct Requires(pub Box<[Box<str>]>);

impl Requires {
    /// The accepted values, for hints.
    pub(super) const ACCEPTED: &str = "write a list of the names of MCP servers, such as [\"mail\"]";

    /// These names and those of `others`, without duplicates.
    #[must_use]
    pub fn joined(&self, others: &Self) -> Self {
        let new = others.0.iter().filter(|name| !self.0.contains(name));
        Self(self.0.iter().chain(new).cloned().collect())
    }
}

impl<'de> Deserialize<'de> for Requires {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        strictly(deserializer)
    }
}

impl Check for Requires {
    type Raw = List;

    fn check(List(names): List) -> Result<Self, Failure> {
        match names.iter().find(|name| !is_word(name)) {
            Some(name) => Err(failure!("{:?} is not a name", short(name); "{}", Self::ACCEPTED)),
            None => Ok(Self(names.into_iter().map(Into::into).collect())),
        }
    }
}
