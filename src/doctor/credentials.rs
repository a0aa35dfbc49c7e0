//! Whether Claude Code has credentials; never which.

use super::{Check, Environment, Finding, Hint};
use serde_json::{Map, Value};
use std::path::Path;
use sys::file;

/// Variables that hold credentials for Claude Code, or select a cloud provider's.
pub const VARIABLES: [&str; 6] = [
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "CLAUDE_CODE_USE_BEDROCK",
    "CLAUDE_CODE_USE_VERTEX",
    "CLAUDE_CODE_USE_FOUNDRY",
];

pub(super) fn examine(environment: &Environment) -> Finding {
    let check = Check::CREDENTIALS;
    if object(&environment.claude.join(".credentials.json")).is_some_and(|found| is_login(&found)) {
        return check.ok("claude is logged in");
    }
    if object(&environment.claude.join("settings.json")).is_some_and(|settings| names_some(&settings)) {
        return check.ok("set in claude's settings");
    }
    if environment.has_credentials {
        return check.ok("set in the environment, which a service does not have");
    }
    if cfg!(target_os = "macos") {
        return check.warn("none in files; the keychain is not checked", Hint::TRY_A_BEAT);
    }
    check.warn("none in the environment, and claude is not logged in", Hint::LOG_IN)
}

/// The JSON object in a file, if there is one.
pub(super) fn object(path: &Path) -> Option<Map<String, Value>> {
    serde_json::from_slice(&file::read_regular(path).ok()??).ok()
}

/// Whether it contains a login: MCP servers' credentials are in the same file.
fn is_login(credentials: &Map<String, Value>) -> bool {
    let login = credentials.get("claudeAiOauth");
    ["accessToken", "refreshToken"].into_iter().any(|name| is_set(login.and_then(|login| login.get(name))))
}

fn is_set(value: Option<&Value>) -> bool {
    value.and_then(Value::as_str).is_some_and(|text| !text.is_empty())
}

/// Whether Claude Code's settings have a key helper or set a variable.
fn names_some(settings: &Map<String, Value>) -> bool {
    let variables = settings.get("env").and_then(Value::as_object);
    is_set(settings.get("apiKeyHelper"))
        || variables.is_some_and(|set| VARIABLES.into_iter().any(|name| is_set(set.get(name))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_login_is_a_claude_token() {
        let is = |credentials: Value| is_login(credentials.as_object().unwrap());
        assert!(is(json!({ "claudeAiOauth": { "accessToken": "x" } })));
        assert!(is(json!({ "claudeAiOauth": { "accessToken": "", "refreshToken": "x" } })));
        for none in [
            json!({}),
            json!({ "mcpOAuth": { "server": { "accessToken": "x" } } }),
            json!({ "claudeAiOauth": {} }),
            json!({ "claudeAiOauth": { "accessToken": "", "refreshToken": 1 } }),
            json!({ "claudeAiOauth": "x" }),
        ] {
            assert!(!is(none.clone()), "{none}");
        }
    }

    #[test]
    fn settings_name_credentials_by_a_helper_or_a_variable() {
        let names = |settings: Value| names_some(settings.as_object().unwrap());
        assert!(names(json!({ "apiKeyHelper": "/bin/key" })));
        assert!(names(json!({ "env": { "ANTHROPIC_API_KEY": "x" } })));
        for none in
            [json!({}), json!({ "apiKeyHelper": "" }), json!({ "env": { "A": "x" } }), json!({ "env": 1 })]
        {
            assert!(!names(none.clone()), "{none}");
        }
    }
}
