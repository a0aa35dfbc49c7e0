//! The settings of a run, with Claude Code's precedence: the user's, the project's, and those in `--settings`.
//!
//! Input: files and the argument. Output: hooks and variables, or Claude Code's error message. A file with any
//! error is silently ignored, as in Claude Code.

mod shape;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use regex::Regex;
use serde_json::{Map, Value};
use sys::error::Failure;
use sys::failure;

use super::version::Version;
use crate::argv::Asked;

/// A command that runs at an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hook {
    /// The argument of `sh -c`.
    pub(crate) command: String,
    pub(crate) timeout: Duration,
    /// Set by `"onFailure":"block"`.
    pub(crate) blocks_on_failure: bool,
}

/// The effective settings.
#[derive(Debug, Default)]
pub(crate) struct Settings {
    entries: Vec<(String, String, Hook)>,
    /// Environment variables for the run and its hooks.
    pub(crate) env: BTreeMap<String, String>,
    /// `apiKeyHelper`, a command.
    pub(crate) key_helper: Option<String>,
    off: bool,
}

impl Settings {
    /// Reads all settings; later ones override earlier ones. `claude` is Claude Code's own folder. `Err` is Claude
    /// Code's message before exit code 1.
    pub(crate) fn read(asked: &Asked, claude: &Path, cwd: &Path, version: &Version) -> Result<Self, Failure> {
        let given =
            asked.settings.as_deref().map(|text| of_argument(text, cwd, version)).transpose()?.flatten();
        let project = cwd.join(".claude");
        let files = [
            ("user", claude.join("settings.json")),
            ("project", project.join("settings.json")),
            ("local", project.join("settings.local.json")),
        ];
        let files = files.into_iter().filter(|(source, _)| asked.has_source(source));
        let mut all = Self::default();
        let sources = files.map(|(_, path)| of_file(&path)).chain([given]);
        for source in sources.flatten().filter(|source| shape::is_valid(source, version)) {
            all.add(&source);
        }
        Ok(all)
    }

    /// Removes all hooks.
    pub(crate) fn forget_hooks(&mut self) {
        self.entries.clear();
    }

    /// Returns the hooks of `event`; their matchers are compared with `of` if the event has matchers. A command
    /// that appears more than once, in any of the files, runs once, with the options of the last one.
    pub(crate) fn hooks(&self, event: &str, of: Option<&str>) -> Vec<Hook> {
        let wanted = |(name, matcher, _): &&(String, String, Hook)| {
            !self.off && name == event && of.is_none_or(|of| matches(matcher, of))
        };
        let mut hooks: Vec<Hook> = Vec::new();
        for (_, _, hook) in self.entries.iter().filter(wanted) {
            match hooks.iter_mut().find(|known| known.command == hook.command) {
                Some(known) => *known = hook.clone(),
                None => hooks.push(hook.clone()),
            }
        }
        hooks
    }

    fn add(&mut self, source: &Map<String, Value>) {
        if let Some(off) = source.get("disableAllHooks").and_then(Value::as_bool) {
            self.off = off;
        }
        if let Some(helper) = source.get("apiKeyHelper").and_then(Value::as_str) {
            self.key_helper = Some(helper.to_owned());
        }
        for (name, value) in source.get("env").and_then(Value::as_object).into_iter().flatten() {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            self.env.insert(name.clone(), text);
        }
        for (event, entries) in source.get("hooks").and_then(Value::as_object).into_iter().flatten() {
            for entry in entries.as_array().into_iter().flatten() {
                let matcher = entry["matcher"].as_str().unwrap_or_default();
                for hook in entry["hooks"].as_array().into_iter().flatten() {
                    self.entries
                        .extend(shape::command(hook).map(|hook| (event.clone(), matcher.into(), hook)));
                }
            }
        }
    }
}

fn of_file(path: &Path) -> Option<Map<String, Value>> {
    serde_json::from_slice(&std::fs::read(path).ok()?).ok()
}

/// Text that looks like an object is parsed as JSON; anything else is the name of a file that must exist.
fn of_argument(text: &str, cwd: &Path, version: &Version) -> Result<Option<Map<String, Value>>, Failure> {
    let trimmed = text.trim();
    if trimmed.starts_with('{') && trimmed.ends_with('}') {
        let object = serde_json::from_str(trimmed);
        return object.map(Some).map_err(|_| "Error: Invalid JSON provided to --settings".into());
    }
    let path: PathBuf = cwd.join(text);
    if path.is_file() {
        Ok(of_file(&path))
    } else {
        let named = if version.is_new() { path.display().to_string() } else { text.to_owned() };
        Err(failure!("Error: Settings file not found: {named}"))
    }
}

/// A list of words matches whole names; anything else is a regular expression for a part of the name.
fn matches(matcher: &str, name: &str) -> bool {
    let is_word =
        |character: char| character.is_alphanumeric() || matches!(character, '_' | '-' | '|' | ',' | ' ');
    match matcher {
        "" | "*" => true,
        list if list.chars().all(is_word) => list.split(['|', ',']).any(|word| word.trim() == name),
        expression => Regex::new(expression).is_ok_and(|expression| expression.is_match(name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Measured on 2.1.329 with the tool Bash.
    #[test]
    fn a_matcher_is_a_list_of_names_or_a_regex() {
        for matcher in ["", "*", "Bash", "Bash|Read", "Bash,Read", "Ba.*", "^Bash$"] {
            assert!(matches(matcher, "Bash"), "{matcher}");
        }
        for matcher in ["Read", "ash", "bash", "Edit|Ba", "Bash(touch *)", "mcp__.*", "["] {
            assert!(!matches(matcher, "Bash"), "{matcher}");
        }
    }
}
