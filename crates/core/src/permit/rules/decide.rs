//! Finds the first rule that decides on a call.

use serde_json::Value;

use super::call_paths::{CallPaths, Links, PATH_TOOLS};
use super::shell::{ShellLine, WriteScope};
use super::web::{self, DOMAIN};
use super::{Action, Matched, Pattern, Rule, Rules, Wildcard};
use shell_guard::call::Call;
use shell_guard::line::{Command, Doubt};

/// What callers provide to apply rules to a call.
#[derive(Clone, Copy)]
pub struct Reading<'a> {
    /// Parses the commands of a shell line.
    pub commands: &'a dyn Fn(&str) -> Result<Vec<Command>, Doubt>,
    /// Returns the target of a symbolic link; `None` if the path is not a link or doesn't exist.
    pub links: Links<'a>,
    /// Whether the guard could not determine the call's effects. Then only a rule with the call's exact text can allow
    /// it.
    pub doubted: bool,
}

impl std::fmt::Debug for Reading<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Reading").field("doubted", &self.doubted).finish_non_exhaustive()
    }
}

/// The part of a call that patterns are matched against.
enum Subject<'a> {
    Shell(ShellLine<'a>),
    Paths(CallPaths<'a>),
    Web { url: Option<&'a str>, host: Option<String> },
    Other(String),
}

/// Returns the first rule that matches `call`, in the order of `files`.
///
/// A rule without patterns matches every call of its tools; others match if one of their patterns does. A shell line is
/// denied if any command in it is, and allowed if each command is, by this rule or an earlier one.
#[must_use]
pub fn decide(files: &[&Rules], call: &Call, reading: Reading<'_>) -> Option<Matched> {
    let relevant = files.iter().flat_map(|file| {
        let numbered = file.rules.iter().enumerate();
        numbered.filter(|(_, rule)| rule.tool.matches(&call.tool)).map(|(index, rule)| (*file, index, rule))
    });
    // Most calls are of tools without rules; parsing a line and resolving links takes time.
    let mut relevant = relevant.peekable();
    relevant.peek()?;
    let subject = Subject::of(call, reading);
    let mut allowed: Vec<&Wildcard> = Vec::new();
    relevant.find_map(|(file, index, rule)| {
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
            return Self::Shell(ShellLine::new(raw, (reading.commands)(raw), &call.place, reading.links));
        }
        match call.tool.as_str() {
            tool if PATH_TOOLS.contains(&tool) => Self::Paths(CallPaths::of(call, reading.links)),
            "WebFetch" => {
                let url = call.input.get("url").and_then(Value::as_str);
                Self::Web { url, host: url.and_then(web::host) }
            }
            _ => Self::Other(call.input.to_string()),
        }
    }

    /// Whether `rule` decides, and by which of its patterns. Collects the patterns of `allow` rules so far in
    /// `allowed`.
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
                if let Some(exact) = patterns.iter().find(|pattern| line.is_exactly(&pattern.words)) {
                    return Some(Some(exact));
                }
                allowed.extend(patterns.iter().map(|pattern| &pattern.words));
                let covered = !doubted && line.all_match(allowed, WriteScope::Workspace);
                covered.then(|| patterns.iter().find(|pattern| line.any_matches(&pattern.words)))
            }
            (_, Action::Allow) if doubted => None,
            (Self::Paths(paths), Action::Allow) => paths.all_match(patterns).then(|| {
                let alone = |pattern: &&Pattern| paths.all_match(std::slice::from_ref(*pattern));
                patterns.iter().find(alone)
            }),
            (Self::Paths(paths), _) => patterns.iter().find(|pattern| paths.any_matches(pattern)).map(Some),
            (Self::Web { url, host }, action) => {
                let if_unknown = action != Action::Allow;
                let matches = |pattern: &&Pattern| match (&pattern.host, host) {
                    (Some(pattern), Some(host)) => pattern.matches(host),
                    (Some(_), None) => if_unknown,
                    (None, _) => url.map_or(if_unknown, |url| {
                        !pattern.text.starts_with(DOMAIN) && pattern.words.matches(url)
                    }),
                };
                patterns.iter().find(matches).map(Some)
            }
            (Self::Other(json), _) => patterns.iter().find(|pattern| pattern.words.matches(json)).map(Some),
        }
    }
}
