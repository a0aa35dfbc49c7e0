//! permissions.toml: a user's own rules on what an agent may do. Parses rules, and finds the rule that decides on a
//! call. docs/reference/permissions.md is the user's view of it.

mod call_paths;
mod decide;
mod deny_rules;
mod entry;
mod file;
mod file_proposals;
mod path;
mod proposals;
mod shell;
#[cfg(test)]
pub(super) mod tests;
mod web;
mod wildcard;

use serde::{Deserialize, Serialize};
use std::fmt;

pub use decide::{Reading, decide};
pub use entry::{EntryError, append_rule, only_this, patterns_line};
use path::PathPattern;
pub use proposals::{Proposal, proposals};
pub(super) use shell::{ShellLine, WriteScope};
use web::Host;
pub(super) use wildcard::Wildcard;

/// What a rule does with a call that it matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// Lets it run.
    Allow,
    /// Denies it.
    Deny,
    /// Skips all later rules, and leaves the decision to the policy.
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

/// A rule.
#[derive(Debug, Clone)]
pub struct Rule {
    tool: Tool,
    action: Action,
    patterns: Vec<Pattern>,
    line: u32,
}

/// The tools that a rule applies to.
#[derive(Debug, Clone)]
struct Tool {
    text: String,
    name: Wildcard,
}

/// A pattern in each of its possible meanings; which one applies depends on the tool.
#[derive(Debug, Clone)]
struct Pattern {
    text: String,
    words: Wildcard,
    path: Option<PathPattern>,
    host: Option<Host>,
}

/// The rule that decides on a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Matched {
    /// The file with the rule.
    pub file: String,
    /// Its number in the file, from 1.
    pub number: usize,
    /// The line where it begins.
    pub line: u32,
    /// What it does.
    pub action: Action,
    /// The pattern that matched; `None` if the rule applies to every call of the tool.
    pub pattern: Option<String>,
}

impl Rules {
    /// The file with the rules.
    #[must_use]
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The rules, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Rule> {
        self.rules.iter()
    }

    /// The manager's patterns, or `None` if the file has none.
    #[must_use]
    pub fn manager(&self) -> Option<&[String]> {
        self.manager.as_deref()
    }
}

impl Rule {
    /// The tool's name, or a name with `*` for several tools.
    #[must_use]
    pub fn tool(&self) -> &str {
        &self.tool.text
    }

    /// What it does.
    #[must_use]
    pub fn action(&self) -> Action {
        self.action
    }

    /// Its patterns; none if it applies to every call of the tool.
    pub fn patterns(&self) -> impl ExactSizeIterator<Item = &str> {
        self.patterns.iter().map(|pattern| pattern.text.as_str())
    }

    /// The line where it begins.
    #[must_use]
    pub fn line(&self) -> u32 {
        self.line
    }
}

impl Tool {
    /// Whether the rule applies to `tool`: by its name, or by the name of its MCP server.
    fn matches(&self, tool: &str) -> bool {
        let of_server = || {
            let server = self.name.exact().filter(|name| is_server(name));
            server.is_some_and(|server| tool.strip_prefix(server).is_some_and(|rest| rest.starts_with("__")))
        };
        self.name.matches(tool) || of_server()
    }
}

/// Whether a name is `mcp__server`, without a tool.
fn is_server(name: &str) -> bool {
    name.strip_prefix("mcp__").is_some_and(|server| !server.is_empty() && !server.contains("__"))
}
