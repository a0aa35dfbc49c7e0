//! A value of a settings file that its type accepts, or why it does not and what to write.
//!
//! serde's errors are nothing but text. What has rules of its own is read without one, so that what to do about a value
//! stays apart from what is wrong with it; the file's reader adds the place.

use crate::error::Failure;
use serde::de::{Deserialize, Deserializer};

/// A type with rules of its own.
pub(super) trait Check: Sized {
    /// Reads a value, and says what its rules say about it.
    ///
    /// # Errors
    /// When it is of another kind altogether: a number where a text should be.
    fn check<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Result<Self, Failure>, D::Error>;
}

/// What was read.
#[derive(Debug)]
pub(super) struct Checked<T>(pub(super) Result<T, Failure>);

impl<'de, T: Check> Deserialize<'de> for Checked<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::check(deserializer).map(Self)
    }
}

/// The value itself, for what is not a person's file: what is wrong with it becomes serde's text, without a hint.
///
/// # Errors
/// When it is none.
pub(super) fn strictly<'de, T: Check, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    T::check(deserializer)?.map_err(serde::de::Error::custom)
}
