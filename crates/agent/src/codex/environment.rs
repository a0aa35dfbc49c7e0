//! The environments in which Codex runs calls. Guard and rules only know this machine's files and programs, so murmur
//! allows no calls elsewhere.

use super::account::folder;
use crate::invocation::Env;
use serde_json::Value;
use std::path::Path;

/// The environment of the app-server itself, which is also that of calls without an id.
const LOCAL: &str = "local";

/// The variable with the address of another environment. Codex ignores it if there is a file with environments.
const URL: &str = "CODEX_EXEC_SERVER_URL";

/// The value of [`URL`] with which Codex runs no calls at all.
const NONE: &str = "none";

/// What makes Codex run calls elsewhere, or allows it, for the user with this `home` folder: a file or a variable.
#[must_use]
pub fn configured(home: &Path, env: Env<'_>) -> Option<String> {
    let file = folder(home, env).join("environments.toml");
    if file.symlink_metadata().is_ok() {
        return Some(file.display().to_string());
    }
    env(URL).filter(|url| url != NONE).map(|_| URL.to_owned())
}

/// Why nothing in the environment with the id `named` is allowed; `None` if it is this machine.
pub(super) fn elsewhere(named: &Value) -> Option<String> {
    let name = match named {
        Value::Null => return None,
        Value::String(name) if name == LOCAL => return None,
        Value::String(name) => name.clone(),
        other => other.to_string(),
    };
    Some(format!("the guard cannot check calls in the environment {name:?} of Codex, only on this machine"))
}
