//! permissions.toml: a user's own rules on what an agent may do. Text in, rules out; a call and rules in, out comes the
//! rule that decides. docs/permissions.md says the same to users.

mod decide;
mod entry;
mod file;
mod path;
mod place;
mod shell;
#[cfg(test)]
pub(super) mod tests;
mod web;
mod wildcard;

use serde::{Deserialize, Serialize};
use std::fmt;

pub use decide::{Reading, decide};
pub use entry::{EntryError, appended};
use path::PathPattern;
pub(super) use place::real;
pub(super) use shell::{Line, Trust};
use web::Host;
pub(super) use wildcard::Wildcard;

/// What a rule says of a call that it matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// It runs.
    Allow,
    /// It does not.
    Deny,
    /// No later rule is looked at: what decides after the rules does.
    Pass,
}

impl fmt::Display for Action {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Allow => "allow",
            Self::Deny => "deny",
            Self::Pass => "pass",
        })
    }
}

/// The rules of one file.
#[derive(Debug, Clone)]
pub struct Rules {
    file: String,
    rules: Vec<Rule>,
    manager: Option<Vec<String>>,
}

/// One rule.
#[derive(Debug, Clone)]
pub struct Rule {
    tool: Tool,
    action: Action,
    patterns: Vec<Pattern>,
    line: u32,
}

/// The tools that a rule is for.
#[derive(Debug, Clone)]
struct Tool {
    text: String,
    name: Wildcard,
}

/// A pattern in each of the senses that it can have: which one counts is the tool's matter.
#[derive(Debug, Clone)]
struct Pattern {
    text: String,
    words: Wildcard,
    path: Option<PathPattern>,
    host: Option<Host>,
}

/// The rule that decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Matched {
    /// The file it stands in.
    pub file: String,
    /// Its number there, from 1.
    pub number: usize,
    /// The line it begins in.
    pub line: u32,
    /// What it says.
    pub action: Action,
    /// The pattern that matched; none where the rule is for every call of the tool.
    pub pattern: Option<String>,
}

impl Rules {
    /// The file they stand in.
    #[must_use]
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The rules, in their order: the first is number 1.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Rule> {
        self.rules.iter()
    }

    /// What this file says that the manager may run; none where it says nothing.
    #[must_use]
    pub fn manager(&self) -> Option<&[String]> {
        self.manager.as_deref()
    }
}

impl Rule {
    /// The tool, or the tools, by a `*`.
    #[must_use]
    pub fn tool(&self) -> &str {
        &self.tool.text
    }

    /// What it says.
    #[must_use]
    pub fn action(&self) -> Action {
        self.action
    }

    /// Its patterns; none where it is for every call of the tool.
    pub fn patterns(&self) -> impl ExactSizeIterator<Item = &str> {
        self.patterns.iter().map(|pattern| pattern.text.as_str())
    }

    /// The line it begins in.
    #[must_use]
    pub fn line(&self) -> u32 {
        self.line
    }
}

impl Tool {
    /// Whether it is meant: by its name, or by the name of its MCP server.
    fn is_meant(&self, tool: &str) -> bool {
        let of_server = || {
            let server = self.name.exact().filter(|name| is_server(name));
            server.is_some_and(|server| tool.strip_prefix(server).is_some_and(|rest| rest.starts_with("__")))
        };
        self.name.matches(tool) || of_server()
    }
}

/// Whether a name is `mcp__server`, without a tool of it.
fn is_server(name: &str) -> bool {
    name.strip_prefix("mcp__").is_some_and(|server| !server.is_empty() && !server.contains("__"))
}
