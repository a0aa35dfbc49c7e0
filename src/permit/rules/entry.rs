//! A new rule for a call that a person has decided on once and for all, as text for the end of a permissions.toml.

use crate::error::Hinted;
use std::path::Path;

use serde_json::Value;

use super::place::PATH_TOOLS;
use super::{Action, Rules, Wildcard, web};
use crate::config::problem::Problem;
use crate::permit::call::Call;

/// Why there is no rule for a call.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EntryError {
    /// A pattern would mean more than the call.
    #[error("no pattern means this call of {tool} and nothing else")]
    Inexact {
        /// Its tool.
        tool: String,
        /// Where the rule would go.
        file: String,
    },
    /// The file is wrong as it is, or it cannot be added to.
    #[error(transparent)]
    Wrong(#[from] Problem),
}

impl Hinted for EntryError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Inexact { file, .. } => format!("write a rule of your own into {file}"),
            Self::Wrong(problem) => return problem.hint(),
        })
    }
}

/// The text of a permissions.toml with one more rule at its end, which means exactly this call: the same line of shell,
/// the same file, the same URL. All of `text` stays as it is.
///
/// # Errors
/// When `text`, or what would come of it, is no permissions.toml, or no pattern means the call alone.
pub fn appended(text: &str, file: &Path, call: &Call, action: Action) -> Result<String, EntryError> {
    Rules::parse(text.as_bytes(), file)?;
    let inexact = || EntryError::Inexact { tool: call.tool.clone(), file: file.display().to_string() };
    let pattern = pattern(call).ok_or_else(inexact)?;
    // A string of JSON is one of TOML, but for a character that only TOML wants escaped.
    let string = |text: &str| Value::from(text).to_string().replace('\u{7f}', "\\u007f");
    let gap = if text.is_empty() || text.ends_with("\n\n") {
        ""
    } else if text.ends_with('\n') {
        "\n"
    } else {
        "\n\n"
    };
    let new = format!(
        "{text}{gap}[[rules]]\ntool = {}\naction = \"{action}\"\npattern = {}\n",
        string(&call.tool),
        string(&pattern)
    );
    Rules::parse(new.as_bytes(), file)?;
    Ok(new)
}

/// The pattern that means a call and no other.
fn pattern(call: &Call) -> Option<String> {
    let alone = |text: &str| Wildcard::parse(text).is_some_and(|pattern| pattern.exact() == Some(text));
    if let Some(line) = call.command() {
        return Some(line.trim()).filter(|line| alone(line)).map(str::to_owned);
    }
    match call.tool.as_str() {
        "Glob" | "Grep" | "LS" => None,
        tool if PATH_TOOLS.contains(&tool) => {
            let path = ["file_path", "notebook_path"].iter().find_map(|key| call.input.get(key)?.as_str())?;
            let is_plain = path.starts_with('/')
                && !path.ends_with('/')
                && !path.contains(['*', '?', '[', ']', '{', '}', '\\'])
                && !path.split('/').any(|part| part == "..");
            is_plain.then(|| format!("/{path}"))
        }
        "WebFetch" => {
            let url = call.input.get("url").and_then(Value::as_str)?;
            let is_plain = web::host(url).is_some() && alone(url);
            is_plain.then(|| url.to_owned())
        }
        _ => Some(call.input.to_string()).filter(|json| alone(json)),
    }
}
