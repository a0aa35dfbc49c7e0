//! A value of a settings file: valid, or an error with a hint.
//!
//! serde's errors are only text. Types with rules of their own report violations as values instead, which keeps the hint
//! separate from the error; the file's reader adds the position.

use serde::de::{Deserialize, Deserializer};
use sys::error::Failure;

/// A type with rules of its own.
pub(super) trait Check: Sized {
    /// Reads a value and applies the type's rules.
    ///
    /// The outer error is for values of another kind altogether, such as a number in place of a string.
    fn check<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Result<Self, Failure>, D::Error>;
}

/// A value that was read, or the rule that it violates.
#[derive(Debug)]
pub(super) struct Checked<T>(pub(super) Result<T, Failure>);

impl<'de, T: Check> Deserialize<'de> for Checked<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::check(deserializer).map(Self)
    }
}

/// Reads a value where hints are not needed: a violated rule becomes an ordinary serde error.
pub(super) fn strictly<'de, T: Check, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    T::check(deserializer)?.map_err(serde::de::Error::custom)
}
