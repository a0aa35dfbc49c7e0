//! Which commands are murmur's: those that run its hook for an event that does not decide.
//!
//! A command that guards (`murmur-hook PreToolUse || exit 2`) is the user's own doing, and taking it out would open a
//! door; so it is never taken for one of setup's.

use std::path::Path;

/// The events whose hooks decide what an agent may do.
const DECIDING: [&str; 2] = ["PreToolUse", "PermissionRequest"];

/// Whether `command`, which Claude Code gives to `sh -c`, is one that setup wrote, of whatever version and path: the
/// program `murmur-hook`, or `murmur` with the word `hook`, and then an event's name.
pub(super) fn is_ours(command: &str) -> bool {
    let mut words = Words(command);
    let Some(program) = words.next() else { return false };
    let event = match Path::new(&program).file_name().and_then(|name| name.to_str()) {
        Some("murmur-hook") => words.next(),
        Some("murmur") if words.next().as_deref() == Some("hook") => words.next(),
        _ => None,
    };
    event.is_some_and(|event| is_event(&event) && !DECIDING.contains(&event.as_str()))
}

/// Events are named in words that begin with capitals; which there are differs from version to version.
fn is_event(word: &str) -> bool {
    word.starts_with(|letter: char| letter.is_ascii_uppercase())
        && word.chars().all(|letter| letter.is_ascii_alphabetic())
}

/// The words of a simple command, unquoted. It ends at what is no word, as `;` or a quote that is not closed.
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
                Some('"') => loop {
                    match rest.next()? {
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
    fn a_command_is_ours_by_its_program_and_an_events_name() {
        for ours in [
            "'/opt/it'\\''s/murmur-hook' PostToolUse",
            "murmur-hook Stop",
            "\"/a b/murmur-hook\" 'Stop'",
            "/a\\ b/murmur-hook  SessionEnd 2>/dev/null",
            "'/usr/bin/murmur' hook PostToolUse",
            "~/.cargo/bin/murmur hook SomethingNew",
            "murmur-hook Stop;",
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
        ] {
            assert!(!is_ours(foreign), "{foreign}");
        }
    }
}
