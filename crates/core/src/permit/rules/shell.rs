//! A shell line as rules see it: denied if any command in it is, allowed if every command is.

use super::call_paths::{Bases, Links};
use super::wildcard::Wildcard;
use shell_guard::call::CallPlace;
use shell_guard::line::{Command, Doubt};

/// A shell line and its commands.
pub(in crate::permit) struct ShellLine<'a> {
    raw: &'a str,
    /// `None` if the line can't be parsed.
    commands: Option<Vec<Command>>,
    bases: Bases<'a>,
    /// Whether it may change the folder, so that relative paths can't be resolved.
    changes_folder: bool,
}

/// The files that an allowed command may write by redirection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::permit) enum WriteScope {
    /// Files in the workspace.
    Workspace,
    /// No files; moreover, wrappers may run only commands that are allowed themselves.
    Nothing,
}

impl<'a> ShellLine<'a> {
    pub(in crate::permit) fn new(
        raw: &'a str,
        commands: Result<Vec<Command>, Doubt>,
        place: &CallPlace,
        links: Links<'a>,
    ) -> Self {
        let commands = commands.ok();
        let changes_folder =
            commands.iter().flatten().any(|command| any(command, &|command| is_cd(&command.text)));
        Self { raw: raw.trim(), commands, bases: Bases::new(place, links), changes_folder }
    }

    /// Whether the line is exactly the text of `pattern`.
    pub(super) fn is_exactly(&self, pattern: &Wildcard) -> bool {
        pattern.exact() == Some(self.raw)
    }

    /// Whether any command in it matches. If the line can't be parsed, its raw pieces are matched.
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

    /// Whether a command in it matches that the patterns `covered` don't allow.
    pub(super) fn any_matches_beyond(&self, pattern: &Wildcard, covered: &[&Wildcard]) -> bool {
        let Some(commands) = &self.commands else { return self.any_matches(pattern) };
        let is_match = |command: &Command| matches(pattern, &command.text);
        commands
            .iter()
            .filter(|command| !self.is_covered(command, covered, WriteScope::Workspace))
            .any(|command| any(command, &is_match))
    }

    /// Whether the line has commands, and each one matches one of `patterns`.
    pub(in crate::permit) fn all_match(&self, patterns: &[&Wildcard], scope: WriteScope) -> bool {
        self.commands.as_ref().is_some_and(|commands| {
            !commands.is_empty() && commands.iter().all(|command| self.is_covered(command, patterns, scope))
        })
    }

    fn is_covered(&self, command: &Command, patterns: &[&Wildcard], scope: WriteScope) -> bool {
        // The command's words don't show which variables it sets, files it writes or requests it answers.
        let beyond = |command: &Command| {
            command.sets.iter().any(|name| can_matter(name))
                || answers_for_a_person(&command.text)
                || !self.writes_within(command, scope)
        };
        if any(command, &beyond) {
            return false;
        }
        let covered = |inner: &Command| self.is_covered(inner, patterns, scope);
        // A pattern doesn't cover what the words don't show, such as a substitution in a here-string.
        let shown = |inner: &Command| command.text.contains(inner.text.as_str());
        let inner = &command.inner;
        let itself = command.is_known && patterns.iter().any(|pattern| pattern.matches(&command.text));
        let passes_on = !inner.is_empty() && command.is_known && only_passes_on(&command.text);
        match scope {
            WriteScope::Workspace if itself => inner.iter().all(|inner| shown(inner) || covered(inner)),
            WriteScope::Workspace => passes_on && inner.iter().all(|inner| shown(inner) && covered(inner)),
            WriteScope::Nothing => (itself || passes_on) && inner.iter().all(covered),
        }
    }

    fn writes_within(&self, command: &Command, scope: WriteScope) -> bool {
        command.writes.iter().all(|file| {
            let Some(file) = file else { return false };
            let is_relative = !file.starts_with(['/', '~']);
            matches!(file.as_str(), "/dev/null" | "/dev/stdout" | "/dev/stderr")
                || (scope == WriteScope::Workspace
                    && !(is_relative && self.changes_folder)
                    && self.bases.is_inside(file))
        })
    }
}

/// Whether `of` holds for a command or any command that it would run.
fn any(command: &Command, of: &dyn Fn(&Command) -> bool) -> bool {
    of(command) || command.inner.iter().any(|inner| any(inner, of))
}

/// Whether a denying pattern matches a command, also if the program is given with its folder.
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

/// Whether a wrapper only runs the command that it is given. Others do more, such as `find -delete -exec ls`.
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

/// Whether a variable of this name may influence programs. Variables of the line itself, as in loops, are in lower
/// case.
fn can_matter(name: &str) -> bool {
    name.chars().any(|letter| !matches!(letter, 'a'..='z' | '0'..='9' | '_')) || name.ends_with("_proxy")
}

fn is_cd(text: &str) -> bool {
    matches!(program(text), "cd" | "pushd" | "popd" | "chdir")
}

/// Whether a command answers a request to a person: no pattern lets an agent approve its own calls.
fn answers_for_a_person(text: &str) -> bool {
    if !matches!(program(text), "murmur" | "mm") {
        return false;
    }
    let mut words = text.split(' ').skip(1);
    let command = loop {
        match words.next() {
            Some("--data-dir" | "--color") => _ = words.next(),
            Some(word) if word.starts_with('-') => {}
            word => break word,
        }
    };
    matches!(command, Some("allow" | "deny" | "answer" | "approve"))
        || text.split(' ').any(|word| matches!(word, "respond" | "approve"))
}
