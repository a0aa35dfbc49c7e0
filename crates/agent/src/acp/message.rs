//! Reads one line of JSON-RPC, as the Agent Client Protocol (version 1) frames it.
//!
//! Foreign input: what has another form than expected is [`Message::Other`].

use memchr::memmem;
use serde_json::{Map, Value, json};

/// The beginning of the ids of murmur's own requests. What follows says what was asked for, so that a response can be
/// understood without its request.
pub(super) const OWN_ID: &str = "murmur-";

/// One of murmur's own requests, as its id tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RequestTag {
    /// The handshake.
    Initialize,
    /// A conversation was begun or resumed.
    Session {
        /// The program's version; empty if it doesn't say.
        version: String,
        /// The id of the conversation to resume.
        resumed: Option<String>,
    },
    /// A conversation was loaded, which the program repeats afterward.
    Load {
        /// The program's version; empty if it doesn't say.
        version: String,
        /// The id of the conversation.
        session: String,
    },
    /// The first request after that: its response comes after what the program has repeated.
    Loaded {
        /// The program's version; empty if it doesn't say.
        version: String,
        /// The id of the conversation.
        session: String,
    },
    /// The permission mode was set to this one.
    Mode(String),
    /// The model was set to this one.
    Model(String),
    /// A prompt.
    Prompt {
        /// Makes its id unique.
        number: u64,
        /// Whether the program reports the tokens of each turn in which the model answered.
        is_counted: bool,
    },
}

impl RequestTag {
    /// Its id.
    pub(super) fn id(&self) -> String {
        let at = |version: &String| if version.is_empty() { String::new() } else { format!("@{version}") };
        match self {
            Self::Initialize => format!("{OWN_ID}initialize"),
            Self::Session { version, resumed } => {
                let resumed = resumed.as_ref().map(|session| format!(":{session}")).unwrap_or_default();
                format!("{OWN_ID}session{}{resumed}", at(version))
            }
            Self::Load { version, session } => format!("{OWN_ID}load{}:{session}", at(version)),
            Self::Loaded { version, session } => format!("{OWN_ID}loaded{}:{session}", at(version)),
            Self::Mode(mode) => format!("{OWN_ID}mode:{mode}"),
            Self::Model(model) => format!("{OWN_ID}model:{model}"),
            Self::Prompt { number, is_counted: true } => format!("{OWN_ID}counted:{number}"),
            Self::Prompt { number, is_counted: false } => format!("{OWN_ID}prompt:{number}"),
        }
    }

    /// Whether it is one of those between the session and the first prompt.
    pub(super) fn is_setting(&self) -> bool {
        matches!(self, Self::Loaded { .. } | Self::Mode(_) | Self::Model(_))
    }

    /// The request, as a line.
    pub(super) fn request(&self, method: &str, params: &Value) -> Vec<u8> {
        encode(&json!({ "jsonrpc": "2.0", "id": self.id(), "method": method, "params": params }))
    }

    /// The request with this id.
    fn parse(id: &str) -> Option<Self> {
        let rest = id.strip_prefix(OWN_ID)?;
        let (what, argument) = rest.split_once(':').map_or((rest, None), |(what, after)| (what, Some(after)));
        let text = || argument.map(str::to_owned);
        let (what, version) = what.split_once('@').unwrap_or((what, ""));
        let prompt = |is_counted| Some(Self::Prompt { number: argument?.parse().ok()?, is_counted });
        match what {
            "initialize" => Some(Self::Initialize),
            "session" => Some(Self::Session { version: version.to_owned(), resumed: text() }),
            "load" => text().map(|session| Self::Load { version: version.to_owned(), session }),
            "loaded" => text().map(|session| Self::Loaded { version: version.to_owned(), session }),
            "mode" => text().map(Self::Mode),
            "model" => text().map(Self::Model),
            "counted" => prompt(true),
            "prompt" => prompt(false),
            _ => None,
        }
    }
}

/// A line from the agent.
#[derive(Debug, PartialEq)]
pub(super) enum Message {
    /// `session/update`: what the agent did.
    Update(Map<String, Value>),
    /// A request to murmur.
    Request {
        /// Its id, a number or a text.
        id: Value,
        /// What it asks for.
        method: String,
        /// Its parameters.
        params: Map<String, Value>,
    },
    /// A notification of something else.
    Notification {
        /// What it is about.
        method: String,
        /// Its parameters.
        params: Map<String, Value>,
    },
    /// The response to one of murmur's requests: a result or an error.
    Response(RequestTag, Result<Value, Value>),
    /// The response to a request that murmur didn't send.
    UnknownResponse,
    /// An object that is none of these.
    Other,
}

impl Message {
    /// Reads `line`; `None` if it isn't a JSON object.
    pub(super) fn read(line: &[u8]) -> Option<Self> {
        let text = String::from_utf8_lossy(line);
        let parsed = serde_json::from_str(&text).or_else(|_| serde_json::from_str(&without_halves(&text)));
        let Ok(Value::Object(mut line)) = parsed else { return None };
        let mut params = object(line.remove("params"));
        let id = line.remove("id").filter(|id| !id.is_null());
        let method = line.remove("method").and_then(|method| method.as_str().map(str::to_owned));
        Some(match (method, id) {
            (Some(method), Some(id)) => Self::Request { id, method, params },
            (Some(method), None) if method == "session/update" => {
                Self::Update(object(params.remove("update")))
            }
            (Some(method), None) => Self::Notification { method, params },
            (None, Some(id)) => match (id.as_str().and_then(RequestTag::parse), line.remove("error")) {
                (Some(own), Some(error)) => Self::Response(own, Err(error)),
                (Some(own), None) => Self::Response(own, Ok(line.remove("result").unwrap_or_default())),
                (None, _) => Self::UnknownResponse,
            },
            (None, None) => Self::Other,
        })
    }
}

/// A message as a line.
pub(super) fn encode(message: &Value) -> Vec<u8> {
    let mut line = message.to_string().into_bytes();
    line.push(b'\n');
    line
}

/// The object, or an empty one for anything else.
pub(super) fn object(value: Option<Value>) -> Map<String, Value> {
    match value {
        Some(Value::Object(fields)) => fields,
        _ => Map::new(),
    }
}

/// The text at `path` in `value`; empty if there is none.
pub(super) fn text_at<'a>(value: Option<&'a Value>, path: &[&str]) -> &'a str {
    let found = path.iter().try_fold(value, |value, key| Some(value?.get(key))).flatten();
    found.and_then(Value::as_str).unwrap_or_default()
}

/// The line with U+FFFD for each escaped half of a surrogate pair. A program that cuts text between UTF-16 units may
/// send such halves.
fn without_halves(text: &str) -> String {
    let mut whole = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = memmem::find(rest.as_bytes(), b"\\") {
        // An escape is the backslash and the character after it; those of `\u` have four digits more.
        let (before, escape) = rest.split_at(at);
        whole.push_str(before);
        let unit = unit(escape);
        let second = escape.get(6..).and_then(self::unit);
        let length = match (unit, second) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => 12,
            (Some(0xd800..=0xdfff), _) => {
                whole.push(char::REPLACEMENT_CHARACTER);
                rest = &escape[6..];
                continue;
            }
            _ => 1 + escape[1..].chars().next().map_or(0, char::len_utf8),
        };
        whole.push_str(&escape[..length]);
        rest = &escape[length..];
    }
    whole.push_str(rest);
    whole
}

/// The UTF-16 unit that `escape` begins with, if it is written as `\uXXXX`.
fn unit(escape: &str) -> Option<u32> {
    u32::from_str_radix(escape.strip_prefix("\\u")?.get(..4)?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_of_a_request_identifies_it() {
        for own in [
            RequestTag::Initialize,
            RequestTag::Session { version: String::new(), resumed: None },
            RequestTag::Session { version: "1.18.33".to_owned(), resumed: None },
            RequestTag::Session { version: "1.18.33".to_owned(), resumed: Some("ses_1:x@2".to_owned()) },
            RequestTag::Load { version: "0.61.0".to_owned(), session: "s:1".to_owned() },
            RequestTag::Loaded { version: String::new(), session: "s".to_owned() },
            RequestTag::Mode("default".to_owned()),
            RequestTag::Model("fake/m:1".to_owned()),
            RequestTag::Prompt { number: 3, is_counted: true },
            RequestTag::Prompt { number: 3, is_counted: false },
        ] {
            assert_eq!(RequestTag::parse(&own.id()), Some(own));
        }
        for id in ["", "murmur-", "murmur-prompt", "murmur-prompt:x", "murmur-mode", "prompt:1"] {
            assert_eq!(RequestTag::parse(id), None, "{id}");
        }
    }

    #[test]
    fn half_a_surrogate_pair_is_replaced() {
        let line = r#"{"method":"x","params":{"a":"\ud83d","b":"\\ud83d \ud83d\ude00","c":"\udc00\n"}}"#;
        let Some(Message::Notification { params, .. }) = Message::read(line.as_bytes()) else {
            panic!("{line}")
        };
        assert_eq!(
            Value::from(params),
            serde_json::json!({ "a": "\u{fffd}", "b": "\\ud83d 😀", "c": "\u{fffd}\n" })
        );
    }

    #[test]
    fn anything_but_an_object_is_nothing() {
        for line in ["", "x", "[1]", "\"x\"", "{\"a\":", "{}}", "{\"id\":\"\\u\"}"] {
            assert_eq!(Message::read(line.as_bytes()), None, "{line}");
        }
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(Message::read(deep.as_bytes()), None);
        for line in ["{}", "{\"id\":null}", "{\"method\":1}"] {
            assert_eq!(Message::read(line.as_bytes()), Some(Message::Other), "{line}");
        }
        for line in ["{\"id\":5,\"result\":{}}", "{\"id\":\"x\",\"error\":1}"] {
            assert_eq!(Message::read(line.as_bytes()), Some(Message::UnknownResponse), "{line}");
        }
    }
}
