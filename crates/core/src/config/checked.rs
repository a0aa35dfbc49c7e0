//! A value of a settings file: valid, or an error with a hint.
//!
//! serde's errors are only text. Types with rules of their own report violations as values instead, which keeps the
//! hint separate from the error; the file's reader adds the position.

use serde::de::{Deserialize, DeserializeOwned, Deserializer, SeqAccess, Visitor};
use std::fmt;
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

/// A list of texts. Unlike for a `Vec`, in YAML, no value is not an empty list.
#[derive(Debug)]
pub(super) struct List(pub(super) Vec<String>);

impl<'de> Deserialize<'de> for List {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Elements;
        impl<'de> Visitor<'de> for Elements {
            type Value = List;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("a list")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<List, A::Error> {
                let mut list = Vec::new();
                while let Some(text) = elements.next_element()? {
                    list.push(text);
                }
                Ok(List(list))
            }
        }
        deserializer.deserialize_any(Elements)
    }
}

/// The beginning of a value, for messages.
pub(super) fn short(text: &str) -> String {
    text.chars().take(40).collect()
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
