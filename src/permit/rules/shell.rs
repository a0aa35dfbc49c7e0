//! A line of shell as rules see it: forbidden where any command in it is, allowed where every one is.

use super::place::{Bases, Links};
use super::wildcard::Wildcard;
use crate::permit::call::Place;
use crate::permit::line::{Command, Doubt};

/// A line, and the commands in it.
pub(in crate::permit) struct Line<'a> {
    raw: &'a str,
    /// None where it cannot be read.
    commands: Option<Vec<Command>>,
    bases: Bases<'a>,
    /// Whether it may go into another folder, so that nobody can say where a relative path leads.
    moves: bool,
}

/// What a command may write by redirection and still be covered by a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::permit) enum Trust {
    /// Files in the workspace.
    Workspace,
    /// None at all, and a wrapper only runs what is covered itself.
    Nothing,
}

impl<'a> Line<'a> {
    pub(in crate::permit) fn new(
        raw: &'a str,
        commands: Result<Vec<Command>, Doubt>,
        place: &Place,
        links: Links<'a>,
    ) -> Self {
        let commands = commands.ok();
        let moves = commands.iter().flatten().any(|command| any(command, &|command| goes(&command.text)));
        Self { raw: raw.trim(), commands, bases: Bases::new(place, links), moves }
    }

    /// Whether it is what `pattern` says, letter for letter.
    pub(super) fn is(&self, pattern: &Wildcard) -> bool {
        pattern.exact() == Some(self.raw)
    }

    /// Whether any command in it matches. Of a line that cannot be read, its pieces are looked at as they stand.
    pub(super) fn any_matches(&self, pattern: &Wildcard) -> bool {
        let is_match = |command: &Command| matches(pattern, &command.text);
        pattern.matches(self.raw)
            || match &self.commands {
                Some(commands) => commands.iter().any(|command| any(command, &is_match)),
                None => self.raw.split([';', '&', '|', '(', ')', '{', '}', '`', '\n']).any(|piece| {
                    let words: Vec<&str> = piece.split_whitespace().collect();
                    matches(pattern, &words.join(" "))
                }),
            }
    }

    /// Whether a command in it matches that `covered` does not allow.
    pub(super) fn any_matches_beyond(&self, pattern: &Wildcard, covered: &[&Wildcard]) -> bool {
        let Some(commands) = &self.commands else { return self.any_matches(pattern) };
        let is_match = |command: &Command| matches(pattern, &command.text);
        commands
            .iter()
            .filter(|command| !self.is_covered(command, covered, Trust::Workspace))
            .any(|command| any(command, &is_match))
    }

    /// Whether there is a command in it, and each one matches one of `patterns`.
    pub(in crate::permit) fn all_match(&self, patterns: &[&Wildcard], trust: Trust) -> bool {
        self.commands.as_ref().is_some_and(|commands| {
            !commands.is_empty() && commands.iter().all(|command| self.is_covered(command, patterns, trust))
        })
    }

    fn is_covered(&self, command: &Command, patterns: &[&Wildcard], trust: Trust) -> bool {
        // What it writes, or whom it answers, no pattern of its words has said anything about.
        let beyond = |command: &Command| {
            command.sets.iter().any(|name| can_matter(name))
                || answers_for_a_person(&command.text)
                || !self.writes_well(command, trust)
        };
        if any(command, &beyond) {
            return false;
        }
        let covered = |inner: &Command| self.is_covered(inner, patterns, trust);
        // What its words do not show, as a substitution in a here-string, its pattern has not covered.
        let shown = |inner: &Command| command.text.contains(inner.text.as_str());
        let inner = &command.inner;
        let itself = command.is_known && patterns.iter().any(|pattern| pattern.matches(&command.text));
        let passes_on = !inner.is_empty() && command.is_known && only_passes_on(&command.text);
        match trust {
            Trust::Workspace if itself => inner.iter().all(|inner| shown(inner) || covered(inner)),
            Trust::Workspace => passes_on && inner.iter().all(|inner| shown(inner) && covered(inner)),
            Trust::Nothing => (itself || passes_on) && inner.iter().all(covered),
        }
    }

    fn writes_well(&self, command: &Command, trust: Trust) -> bool {
        command.writes.iter().all(|file| {
            let Some(file) = file else { return false };
            let is_relative = !file.starts_with(['/', '~']);
            matches!(file.as_str(), "/dev/null" | "/dev/stdout" | "/dev/stderr")
                || (trust == Trust::Workspace && !(is_relative && self.moves) && self.bases.is_inside(file))
        })
    }
}

/// Whether `of` holds for a command or one that it would run.
fn any(command: &Command, of: &dyn Fn(&Command) -> bool) -> bool {
    of(command) || command.inner.iter().any(|inner| any(inner, of))
}

/// Whether a pattern that forbids matches a command, also where its program is given with its folder.
fn matches(pattern: &Wildcard, text: &str) -> bool {
    let program = text.split(' ').next().unwrap_or_default();
    let bare = program.rfind('/').and_then(|slash| text.get(slash + 1..));
    pattern.matches(text) || bare.is_some_and(|bare| pattern.matches(bare))
}

/// The name of a command's program, without its folder.
fn program(text: &str) -> &str {
    let program = text.split(' ').next().unwrap_or_default();
    program.rsplit('/').next().unwrap_or_default()
}

/// Whether a wrapper does nothing but to run what it is given. Others have a will of their own: `find -delete -exec ls`.
fn only_passes_on(text: &str) -> bool {
    let option = text.split(' ').nth(1).unwrap_or_default();
    match program(text) {
        "timeout" | "nice" | "ionice" | "nohup" | "stdbuf" | "setsid" | "command" | "builtin" | "exec"
        | "env" | "eval" | "xargs" => true,
        "time" => !option.starts_with('-'),
        "sh" | "bash" | "dash" | "ksh" | "zsh" => matches!(option, "-c" | "-lc"),
        _ => false,
    }
}

/// Whether a program may go by a variable of that name. Those of the line's own, as of a loop, are called in small letters.
fn can_matter(name: &str) -> bool {
    name.chars().any(|letter| !matches!(letter, 'a'..='z' | '0'..='9' | '_')) || name.ends_with("_proxy")
}

fn goes(text: &str) -> bool {
    matches!(program(text), "cd" | "pushd" | "popd" | "chdir")
}

/// Whether a command answers what murmur asks a person: no pattern allows an agent to say yes to itself.
fn answers_for_a_person(text: &str) -> bool {
    matches!(program(text), "murmur" | "mm")
        && text.split(' ').any(|word| matches!(word, "respond" | "approve"))
}
