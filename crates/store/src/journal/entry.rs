//! A line of the journal: spec 0's fields in spec 0's order, then murmur's own.

use super::early_end;
use crate::limits::LimitReached;
use derun::id::SessionId as CaptureId;
use murmur_agent::conversation::Turn;
use murmur_agent::event::Tokens;
use murmur_core::config::backend::Backend;
use murmur_core::id::{BeatId, SessionId};
use murmur_core::outcome::{EarlyEnd, Outcome, OutcomeKind, StopReason};
use murmur_core::permit::request::RequestId;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use std::borrow::Cow;
use sys::process::Exit;

/// What a line is about. Defaults to a beat, which is all that older versions and other programs write.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LineKind {
    /// A beat.
    #[default]
    Beat,
    /// An agent that has been quiet for longer than `stuck` in `[quiet]`.
    Stuck,
    /// A heartbeat that keeps failing, so that it runs less often.
    Failing,
    /// A budget that a beat has used up.
    Budget,
    /// Calls that a hosted agent ran without a decision.
    #[serde(rename = "unguarded")]
    Undecided,
    /// A kind that only a newer murmur knows.
    Other,
}

/// Accepts any value, so that the line always counts.
impl<'de> Deserialize<'de> for LineKind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match Value::deserialize(deserializer)? {
            Value::Null => Self::Beat,
            Value::String(word) if word == "beat" => Self::Beat,
            Value::String(word) if word == "stuck" => Self::Stuck,
            Value::String(word) if word == "failing" => Self::Failing,
            Value::String(word) if word == "budget" => Self::Budget,
            Value::String(word) if word == "unguarded" => Self::Undecided,
            _ => Self::Other,
        })
    }
}

impl LineKind {
    /// Whether it is a beat.
    #[must_use]
    pub fn is_beat(&self) -> bool {
        *self == Self::Beat
    }

    /// The label before a line's text; `None` for a beat.
    #[must_use]
    pub fn label(self) -> Option<&'static str> {
        match self {
            Self::Beat => None,
            Self::Stuck => Some("stuck"),
            Self::Failing => Some("failing"),
            Self::Budget => Some("budget"),
            Self::Undecided => Some("no decision"),
            Self::Other => Some("other"),
        }
    }
}

/// A beat, or something else that a person should know ([`LineKind`]). Times are RFC 3339 in UTC, durations whole
/// milliseconds.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JournalEntry {
    /// When the beat started, or when the stuck agent was last active.
    pub ts: String,
    /// The workspace's path.
    pub workspace: String,
    /// `ok`, `attention`, `error`, `limited` or `skipped`.
    pub outcome: OutcomeKind,
    /// Wall-clock time of the beat, with its gates; for a stuck agent, how long it had been quiet.
    pub duration_ms: u64,
    /// With `attention`, the first 200 characters of the agent's answer; with `limited` and `skipped`, why; for a stuck
    /// agent, what it was doing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// What went wrong, with `error`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The conversation of a verbose beat. Written for people and never read back.
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    pub turns: Option<Vec<Turn>>,
    /// What the line is about.
    #[serde(default, skip_serializing_if = "LineKind::is_beat")]
    pub kind: LineKind,
    /// The beat's id; `None` in lines of other programs and of stuck agents.
    #[serde(default, deserialize_with = "known_beat", skip_serializing_if = "Option::is_none")]
    pub beat: Option<BeatId>,
    /// The name of a named heartbeat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heartbeat: Option<String>,
    /// The agent's id; empty in lines that are about no agent. Any text: agents that murmur didn't start may be stuck,
    /// too.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub agent: String,
    /// The program that ran the agent; Claude Code, if it isn't named.
    #[serde(default, skip_serializing_if = "Backend::is_default")]
    pub backend: Backend,
    /// Calls that the agent ran without a decision, which only some backends can do.
    #[serde(default, rename = "unguarded", skip_serializing_if = "Vec::is_empty")]
    pub undecided: Vec<String>,
    /// How many more such calls there were.
    #[serde(default, rename = "unguardedMore", skip_serializing_if = "is_zero")]
    pub undecided_more: usize,
    /// Claude Code's id of the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// The cost, in US dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// Whether the agent reported no cost, although a budget in US dollars counts this beat.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cost_unknown: bool,
    /// Turns, as the agent counts them, or else the model's responses in its events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub num_turns: Option<u64>,
    /// How the agent's process ended; `None` if it never started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<Exit>,
    /// How many background tasks murmur stopped after the agent's turn ended; `None` if the agent ended by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub background_ended: Option<usize>,
    /// How murmur ended it before it was done; `None` if it didn't.
    #[serde(flatten, with = "early_end")]
    pub early_end: Option<EarlyEnd>,
    /// Whether it ran without its repository's Claude files, because they were not trusted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub repository_untrusted: bool,
    /// The HTTP status of the API's error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_error_status: Option<u64>,
    /// The model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The tokens of all models and subagents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<Tokens>,
    /// The tools whose calls were denied, one entry per call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub denials: Vec<String>,
    /// Whether HEARTBEAT.md changed while the beat ran.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub heartbeat_changed: bool,
    /// The capture session with the agent's output.
    #[serde(default, deserialize_with = "valid_capture", skip_serializing_if = "Option::is_none")]
    pub capture: Option<CaptureId>,
    /// The capture session with what its gates and verifiers printed.
    #[serde(default, deserialize_with = "valid_capture", skip_serializing_if = "Option::is_none")]
    pub gate_capture: Option<CaptureId>,
    /// Why a capture is incomplete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capture_lost: Option<String>,
    /// The request whose answer the beat waits for; another beat resumes with it.
    #[serde(default, deserialize_with = "valid_request", skip_serializing_if = "Option::is_none")]
    pub waiting: Option<RequestId>,
    /// The request whose answer this beat resumed with.
    #[serde(default, deserialize_with = "valid_request", skip_serializing_if = "Option::is_none")]
    pub resumes: Option<RequestId>,
    /// The usage limit that stopped the beat, with `limited`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<LimitReached>,
    /// Whether the API was overloaded or unreachable, so that a retry may help.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub retryable: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// Reads the id of a beat; `None` if it is empty.
fn known_beat<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<BeatId>, D::Error> {
    let text = String::deserialize(deserializer)?;
    Ok(Some(text).filter(|text| !text.is_empty()).map(BeatId::new))
}

/// Reads the id of a request; `None` if it is invalid.
fn valid_request<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<RequestId>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    Ok(text.and_then(|text| RequestId::parse(&text).ok()))
}

/// Reads the id of a capture session; `None` if it is invalid.
fn valid_capture<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<CaptureId>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    Ok(text.and_then(|text| CaptureId::parse(&text).ok()))
}

impl JournalEntry {
    /// A line with only the required fields.
    #[must_use]
    pub fn new(ts: String, workspace: String, outcome: OutcomeKind, duration_ms: u64) -> Self {
        Self {
            ts,
            workspace,
            outcome,
            duration_ms,
            summary: None,
            error: None,
            turns: None,
            kind: LineKind::Beat,
            beat: None,
            heartbeat: None,
            agent: String::new(),
            backend: Backend::default(),
            undecided: Vec::new(),
            undecided_more: 0,
            session_id: None,
            cost_usd: None,
            cost_unknown: false,
            num_turns: None,
            exit: None,
            background_ended: None,
            early_end: None,
            repository_untrusted: false,
            api_error_status: None,
            model: None,
            tokens: None,
            denials: Vec::new(),
            heartbeat_changed: false,
            capture: None,
            gate_capture: None,
            capture_lost: None,
            waiting: None,
            resumes: None,
            limit: None,
            retryable: false,
        }
    }

    /// How many calls the agent ran without a decision.
    #[must_use]
    pub fn undecided_count(&self) -> usize {
        self.undecided.len() + self.undecided_more
    }

    /// Whether somebody stopped it, which is not a failure.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.early_end == Some(EarlyEnd::Stopped)
    }

    /// Its text for people: the summary or the error, and whether somebody stopped it.
    #[must_use]
    pub fn text(&self) -> Option<Cow<'_, str>> {
        let text = self.text_after_outcome()?;
        Some(if self.is_stopped() { format!("{} {text}", StopReason::Asked).into() } else { text })
    }

    /// Its text for people, next to its outcome, which already says `stopped` if somebody stopped it.
    #[must_use]
    pub fn text_after_outcome(&self) -> Option<Cow<'_, str>> {
        let text = self.summary.as_deref().or(self.error.as_deref());
        if !self.is_stopped() {
            return text.map(Cow::Borrowed);
        }
        let text = text.unwrap_or_default();
        // The journal has no key for how long it had run and what was interrupted: its error is a sentence.
        let how = text.strip_prefix(&StopReason::Asked.to_string()).and_then(|text| text.strip_prefix(' '));
        Some(match how {
            Some(how) => format!("by you {how}").into(),
            None if text.is_empty() => "by you".into(),
            None => format!("by you: {text}").into(),
        })
    }

    /// Sets the outcome and its text.
    pub fn set_outcome(&mut self, outcome: Outcome) {
        self.outcome = outcome.kind();
        (self.summary, self.error) = match outcome {
            Outcome::Ok => (None, None),
            Outcome::Attention(summary) | Outcome::Limited(summary) | Outcome::Skipped(summary) => {
                (Some(summary), None)
            }
            Outcome::Waiting(deferred) => {
                self.waiting = Some(deferred.request);
                (Some(deferred.text), None)
            }
            Outcome::Error(error) => (None, Some(error)),
        };
    }

    /// Whether both are about the same beat, or about the same quiet period of the same agent.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        self.kind == other.kind
            && if self.kind.is_beat() {
                self.beat == other.beat
            } else {
                (&self.agent, &self.ts) == (&other.agent, &other.ts)
            }
    }

    /// The line, with its newline.
    pub fn line(&self) -> serde_json::Result<String> {
        let mut line = serde_json::to_string(self)?;
        line.push('\n');
        Ok(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEAT: &str = r#"{"ts":"2026-02-03T10:00:00Z","workspace":"/w","outcome":"ok","durationMs":8200,"beat":"b","agent":"a"}"#;
    const STUCK: &str = r#"{"ts":"2026-02-03T10:00:00Z","workspace":"/w","outcome":"attention","durationMs":1860000,"summary":"agent a","kind":"stuck","agent":"a"}"#;

    fn read(line: &str) -> JournalEntry {
        serde_json::from_str(line).unwrap()
    }

    #[test]
    fn a_line_has_a_kind_unless_it_is_a_beats() {
        for (line, kind) in [(BEAT, LineKind::Beat), (STUCK, LineKind::Stuck)] {
            let entry = read(line);
            assert_eq!(entry.kind, kind);
            assert_eq!(entry.line().unwrap(), format!("{line}\n"));
        }
        assert_eq!(read(&STUCK.replace("stuck", "dreaming")).kind, LineKind::Other);
        for (kind, expected) in
            [("null", LineKind::Beat), ("7", LineKind::Other), (r#"{"a":[1]}"#, LineKind::Other)]
        {
            assert_eq!(read(&STUCK.replace(r#""stuck""#, kind)).kind, expected, "{kind}");
        }
    }

    #[test]
    fn a_stopped_beat_names_who_stopped_it() {
        let stopped = |error: &str| {
            let entry = JournalEntry {
                early_end: Some(EarlyEnd::Stopped),
                error: Some(error.to_owned()),
                ..read(BEAT)
            };
            entry.text().unwrap().into_owned()
        };
        assert_eq!(stopped("stopped after 3s, in Bash: x"), "stopped by you after 3s, in Bash: x");
        assert_eq!(stopped("2 processes remain"), "stopped by you: 2 processes remain");
        assert_eq!(
            JournalEntry { early_end: Some(EarlyEnd::Stopped), ..read(BEAT) }.text().unwrap(),
            "stopped by you"
        );
        assert_eq!(read(BEAT).text(), None);
        assert_eq!(read(STUCK).text().unwrap(), "agent a");
    }

    #[test]
    fn a_stuck_agent_is_identified_by_its_id_and_last_activity() {
        let (beat, stuck) = (read(BEAT), read(STUCK));
        assert!(beat.is_same(&read(&BEAT.replace("8200", "1"))));
        assert!(!beat.is_same(&read(&BEAT.replace(r#""beat":"b""#, r#""beat":"c""#))));
        assert!(stuck.is_same(&read(&STUCK.replace("1860000", "1900000"))));
        for other in [STUCK.replace("10:00", "10:01"), STUCK.replace(r#""agent":"a""#, r#""agent":"b""#)] {
            assert!(!stuck.is_same(&read(&other)));
        }
        assert!(!stuck.is_same(&JournalEntry { kind: LineKind::Beat, ..stuck.clone() }));
    }
}
