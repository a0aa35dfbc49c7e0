//! Whose pulse it is: the agent's id, by what the environment and Claude Code say. Whoever writes a pulse or speaks of its
//! own agent finds the same id here.

use crate::agent::invocation::AGENT_VARIABLE;
use std::ffi::OsString;
use sys::tmux;

/// The variable by which Claude Code names its conversation to what it starts.
pub const SESSION_VARIABLE: &str = "CLAUDE_CODE_SESSION_ID";

/// The most bytes of an agent's id, and of any other text that a pulse has as it is.
pub const LONGEST: usize = 4 << 10;

/// The most characters of an id of Claude Code's.
const ID: usize = 200;

/// The id of the agent that runs this: `MURMUR_AGENT_ID`, else the tmux session's name, else that of the conversation
/// `session`, else of the one that the environment names; `None` where nothing says.
#[must_use]
pub fn own(session: Option<&str>) -> Option<String> {
    let readable = |name: &str| std::env::var_os(name).and_then(readable);
    let session = || session.map(str::to_owned).or_else(|| readable(SESSION_VARIABLE));
    first(readable(AGENT_VARIABLE), tmux::session_name, session)
}

/// The id of the agent that holds the conversation `session_id` and has no other.
#[must_use]
pub fn of_session(session_id: &str) -> String {
    format!("claude-{}", plain(session_id).unwrap_or_default())
}

/// An id of Claude Code's as it is, unless nobody would have made it; `None` if nothing is left of it.
#[must_use]
pub fn plain(id: &str) -> Option<String> {
    let id: String = id.chars().filter(|character| !character.is_control()).take(ID).collect();
    Some(id).filter(|id| !id.is_empty())
}

/// What a variable is set to, as JSON can have it; `None` if that is nothing.
#[must_use]
pub fn readable(value: OsString) -> Option<String> {
    Some(value.to_string_lossy().into_owned()).filter(|value| !value.is_empty())
}

fn first(
    named: Option<String>,
    tmux: impl FnOnce() -> Option<String>,
    session: impl FnOnce() -> Option<String>,
) -> Option<String> {
    if let Some(mut id) = named.or_else(tmux) {
        let end = (0..=LONGEST.min(id.len())).rev().find(|end| id.is_char_boundary(*end));
        id.truncate(end.unwrap_or_default());
        return Some(id);
    }
    session().and_then(|session| plain(&session)).map(|session| of_session(&session))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStringExt;

    #[test]
    fn an_agent_is_called_as_murmur_does_then_as_its_tmux_session_then_after_its_conversation() {
        let text = |text: &str| Some(text).filter(|text| !text.is_empty()).map(str::to_owned);
        for (named, tmux, session, expected) in [
            ("site-1", "pan", "s1", "site-1"),
            ("", "pan", "s1", "pan"),
            ("", "", "s1", "claude-s1"),
            ("", "", "s\n1", "claude-s1"),
            ("", "", "\n", ""),
            ("", "", "", ""),
        ] {
            assert_eq!(first(text(named), || text(tmux), || text(session)), text(expected));
        }
    }

    #[test]
    fn no_id_is_long_or_cut_inside_of_a_character() {
        let long = "x".repeat(LONGEST - 1) + "ü";
        assert_eq!(first(Some(long), || None, || None), Some("x".repeat(LONGEST - 1)));
        assert_eq!(of_session(&"x".repeat(5000)), format!("claude-{}", "x".repeat(ID)));
    }

    #[test]
    fn a_variable_that_is_no_utf_8_is_read_all_the_same() {
        assert_eq!(readable(OsString::from_vec(b"a\xff".to_vec())).as_deref(), Some("a\u{fffd}"));
        assert_eq!(readable(OsString::new()), None);
    }
}
