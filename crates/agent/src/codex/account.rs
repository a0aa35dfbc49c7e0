//! The account that a run of Codex uses, from the environment alone: no credential is read.

use crate::invocation::Env;
use murmur_core::usage_limit::Account;
use std::path::Path;

/// The account, for the user with this `home` folder.
pub(crate) fn account(home: &Path, env: Env<'_>) -> Account {
    let folder = env("CODEX_HOME").map_or_else(|| home.join(".codex"), Into::into);
    let kind = if env("CODEX_API_KEY").is_some() { "API key" } else { "login" };
    Account::new("codex", &folder.to_string_lossy(), kind)
}
