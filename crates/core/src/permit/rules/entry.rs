//! A new rule for a call that a person has decided on permanently, as text to append to a permissions.toml.

use std::fmt::Write;
use std::path::Path;
use sys::error::Hinted;
use sys::text::is_hidden;

use serde_json::Value;

use super::call_paths::{CallPaths, Links, PATH_TOOLS, SEARCHES};
use super::{Action, Rules, Wildcard, web};
use crate::config::problem::Problem;
use shell_guard::call::Call;

/// Why no rule can be added for a call.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EntryError {
    /// Every possible pattern would match other calls, too.
    #[error("no pattern matches only this call of {tool}")]
    Inexact {
        /// The tool.
        tool: String,
        /// The file for the rule.
        file: String,
    },
    /// The file is not valid.
    #[error(transparent)]
    Wrong(#[from] Problem),
}

impl Hinted for EntryError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Inexact { file, .. } => format!("write a rule in {file} yourself"),
            Self::Wrong(problem) => return problem.hint(),
        })
    }
}

impl EntryError {
    /// The error that no rule in `file` can be for `call` alone.
    #[must_use]
    pub fn inexact(call: &Call, file: &Path) -> Self {
        Self::Inexact { tool: call.tool.clone(), file: file.display().to_string() }
    }
}

/// Returns the patterns that match exactly this call: the same shell line, files or URL. `file` is where the rule would
/// be.
///
/// # Errors
///
/// If every possible pattern would match other calls, too.
pub fn only_this(call: &Call, file: &Path, links: Links<'_>) -> Result<Vec<String>, EntryError> {
    exact_patterns(call, links).ok_or_else(|| EntryError::inexact(call, file))
}

/// Appends a rule to the text of a permissions.toml. `text` itself stays unchanged. Without patterns, the rule covers
/// every call of the tool.
///
/// Fails if `text` or the result is not a valid permissions.toml.
pub fn append_rule(
    text: &str,
    file: &Path,
    tool: &str,
    action: Action,
    patterns: &[String],
) -> Result<String, EntryError> {
    Rules::parse(text.as_bytes(), file)?;
    let gap = if text.is_empty() || text.ends_with("\n\n") {
        ""
    } else if text.ends_with('\n') {
        "\n"
    } else {
        "\n\n"
    };
    let mut new = format!("{text}{gap}[[rules]]\ntool = {}\naction = \"{action}\"\n", toml_string(tool));
    if !patterns.is_empty() {
        new.push_str(&patterns_line(patterns));
        new.push('\n');
    }
    Rules::parse(new.as_bytes(), file)?;
    Ok(new)
}

/// The line of a rule with its patterns.
#[must_use]
pub fn patterns_line(patterns: &[String]) -> String {
    match patterns {
        [only] => format!("pattern = {}", toml_string(only)),
        all => {
            let all: Vec<_> = all.iter().map(|pattern| toml_string(pattern)).collect();
            format!("patterns = [{}]", all.join(", "))
        }
    }
}

/// A TOML string in which every hidden character is escaped, so that people see all of it.
fn toml_string(text: &str) -> String {
    let mut string = String::new();
    // A JSON string is a TOML string, except that TOML requires more characters to be escaped.
    for letter in Value::from(text).to_string().chars() {
        if is_hidden(letter) {
            let _never = write!(string, "\\U{:08x}", u32::from(letter));
        } else {
            string.push(letter);
        }
    }
    string
}

/// The patterns that match only this call.
pub(super) fn exact_patterns(call: &Call, links: Links<'_>) -> Option<Vec<String>> {
    let is_exact = |text: &str| Wildcard::parse(text).is_some_and(|pattern| pattern.exact() == Some(text));
    let exactly = |text: &str| is_exact(text).then(|| vec![text.to_owned()]);
    if let Some(line) = call.command() {
        return exactly(line.trim());
    }
    match call.tool.as_str() {
        tool if SEARCHES.contains(&tool) => None,
        tool if PATH_TOOLS.contains(&tool) => {
            let paths = CallPaths::of(call, links);
            Some(paths.plain()?.into_iter().map(|path| format!("/{path}")).collect())
        }
        "WebFetch" => {
            let url = call.input.get("url").and_then(Value::as_str)?;
            web::host(url).and_then(|_| exactly(url))
        }
        _ => exactly(&call.input.to_string()),
    }
}
