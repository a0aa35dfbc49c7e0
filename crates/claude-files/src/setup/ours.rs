//! Recognizes murmur's commands: those that run its hook for an event that does not decide.
//!
//! A guarding command (`murmur-hook PreToolUse || exit 2`) was added by the user, and removing it would disable the
//! guard, so it never counts as one of setup's.

use murmur_agent::settings::DECIDING;
use std::path::Path;
use sys::shell;

/// Whether the shell command `command` only calls murmur's hook, of any version and path: the program `murmur-hook`, or
/// `murmur` with the argument `hook`, followed by just an event name.
pub(super) fn is_ours(command: &str) -> bool {
    as_written(command).is_some()
}

/// Whether `command` is exactly as setup writes it, with the program's absolute path.
pub(super) fn is_written_by_setup(command: &str) -> bool {
    command.starts_with("'/") && as_written(command).is_some_and(|written| written == command)
}

/// How setup would write `command`, if it is ours.
fn as_written(command: &str) -> Option<String> {
    let mut words = Words(command);
    let program = words.next()?;
    let word = match Path::new(&program).file_name()?.to_str()? {
        "murmur-hook" => "",
        "murmur" if words.next()? == "hook" => "hook ",
        _ => return None,
    };
    let event = words.next()?;
    // Anything more was added by the user.
    let is_all = words.0.trim_matches([' ', '\t', '\n']).is_empty();
    (is_all && is_event(&event) && !DECIDING.contains(&event.as_str()))
        .then(|| format!("{} {word}{event}", shell::single_quoted(&program)))
}

/// Event names are in PascalCase; the set differs by version.
fn is_event(word: &str) -> bool {
    word.starts_with(|letter: char| letter.is_ascii_uppercase())
        && word.chars().all(|letter| letter.is_ascii_alphabetic())
}

/// The unquoted words of a simple command, up to an operator such as `;`, an unclosed quote or a command substitution.
struct Words<'a>(&'a str);

impl Iterator for Words<'_> {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        let mut word = None::<String>;
        let mut rest = self.0.trim_start_matches([' ', '\t']).chars();
        loop {
            let after = rest.clone();
            match rest.next() {
                None => break,
                Some(' ' | '\t' | '\n' | ';' | '|' | '&' | '<' | '>' | '(' | ')') => {
                    rest = after;
                    break;
                }
                Some('\'') => {
                    let (quoted, left) = rest.as_str().split_once('\'')?;
                    word.get_or_insert_default().push_str(quoted);
                    rest = left.chars();
                }
                Some('`') => return None,
                Some('"') => loop {
                    match rest.next()? {
                        '`' => return None,
                        '$' if rest.as_str().starts_with('(') => return None,
                        '"' => {
                            word.get_or_insert_default();
                            break;
                        }
                        '\\' => word.get_or_insert_default().push(rest.next()?),
                        letter => word.get_or_insert_default().push(letter),
                    }
                },
                Some('\\') => word.get_or_insert_default().push(rest.next()?),
                Some(letter) => word.get_or_insert_default().push(letter),
            }
        }
        self.0 = rest.as_str();
        word
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_ours_by_its_program_and_event_name() {
        for ours in [
            "'/opt/it'\\''s/murmur-hook' PostToolUse",
            "murmur-hook Stop",
            "\"/a b/murmur-hook\" 'Stop'",
            "/a\\ b/murmur-hook  SessionEnd ",
            "\"$HOME/bin/murmur-hook\" Stop\n",
            "'/usr/bin/murmur' hook PostToolUse",
            "~/.cargo/bin/murmur hook SomethingNew",
        ] {
            assert!(is_ours(ours), "{ours}");
        }
        for foreign in [
            "",
            "murmur-hook",
            "murmur hook",
            "murmur beat Stop",
            "murmur-hook || exit 2",
            "'/usr/bin/murmur-hook' PreToolUse || exit 2",
            "murmur hook PermissionRequest",
            "my-murmur-hook Stop",
            "murmur-hook/x Stop",
            "echo murmur-hook Stop",
            "'murmur-hook Stop",
            "murmur-hook; Stop",
            "murmur-hook stop",
            "murmur-hook Stop;",
            "'/a/murmur-hook' Stop; notify.sh done",
            "'/a/murmur-hook' Stop && notify.sh",
            "'/a/murmur-hook' Stop | tee log",
            "'/a/murmur-hook' Stop\nnotify.sh",
            "'/a/murmur-hook' Stop 2>/dev/null",
            "'/a/murmur-hook' Stop more",
            "'/a/murmur-hook' Stop # mine",
            "\"$(notify.sh)/murmur-hook\" Stop",
            "\"`notify.sh`/murmur-hook\" Stop",
            "`notify.sh`/murmur-hook Stop",
        ] {
            assert!(!is_ours(foreign), "{foreign}");
        }
    }

    #[test]
    fn only_the_exact_form_counts_as_written_by_setup() {
        for written in
            ["'/a/murmur-hook' Stop", "'/opt/it'\\''s/murmur-hook' PostToolUse", "'/a b/murmur' hook Stop"]
        {
            assert!(is_written_by_setup(written), "{written}");
        }
        for other in [
            "/a/murmur-hook Stop",
            "'./murmur-hook' Stop",
            "'murmur-hook' Stop",
            "'/a/murmur-hook'  Stop",
            "'/a/murmur-hook' Stop ",
            "'/a/murmur-hook' 'Stop'",
            "'/a/'\"$HOME\"'/murmur-hook' Stop",
            "'/a/murmur-hook' Stop; notify.sh",
        ] {
            assert!(!is_written_by_setup(other), "{other}");
        }
    }
}
