//! The first request to Codex's app-server, and its answer.

use super::line::CodexMessage;
use super::thread::INITIALIZE;
use serde_json::json;

/// Notifications that murmur has no use for, most of them parts of what an item has as a whole.
const UNUSED: [&str; 10] = [
    "command/exec/outputDelta",
    "item/agentMessage/delta",
    "item/commandExecution/outputDelta",
    "item/fileChange/outputDelta",
    "item/mcpToolCall/progress",
    "item/plan/delta",
    "item/reasoning/summaryTextDelta",
    "item/reasoning/textDelta",
    "process/outputDelta",
    "turn/diff/updated",
];

/// The request.
#[must_use]
pub fn hello() -> Vec<u8> {
    let version = env!("CARGO_PKG_VERSION");
    let params = json!({
        "clientInfo": { "name": "murmur", "title": "murmur", "version": version },
        // `thread/backgroundTerminals/clean` is experimental.
        "capabilities": { "experimentalApi": true, "optOutNotificationMethods": UNUSED },
    });
    format!("{}\n", json!({ "method": "initialize", "id": INITIALIZE, "params": params })).into_bytes()
}

/// Whether `line` says that the app-server accepts the request.
#[must_use]
pub fn is_hello(line: &[u8]) -> bool {
    let text = String::from_utf8_lossy(line);
    CodexMessage::read(&text).is_some_and(|line| {
        line.own_id().as_deref() == Some(INITIALIZE) && line.result.is_some() && line.error.is_none()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_answer_to_the_request_is_one() {
        assert!(is_hello(br#"{"id":"initialize","result":{"userAgent":"codex"}}"#));
        for other in [
            r#"{"id":"initialize","error":{"code":-32600,"message":"no"}}"#,
            r#"{"id":"hooks","result":{}}"#,
            r#"{"method":"initialize","id":"initialize","params":{}}"#,
            "Usage: codex [OPTIONS] [PROMPT]",
        ] {
            assert!(!is_hello(other.as_bytes()), "{other}");
        }
        assert!(!is_hello(&hello()));
    }
}
