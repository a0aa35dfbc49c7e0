//! Single-use tokens with which a person answers a request from a message.
//!
//! A token is bound to its channel, its request and the hash of the call's input, and expires with the request. Only
//! its hash is kept. It never allows a call for good. Expired ones are kept for a day, so that a late answer is told
//! why it is refused.

use jiff::{SignedDuration, Timestamp};
use murmur_core::permit::request::RequestId;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::io;

/// The length of a token: 128 bits in hexadecimal digits.
const DIGITS: usize = 32;

/// How long an expired token is kept, and how many of them.
const LATE: SignedDuration = SignedDuration::from_hours(24);
const MAX_LATE: usize = 64;

/// A token that was sent, without the token itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Issued {
    /// The SHA-256 of the token, in hexadecimal digits.
    pub hash: String,
    /// The channel that it was sent through.
    pub channel: String,
    /// The request that it answers.
    pub request: RequestId,
    /// The SHA-256 of the call's input, as shown.
    pub input: String,
    /// Whether it may allow the call, or answer the question: only if all of it was shown.
    pub may_allow: bool,
    /// Whether the request asks questions.
    #[serde(default)]
    pub is_question: bool,
    /// The labels that answer it, if it is one question with one answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<String>,
    /// When it expires, if ever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// The id of the message that has it, as the channel counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<i64>,
}

/// What a person answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// The call may run.
    Allow,
    /// It may not, and why.
    Deny(Option<String>),
    /// The option with this number, from 1 on.
    Choice(usize),
    /// A text: the answers to questions.
    Text(String),
}

/// Why an answer was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// Nobody with this id may answer.
    Sender,
    /// It was written in another chat than the channel's.
    Chat,
    /// There is no such token: it was used, has expired or was made up.
    Unknown,
    /// The token came through another channel than it was sent through.
    Channel,
    /// Its time is up.
    Expired,
    /// The request was not shown as a whole, so it can only be denied.
    NotShown,
    /// The question has no such answer.
    NoAnswer,
    /// The message that this replies to is not about an open request.
    NoRequest,
}

impl Refusal {
    /// The reason as text.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::Sender => "the sender is not in \"senders\"",
            Self::Chat => "it was written in another chat",
            Self::Unknown => "the token is invalid: it was already used, has expired, or was never sent",
            Self::Channel => "the token was sent through another channel",
            Self::Expired => "the request has expired",
            Self::NotShown => {
                "the message did not show the whole request, or the guard doubts it, so it can only be denied"
            }
            Self::NoAnswer => "this is not an answer to the request",
            Self::NoRequest => "the message that you replied to is not about an open request",
        }
    }
}

/// Makes a new token.
pub fn make() -> io::Result<String> {
    Ok(hex(&sys::random::bytes::<{ DIGITS / 2 }>()?))
}

/// The SHA-256 of `bytes`, in hexadecimal digits.
#[must_use]
pub fn hash(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _infallible = write!(text, "{byte:02x}");
        text
    })
}

/// Reads `allow TOKEN`, `deny TOKEN`, `3 TOKEN`: what a button sends.
#[must_use]
pub fn parse_button(text: &str) -> Option<(Reply, &str)> {
    let (word, token) = text.trim().split_once(' ')?;
    let is_token = token.len() == DIGITS && token.bytes().all(|byte| byte.is_ascii_hexdigit());
    let reply = match word {
        "allow" => Reply::Allow,
        "deny" => Reply::Deny(None),
        number => Reply::Choice(number.parse().ok()?),
    };
    is_token.then_some((reply, token))
}

/// Reads what a person typed in reply to a message about a request. A question is denied only by
/// `deny`; any other text answers it.
#[must_use]
pub fn parse_text(text: &str, is_question: bool) -> Reply {
    let text = text.trim();
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let rest = rest.trim();
    match (word.to_ascii_lowercase().as_str(), rest) {
        ("deny", "") => Reply::Deny(None),
        ("deny", reason) => Reply::Deny(Some(reason.to_owned())),
        _ if is_question => Reply::Text(text.to_owned()),
        ("allow" | "yes", "") => Reply::Allow,
        ("no", "") => Reply::Deny(None),
        ("no", reason) => Reply::Deny(Some(reason.to_owned())),
        _ => Reply::Text(text.to_owned()),
    }
}

/// Finds the token that came back through `channel`.
pub fn find<'a>(
    tokens: &'a [Issued],
    channel: &str,
    now: Timestamp,
    is_it: impl Fn(&Issued) -> bool,
) -> Result<&'a Issued, Refusal> {
    let found = tokens.iter().find(|token| is_it(token)).ok_or(Refusal::Unknown)?;
    if found.channel != channel {
        return Err(Refusal::Channel);
    }
    if found.has_expired(now) {
        return Err(Refusal::Expired);
    }
    Ok(found)
}

impl Issued {
    fn has_expired(&self, now: Timestamp) -> bool {
        self.expires_at.is_some_and(|at| at <= now)
    }

    /// Whether it may give this `reply`.
    pub fn check(&self, reply: &Reply) -> Result<(), Refusal> {
        match reply {
            Reply::Deny(_) => Ok(()),
            Reply::Allow if self.is_question => Err(Refusal::NoAnswer),
            Reply::Text(_) if !self.is_question => Err(Refusal::NoAnswer),
            Reply::Choice(number) if *number == 0 || *number > self.choices.len() => Err(Refusal::NoAnswer),
            _ if !self.may_allow => Err(Refusal::NotShown),
            _ => Ok(()),
        }
    }
}

/// Uses up every token of `request`.
pub fn use_up(tokens: &mut Vec<Issued>, request: &RequestId) {
    tokens.retain(|token| token.request != *request);
}

/// Forgets the tokens of a closed `request`, except those that had expired or, if it `expired` itself, expire now.
pub(crate) fn close(tokens: &mut Vec<Issued>, request: &RequestId, expired: bool, now: Timestamp) {
    for token in tokens.iter_mut().filter(|token| expired && token.request == *request) {
        token.expires_at = Some(token.expires_at.map_or(now, |at| at.min(now)));
    }
    tokens.retain(|token| token.request != *request || token.has_expired(now));
}

/// Forgets tokens that expired long ago, and the oldest of too many.
pub(crate) fn prune(tokens: &mut Vec<Issued>, now: Timestamp) {
    tokens.retain(|token| token.expires_at.is_none_or(|at| now.duration_since(at) < LATE));
    let expired = tokens.iter().filter(|token| token.has_expired(now)).count();
    let mut extra = expired.saturating_sub(MAX_LATE);
    tokens.retain(|token| {
        let is_extra = extra > 0 && token.has_expired(now);
        extra -= usize::from(is_extra);
        !is_extra
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> RequestId {
        RequestId::parse(&format!("{text:0<8}")).unwrap()
    }

    fn issued(token: &str, request: &str) -> Issued {
        Issued {
            hash: hash(token.as_bytes()),
            channel: "phone".to_owned(),
            request: id(request),
            input: String::new(),
            may_allow: true,
            is_question: false,
            choices: Vec::new(),
            expires_at: Some("2026-02-03T10:00:00Z".parse().unwrap()),
            message: None,
        }
    }

    fn redeem_at(
        tokens: &mut Vec<Issued>,
        channel: &str,
        token: &str,
        reply: Reply,
        at: &str,
    ) -> Result<RequestId, Refusal> {
        let known = hash(token.as_bytes());
        let found = find(tokens, channel, at.parse().unwrap(), |issued| issued.hash == known)?;
        found.check(&reply)?;
        let request = found.request.clone();
        use_up(tokens, &request);
        Ok(request)
    }

    #[test]
    fn a_token_works_once_in_its_channel_before_it_expires() {
        const NOW: &str = "2026-02-03T09:59:59Z";
        let all = || vec![issued("a", "r1"), issued("b", "r1"), issued("c", "r2")];
        let mut tokens = all();
        assert_eq!(redeem_at(&mut tokens, "phone", "x", Reply::Allow, NOW), Err(Refusal::Unknown));
        assert_eq!(redeem_at(&mut tokens, "other", "a", Reply::Allow, NOW), Err(Refusal::Channel));
        assert_eq!(
            redeem_at(&mut tokens, "phone", "a", Reply::Allow, "2026-02-03T10:00:00Z"),
            Err(Refusal::Expired)
        );
        assert_eq!(redeem_at(&mut tokens, "phone", "a", Reply::Choice(1), NOW), Err(Refusal::NoAnswer));
        assert_eq!(
            redeem_at(&mut tokens, "phone", "a", Reply::Text("go".into()), NOW),
            Err(Refusal::NoAnswer)
        );
        assert_eq!(tokens, all());
        assert_eq!(redeem_at(&mut tokens, "phone", "a", Reply::Allow, NOW), Ok(id("r1")));
        // The other token of the same request is used up as well.
        for token in ["a", "b"] {
            assert_eq!(redeem_at(&mut tokens, "phone", token, Reply::Allow, NOW), Err(Refusal::Unknown));
        }
        assert_eq!(redeem_at(&mut tokens, "phone", "c", Reply::Deny(None), NOW), Ok(id("r2")));
    }

    #[test]
    fn a_late_answer_is_told_so_for_a_day() {
        let at = |text: &str| text.parse().unwrap();
        let (early, now) = (at("2026-02-03T09:00:00Z"), at("2026-02-03T10:00:00Z"));
        let never = |token: &str| Issued { expires_at: None, ..issued(token, token) };
        let mut tokens = vec![never("answered"), never("expired"), never("open"), issued("late", "late")];
        close(&mut tokens, &id("answered"), false, early);
        close(&mut tokens, &id("expired"), true, early);
        close(&mut tokens, &id("late"), false, now);
        prune(&mut tokens, now);
        let found = |tokens: &[Issued], token: &str| {
            let hash = hash(token.as_bytes());
            find(tokens, "phone", now, |issued| issued.hash == hash).map(|_| ())
        };
        let all = ["answered", "expired", "open", "late"];
        let (unknown, expired) = (Err(Refusal::Unknown), Err(Refusal::Expired));
        assert_eq!(all.map(|token| found(&tokens, token)), [unknown, expired, Ok(()), expired]);
        prune(&mut tokens, at("2026-02-04T09:59:59Z"));
        assert_eq!(all.map(|token| found(&tokens, token)), [unknown, unknown, Ok(()), expired]);
        prune(&mut tokens, at("2026-02-04T10:00:00Z"));
        assert_eq!(all.map(|token| found(&tokens, token)), [unknown, unknown, Ok(()), unknown]);
        // Not without end.
        let mut tokens: Vec<Issued> = (0..=MAX_LATE).map(|number| issued(&number.to_string(), "r")).collect();
        tokens.push(never("open"));
        prune(&mut tokens, now);
        assert_eq!((tokens.len(), tokens[0].hash.clone()), (MAX_LATE + 1, hash(b"1")));
    }

    #[test]
    fn a_call_that_was_not_shown_can_only_be_denied() {
        const NOW: &str = "2026-02-03T09:00:00Z";
        let mut tokens = vec![Issued { may_allow: false, ..issued("a", "r1") }];
        assert_eq!(redeem_at(&mut tokens, "phone", "a", Reply::Allow, NOW), Err(Refusal::NotShown));
        assert!(redeem_at(&mut tokens, "phone", "a", Reply::Deny(None), NOW).is_ok());
    }

    #[test]
    fn a_question_that_was_not_shown_can_only_be_denied() {
        const NOW: &str = "2026-02-03T09:00:00Z";
        let cut = Issued {
            may_allow: false,
            is_question: true,
            choices: vec!["Red".to_owned()],
            ..issued("a", "r1")
        };
        for (reply, expected) in [
            (Reply::Choice(1), Err(Refusal::NotShown)),
            (Reply::Text("Red".to_owned()), Err(Refusal::NotShown)),
            (Reply::Choice(2), Err(Refusal::NoAnswer)),
            (Reply::Allow, Err(Refusal::NoAnswer)),
            (Reply::Deny(None), Ok(id("r1"))),
        ] {
            let redeemed = redeem_at(&mut vec![cut.clone()], "phone", "a", reply.clone(), NOW);
            assert_eq!(redeemed, expected, "{reply:?}");
        }
    }

    #[test]
    fn a_question_is_answered_by_a_number_or_a_text() {
        const NOW: &str = "2026-02-03T09:00:00Z";
        let question = || Issued { is_question: true, ..issued("a", "r1") };
        let all = || vec![Issued { choices: vec!["Red".to_owned()], ..question() }];
        for (reply, works) in [
            (Reply::Choice(1), true),
            (Reply::Choice(0), false),
            (Reply::Choice(2), false),
            (Reply::Allow, false),
            (Reply::Text("Green".to_owned()), true),
            (Reply::Deny(None), true),
        ] {
            let redeemed = redeem_at(&mut all(), "phone", "a", reply.clone(), NOW);
            assert_eq!(redeemed.is_ok(), works, "{reply:?}");
        }
        // Several questions, or one without options.
        for (reply, works) in [
            (Reply::Choice(1), false),
            (Reply::Allow, false),
            (Reply::Text("Green".to_owned()), true),
            (Reply::Deny(None), true),
        ] {
            let redeemed = redeem_at(&mut vec![question()], "phone", "a", reply.clone(), NOW);
            assert_eq!(redeemed.is_ok(), works, "{reply:?}");
        }
    }

    #[test]
    fn buttons_and_texts_are_read() {
        let token = make().unwrap();
        assert_ne!(token, make().unwrap());
        for (text, expected) in [
            (format!("allow {token}"), Some(Reply::Allow)),
            (format!("deny {token}\n"), Some(Reply::Deny(None))),
            (format!("2 {token}"), Some(Reply::Choice(2))),
            (format!("always {token}"), None),
            (format!("allow {token}0"), None),
            ("allow".to_owned(), None),
        ] {
            assert_eq!(parse_button(&text).map(|(reply, _)| reply), expected, "{text}");
        }
        for (text, expected) in [
            ("Allow", Reply::Allow),
            (" no ", Reply::Deny(None)),
            ("deny not on a Friday", Reply::Deny(Some("not on a Friday".to_owned()))),
            ("allow always", Reply::Text("allow always".to_owned())),
        ] {
            assert_eq!(parse_text(text, false), expected, "{text}");
        }
        for (text, expected) in [
            (" 2", Reply::Text("2".to_owned())),
            ("no", Reply::Text("no".to_owned())),
            ("Allow", Reply::Text("Allow".to_owned())),
            ("the blue one\nb", Reply::Text("the blue one\nb".to_owned())),
            ("Deny", Reply::Deny(None)),
            ("deny ask me later", Reply::Deny(Some("ask me later".to_owned()))),
        ] {
            assert_eq!(parse_text(text, true), expected, "{text}");
        }
    }
}
