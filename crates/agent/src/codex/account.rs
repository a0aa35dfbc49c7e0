//! The account that a run of Codex uses, from the environment alone: no credential is read. The app-server ignores
//! `CODEX_API_KEY`, so it is always that of a login.

use crate::invocation::Env;
use murmur_core::usage_limit::Account;
use std::path::Path;

/// The account, for the user with this `home` folder.
pub(crate) fn account(home: &Path, env: Env<'_>) -> Account {
    let folder = env("CODEX_HOME").map_or_else(|| home.join(".codex"), Into::into);
    Account::new("codex", &folder.to_string_lossy(), "login")
}
