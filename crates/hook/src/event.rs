//! Claude Code's input to a hook: the event's name, and JSON on stdin.

use murmur_core::id::{SessionId, empty_if_unknown};
use serde::Deserialize;
use serde_json::Value;
use std::io::{self, Read};
use std::path::PathBuf;

/// Maximum size of the input, in bytes. Larger calls are denied.
pub(super) const MAX_INPUT: u64 = 32 << 20;

/// An event that murmur decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Event {
    /// A tool is about to be called.
    PreToolUse,
    /// Claude Code would ask for approval of a tool call.
    PermissionRequest,
}

impl Event {
    /// The event of that name.
    pub(super) fn parse(name: &str) -> Option<Self> {
        match name {
            "PreToolUse" => Some(Self::PreToolUse),
            "PermissionRequest" => Some(Self::PermissionRequest),
            _ => None,
        }
    }
}

/// The JSON on stdin, as far as it matters.
#[derive(Debug, Deserialize)]
pub(super) struct Input {
    /// The session.
    #[serde(default, with = "empty_if_unknown")]
    pub(super) session_id: Option<SessionId>,
    /// The file with the conversation.
    #[serde(default)]
    pub(super) transcript_path: Option<PathBuf>,
    /// The folder the call runs in.
    pub(super) cwd: PathBuf,
    /// The tool.
    pub(super) tool_name: String,
    /// The tool's input.
    pub(super) tool_input: Value,
    /// The tool call; [`Event::PermissionRequest`] has none.
    #[serde(default)]
    pub(super) tool_use_id: String,
}

/// Why the input is not usable.
#[derive(Debug, thiserror::Error)]
pub(super) enum EventError {
    /// Stdin is not readable.
    #[error("cannot read stdin")]
    Read(#[source] io::Error),
    /// Stdin is empty.
    #[error("stdin is empty, expected a hook event as JSON")]
    Empty,
    /// The input is too large.
    #[error("stdin has more than {} MiB", MAX_INPUT >> 20)]
    Long,
    /// The input has another form.
    #[error("stdin is not a hook event")]
    Garbled(#[source] serde_json::Error),
    /// The call's working folder is not absolute.
    #[error("the hook event's cwd is not an absolute path: {}", .0.display())]
    Relative(PathBuf),
}

impl Input {
    /// Reads all of `stdin`.
    pub(super) fn read(stdin: &mut impl Read) -> Result<Self, EventError> {
        let mut text = Vec::new();
        stdin.take(MAX_INPUT + 1).read_to_end(&mut text).map_err(EventError::Read)?;
        if text.is_empty() {
            return Err(EventError::Empty);
        }
        if text.len() as u64 > MAX_INPUT {
            return Err(EventError::Long);
        }
        let input: Self = serde_json::from_slice(&text).map_err(EventError::Garbled)?;
        if input.cwd.is_absolute() { Ok(input) } else { Err(EventError::Relative(input.cwd)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use murmur_agent::settings::DECIDING;

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
    fn unknown_fields_of_a_call_are_ignored() {
        let input = read(WHOLE.as_bytes()).unwrap();
        assert_eq!((input.tool_name.as_str(), input.tool_use_id.as_str()), ("Bash", "t1"));
    }

    #[test]
    fn anything_but_a_call_is_an_error() {
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
