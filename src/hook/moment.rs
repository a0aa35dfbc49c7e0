//! The moments at which an agent's pulse is written, and what Claude Code says of them: pure.
//!
//! In comes what stood on stdin, out goes the pulse as far as it is told there. Whatever is missing, or is not what it
//! should be, is left out: the pulse says what is known.

use crate::pulse::shallow::{self, Object};
use crate::pulse::{ACTION, Pulse, State, action, brief, owner};
use serde_json::value::RawValue;
use std::path::PathBuf;

/// The most characters of an error.
const ERROR: usize = 200;

/// The most characters of a name.
const NAME: usize = 200;

/// An event that murmur looks at and does not decide on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Moment {
    /// A session has begun, or goes on.
    SessionStart,
    /// A person has said something.
    UserPromptSubmit,
    /// A tool was called.
    PostToolUse,
    /// A tool was called, and it failed.
    PostToolUseFailure,
    /// A turn is over.
    Stop,
    /// A turn is over because the model could not be reached.
    StopFailure,
    /// A session is over.
    SessionEnd,
}

/// What is told of a moment.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Told {
    /// The pulse; time, agent, task, branch and process are not in it.
    pub(super) pulse: Pulse,
    /// The folder that the agent is in.
    pub(super) cwd: Option<PathBuf>,
}

impl Moment {
    /// The event of that name, or none.
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

    /// What `text` tells of it.
    ///
    /// # Errors
    /// That it is no JSON object.
    pub(super) fn read(self, text: &str) -> serde_json::Result<Told> {
        let payload = Object::parse(text)?;
        let is_tool = matches!(self, Self::PostToolUse | Self::PostToolUseFailure);
        let tool = payload.text("tool_name").filter(|_| is_tool).map(|name| brief::line(&name, NAME));
        let tool_name = tool.unwrap_or_default();
        let words = |name: &str| brief::line(&payload.text(name).unwrap_or_default(), ACTION);
        let last_action = match self {
            Self::PostToolUse | Self::PostToolUseFailure => {
                payload.get("tool_input").map(|input| action::of(&tool_name, input.get())).unwrap_or_default()
            }
            Self::UserPromptSubmit => {
                let prompt = payload.text("prompt").unwrap_or_default();
                brief::line(notified(&prompt).unwrap_or(&prompt), ACTION)
            }
            Self::Stop | Self::StopFailure => words("last_assistant_message"),
            Self::SessionStart => with_word("session began", &words("source")),
            Self::SessionEnd => with_word("session ended", &words("reason")),
        };
        let pulse = Pulse {
            tool_name,
            last_action,
            session_id: payload.text("session_id").and_then(|id| owner::plain(&id)),
            state: self.state(&payload),
            tool_use_id: payload.text("tool_use_id").filter(|_| is_tool).and_then(|id| owner::plain(&id)),
            duration_ms: payload.get("duration_ms").filter(|_| is_tool).and_then(milliseconds),
            error: self.error(&payload),
            ..Pulse::default()
        };
        // No system has a path that is longer, and a part of one is another.
        let cwd = payload.text("cwd").filter(|cwd| cwd.len() <= owner::LONGEST);
        Ok(Told { pulse, cwd: cwd.map(PathBuf::from) })
    }

    fn state(self, payload: &Object<'_>) -> State {
        match self {
            // A conversation is made shorter in the middle of a turn.
            Self::SessionStart if payload.text("source").as_deref() == Some("compact") => State::Running,
            Self::SessionStart => State::Starting,
            Self::UserPromptSubmit | Self::PostToolUse | Self::PostToolUseFailure => State::Running,
            Self::Stop | Self::StopFailure => State::Idle,
            Self::SessionEnd => State::Exited,
        }
    }

    fn error(self, payload: &Object<'_>) -> Option<String> {
        let said = match self {
            Self::PostToolUseFailure | Self::StopFailure => said(payload.get("error")?),
            Self::PostToolUse => failure(payload.get("tool_response")?)?,
            _ => return None,
        };
        let first = said.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        Some(brief::line(first, ERROR)).filter(|error| !error.is_empty())
    }
}

/// What a background task that has ended has to say, where `prompt` is by Claude Code itself and tells of that.
fn notified(prompt: &str) -> Option<&str> {
    let rest = prompt.trim_start().strip_prefix("<task-notification>")?;
    let summary = &rest[rest.find("<summary>")? + "<summary>".len()..];
    summary.find("</summary>").map(|end| &summary[..end])
}

/// `what`, and in parentheses Claude Code's own word for how, where there is one.
fn with_word(what: &str, word: &str) -> String {
    if word.is_empty() { what.to_owned() } else { brief::line(&format!("{what} ({word})"), ACTION) }
}

/// What a tool's response says of its failure, if it is one.
fn failure(response: &RawValue) -> Option<String> {
    // Most responses are long and none of a failure.
    memchr::memmem::find(response.get().as_bytes(), b"rror\"")?;
    let response = Object::parse(response.get()).ok()?;
    let is_failure = ["is_error", "isError"]
        .into_iter()
        .any(|name| response.get(name).is_some_and(|value| value.get() == "true"));
    let what = ["error", "content", "message"].into_iter().find_map(|name| response.get(name));
    is_failure.then(|| what.map_or_else(|| "failed".to_owned(), said))
}

/// An error in words: a text, what an object has for one, the text of the first block, else the JSON.
fn said(error: &RawValue) -> String {
    let of_object = |value: &RawValue| {
        let object = Object::parse(value.get()).ok()?;
        ["message", "text", "error", "type"].into_iter().find_map(|name| object.text(name))
    };
    shallow::text(error)
        .or_else(|| of_object(error))
        .or_else(|| shallow::elements(error).into_iter().find_map(of_object))
        .unwrap_or_else(|| error.get().to_owned())
}

/// Whole milliseconds.
fn milliseconds(value: &RawValue) -> Option<u64> {
    let whole = value.get().split('.').next()?;
    whole.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::settings::PULSE_EVENTS;

    fn read(event: &str, text: &str) -> Told {
        Moment::parse(event).unwrap().read(text).unwrap()
    }

    #[test]
    fn every_event_that_is_registered_is_known() {
        for (event, _) in PULSE_EVENTS {
            assert!(Moment::parse(event).is_some(), "{event}");
        }
        assert_eq!(Moment::parse("PreToolUse"), None);
    }

    #[test]
    fn each_event_has_its_state_and_its_words() {
        use State::{Exited, Idle, Running, Starting};
        for (event, text, state, words) in [
            ("SessionStart", r#"{"source":"startup"}"#, Starting, "session began (startup)"),
            ("SessionStart", r#"{"source":"compact"}"#, Running, "session began (compact)"),
            ("SessionStart", r#"{"source":7}"#, Starting, "session began"),
            ("UserPromptSubmit", r#"{"prompt":"Mend\nit"}"#, Running, "Mend it"),
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
            let Told { pulse, .. } = read(event, text);
            assert_eq!((pulse.state, pulse.last_action.as_str()), (state, words), "{event} {text}");
            let names_tool = event.starts_with("PostToolUse") && text.contains("tool_name");
            assert_eq!(pulse.tool_name.as_str(), if names_tool { "Bash" } else { "" }, "{event} {text}");
        }
    }

    #[test]
    fn what_is_long_and_deep_is_read() {
        let deep = "[".repeat(1 << 20) + &"]".repeat(1 << 20);
        let long = "x".repeat(8 << 20);
        let text =
            format!(r#"{{"tool_name":"Bash","tool_input":{{"command":"{long}"}},"tool_response":{deep}}}"#);
        assert_eq!(read("PostToolUse", &text).pulse.last_action, "x".repeat(ACTION));
    }

    #[test]
    fn a_call_is_told_with_its_ids_and_how_long_it_took() {
        let told = read(
            "PostToolUse",
            r#"{"session_id":"s","cwd":"/w","tool_name":"Read","tool_input":{"file_path":"/a"},"tool_use_id":"t1",
            "tool_response":{"type":"text","error":"none"},"duration_ms":12.5}"#,
        );
        let expected = Pulse {
            tool_name: "Read".into(),
            last_action: "/a".into(),
            session_id: Some("s".into()),
            tool_use_id: Some("t1".into()),
            duration_ms: Some(12),
            ..Pulse::default()
        };
        assert_eq!(told, Told { pulse: expected, cwd: Some("/w".into()) });
        let odd = read(
            "PostToolUse",
            r#"{"session_id":"","cwd":1,"tool_name":[],"tool_use_id":{},"duration_ms":"x"}"#,
        );
        assert_eq!(odd, Told::default());
    }

    #[test]
    fn why_it_failed_is_the_first_line_of_what_is_said_without_secrets() {
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
        assert_eq!(read("StopFailure", &long).pulse.error.unwrap().len(), ERROR);
    }

    #[test]
    fn what_is_no_object_is_an_error_and_depth_is_none() {
        for text in ["", "null", "[]", "{", "{}{}"] {
            assert!(Moment::Stop.read(text).is_err(), "{text}");
        }
        let deep = "[".repeat(200_000) + &"]".repeat(200_000);
        let deep = format!(
            r#"{{"tool_name":"X","tool_input":{{"a":{deep}}},"tool_response":{deep},"error":{deep}}}"#
        );
        for (event, _) in PULSE_EVENTS {
            assert!(read(event, &deep).pulse.last_action.len() <= ACTION);
        }
    }
}
