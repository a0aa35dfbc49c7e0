//! The account that a run of Codex uses, from the environment alone: no credential is read. The app-server ignores
//! `CODEX_API_KEY`, so it is always that of a login.

use crate::invocation::Env;
use murmur_core::usage_limit::Account;
use std::path::{Path, PathBuf};

/// The variable with Codex's folder, if it is not the usual one.
pub(crate) const HOME: &str = "CODEX_HOME";

/// The account, for the user with this `home` folder.
pub(crate) fn account(home: &Path, env: Env<'_>) -> Account {
    Account::new("codex", &folder(home, env).to_string_lossy(), "login")
}

/// Codex's folder.
pub(super) fn folder(home: &Path, env: Env<'_>) -> PathBuf {
    env(HOME).map_or_else(|| home.join(".codex"), Into::into)
}
