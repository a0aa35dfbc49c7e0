//! Tests on excerpts of recorded runs of Codex 0.169.0, with shortened ids and paths.

mod dialog;
mod environment;
mod parser;

/// The response to `thread/start`, with this approval policy and sandbox.
fn thread(policy: &str, sandbox: &str) -> String {
    format!(
        r#"{{"id":"thread","result":{{"thread":{{"id":"t1","sessionId":"t1","ephemeral":false,"model":"gpt-5.5","status":{{"type":"idle"}},"cwd":"/w","cliVersion":"0.169.0","turns":[]}},"model":"gpt-5.5","modelProvider":"openai","cwd":"/w","approvalPolicy":"{policy}","approvalsReviewer":"user","sandbox":{{"type":"{sandbox}"}}}}}}"#
    )
}

const INITIALIZED: &str = r#"{"id":"initialize","result":{"userAgent":"murmur/0.169.0 (Debian 12.0.0; x86_64) dumb (murmur; 0.1)","codexHome":"/home/u/.codex","platformFamily":"unix","platformOs":"linux"}}"#;

const HOOKS: &str = r#"{"id":"hooks","result":{"data":[{"cwd":"/w","hooks":[{"key":"/<session-flags>/config.toml:pre_tool_use:0:0","eventName":"preToolUse","handlerType":"command","command":"x","timeoutSec":30,"sourcePath":"/<session-flags>/config.toml","source":"sessionFlags","enabled":true,"isManaged":false,"currentHash":"sha256:e4","trustStatus":"trusted"}],"warnings":[],"errors":[]}]}}"#;

const TURN_ACCEPTED: &str =
    r#"{"id":"turn","result":{"turn":{"id":"u1","items":[],"status":"inProgress","error":null}}}"#;

const TURN_STARTED: &str = r#"{"method":"turn/started","params":{"threadId":"t1","turn":{"id":"u1","items":[],"status":"inProgress","error":null}}}"#;

const MCP_STARTED: &str = r#"{"method":"item/started","params":{"item":{"type":"mcpToolCall","id":"call_M","server":"t","tool":"poke","status":"inProgress","arguments":{"x":"1"},"result":null,"error":null,"durationMs":null},"threadId":"t1","turnId":"u1"}}"#;

/// A line of a `turn/completed`, with this status.
fn turn_completed(status: &str, error: &str, items: &str) -> String {
    format!(
        r#"{{"method":"turn/completed","params":{{"threadId":"t1","turn":{{"id":"u1","items":[{items}],"itemsView":"summary","status":"{status}","error":{error},"startedAt":1,"completedAt":2,"durationMs":253}}}},"emittedAtMs":3}}"#
    )
}
