//! What each backend does in its own way: the form of its output, and the dialog on its stdin.

use super::acp::{self, AcpDialog};
use super::claude::{self, ClaudeDialog};
use super::codex::{self, CodexDialog};
use super::dialog::{Conversation, Dialog};
use super::invocation::Env;
use super::parser::Dialect;
use super::start::{Plan, Prepared};
pub use crate::call::{Translated, Unreadable};
pub use crate::claude::Places;
use murmur_core::config::backend::Backend;
use murmur_core::usage_limit::Account;
use serde_json::Value;
use std::path::Path;
use sys::error::Failure;
use sys::failure;

/// The form of `backend`'s output.
#[must_use]
pub fn dialect(backend: &Backend) -> Dialect {
    match backend {
        Backend::Claude => Dialect::StreamJson,
        Backend::Codex => Dialect::CodexAppServer,
        Backend::Acp(_) => Dialect::Acp,
    }
}

/// Prepares an agent of `backend`.
pub fn prepare(backend: &Backend, plan: Plan<'_>) -> Result<Prepared, Failure> {
    match backend {
        Backend::Claude => claude::start(plan),
        Backend::Codex => codex::start(plan),
        Backend::Acp(name) => acp::start(name, plan),
    }
}

/// A dialog with a new agent.
#[must_use]
pub fn dialog(backend: &Backend, conversation: Conversation) -> Box<dyn Dialog> {
    match backend {
        Backend::Claude => Box::new(ClaudeDialog::default()),
        Backend::Codex => Box::new(CodexDialog::new(conversation)),
        Backend::Acp(name) => Box::new(AcpDialog::new(name, conversation)),
    }
}

/// Translates what the hook of a `backend` gets about a call.
///
/// # Errors
/// If the effects of the call are unknown. Callers deny it.
pub fn translate(backend: &Backend, tool: String, input: Value) -> Result<Translated, Unreadable> {
    match backend {
        Backend::Codex => codex::translate(tool, input),
        Backend::Claude | Backend::Acp(_) => Ok(Translated { tool, input, parts: Vec::new() }),
    }
}

/// Whether `backend` treats a hook that says `allow` as failed: there, a hook that says nothing allows the call.
#[must_use]
pub fn allows_by_silence(backend: &Backend) -> bool {
    *backend == Backend::Codex
}

/// Whether the hooks of `backend` report calls and turns that fail or are interrupted. Otherwise, only its output does.
#[must_use]
pub fn hooks_report_failures(backend: &Backend) -> bool {
    *backend == Backend::Claude
}

/// The account whose usage limits a run of `backend` counts against, for the user with this `home` folder.
#[must_use]
pub fn account(backend: &Backend, home: &Path, env: Env<'_>) -> Account {
    match backend {
        Backend::Claude => claude::account(home, env),
        Backend::Codex => codex::account(home, env),
        Backend::Acp(name) => Account::new(&format!("acp:{name}"), &home.to_string_lossy(), "login"),
    }
}

/// Why an agent of `backend` would fail at once, if it is certainly not logged in.
#[must_use]
pub fn login_problem(backend: &Backend, places: &Places<'_>) -> Option<Failure> {
    // Others have too many ways to log in.
    let folder = Some(places).filter(|_| *backend == Backend::Claude).and_then(claude::logged_out)?;
    Some(failure!(
        "Claude Code is not logged in: there are no credentials in {}", folder.display();
        "run claude and log in there, or give the daemon ANTHROPIC_API_KEY or CLAUDE_CODE_OAUTH_TOKEN"
    ))
}

/// The program's name, and the prefixes of the versions that murmur was tested with.
#[must_use]
pub fn tested(backend: &Backend) -> Option<(&'static str, &'static [&'static str])> {
    match backend {
        Backend::Claude => Some(("Claude Code", claude::TESTED)),
        Backend::Codex => Some(("Codex", codex::TESTED)),
        Backend::Acp(name) => acp::tested(name),
    }
}
