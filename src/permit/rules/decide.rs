//! A call and the rules in, the first rule that decides out.

use serde_json::Value;

use super::place::{Links, PATH_TOOLS, Paths};
use super::shell::{Line, Trust};
use super::web::{self, DOMAIN};
use super::{Action, Matched, Pattern, Rule, Rules, Wildcard};
use crate::permit::call::Call;
use crate::permit::line::{Command, Doubt};

/// What rules need to know of the world, as who calls them finds out.
#[derive(Clone, Copy)]
pub struct Reading<'a> {
    /// The commands of a line of shell.
    pub commands: &'a dyn Fn(&str) -> Result<Vec<Command>, Doubt>,
    /// What a symbolic link points to; none where a path is no link or not there.
    pub links: Links<'a>,
    /// Whether the guard could not tell what the call does. It is then allowed by no rule but one that has it letter
    /// for letter.
    pub doubted: bool,
}

impl std::fmt::Debug for Reading<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Reading").field("doubted", &self.doubted).finish_non_exhaustive()
    }
}

/// What a pattern is held against.
enum Subject<'a> {
    Shell(Line<'a>),
    Paths(Paths<'a>),
    Web { url: Option<&'a str>, host: Option<String> },
    Other(String),
}

/// The first rule of `files`, one file after the other, that matches `call`; none where none does.
///
/// A rule without patterns matches every call of its tools. One with patterns matches where one of them does; but a line
/// of shell is forbidden where any of its commands is, and allowed where each of them is by this rule or an earlier one.
#[must_use]
pub fn decide(files: &[&Rules], call: &Call, reading: Reading<'_>) -> Option<Matched> {
    let meant = files.iter().flat_map(|file| {
        let numbered = file.rules.iter().enumerate();
        numbered.filter(|(_, rule)| rule.tool.is_meant(&call.tool)).map(|(index, rule)| (*file, index, rule))
    });
    // Most calls are of tools without any rule, and reading a line or following links takes time.
    let mut meant = meant.peekable();
    meant.peek()?;
    let subject = Subject::of(call, reading);
    let mut allowed: Vec<&Wildcard> = Vec::new();
    meant.find_map(|(file, index, rule)| {
        let pattern = subject.matching(rule, &mut allowed, reading.doubted)?;
        Some(Matched {
            file: file.file.clone(),
            number: index + 1,
            line: rule.line,
            action: rule.action,
            pattern: pattern.map(|pattern| pattern.text.clone()),
        })
    })
}

impl<'a> Subject<'a> {
    fn of(call: &'a Call, reading: Reading<'a>) -> Self {
        if let Some(raw) = call.command() {
            return Self::Shell(Line::new(raw, (reading.commands)(raw), &call.place, reading.links));
        }
        match call.tool.as_str() {
            tool if PATH_TOOLS.contains(&tool) => Self::Paths(Paths::of(call, reading.links)),
            "WebFetch" => {
                let url = call.input.get("url").and_then(Value::as_str);
                Self::Web { url, host: url.and_then(web::host) }
            }
            _ => Self::Other(call.input.to_string()),
        }
    }

    /// Whether `rule` decides, and by which of its patterns. `allowed` collects what rules before it allow.
    fn matching<'r>(
        &self,
        rule: &'r Rule,
        allowed: &mut Vec<&'r Wildcard>,
        doubted: bool,
    ) -> Option<Option<&'r Pattern>> {
        if rule.patterns.is_empty() {
            return (rule.action != Action::Allow || !doubted).then_some(None);
        }
        let patterns = &rule.patterns;
        match (self, rule.action) {
            (Self::Shell(line), Action::Deny) => {
                patterns.iter().find(|pattern| line.any_matches(&pattern.words)).map(Some)
            }
            (Self::Shell(line), Action::Pass) => {
                patterns.iter().find(|pattern| line.any_matches_beyond(&pattern.words, allowed)).map(Some)
            }
            (Self::Shell(line), Action::Allow) => {
                if let Some(exact) = patterns.iter().find(|pattern| line.is(&pattern.words)) {
                    return Some(Some(exact));
                }
                allowed.extend(patterns.iter().map(|pattern| &pattern.words));
                let covered = !doubted && line.all_match(allowed, Trust::Workspace);
                covered.then(|| patterns.iter().find(|pattern| line.any_matches(&pattern.words)))
            }
            (_, Action::Allow) if doubted => None,
            (Self::Paths(paths), Action::Allow) => paths.all_match(patterns).then(|| {
                let alone = |pattern: &&Pattern| paths.all_match(std::slice::from_ref(*pattern));
                patterns.iter().find(alone)
            }),
            (Self::Paths(paths), _) => patterns.iter().find(|pattern| paths.any_matches(pattern)).map(Some),
            (Self::Web { url, host }, action) => {
                let in_doubt = action != Action::Allow;
                let matches = |pattern: &&Pattern| match (&pattern.host, host) {
                    (Some(meant), Some(host)) => meant.is_meant(host),
                    (Some(_), None) => in_doubt,
                    (None, _) => url.map_or(in_doubt, |url| {
                        !pattern.text.starts_with(DOMAIN) && pattern.words.matches(url)
                    }),
                };
                patterns.iter().find(matches).map(Some)
            }
            (Self::Other(json), _) => patterns.iter().find(|pattern| pattern.words.matches(json)).map(Some),
        }
    }
}
