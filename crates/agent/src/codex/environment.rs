//! The environments in which Codex runs calls. Guard and rules judge a call by this machine's files and programs, so
//! murmur allows none elsewhere.

use serde_json::Value;

/// The environment of the app-server itself, which is also that of calls without an id.
const LOCAL: &str = "local";

/// Why nothing in the environment with the id `named` is allowed; `None` if it is this machine.
pub(super) fn elsewhere(named: &Value) -> Option<String> {
    let name = match named {
        Value::Null => return None,
        Value::String(name) if name == LOCAL => return None,
        Value::String(name) => name.clone(),
        other => other.to_string(),
    };
    Some(format!("the guard cannot judge calls in the environment {name:?} of Codex, only on this machine"))
}
