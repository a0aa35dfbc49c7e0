//! Codex: the parser of `codex app-server`'s JSON-RPC, and the dialog with it.

use super::dialog::{Conversation, Dialog, Verdict};
use super::event::{Event, PermissionRequest};
use super::start::{Plan, Prepared};
use sys::error::Failure;
use sys::failure;

/// In every line that ends a turn.
pub(super) const END_OF_TURN: &[u8] = br#""turn/completed""#;

/// Passes the events of `line` to `sink`.
pub(super) fn parse(line: &[u8], sink: &mut impl FnMut(Event<'_>)) {
    let _ = line;
    sink(Event::Garbled);
}

/// The dialog with Codex's app-server.
#[derive(Debug)]
pub struct CodexDialog {
    _conversation: Conversation,
}

impl CodexDialog {
    /// A dialog that begins or resumes `conversation`.
    #[must_use]
    pub fn new(conversation: Conversation) -> Self {
        Self { _conversation: conversation }
    }
}

impl Dialog for CodexDialog {
    fn send(&mut self, _text: &str) -> Vec<u8> {
        Vec::new()
    }

    fn answer(&mut self, _request: &PermissionRequest, _verdict: &Verdict) -> Vec<u8> {
        Vec::new()
    }

    fn interrupt(&mut self) -> Vec<u8> {
        Vec::new()
    }

    fn outlives_turn(&self) -> bool {
        true
    }
}

/// Prepares an agent.
pub(super) fn start(_plan: Plan<'_>) -> Result<Prepared, Failure> {
    Err(failure!("Codex is not supported yet"))
}
