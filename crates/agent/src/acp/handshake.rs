//! The handshake: what murmur says first, and what a program says about itself.

use super::client::capabilities;
use super::message::{Message, RequestTag, text_at};
use super::outcome::{VERSION, explained, wrong_version};
use murmur_core::config::acp_program::Offers;
use serde_json::{Value, json};
use thiserror::Error;

/// How many characters of a program's version are kept.
const VERSION_LENGTH: usize = 40;

/// What a program says about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Introduction {
    /// Its name and version; empty if it doesn't say.
    pub program: String,
    /// Its version; empty if it doesn't say.
    pub version: String,
    /// What it can do with sessions besides beginning them, sorted: `load`, `resume`, `list` and others.
    pub sessions: Vec<String>,
}

/// The program refuses, or speaks another version of the protocol.
#[derive(Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct HandshakeError(String);

impl Introduction {
    /// Reads a line of a program's output after [`hello`]. `None` if it is something else.
    #[must_use]
    pub fn read(line: &[u8]) -> Option<Result<Self, HandshakeError>> {
        match Message::read(line)? {
            Message::Response(RequestTag::Initialize, Ok(result)) => Some(
                wrong_version(&result).map_or_else(|| Ok(Self::of(&result)), |why| Err(HandshakeError(why))),
            ),
            Message::Response(RequestTag::Initialize, Err(error)) => {
                Some(Err(HandshakeError(explained(&error))))
            }
            _ => None,
        }
    }

    fn of(result: &Value) -> Self {
        let info = |key: &str| text_at(Some(result), &["agentInfo", key]);
        let name = Some(info("title")).filter(|title| !title.is_empty()).unwrap_or_else(|| info("name"));
        let program = format!("{name} {}", info("version")).trim().to_owned();
        let offered = &result["agentCapabilities"];
        let named = offered["sessionCapabilities"].as_object().into_iter().flatten();
        let named = named.filter(|(_, value)| !value.is_null() && **value != Value::Bool(false));
        let mut sessions: Vec<String> = named.map(|(name, _)| name.clone()).collect();
        sessions.extend((offered["loadSession"] == true).then(|| "load".to_owned()));
        sessions.sort();
        Self { program, version: version(result), sessions }
    }

    /// Whether it can resume a conversation.
    #[must_use]
    pub fn resumes(&self) -> bool {
        self.sessions.iter().any(|name| name == "load" || name == "resume")
    }
}

/// The program's version according to its handshake, up to the first character that versions don't have; empty if it
/// gives none.
pub(super) fn version(initialized: &Value) -> String {
    let version = text_at(Some(initialized), &["agentInfo", "version"]);
    let is_plain = |letter: &char| letter.is_ascii_alphanumeric() || "._+-".contains(*letter);
    version.chars().take_while(is_plain).take(VERSION_LENGTH).collect()
}

/// The first message to a program: the request that it introduce itself, with what is offered to it.
#[must_use]
pub fn hello(offers: Offers) -> Vec<u8> {
    let client = json!({ "name": "murmur", "version": env!("CARGO_PKG_VERSION") });
    let params = json!({
        "protocolVersion": VERSION, "clientCapabilities": capabilities(offers), "clientInfo": client
    });
    RequestTag::Initialize.request("initialize", &params)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &Value) -> Option<Result<Introduction, HandshakeError>> {
        Introduction::read(line.to_string().as_bytes())
    }

    fn response(result: &Value) -> Value {
        json!({ "jsonrpc": "2.0", "id": "murmur-initialize", "result": result })
    }

    #[test]
    fn a_program_says_what_it_is_and_what_it_can_do() {
        let sessions = json!({ "close": {}, "list": {}, "fork": null, "resume": false });
        let offered = json!({ "loadSession": true, "sessionCapabilities": sessions });
        let info = json!({ "name": "OpenCode", "version": "1.18.33" });
        let read = |result: &Value| read(&response(result)).unwrap().unwrap();
        let opencode =
            read(&json!({ "protocolVersion": 1, "agentCapabilities": offered, "agentInfo": info }));
        assert_eq!((opencode.program.as_str(), opencode.version.as_str()), ("OpenCode 1.18.33", "1.18.33"));
        assert_eq!(opencode.sessions, ["close", "list", "load"]);
        assert!(opencode.resumes());
        let bare = read(&json!({ "protocolVersion": 1 }));
        assert_eq!((bare.program.as_str(), bare.sessions.len(), bare.resumes()), ("", 0, false));
        let titled = json!({ "name": "@x/claude-agent-acp", "title": "Claude Agent", "version": "0.101.0" });
        let titled = read(&json!({ "protocolVersion": 1, "agentInfo": titled }));
        assert_eq!(titled.program, "Claude Agent 0.101.0");
    }

    #[test]
    fn a_refusal_and_another_version_are_errors() {
        let why = |line: &Value| read(line).unwrap().unwrap_err().to_string();
        assert_eq!(
            why(&response(&json!({ "protocolVersion": 2 }))),
            "the agent uses version 2 of the Agent Client Protocol, but murmur needs version 1"
        );
        let refused = json!({ "id": "murmur-initialize", "error": { "code": -32603, "message": "no disk" } });
        assert_eq!(why(&refused), "no disk");
    }

    #[test]
    fn other_lines_are_none() {
        for line in
            [json!({ "id": "murmur-session", "result": {} }), json!({ "method": "session/update" }), json!(1)]
        {
            assert_eq!(read(&line), None, "{line}");
        }
        assert_eq!(Introduction::read(b"Loaded cached credentials."), None);
    }
}
