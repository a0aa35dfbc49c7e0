//! Determines an agent's own id from the environment and Claude Code.

use murmur_agent::invocation::AGENT_VARIABLE;
use murmur_core::id::SessionId;
use std::ffi::OsString;
use sys::tmux;

/// The variable in which Claude Code passes its conversation id to child processes.
pub const SESSION_VARIABLE: &str = "CLAUDE_CODE_SESSION_ID";

/// The most bytes of an agent's id, and of other unmodified text in a pulse.
pub const MAX_TEXT: usize = 4 << 10;

/// The most characters of a Claude Code id.
const ID: usize = 200;

/// The id of the agent that runs this process: `MURMUR_AGENT_ID`, else the tmux session's name, else from the
/// conversation `session` or that in the environment, if any.
#[must_use]
pub fn own(session: Option<&SessionId>) -> Option<String> {
    let readable = |name: &str| std::env::var_os(name).and_then(readable);
    let session = || session.cloned().or_else(|| readable(SESSION_VARIABLE).map(SessionId::new));
    first(readable(AGENT_VARIABLE), tmux::session_name, session)
}

/// The id of the agent of `session` that has no other.
#[must_use]
pub fn of_session(session: &SessionId) -> String {
    format!("claude-{}", plain(session.as_str()).unwrap_or_default())
}

/// A Claude Code id without control characters and cut to a sane length; `None` if nothing is left.
#[must_use]
pub fn plain(id: &str) -> Option<String> {
    let id: String = id.chars().filter(|character| !character.is_control()).take(ID).collect();
    Some(id).filter(|id| !id.is_empty())
}

/// A variable's value as UTF-8; `None` if empty.
#[must_use]
pub fn readable(value: OsString) -> Option<String> {
    Some(value.to_string_lossy().into_owned()).filter(|value| !value.is_empty())
}

fn first(
    named: Option<String>,
    tmux: impl FnOnce() -> Option<String>,
    session: impl FnOnce() -> Option<SessionId>,
) -> Option<String> {
    if let Some(mut id) = named.or_else(tmux) {
        let end = (0..=MAX_TEXT.min(id.len())).rev().find(|end| id.is_char_boundary(*end));
        id.truncate(end.unwrap_or_default());
        return Some(id);
    }
    session().filter(|session| plain(session.as_str()).is_some()).map(|session| of_session(&session))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStringExt;

    #[test]
    fn the_id_comes_from_murmur_then_tmux_then_the_conversation() {
        let text = |text: &str| Some(text).filter(|text| !text.is_empty()).map(str::to_owned);
        for (named, tmux, session, expected) in [
            ("site-1", "pan", "s1", "site-1"),
            ("", "pan", "s1", "pan"),
            ("", "", "s1", "claude-s1"),
            ("", "", "s\n1", "claude-s1"),
            ("", "", "\n", ""),
            ("", "", "", ""),
        ] {
            assert_eq!(
                first(text(named), || text(tmux), || text(session).map(SessionId::new)),
                text(expected)
            );
        }
    }

    #[test]
    fn ids_are_short_and_not_cut_within_a_character() {
        let long = "x".repeat(MAX_TEXT - 1) + "ü";
        assert_eq!(first(Some(long), || None, || None), Some("x".repeat(MAX_TEXT - 1)));
        assert_eq!(of_session(&SessionId::new("x".repeat(5000))), format!("claude-{}", "x".repeat(ID)));
    }

    #[test]
    fn a_variable_that_is_not_utf_8_is_still_read() {
        assert_eq!(readable(OsString::from_vec(b"a\xff".to_vec())).as_deref(), Some("a\u{fffd}"));
        assert_eq!(readable(OsString::new()), None);
    }
}
