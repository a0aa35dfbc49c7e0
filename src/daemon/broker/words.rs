//! What is said to the broker: questions, answers, and a request as people are shown it.

use super::body::Body;
use super::requests::{Late, Open, Standing};
use crate::journal::deferred as put_off;
use crate::permit::decision::Verdict;
use crate::permit::request::{Answer, Answerer, Request, RequestId};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::PathBuf;
use sys::clock;
use sys::error::Failure;
use tokio::sync::oneshot;

/// Where an answer goes.
pub type Door = oneshot::Sender<Answer>;

/// What is wanted of the broker.
#[derive(Debug)]
pub enum Order {
    /// A hook asks; it is told its request's id first.
    Ask(Box<Request>, Door, oneshot::Sender<RequestId>),
    /// A hook does not wait any longer, and may put the call off.
    Late {
        /// The request.
        id: RequestId,
        /// The hook.
        hook: String,
        /// Whether the call can be put off.
        may_defer: bool,
        /// Whether it waits on where it cannot.
        waits: bool,
        /// Where what becomes of it goes.
        to: oneshot::Sender<Late>,
    },
    /// A hook is gone.
    Gone {
        /// The request.
        id: RequestId,
        /// The hook.
        hook: String,
    },
    /// What waits for a person, behind the cursor.
    List(Option<Cursor>, oneshot::Sender<Page>),
    /// A person, or a model, answers.
    Respond(Response, oneshot::Sender<Result<Row, Failure>>),
}

/// An answer, on its way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Response {
    /// The request.
    pub id: RequestId,
    /// What is answered.
    #[serde(flatten)]
    pub reply: Reply,
    /// Who answers. Nobody says it of themselves.
    #[serde(skip)]
    pub answerer: Option<Answerer>,
}

/// What is answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Reply {
    /// To a question: the answers, as they were typed.
    Answers {
        /// By `q1`, header or text.
        answers: Value,
    },
    /// To a call.
    Verdict {
        /// Whether it runs.
        verdict: Verdict,
        /// Why, for the agent.
        #[serde(default)]
        reason: Option<String>,
        /// Whether a rule is to decide from now on.
        #[serde(default)]
        always: bool,
    },
}

/// How many bytes the inputs of a page's requests may have together, if there is more than one.
pub(super) const PAGE: usize = 512 << 10;

/// Some of what waits, the oldest first.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Page {
    /// The requests.
    pub requests: Vec<Row>,
    /// Where the next page begins, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<Cursor>,
}

/// The last request of a page, and since when it waits: it may be gone by the time that the next is asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Cursor(pub(super) Timestamp, pub(super) RequestId);

impl From<Cursor> for String {
    fn from(Cursor(asked, id): Cursor) -> Self {
        format!("{asked} {id}")
    }
}

impl TryFrom<String> for Cursor {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let parsed = || {
            let (asked, id) = text.split_once(' ')?;
            Some(Self(asked.parse().ok()?, RequestId::parse(id).ok()?))
        };
        parsed().ok_or("this is no page's `next`")
    }
}

/// A request, as people are shown it. Times are RFC 3339.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Its id.
    pub id: RequestId,
    /// `permission` or `question`.
    pub kind: Kind,
    /// The agent that asks.
    pub agent: String,
    /// Its workspace.
    pub workspace: PathBuf,
    /// The tool.
    pub tool: String,
    /// What it is called with, in full.
    pub input: Value,
    /// The folder it runs in.
    pub cwd: PathBuf,
    /// Why the guard could not tell what it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doubt: Option<String>,
    /// `waiting`, `deferred`, or `answered` where the agent has yet to be resumed.
    pub standing: String,
    /// Since when it waits.
    pub asked_at: String,
    /// Until when it may be answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
}

/// What is wanted of a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// To allow a call or not.
    Permission,
    /// To answer questions.
    Question,
}

impl Row {
    /// How `request` is shown where no daemon runs, and its hook waits for one.
    #[must_use]
    pub fn waiting(id: &RequestId, request: &Request) -> Self {
        let asked = request.asked(clock::now());
        let standing = Standing::<()>::Waiting { until: request.until(asked), doors: Vec::new() };
        Self::of(id, &Open::new(request.clone(), Body::new(request.input.clone()), asked, standing))
    }

    /// How `open` is shown. Where its input cannot be read, that is said in its place.
    pub(super) fn of<D>(id: &RequestId, open: &Open<D>) -> Self {
        let Open { request, input, asked, standing } = open;
        let input = input.read().unwrap_or_else(|error| format!("cannot be read: {error}").into());
        let (standing, until) = match standing {
            Standing::Waiting { until, .. } => ("waiting", *until),
            Standing::PutOff(put_off::Standing::Deferred { until }) => ("deferred", *until),
            Standing::PutOff(_) => ("answered", None),
        };
        Self {
            id: id.clone(),
            kind: if request.is_question() { Kind::Question } else { Kind::Permission },
            agent: request.agent.clone(),
            workspace: request.workspace.clone(),
            tool: request.tool.clone(),
            input,
            cwd: request.cwd.clone(),
            doubt: request.doubt.clone(),
            standing: standing.to_owned(),
            asked_at: clock::rfc3339(*asked),
            expires_at: until.map(clock::rfc3339),
        }
    }
}
