//! Parses single values of an entry; errors name the key and its position.

use super::super::Text;
use crate::config::checked::Check;
use crate::config::permissions::{self, Permissions};
use crate::config::problem::Problem;
use serde::de::DeserializeOwned;
use std::path::{Path, PathBuf};
use sys::error::Failure;

/// The accepted values of a time span, for hints.
pub(super) const SPAN: &str = "write a string such as \"5m\" or \"1h30m\"";

/// Parses a value; `null` is `None`.
pub(super) fn read<T: DeserializeOwned>(
    text: &Text<'_>,
    key: &str,
    value: &str,
    accepted: &str,
) -> Result<Option<T>, Problem> {
    serde_json::from_str(value).map_err(|_| text.wrong(key, value, accepted))
}

/// Parses a value of a type with rules of its own, whose errors have a hint.
pub(in crate::config::file) fn checked<T: Check>(
    text: &Text<'_>,
    key: &str,
    value: &str,
    accepted: &str,
) -> Result<Option<T>, Problem> {
    let read: Option<T::Raw> = read(text, key, value, accepted)?;
    let own =
        |wrong: Failure| Problem::at(text.path, text.place(value), wrong.after(format_args!("{key:?}: ")));
    read.map(|raw| T::check(raw).map_err(own)).transpose()
}

pub(super) fn permissions(text: &Text<'_>, value: &str) -> Result<Permissions, Problem> {
    if value == "null" {
        return Err(text.wrong("permissions", value, permissions::ACCEPTED));
    }
    let read: Option<Permissions> = checked(text, "permissions", value, permissions::ACCEPTED)?;
    read.ok_or_else(|| text.wrong("permissions", value, permissions::ACCEPTED))
}

pub(super) fn path(text: &Text<'_>, value: &str) -> Result<String, Problem> {
    let accepted = "write the folder's absolute path, such as \"/home/me/project\"";
    let path: String =
        read(text, "path", value, accepted)?.ok_or_else(|| text.wrong("path", value, accepted))?;
    if path.starts_with('~') {
        return Err(text.wrong_since(
            "path",
            value,
            ", and `~` is not expanded",
            "write your home folder's absolute path instead",
        ));
    }
    if !path.starts_with('/') || path.contains('\0') {
        return Err(text.wrong_since("path", value, ", which is not absolute", accepted));
    }
    Ok(path)
}

/// A string that may become an argument or a title: not empty, not an option, no control characters.
pub(super) fn word(text: &Text<'_>, key: &str, value: &str) -> Result<Option<String>, Problem> {
    let accepted = "write a non-empty string without control characters that does not start with '-'";
    let word: Option<String> = read(text, key, value, accepted)?;
    if word.as_deref().is_some_and(|word| !is_word(word)) {
        return Err(text.wrong(key, value, accepted));
    }
    Ok(word)
}

pub(in crate::config) fn is_word(word: &str) -> bool {
    !word.trim().is_empty() && !word.starts_with('-') && !word.chars().any(char::is_control)
}

/// Removes `.`, doubled and trailing slashes from a path.
pub(super) fn clean(path: &str) -> PathBuf {
    let plain = !path.contains("//") && !path.contains("/.") && (path.len() == 1 || !path.ends_with('/'));
    if plain { PathBuf::from(path) } else { Path::new(path).components().collect() }
}
