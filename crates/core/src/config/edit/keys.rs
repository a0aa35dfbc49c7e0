//! Sets, replaces and removes keys of one entry of `workspaces`.

use super::splice::splice;
use super::workspaces::{has_path, text};
use super::{EditError, member};
use crate::config::json;
use std::path::Path;

/// A change to a key of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyChange {
    /// Sets the key to a value (JSON).
    Set(&'static str, String),
    /// Removes the key, if it is there.
    Remove(&'static str),
    /// Puts a key in the place of another one, or sets it if the other is not there.
    Replace(&'static str, &'static str, String),
}

/// Changes keys of the entry of `path`, and no other byte.
///
/// # Errors
/// If there is no such entry, or the text is not a configuration.
pub fn set_keys(source: &str, path: &Path, changes: &[KeyChange]) -> Result<String, EditError> {
    let unknown = || EditError::Unknown { path: path.to_owned() };
    let text = text(source)?;
    if text.body().trim().is_empty() {
        return Err(unknown());
    }
    let root = text.object(text.body())?;
    let found = root.get("workspaces").filter(|member| member.value != "null").ok_or_else(unknown)?;
    let entries = text.entries(&found)?;
    // Only the first entry of a path is used.
    let entry = entries.iter().find(|entry| has_path(entry, path)).ok_or_else(unknown)?;
    let changed = changes.iter().fold((*entry).to_owned(), |entry, change| match change {
        KeyChange::Set(key, value) => member::set(&entry, key, value),
        KeyChange::Remove(key) => member::remove(&entry, key),
        KeyChange::Replace(old, key, value) => member::replace(&entry, old, key, value),
    });
    Ok(splice(source, json::span(source, entry), &changed))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "{\n  \"workspaces\": [\n    {\"path\": \"/b\"},\n    {\n      \"path\": \"/a\",\n      \"interval\": \"30m\",\n      \"tz\" : \"Asia/Tokyo\",\n      \"lastRun\": null\n    }\n  ],\n  \"x\": [1,2 ]\n}\n";

    /// The members of the second entry.
    const ENTRY: &str = "      \"path\": \"/a\",\n      \"interval\": \"30m\",\n      \"tz\" : \"Asia/Tokyo\",\n      \"lastRun\": null";

    #[test]
    fn only_the_keys_of_one_entry_change() {
        let set = |key, value: &str| KeyChange::Set(key, value.to_owned());
        for (changes, expected) in [
            (
                vec![set("interval", "\"1h\"")],
                "      \"path\": \"/a\",\n      \"interval\": \"1h\",\n      \"tz\" : \"Asia/Tokyo\",\n      \"lastRun\": null",
            ),
            (
                vec![set("maxTurns", "9"), set("enabled", "false")],
                "      \"path\": \"/a\",\n      \"interval\": \"30m\",\n      \"tz\" : \"Asia/Tokyo\",\n      \"lastRun\": null,\n      \"maxTurns\": 9,\n      \"enabled\": false",
            ),
            (
                vec![
                    KeyChange::Replace("interval", "cron", "\"* * * * *\"".to_owned()),
                    KeyChange::Remove("tz"),
                ],
                "      \"path\": \"/a\",\n      \"cron\": \"* * * * *\",\n      \"lastRun\": null",
            ),
            (
                vec![KeyChange::Remove("lastRun"), KeyChange::Remove("path"), KeyChange::Remove("none")],
                "      \"interval\": \"30m\",\n      \"tz\" : \"Asia/Tokyo\"",
            ),
            (
                vec![KeyChange::Replace("none", "cron", "1".to_owned())],
                "      \"path\": \"/a\",\n      \"interval\": \"30m\",\n      \"tz\" : \"Asia/Tokyo\",\n      \"lastRun\": null,\n      \"cron\": 1",
            ),
        ] {
            let text = set_keys(SOURCE, Path::new("/a"), &changes).unwrap();
            assert_eq!(text, SOURCE.replace(ENTRY, expected), "{changes:?}");
        }
    }

    #[test]
    fn both_keys_of_a_replacement_become_one() {
        let source = r#"{"workspaces":[{"path":"/a","cron":"x","interval":"1h"}]}"#;
        let change = KeyChange::Replace("interval", "cron", "\"y\"".to_owned());
        let expected = r#"{"workspaces":[{"path":"/a","cron":"y"}]}"#;
        assert_eq!(set_keys(source, Path::new("/a"), &[change]).unwrap(), expected);
    }

    #[test]
    fn an_entry_that_is_not_there_cannot_change() {
        for source in ["", "{}", r#"{"workspaces":null}"#, r#"{"workspaces":[{"path":"/b"}]}"#] {
            let error = set_keys(source, Path::new("/a"), &[]).unwrap_err();
            assert!(matches!(error, EditError::Unknown { .. }), "{source}: {error}");
        }
    }
}
