//! What each backend does in its own way: the form of its output, and the dialog on its stdin.

use super::acp::{self, AcpDialog};
use super::claude::{self, ClaudeDialog};
use super::codex::{self, CodexDialog};
use super::dialog::{Conversation, Dialog};
use super::parser::Dialect;
use super::start::{Plan, Prepared};
use murmur_core::config::backend::Backend;
use sys::error::Failure;

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
        Backend::Acp(_) => acp::start(plan),
    }
}

/// A dialog with a new agent.
#[must_use]
pub fn dialog(backend: &Backend, conversation: Conversation) -> Box<dyn Dialog> {
    match backend {
        Backend::Claude => Box::new(ClaudeDialog::default()),
        Backend::Codex => Box::new(CodexDialog::new(conversation)),
        Backend::Acp(_) => Box::new(AcpDialog::new(conversation)),
    }
}
