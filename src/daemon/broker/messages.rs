//! The broker's commands, answers, and requests as people see them.

use super::body::Body;
use super::requests::{OpenRequest, OpenState, Timeout};
use jiff::Timestamp;
use murmur_core::permit::decision::DecisionKind;
use murmur_core::permit::request::{Answer, Answerer, Request, RequestId};
use murmur_store::journal::deferred;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::PathBuf;
use sys::clock;
use sys::error::Failure;
use tokio::sync::oneshot;

/// Where an answer goes.
pub type AnswerTo = oneshot::Sender<Answer>;

/// A command for the broker.
#[derive(Debug)]
pub enum BrokerCommand {
    /// A hook sends a request; it gets the request's id first.
    Ask(Box<Request>, AnswerTo, oneshot::Sender<RequestId>),
    /// A hook's time is up.
    TimedOut {
        /// The request.
        id: RequestId,
        /// The hook.
        hook: String,
        /// Whether the call can be deferred.
        may_defer: bool,
        /// Whether it otherwise keeps waiting.
        waits: bool,
        /// Where the result goes.
        to: oneshot::Sender<Timeout>,
    },
    /// A hook disconnected.
    Disconnected {
        /// The request.
        id: RequestId,
        /// The hook.
        hook: String,
    },
    /// Lists what waits for a person, after the cursor.
    List(Option<Cursor>, oneshot::Sender<Page>),
    /// Answers a request.
    Respond(AnswerCommand, oneshot::Sender<Result<RequestRow, Failure>>),
}

/// An answer to a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AnswerCommand {
    /// The request.
    pub id: RequestId,
    /// What is answered.
    #[serde(flatten)]
    pub content: AnswerContent,
    /// The channel of notifications that the answer came through.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
    /// The SHA-256 of the input that was answered, in hexadecimal digits; another input isn't answered.
    #[serde(default, rename = "inputSha256", skip_serializing_if = "Option::is_none")]
    pub input_sha256: Option<String>,
    /// Who answers; set by the daemon, not the client.
    #[serde(skip)]
    pub answerer: Option<Answerer>,
}

/// What is answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum AnswerContent {
    /// To a question: the answers as typed.
    Answers {
        /// Keyed by `q1`, header or text.
        answers: Value,
    },
    /// To a call.
    Decision {
        /// Whether it runs. The alias is the key of older clients.
        #[serde(alias = "verdict")]
        decision: DecisionKind,
        /// Why, for the agent.
        #[serde(default)]
        reason: Option<String>,
        /// Whether to add a rule for this call.
        #[serde(default)]
        always: bool,
        /// The patterns of the rule, one of those that are proposed for the call; by default, that for exactly this
        /// call.
        #[serde(default)]
        patterns: Option<Vec<String>>,
    },
}

/// The most bytes of inputs on a page with more than one request.
pub(super) const PAGE: usize = 512 << 10;

/// A page of waiting requests, oldest first.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Page {
    /// The requests.
    pub requests: Vec<RequestRow>,
    /// Where the next page begins, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<Cursor>,
}

/// The last request of a page and when it was sent: it may be gone when the next page is requested.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Cursor(pub(super) Timestamp, pub(super) RequestId);

/// A text that is not a cursor.
#[derive(Debug, thiserror::Error)]
#[error("not the `next` of a page")]
pub struct InvalidCursor;

impl From<Cursor> for String {
    fn from(Cursor(asked, id): Cursor) -> Self {
        format!("{asked} {id}")
    }
}

impl TryFrom<String> for Cursor {
    type Error = InvalidCursor;

    fn try_from(text: String) -> Result<Self, InvalidCursor> {
        let parsed = || {
            let (asked, id) = text.split_once(' ')?;
            Some(Self(asked.parse().ok()?, RequestId::parse(id).ok()?))
        };
        parsed().ok_or(InvalidCursor)
    }
}

/// A request and when it was sent.
#[derive(Debug)]
pub(super) struct AskedRequest {
    pub(super) request: Request,
    pub(super) asked: Timestamp,
}

/// A request as people see it. Times are RFC 3339. The aliases are the keys of older daemons.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestRow {
    /// Its id.
    pub id: RequestId,
    /// `permission` or `question`.
    pub kind: RequestKind,
    /// The agent that asks.
    pub agent: String,
    /// Its workspace.
    pub workspace: PathBuf,
    /// The name of a named heartbeat, if the agent runs a beat of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heartbeat: Option<String>,
    /// The tool.
    pub tool: String,
    /// The full input.
    pub input: Value,
    /// The folder that the call runs in.
    pub cwd: PathBuf,
    /// Why the guard could not tell what the call does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doubt: Option<String>,
    /// `waiting`, `deferred`, or `answered` if the agent has not been resumed yet.
    #[serde(alias = "standing")]
    pub state: String,
    /// When it was sent.
    #[serde(alias = "asked_at")]
    pub asked_at: String,
    /// Whether the call is deferred at `expires_at`, if a daemon can resume its beat.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub defers: bool,
    /// When it expires.
    #[serde(default, alias = "expires_at", skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
}

/// What a person should do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RequestKind {
    /// Allow or deny a call.
    Permission,
    /// Answer questions.
    Question,
}

impl RequestRow {
    /// The row for a `request` whose hook waits for a daemon.
    #[must_use]
    pub fn waiting(id: &RequestId, request: &Request) -> Self {
        let asked = request.asked(clock::now());
        let state = OpenState::<()>::Waiting { until: request.until(asked), hooks: Vec::new() };
        Self::of(id, &OpenRequest::new(request.clone(), Body::new(request.input.clone()), asked, state))
    }

    /// The row for `open`. An unreadable input is replaced by the error.
    pub(super) fn of<D>(id: &RequestId, open: &OpenRequest<D>) -> Self {
        let OpenRequest { request, input, asked, state } = open;
        let input = input.read().unwrap_or_else(|error| format!("not readable: {error}").into());
        let defers = request.may_defer() && matches!(state, OpenState::Waiting { .. });
        let (state, until) = match state {
            OpenState::Waiting { until, .. } => ("waiting", *until),
            OpenState::Deferred(deferred::DeferredState::Deferred { until }) => ("deferred", *until),
            OpenState::Deferred(_) => ("answered", None),
        };
        Self {
            id: id.clone(),
            kind: if request.is_question() { RequestKind::Question } else { RequestKind::Permission },
            agent: request.agent.clone(),
            workspace: request.workspace.clone(),
            heartbeat: request.beat.as_ref().and_then(|beat| beat.heartbeat.clone()),
            tool: request.tool.clone(),
            input,
            cwd: request.cwd.clone(),
            doubt: request.doubt.clone(),
            state: state.to_owned(),
            defers,
            asked_at: clock::rfc3339(*asked),
            expires_at: until.map(clock::rfc3339),
        }
    }
}
