//! The events for which the agent's pulse is written. Pure.
//!
//! Takes the JSON from stdin and returns the part of the pulse that is in it. Missing and malformed fields are left
//! out: the pulse contains what is known.

use murmur_core::id::SessionId;
use murmur_store::pulse::shallow::{self, Object};
use murmur_store::pulse::{ACTION, Pulse, State, action, brief, owner};
use serde_json::value::RawValue;
use std::path::PathBuf;

/// Maximum length of an error, in characters.
const MAX_ERROR: usize = 200;

/// Maximum length of a name, in characters.
const MAX_NAME: usize = 200;

/// An event that needs no decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PulseEvent {
    /// A session started, or was resumed.
    SessionStart,
    /// A person sent a prompt.
    UserPromptSubmit,
    /// A tool call succeeded.
    PostToolUse,
    /// A tool call failed.
    PostToolUseFailure,
    /// A turn ended.
    Stop,
    /// A turn ended because a request to the model failed.
    StopFailure,
    /// A session ended.
    SessionEnd,
}

/// The contents of an event.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct PulseReport {
    /// The pulse, without time, agent, task, branch and process.
    pub(super) pulse: Pulse,
    /// The agent's working folder.
    pub(super) cwd: Option<PathBuf>,
}

impl PulseEvent {
    /// The event of that name.
    pub(super) fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "SessionStart" => Self::SessionStart,
            "UserPromptSubmit" => Self::UserPromptSubmit,
            "PostToolUse" => Self::PostToolUse,
            "PostToolUseFailure" => Self::PostToolUseFailure,
            "Stop" => Self::Stop,
            "StopFailure" => Self::StopFailure,
            "SessionEnd" => Self::SessionEnd,
            _ => return None,
        })
    }

    /// Reads the event's JSON.
    pub(super) fn read(self, text: &str) -> serde_json::Result<PulseReport> {
        let payload = Object::parse(text)?;
        let is_tool = matches!(self, Self::PostToolUse | Self::PostToolUseFailure);
        let tool = payload.text("tool_name").filter(|_| is_tool).map(|name| brief::line(&name, MAX_NAME));
        let tool_name = tool.unwrap_or_default();
        let line = |name: &str| brief::line(&payload.text(name).unwrap_or_default(), ACTION);
        let last_action = match self {
            Self::PostToolUse | Self::PostToolUseFailure => {
                payload.get("tool_input").map(|input| action::of(&tool_name, input.get())).unwrap_or_default()
            }
            Self::UserPromptSubmit => {
                let prompt = payload.text("prompt").unwrap_or_default();
                brief::line(notification(&prompt).unwrap_or(&prompt), ACTION)
            }
            Self::Stop | Self::StopFailure => line("last_assistant_message"),
            Self::SessionStart => with_detail("session began", &line("source")),
            Self::SessionEnd => with_detail("session ended", &line("reason")),
        };
        let pulse = Pulse {
            tool_name,
            last_action,
            session_id: payload.text("session_id").and_then(|id| owner::plain(&id)).map(SessionId::new),
            state: self.state(&payload),
            tool_use_id: payload.text("tool_use_id").filter(|_| is_tool).and_then(|id| owner::plain(&id)),
            duration_ms: payload.get("duration_ms").filter(|_| is_tool).and_then(milliseconds),
            error: self.error(&payload),
            ..Pulse::default()
        };
        // Longer than any real path; a truncated path would be a different one.
        let cwd = payload.text("cwd").filter(|cwd| cwd.len() <= owner::MAX_TEXT);
        Ok(PulseReport { pulse, cwd: cwd.map(PathBuf::from) })
    }

    fn state(self, payload: &Object<'_>) -> State {
        match self {
            // Compaction happens in the middle of a turn.
            Self::SessionStart if payload.text("source").as_deref() == Some("compact") => State::Running,
            Self::SessionStart => State::Starting,
            Self::UserPromptSubmit | Self::PostToolUse | Self::PostToolUseFailure => State::Running,
            Self::Stop | Self::StopFailure => State::Idle,
            Self::SessionEnd => State::Exited,
        }
    }

    fn error(self, payload: &Object<'_>) -> Option<String> {
        let text = match self {
            Self::PostToolUseFailure | Self::StopFailure => error_text(payload.get("error")?),
            Self::PostToolUse => failure(payload.get("tool_response")?)?,
            _ => return None,
        };
        let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        Some(brief::line(first, MAX_ERROR)).filter(|error| !error.is_empty())
    }
}

/// The summary of a background task that ended, if `prompt` is Claude Code's own notification about it.
fn notification(prompt: &str) -> Option<&str> {
    let rest = prompt.trim_start().strip_prefix("<task-notification>")?;
    let summary = &rest[rest.find("<summary>")? + "<summary>".len()..];
    summary.find("</summary>").map(|end| &summary[..end])
}

/// `what`, followed by Claude Code's own `detail` in parentheses, if there is any.
fn with_detail(what: &str, detail: &str) -> String {
    if detail.is_empty() { what.to_owned() } else { brief::line(&format!("{what} ({detail})"), ACTION) }
}

/// The error in a tool's response, if the call failed.
fn failure(response: &RawValue) -> Option<String> {
    // Most responses are long and report no error.
    memchr::memmem::find(response.get().as_bytes(), b"rror\"")?;
    let response = Object::parse(response.get()).ok()?;
    let is_failure = ["is_error", "isError"]
        .into_iter()
        .any(|name| response.get(name).is_some_and(|value| value.get() == "true"));
    let what = ["error", "content", "message"].into_iter().find_map(|name| response.get(name));
    is_failure.then(|| what.map_or_else(|| "failed".to_owned(), error_text))
}

/// The text of an error: a string, an object's message, the text of the first block, or else the JSON.
fn error_text(error: &RawValue) -> String {
    let of_object = |value: &RawValue| {
        let object = Object::parse(value.get()).ok()?;
        ["message", "text", "error", "type"].into_iter().find_map(|name| object.text(name))
    };
    shallow::text(error)
        .or_else(|| of_object(error))
        .or_else(|| shallow::elements(error).into_iter().find_map(of_object))
        .unwrap_or_else(|| error.get().to_owned())
}

/// Parses whole milliseconds.
fn milliseconds(value: &RawValue) -> Option<u64> {
    let whole = value.get().split('.').next()?;
    whole.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use murmur_agent::settings::PULSE_EVENTS;

    fn read(event: &str, text: &str) -> PulseReport {
        PulseEvent::parse(event).unwrap().read(text).unwrap()
    }

    #[test]
    fn every_registered_event_is_known() {
        for (event, _) in PULSE_EVENTS {
            assert!(PulseEvent::parse(event).is_some(), "{event}");
        }
        assert_eq!(PulseEvent::parse("PreToolUse"), None);
    }

    #[test]
    fn each_event_has_its_state_and_its_words() {
        use State::{Exited, Idle, Running, Starting};
        for (event, text, state, words) in [
            ("SessionStart", r#"{"source":"startup"}"#, Starting, "session began (startup)"),
            ("SessionStart", r#"{"source":"compact"}"#, Running, "session began (compact)"),
            ("SessionStart", r#"{"source":7}"#, Starting, "session began"),
            ("UserPromptSubmit", r#"{"prompt":"Fix\nit"}"#, Running, "Fix it"),
            (
                "UserPromptSubmit",
                r#"{"prompt":"<task-notification>\n<task-id>b1</task-id>\n<summary>It ended</summary>\n</task-notification>"}"#,
                Running,
                "It ended",
            ),
            ("PostToolUse", r#"{"tool_name":"Bash","tool_input":{"command":"ls"}}"#, Running, "ls"),
            ("PostToolUseFailure", r#"{"tool_name":"Bash","tool_input":{"command":"ls"}}"#, Running, "ls"),
            ("PostToolUse", "{}", Running, ""),
            ("PostToolUse", r#"{"tool_name":"Bash","tool_input":null}"#, Running, ""),
            ("Stop", r#"{"last_assistant_message":"Done."}"#, Idle, "Done."),
            ("StopFailure", r#"{"last_assistant_message":"API Error"}"#, Idle, "API Error"),
            ("SessionEnd", r#"{"reason":"other"}"#, Exited, "session ended (other)"),
            (
                "SessionEnd",
                r#"{"tool_name":"Bash","tool_use_id":"t","duration_ms":1}"#,
                Exited,
                "session ended",
            ),
        ] {
            let PulseReport { pulse, .. } = read(event, text);
            assert_eq!((pulse.state, pulse.last_action.as_str()), (state, words), "{event} {text}");
            let names_tool = event.starts_with("PostToolUse") && text.contains("tool_name");
            assert_eq!(pulse.tool_name.as_str(), if names_tool { "Bash" } else { "" }, "{event} {text}");
        }
    }

    #[test]
    fn long_and_deep_input_is_read() {
        let deep = "[".repeat(1 << 20) + &"]".repeat(1 << 20);
        let long = "x".repeat(8 << 20);
        let text =
            format!(r#"{{"tool_name":"Bash","tool_input":{{"command":"{long}"}},"tool_response":{deep}}}"#);
        assert_eq!(read("PostToolUse", &text).pulse.last_action, format!("{}…", "x".repeat(ACTION - 1)));
    }

    #[test]
    fn a_call_has_its_ids_and_duration() {
        let report = read(
            "PostToolUse",
            r#"{"session_id":"s","cwd":"/w","tool_name":"Read","tool_input":{"file_path":"/a"},"tool_use_id":"t1",
            "tool_response":{"type":"text","error":"none"},"duration_ms":12.5}"#,
        );
        let expected = Pulse {
            tool_name: "Read".into(),
            last_action: "/a".into(),
            session_id: Some(SessionId::new("s")),
            tool_use_id: Some("t1".into()),
            duration_ms: Some(12),
            ..Pulse::default()
        };
        assert_eq!(report, PulseReport { pulse: expected, cwd: Some("/w".into()) });
        let odd = read(
            "PostToolUse",
            r#"{"session_id":"","cwd":1,"tool_name":[],"tool_use_id":{},"duration_ms":"x"}"#,
        );
        assert_eq!(odd, PulseReport::default());
    }

    #[test]
    fn an_error_is_the_first_line_of_its_text_without_secrets() {
        for (event, text, error) in [
            ("PostToolUseFailure", r#"{"error":"\nExit code 3\nmore"}"#, Some("Exit code 3")),
            ("PostToolUseFailure", r#"{"error":"bad TOKEN=abcdef"}"#, Some("bad TOKEN=[removed]")),
            ("PostToolUseFailure", r#"{"error":{"message":"gone"}}"#, Some("gone")),
            ("PostToolUseFailure", r#"{"error":["a"]}"#, Some(r#"["a"]"#)),
            ("PostToolUseFailure", r#"{"error":""}"#, None),
            ("PostToolUseFailure", "{}", None),
            ("StopFailure", r#"{"error":"rate_limit"}"#, Some("rate_limit")),
            ("PostToolUse", r#"{"tool_response":{"is_error":true,"content":"no"}}"#, Some("no")),
            (
                "PostToolUse",
                r#"{"tool_response":{"isError":true,"content":[{"type":"text","text":"no\nmore"}]}}"#,
                Some("no"),
            ),
            ("PostToolUse", r#"{"tool_response":{"is_error":true}}"#, Some("failed")),
            ("PostToolUse", r#"{"tool_response":{"is_error":false,"content":"no"}}"#, None),
            ("PostToolUse", r#"{"tool_response":"is_error\""}"#, None),
            ("Stop", r#"{"error":"x"}"#, None),
        ] {
            assert_eq!(read(event, text).pulse.error.as_deref(), error, "{event} {text}");
        }
        let long = format!(r#"{{"error":"{}"}}"#, "x".repeat(5000));
        assert_eq!(read("StopFailure", &long).pulse.error.unwrap().chars().count(), MAX_ERROR);
    }

    #[test]
    fn only_an_object_is_accepted_however_deep_it_is() {
        for text in ["", "null", "[]", "{", "{}{}"] {
            assert!(PulseEvent::Stop.read(text).is_err(), "{text}");
        }
        let deep = "[".repeat(200_000) + &"]".repeat(200_000);
        let deep = format!(
            r#"{{"tool_name":"X","tool_input":{{"a":{deep}}},"tool_response":{deep},"error":{deep}}}"#
        );
        for (event, _) in PULSE_EVENTS {
            assert!(read(event, &deep).pulse.last_action.chars().count() <= ACTION);
        }
    }
}
