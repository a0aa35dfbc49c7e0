//! What happened, as programs get it on stdin and webhooks as JSON (docs/guide/notifications.md).

use murmur_core::config::notify::EventKind;
use murmur_core::id::BeatId;
use murmur_core::permit::request::RequestId;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Something that a person may want to know. Times are RFC 3339.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Event {
    /// What it is about.
    pub kind: EventKind,
    /// When it happened.
    pub ts: String,
    /// The heartbeat's name, as in config.toml.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heartbeat: Option<String>,
    /// Its name in lists, such as `mine/site`, if that differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The workspace's path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// The agent's id. Any text: agents that murmur didn't start may be stuck, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The beat's id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beat: Option<BeatId>,
    /// Its text: the beat's summary or error.
    pub text: String,
    /// The request, if one waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Request>,
}

/// A request that waits for a person.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Request {
    /// Its id.
    pub id: RequestId,
    /// Whether it asks questions, rather than for approval of a call.
    pub is_question: bool,
    /// The tool.
    pub tool: String,
    /// The call's input.
    pub input: Value,
    /// The folder that the call runs in.
    pub cwd: String,
    /// Why the guard could not tell what the call does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doubt: Option<String>,
    /// When it expires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
}

impl Event {
    /// An event without details.
    #[must_use]
    pub fn new(kind: EventKind, ts: String, text: impl Into<String>) -> Self {
        let text = text.into();
        let (heartbeat, label, workspace) = (None, None, None);
        Self { kind, ts, heartbeat, label, workspace, agent: None, beat: None, text, request: None }
    }

    /// What people call the heartbeat.
    #[must_use]
    pub fn label(&self) -> Option<&str> {
        self.label.as_deref().or(self.heartbeat.as_deref())
    }

    /// The id of the request that it is about.
    #[must_use]
    pub fn request_id(&self) -> Option<&RequestId> {
        self.request.as_ref().map(|request| &request.id)
    }
}

impl Request {
    /// The labels that answer it, if it is one question with one answer.
    #[must_use]
    pub fn choices(&self) -> Vec<String> {
        let questions = self.input.get("questions").and_then(Value::as_array);
        let Some([question]) = questions.map(Vec::as_slice).filter(|_| self.is_question) else {
            return Vec::new();
        };
        if question.get("multiSelect").and_then(Value::as_bool) == Some(true) {
            return Vec::new();
        }
        let options = question.get("options").and_then(Value::as_array);
        let labels = options.into_iter().flatten().filter_map(|option| option.get("label")?.as_str());
        labels.map(str::to_owned).collect()
    }
}
