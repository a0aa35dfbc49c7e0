//! The account that a run of Claude Code uses, from the environment alone: no credential is read.

use crate::invocation::Env;
use murmur_core::usage_limit::Account;
use std::path::Path;

/// What decides the kind of credential, in Claude Code's order: the first variable that is set.
const KINDS: [(&str, &str); 6] = [
    ("CLAUDE_CODE_USE_BEDROCK", "Bedrock"),
    ("CLAUDE_CODE_USE_VERTEX", "Vertex"),
    ("CLAUDE_CODE_USE_FOUNDRY", "Foundry"),
    ("ANTHROPIC_AUTH_TOKEN", "auth token"),
    ("ANTHROPIC_API_KEY", "API key"),
    ("CLAUDE_CODE_OAUTH_TOKEN", "OAuth token"),
];

/// The account, for the user with this `home` folder.
pub(crate) fn account(home: &Path, env: Env<'_>) -> Account {
    let folder = env("CLAUDE_CONFIG_DIR").map_or_else(|| home.join(".claude"), Into::into);
    let kind = KINDS.iter().find(|(variable, _)| env(variable).is_some()).map_or("login", |(_, kind)| kind);
    Account::new("claude", &folder.to_string_lossy(), kind)
}
