//! What Claude Code says to a hook: which event, and on stdin what it is about.

use serde::Deserialize;
use serde_json::Value;
use std::io::{self, Read};
use std::path::PathBuf;

/// The most that is read, in bytes. A call with more in it is refused.
pub(super) const MOST: u64 = 32 << 20;

/// An event that murmur decides on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Event {
    /// A tool is about to be called.
    PreToolUse,
    /// Claude Code would ask whether a tool may be called.
    PermissionRequest,
}

impl Event {
    /// The event of that name, or none.
    pub(super) fn parse(name: &str) -> Option<Self> {
        match name {
            "PreToolUse" => Some(Self::PreToolUse),
            "PermissionRequest" => Some(Self::PermissionRequest),
            _ => None,
        }
    }
}

/// What stands on stdin, as far as murmur looks at it.
#[derive(Debug, Deserialize)]
pub(super) struct Input {
    /// The conversation.
    #[serde(default)]
    pub(super) session_id: String,
    /// The file that the conversation is kept in.
    #[serde(default)]
    pub(super) transcript_path: Option<PathBuf>,
    /// The folder the call runs in.
    pub(super) cwd: PathBuf,
    /// The tool.
    pub(super) tool_name: String,
    /// What it is called with.
    pub(super) tool_input: Value,
    /// The call; [`Event::PermissionRequest`] has none.
    #[serde(default)]
    pub(super) tool_use_id: String,
}

/// Why stdin says nothing.
#[derive(Debug, thiserror::Error)]
pub(super) enum EventError {
    /// It cannot be read.
    #[error("cannot read stdin: {0}")]
    Read(#[source] io::Error),
    /// There is nothing.
    #[error("stdin is empty, where the hook's JSON should be")]
    Empty,
    /// There is too much.
    #[error("stdin has more than {} MiB", MOST >> 20)]
    Long,
    /// It is not what it should be.
    #[error("stdin is not a hook's JSON: {0}")]
    Garbled(#[source] serde_json::Error),
    /// It does not say where the call runs.
    #[error("stdin says a cwd that is not an absolute path: {}", .0.display())]
    Relative(PathBuf),
}

impl Input {
    /// Reads all of `stdin`.
    ///
    /// # Errors
    /// [`EventError`].
    pub(super) fn read(stdin: &mut impl Read) -> Result<Self, EventError> {
        let mut text = Vec::new();
        stdin.take(MOST + 1).read_to_end(&mut text).map_err(EventError::Read)?;
        if text.is_empty() {
            return Err(EventError::Empty);
        }
        if text.len() as u64 > MOST {
            return Err(EventError::Long);
        }
        let input: Self = serde_json::from_slice(&text).map_err(EventError::Garbled)?;
        if input.cwd.is_absolute() { Ok(input) } else { Err(EventError::Relative(input.cwd)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::settings::DECIDING;

    #[test]
    fn every_event_that_decides_is_known() {
        assert!(DECIDING.iter().all(|name| Event::parse(name).is_some()));
        assert_eq!(Event::parse("PostToolUse"), None);
    }

    const WHOLE: &str = r#"{"session_id":"s","transcript_path":"/t","cwd":"/w","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"ls"},"tool_use_id":"t1","new_field":[1]}"#;

    fn read(text: &[u8]) -> Result<Input, String> {
        Input::read(&mut &*text).map_err(|error| error.to_string())
    }

    #[test]
    fn a_call_is_read_with_what_is_unknown_passed_over() {
        let input = read(WHOLE.as_bytes()).unwrap();
        assert_eq!((input.tool_name.as_str(), input.tool_use_id.as_str()), ("Bash", "t1"));
    }

    #[test]
    fn whatever_is_no_call_is_an_error() {
        for cut in 0..WHOLE.len() {
            assert!(read(&WHOLE.as_bytes()[..cut]).is_err(), "{cut}");
        }
        assert!(read(format!("\u{feff}{WHOLE}").as_bytes()).is_err());
        assert!(read(format!("{WHOLE}{WHOLE}").as_bytes()).is_err());
        assert!(read(WHOLE.replace("/w", "w").as_bytes()).is_err());
        assert!(read(WHOLE.replace("tool_name", "name").as_bytes()).is_err());
        let deep = WHOLE.replace(r#"{"command":"ls"}"#, &("[".repeat(100_000) + &"]".repeat(100_000)));
        assert!(read(deep.as_bytes()).is_err());
        assert!(Input::read(&mut io::repeat(b' ')).unwrap_err().to_string().contains("more than 32 MiB"));
    }
}
