//! Requests to a person or a model, and their answers: the messages between hook and broker.

use super::decision::DecisionKind;
use super::pipeline::ASK;
use crate::id::{BeatId, SessionId, empty_if_unknown};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::fmt;
use std::path::PathBuf;
use sys::error::Hinted;

/// The RPC request by which a hook asks for approval.
pub const REQUEST: &str = "permission.request";

/// The RPC request by which a hook asks a person a question (spec 1).
pub const QUESTION: &str = "question.request";

/// The RPC request by which a hook reports that its time is up.
pub const LATE: &str = "permission.late";

/// The reply if nobody answered in time.
pub const EXPIRED: &str = "expired";

/// The reply if the call is deferred.
pub const DEFERRED: &str = "deferred";

/// The reply if the call can't be deferred and keeps waiting.
pub const WAITING: &str = "waiting";

/// The state of an answered request whose beat has not been resumed yet.
pub const ANSWERED: &str = "answered";

/// Why a call that needs a person or a model is denied if no daemon runs.
pub const NO_DAEMON: &str = "no daemon is running, so nobody can be asked";

/// The id of a request: eight letters and digits that can be read aloud.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct RequestId(String);

/// Crockford's base 32 in lower case, which has no characters that look alike.
const DIGITS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
const LENGTH: usize = 8;

impl RequestId {
    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Parses an id that a person typed. Ignores case, and accepts letters that look like a digit.
    pub fn parse(text: &str) -> Result<Self, InvalidRequestId> {
        let plain: String = text
            .chars()
            .map(|one| match one.to_ascii_lowercase() {
                'o' => '0',
                'i' | 'l' => '1',
                other => other,
            })
            .collect();
        let fits = plain.len() == LENGTH && plain.bytes().all(|byte| DIGITS.contains(&byte));
        if fits { Ok(Self(plain)) } else { Err(InvalidRequestId(text.to_owned())) }
    }
}

impl TryFrom<String> for RequestId {
    type Error = InvalidRequestId;
    fn try_from(text: String) -> Result<Self, InvalidRequestId> {
        Self::parse(&text)
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(&self.0)
    }
}

/// A text that is not the id of a request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not the id of a request")]
pub struct InvalidRequestId(String);

impl Hinted for InvalidRequestId {
    fn hint(&self) -> Option<String> {
        Some("see: murmur inbox".to_owned())
    }
}

/// Who is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Approver {
    /// A person.
    Person,
    /// A model.
    Model,
}

/// A call that neither guard nor rules decided, or a question. An answer applies to exactly this call: same agent, same
/// tool use, same folder, same input. The aliases are the keys of earlier versions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Request {
    /// The agent's id. Any text: hooks also ask for agents that murmur didn't start.
    pub agent: String,
    /// The session; `None` if the backend doesn't say.
    #[serde(with = "empty_if_unknown")]
    pub session: Option<SessionId>,
    /// The backend's id of the call.
    #[serde(alias = "tool_use_id")]
    pub tool_use_id: String,
    /// The tool.
    pub tool: String,
    /// The complete input.
    pub input: Value,
    /// The folder the call runs in.
    pub cwd: PathBuf,
    /// The agent's workspace.
    pub workspace: PathBuf,
    /// The project whose rules apply.
    pub project: String,
    /// Who is asked.
    pub whom: Approver,
    /// Why the guard could not determine the call's effects, if it could not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doubt: Option<String>,
    /// How long the hook waits for the answer, in seconds. `None` means no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait: Option<u32>,
    /// Whether the call may be deferred after that. Hooks of older versions only set `expiry`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub defer: bool,
    /// How long a deferred call waits for the answer, in seconds. `None` means no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expiry: Option<u32>,
    /// The beat, if the agent runs one: only beats can end and be resumed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beat: Option<BeatOf>,
    /// Whether the backend asks about a call that its hook has already decided on, as Claude Code does in plan mode.
    /// Whoever allowed the call is not asked again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub again: bool,
    /// When it was first asked, RFC 3339. Hooks of older versions don't set it.
    #[serde(default, alias = "asked_at", skip_serializing_if = "Option::is_none")]
    pub asked_at: Option<String>,
    /// Identifies the hook process. A hook that loses the daemon asks the next one again, and gets the same answer.
    pub hook: String,
}

/// The beat that a request belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BeatOf {
    /// Its id.
    pub beat: BeatId,
    /// The name of a named heartbeat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heartbeat: Option<String>,
}

/// Maximum length of an input after [`Request::shorten_input`], in characters.
const MAX_SHORT_INPUT: usize = 8_000;

impl Request {
    /// Replaces a long input with the beginning of its JSON, as a string. Tool inputs are objects, so a string is
    /// always a shortened one.
    pub fn shorten_input(&mut self) {
        let text = self.input.to_string();
        if let Some((end, _)) = text.char_indices().nth(MAX_SHORT_INPUT) {
            self.input = Value::String(text[..end].to_owned());
        }
    }

    /// Whether it is a question rather than a call that needs approval.
    #[must_use]
    pub fn is_question(&self) -> bool {
        self.tool == ASK
    }

    /// Whether the call may be deferred.
    #[must_use]
    pub fn may_defer(&self) -> bool {
        self.defer || self.expiry.is_some()
    }

    /// Since when it has been waiting, as of `now`; restarts of the daemon don't reset this.
    #[must_use]
    pub fn asked(&self, now: Timestamp) -> Timestamp {
        let asked = self.asked_at.as_deref().and_then(|at| at.parse().ok());
        asked.filter(|at| *at <= now).unwrap_or(now)
    }

    /// Until when the hook waits; `None` means no limit. `asked` is when it began to wait.
    #[must_use]
    pub fn until(&self, asked: Timestamp) -> Option<Timestamp> {
        let wait = SignedDuration::from_secs(self.wait?.into());
        Some(asked.checked_add(wait).unwrap_or(Timestamp::MAX))
    }

    /// Whether `other` is about the same call. If the inputs are equal, too, an answer to one is an answer to the
    /// other.
    #[must_use]
    pub fn is_same_call(&self, other: &Self) -> bool {
        let key = |request: &Self| {
            (request.agent.clone(), request.tool_use_id.clone(), request.tool.clone(), request.cwd.clone())
        };
        // Calls without an id are distinguished at least by their conversation.
        let same_conversation = !self.tool_use_id.is_empty() || self.session == other.session;
        key(self) == key(other) && same_conversation
    }

    /// Whether this request asks again about the call of `first`. The caller compares the inputs. Only `first` may
    /// have the id of the call.
    #[must_use]
    pub fn repeats(&self, first: &Self) -> bool {
        let has_same_id = !self.tool_use_id.is_empty() && self.tool_use_id == first.tool_use_id;
        let may_be_same = self.tool_use_id.is_empty() && self.session == first.session;
        let key = |request: &Self| (request.agent.clone(), request.tool.clone(), request.cwd.clone());
        let is_same = key(self) == key(first) && self.whom == first.whom;
        self.again && !self.agent.is_empty() && is_same && (has_same_id || may_be_same)
    }

    /// The request's id: always the same for the same call, also after a restart or a reboot. `salt` yields another id
    /// if two calls happen to share one.
    #[must_use]
    pub fn id(&self, salt: u32) -> RequestId {
        // FNV-1a, 64 bits: short and stable across versions. It needn't be hard to invert, since the call itself is
        // compared before an answer is given.
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        let mut add = |bytes: &[u8]| {
            for byte in bytes.iter().chain(&[0xff]) {
                hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
            }
        };
        add(self.agent.as_bytes());
        add(self.tool_use_id.as_bytes());
        add(self.tool.as_bytes());
        add(self.cwd.as_os_str().as_encoded_bytes());
        add(self.input.to_string().as_bytes());
        if self.tool_use_id.is_empty() {
            add(self.session.as_ref().map_or("", SessionId::as_str).as_bytes());
        }
        add(&salt.to_le_bytes());
        let digit = |at: usize| DIGITS[usize::try_from((hash >> (at * 5)) & 31).unwrap_or_default()];
        RequestId((0..LENGTH).map(|at| char::from(digit(at))).collect())
    }
}

/// The answer to a request. The aliases are the keys of earlier versions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Answer {
    /// Whether the call runs.
    #[serde(alias = "verdict")]
    pub decision: DecisionKind,
    /// Why, for the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The answers to an agent's questions, by their text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<Map<String, Value>>,
    /// Who decided.
    pub by: super::decision::DecidedBy,
    /// The request.
    pub id: RequestId,
    /// The process that sent a person's answer.
    #[serde(default, alias = "answered_by", skip_serializing_if = "Option::is_none")]
    pub answered_by: Option<Answerer>,
}

/// The process that sent an answer, as the operating system describes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answerer {
    /// Its process id.
    pub pid: u32,
    /// Its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// Its terminal, such as `/dev/pts/3`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terminal: Option<String>,
    /// The channel of notifications that the answer came through.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn request(tool_use_id: &str, command: &str) -> Request {
        Request {
            agent: "site-1".to_owned(),
            session: Some(SessionId::new("s")),
            tool_use_id: tool_use_id.to_owned(),
            tool: "Bash".to_owned(),
            input: json!({ "command": command }),
            cwd: "/w".into(),
            workspace: "/w".into(),
            project: "site".to_owned(),
            whom: Approver::Person,
            doubt: None,
            wait: Some(120),
            defer: false,
            expiry: None,
            beat: None,
            again: false,
            asked_at: None,
            hook: "h1".to_owned(),
        }
    }

    #[test]
    fn an_id_depends_only_on_the_call() {
        let one = request("t1", "git push");
        let again = Request {
            hook: "h2".to_owned(),
            wait: Some(1),
            session: Some(SessionId::new("other")),
            ..one.clone()
        };
        assert_eq!(one.id(0), again.id(0));
        assert!(one.is_same_call(&again));
        assert_ne!(one.id(0), request("t1", "git push -f").id(0));
        for other in [
            request("t2", "git push"),
            Request { cwd: "/v".into(), ..one.clone() },
            Request { agent: "site-2".to_owned(), ..one.clone() },
        ] {
            assert_ne!(one.id(0), other.id(0));
            assert!(!one.is_same_call(&other));
        }
        assert_ne!(one.id(0), one.id(1));
        let nameless = request("", "git push");
        let elsewhere = Request { session: Some(SessionId::new("other")), ..nameless.clone() };
        assert!(!nameless.is_same_call(&elsewhere) && nameless.id(0) != elsewhere.id(0));
    }

    #[test]
    fn an_id_can_be_read_aloud_and_typed() {
        let id = request("t1", "git push").id(0);
        assert_eq!(RequestId::parse(&id.as_str().to_uppercase()), Ok(id));
        assert_eq!(RequestId::parse("oil00000").unwrap().as_str(), "01100000");
        assert!(RequestId::parse("../../x").is_err());
        assert!(RequestId::parse("short").is_err());
    }
}
