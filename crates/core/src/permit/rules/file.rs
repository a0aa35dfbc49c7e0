//! Parses permissions.toml. Anything unknown in it is an error, since it was meant to have an effect.

use std::path::Path;
use sys::error::Failure;
use sys::failure;

use serde::Deserialize;
use toml::Spanned;

use super::call_paths::PATH_TOOLS;
use super::path::PathPattern;
use super::web::{self, Host};
use super::{Action, Pattern, Rule, Rules, Tool, Wildcard};
use crate::config::members::Members;
use crate::config::problem::{Position, Problem};
use crate::config::toml_text;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    rules: Vec<Members<Entry>>,
    manager: Option<Members<Manager>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table such as [[rules]]")]
struct Entry {
    tool: Spanned<String>,
    action: Spanned<String>,
    pattern: Option<Spanned<String>>,
    patterns: Option<Spanned<Vec<Spanned<String>>>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table such as [manager]")]
struct Manager {
    allowed_patterns: Spanned<Vec<Spanned<String>>>,
}

impl Rules {
    /// Parses the bytes of a permissions.toml; `file` is its path for error messages.
    ///
    /// Fails on unknown keys and values, and on patterns that could not match anything. On an error, callers deny every
    /// call: the rule that could not be parsed may be the one that denies it.
    pub fn parse(bytes: &[u8], file: &Path) -> Result<Self, Problem> {
        toml_text::every(bytes, file, Self::parse_well_formed)
    }

    /// Fails with all mistakes in patterns and names, if there are no others.
    fn parse_well_formed(bytes: &[u8], file: &Path) -> Result<Self, Problem> {
        let read: File = toml_text::read(bytes, file)?;
        let text = toml_text::text_of(bytes, file)?;
        let mut wrong = Vec::new();
        let rules =
            read.rules.into_iter().filter_map(|Members(entry)| entry.rule(text, &mut wrong)).collect();
        let manager = read.manager.map(|Members(manager)| {
            let list = manager.allowed_patterns.into_inner();
            valid(list.into_iter().map(manager_pattern), &mut wrong)
        });
        let problem = |Wrong { at, what }| Problem::at(file, Position::of(text, at), what);
        match Problem::first_of(wrong.into_iter().map(problem).collect()) {
            Some(problem) => Err(problem),
            None => Ok(Self { file: file.display().to_string(), rules, manager }),
        }
    }
}

/// The values without errors; adds the others' errors to `wrong`.
fn valid<T>(all: impl Iterator<Item = Result<T, Wrong>>, wrong: &mut Vec<Wrong>) -> Vec<T> {
    all.filter_map(|one| one.map_err(|error| wrong.push(error)).ok()).collect()
}

/// An error in an entry.
pub(super) struct Wrong {
    /// Its byte offset.
    at: usize,
    what: Failure,
}

impl Entry {
    fn rule(self, text: &str, wrong: &mut Vec<Wrong>) -> Option<Rule> {
        let action = action(&self.action).map_err(|error| wrong.push(error)).ok();
        // What a pattern means depends on the tool.
        let tool = tool(&self.tool).map_err(|error| wrong.push(error)).ok()?;
        let patterns = match (self.pattern, self.patterns) {
            (Some(one), Some(_)) => {
                let what = failure!(
                    "both \"pattern\" and \"patterns\" are given"; "put all of them into \"patterns\""
                );
                wrong.push(Wrong { at: one.span().start, what });
                return None;
            }
            (Some(one), None) => vec![one],
            (None, Some(several)) if several.get_ref().is_empty() => {
                let what = failure!(
                    "\"patterns\" is empty"; "add a pattern, or remove \"patterns\" to match every call of the tool"
                );
                wrong.push(Wrong { at: several.span().start, what });
                return None;
            }
            (None, Some(several)) => several.into_inner(),
            (None, None) => Vec::new(),
        };
        let patterns = valid(patterns.into_iter().map(|found| pattern(found, &tool)), wrong);
        // Use the line where the rule's table begins, which is where people look for it.
        let before = text.get(..self.tool.span().start).unwrap_or_default();
        let start = before.rfind("[[").unwrap_or(self.tool.span().start);
        Some(Rule { patterns, tool, action: action?, line: Position::of(text, start).line })
    }
}

/// Tools of Claude Code that rules are often about. A name that differs from one of them only in its case would match
/// nothing.
const KNOWN_TOOLS: [&str; 16] = [
    "Agent",
    "AskUserQuestion",
    "Bash",
    "Edit",
    "Glob",
    "Grep",
    "LS",
    "MultiEdit",
    "NotebookEdit",
    "Read",
    "Skill",
    "Task",
    "TodoWrite",
    "WebFetch",
    "WebSearch",
    "Write",
];

fn is_miscased(text: &str, known: &str) -> bool {
    text != known && text.eq_ignore_ascii_case(known)
}

fn tool(found: &Spanned<String>) -> Result<Tool, Wrong> {
    let text = found.get_ref();
    let what = if text.contains('(') {
        failure!("the part in parentheses is a pattern"; "write tool = \"Bash\" and pattern = \"git push:*\"")
    } else if text.is_empty() || text.chars().any(|letter| letter.is_whitespace() || letter.is_control()) {
        failure!("not a tool name"; "write one such as \"Bash\", \"mcp__server\" or \"*\"")
    } else if text.ends_with(":*") {
        failure!("`:*` is only for patterns"; "write a name, with a plain `*` for any text in it")
    } else if let Some(known) = KNOWN_TOOLS.iter().find(|known| is_miscased(text, known)) {
        failure!("no tool is called that"; "did you mean {known:?}?")
    } else {
        let parsed = Wildcard::parse(text).map(|name| Tool { text: text.clone(), name });
        let what = || failure!("it is empty"; "write a tool's name");
        return parsed.ok_or_else(|| Wrong { at: found.span().start, what: what() });
    };
    Err(Wrong { at: found.span().start, what: what.after(format_args!("tool {text:?}: ")) })
}

fn action(found: &Spanned<String>) -> Result<Action, Wrong> {
    let text = found.get_ref();
    let actions = [Action::Allow, Action::Deny, Action::Pass];
    actions.into_iter().find(|action| action.to_string() == *text).ok_or_else(|| {
        let what = failure!("\"action\": {text:?} is not known"; "write \"allow\", \"deny\" or \"pass\"");
        Wrong { at: found.span().start, what }
    })
}

pub(super) fn pattern(found: Spanned<String>, tool: &Tool) -> Result<Pattern, Wrong> {
    let start = found.span().start;
    let text = found.into_inner();
    let wrong = |what: Failure| Wrong { at: start, what: what.after(format_args!("pattern {text:?}: ")) };
    let Some(words) = Wildcard::parse(&text) else {
        return Err(wrong(failure!("it is empty"; "write \"*\" to match everything")));
    };
    let path = PathPattern::parse(&text);
    if let Err(error) = &path
        && PATH_TOOLS.iter().any(|name| tool.matches(name))
    {
        return Err(wrong(error.clone()));
    }
    let host = Host::parse(&text);
    if host.is_none() && text.starts_with(web::DOMAIN) && tool.matches("WebFetch") {
        return Err(wrong(
            failure!("it has no host"; "write domain:example.com, or domain:*.example.com for its subdomains"),
        ));
    }
    Ok(Pattern { words, path: path.ok(), host, text })
}

fn manager_pattern(found: Spanned<String>) -> Result<String, Wrong> {
    let start = found.span().start;
    let text = found.into_inner();
    if Wildcard::parse(&text).is_none() || text.contains(['(', ')']) || text.chars().any(char::is_control) {
        return Err(Wrong {
            at: start,
            what: failure!("pattern {text:?}: it does not name a command"; "write one such as \"murmur:*\""),
        });
    }
    Ok(text)
}
