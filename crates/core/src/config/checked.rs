//! A value of a settings file: valid, or an error with a hint.
//!
//! serde's errors are only text. Types with rules of their own report violations as values instead, which keeps the hint
//! separate from the error; the file's reader adds the position.

use serde::de::{Deserialize, DeserializeOwned, Deserializer};
use sys::error::Failure;

/// A type with rules of its own.
pub(super) trait Check: Sized {
    /// The type as written. Use few different ones, since each is compiled for every file format.
    type Raw: DeserializeOwned;

    /// Applies the type's rules.
    fn check(raw: Self::Raw) -> Result<Self, Failure>;
}

/// One text, or a list of them.
#[derive(Debug, serde::Deserialize)]
#[serde(untagged)]
pub(super) enum Texts {
    /// One text.
    One(String),
    /// A list.
    List(Vec<String>),
}

impl Texts {
    /// The texts, as a list.
    pub(super) fn list(self) -> Vec<String> {
        match self {
            Self::One(text) => vec![text],
            Self::List(texts) => texts,
        }
    }
}

/// Reads a value where hints are not needed: a violated rule becomes an ordinary serde error.
pub(super) fn strictly<'de, T: Check, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    T::check(T::Raw::deserialize(deserializer)?).map_err(serde::de::Error::custom)
}

/// Reads a value from JSON.
#[cfg(test)]
pub(super) fn from_json<T: Check>(json: &str) -> serde_json::Result<Result<T, Failure>> {
    serde_json::from_str(json).map(T::check)
}
