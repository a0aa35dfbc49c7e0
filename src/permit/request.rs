//! What is asked of a person or a model, and what they answer: the messages between hook and broker.

use super::decision::Verdict;
use super::pipeline::ASK;
use crate::error::Hinted;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::fmt;
use std::path::PathBuf;

/// The question by which a hook asks the daemon.
pub const REQUEST: &str = "permission.request";

/// The same for a question to a person (spec 1).
pub const QUESTION: &str = "question.request";

/// The question by which a hook says that its time is up.
pub const LATE: &str = "permission.late";

/// What a hook is told when nobody answered in time.
pub const EXPIRED: &str = "expired";

/// What it is told when the call is put off.
pub const DEFERRED: &str = "deferred";

/// What it is told when the call cannot be put off, and waits on.
pub const WAITING: &str = "waiting";

/// What a request is called: eight letters and digits that can be read aloud.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct RequestId(String);

/// Crockford's base 32, in small letters: nothing in it looks like something else in it.
const DIGITS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
const LENGTH: usize = 8;

impl RequestId {
    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Reads an id that a person typed: capitals count, and what looks alike is the same.
    ///
    /// # Errors
    /// That it is none.
    pub fn parse(text: &str) -> Result<Self, NotAnId> {
        let plain: String = text
            .chars()
            .map(|one| match one.to_ascii_lowercase() {
                'o' => '0',
                'i' | 'l' => '1',
                other => other,
            })
            .collect();
        let fits = plain.len() == LENGTH && plain.bytes().all(|byte| DIGITS.contains(&byte));
        if fits { Ok(Self(plain)) } else { Err(NotAnId(text.to_owned())) }
    }
}

impl TryFrom<String> for RequestId {
    type Error = NotAnId;
    fn try_from(text: String) -> Result<Self, NotAnId> {
        Self::parse(&text)
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(&self.0)
    }
}

/// What is no request's id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not the id of a request")]
pub struct NotAnId(String);

impl Hinted for NotAnId {
    fn hint(&self) -> Option<String> {
        Some("see: murmur permission list, murmur question list".to_owned())
    }
}

/// Whether `text` can be the backend's id of a conversation. It becomes an argument of the backend where the conversation is
/// resumed, so it can be no option and no path.
#[must_use]
pub fn is_session(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    text.len() <= 128 && !text.is_empty() && !text.starts_with('-') && text.bytes().all(fits)
}

/// Who is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Whom {
    /// A person.
    Person,
    /// A model.
    Model,
}

/// A call that neither guard nor rule decided, or a question. An answer is good for just this call: the same agent,
/// the same use of the tool, the same folder, the same input.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// The agent's id.
    pub agent: String,
    /// The backend's id of the conversation.
    pub session: String,
    /// The backend's id of the call.
    pub tool_use_id: String,
    /// The tool.
    pub tool: String,
    /// What it is called with, in full.
    pub input: Value,
    /// The folder the call runs in.
    pub cwd: PathBuf,
    /// The agent's workspace.
    pub workspace: PathBuf,
    /// The project whose rules hold for the agent.
    pub project: String,
    /// Who is asked.
    pub whom: Whom,
    /// Why the guard could not tell what the call does, where it could not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doubt: Option<String>,
    /// How long the hook waits for the answer, in seconds. `None` is until there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait: Option<u32>,
    /// Whether the call may be put off then. Hooks of an earlier murmur say it by `expiry` alone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub defer: bool,
    /// How long the answer may take then, in seconds. `None` is until there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expiry: Option<u32>,
    /// The beat that it is a call of, where it is one: only a beat can end and be resumed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beat: Option<BeatOf>,
    /// Whether the backend asks about a call that its hook has decided on before, as Claude Code does in plan mode: who has
    /// allowed it is not asked again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub again: bool,
    /// Which process asks: a hook that lost the daemon asks the next one, and is told what it was told.
    pub hook: String,
}

/// Which beat it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BeatOf {
    /// Its id.
    pub beat: String,
    /// The name of a named heartbeat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heartbeat: Option<String>,
}

impl Request {
    /// Whether it is a question to a person rather than a call to be allowed.
    #[must_use]
    pub fn is_question(&self) -> bool {
        self.tool == ASK
    }

    /// Whether the call may be put off.
    #[must_use]
    pub fn may_defer(&self) -> bool {
        self.defer || self.expiry.is_some()
    }

    /// Whether `other` is about the same call, so that an answer to one is an answer to the other, if their inputs are the same.
    #[must_use]
    pub fn is_same_call(&self, other: &Self) -> bool {
        let bound = |request: &Self| {
            (request.agent.clone(), request.tool_use_id.clone(), request.tool.clone(), request.cwd.clone())
        };
        // A call without an id of its own is told from others by its conversation at least.
        let same_conversation = !self.tool_use_id.is_empty() || self.session == other.session;
        bound(self) == bound(other) && same_conversation
    }

    /// Whether it asks again about the call of `first`, if their inputs are the same. That call may have been told with an id
    /// where this one was not.
    #[must_use]
    pub fn repeats(&self, first: &Self) -> bool {
        let is_named = !self.tool_use_id.is_empty() && self.tool_use_id == first.tool_use_id;
        let is_alike = self.tool_use_id.is_empty() && self.session == first.session;
        let bound = |request: &Self| (request.agent.clone(), request.tool.clone(), request.cwd.clone());
        let is_same = bound(self) == bound(first) && self.whom == first.whom;
        self.again && !self.agent.is_empty() && is_same && (is_named || is_alike)
    }

    /// Its id: the same for the same call, also when it is asked again after a restart or a reboot. `salt` makes
    /// another one where two calls happen to have the same.
    #[must_use]
    pub fn id(&self, salt: u32) -> RequestId {
        // FNV-1a, 64 bits: short, and the same in every version of this program. Nothing relies on it being hard to
        // invert, since the call itself is compared before an answer is given.
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
            add(self.session.as_bytes());
        }
        add(&salt.to_le_bytes());
        let digit = |at: usize| DIGITS[usize::try_from((hash >> (at * 5)) & 31).unwrap_or_default()];
        RequestId((0..LENGTH).map(|at| char::from(digit(at))).collect())
    }
}

/// What came of a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// Whether the call runs.
    pub verdict: Verdict,
    /// Why, for the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The answers to a question's questions, by their text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<Map<String, Value>>,
    /// Who decided.
    pub by: super::decision::By,
    /// The request.
    pub id: RequestId,
    /// The process that brought a person's answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered_by: Option<Answerer>,
}

/// Who answered a request: what the system says of the process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answerer {
    /// Its number.
    pub pid: u32,
    /// What it calls itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// Its terminal, as `/dev/pts/3`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terminal: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn request(tool_use_id: &str, command: &str) -> Request {
        Request {
            agent: "site-1".to_owned(),
            session: "s".to_owned(),
            tool_use_id: tool_use_id.to_owned(),
            tool: "Bash".to_owned(),
            input: json!({ "command": command }),
            cwd: "/w".into(),
            workspace: "/w".into(),
            project: "site".to_owned(),
            whom: Whom::Person,
            doubt: None,
            wait: Some(120),
            defer: false,
            expiry: None,
            beat: None,
            again: false,
            hook: "h1".to_owned(),
        }
    }

    #[test]
    fn an_id_is_that_of_the_call_and_of_nothing_else() {
        let one = request("t1", "git push");
        let again =
            Request { hook: "h2".to_owned(), wait: Some(1), session: "other".to_owned(), ..one.clone() };
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
        let elsewhere = Request { session: "other".to_owned(), ..nameless.clone() };
        assert!(!nameless.is_same_call(&elsewhere) && nameless.id(0) != elsewhere.id(0));
    }

    #[test]
    fn a_session_can_be_no_option_and_no_path() {
        assert!(is_session("0199aabb-ccdd-7000-8000-000000000000") && is_session("ses_1"));
        for other in
            ["", "--settings=/tmp/x.json", "-p", "../../x", "a b", "a\u{1b}[31m", "a\n", &"a".repeat(129)]
        {
            assert!(!is_session(other), "{other:?}");
        }
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
