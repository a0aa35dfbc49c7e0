//! Codex: the parser of `codex app-server`'s JSON-RPC, the dialog with it, and how it is started.
//!
//! Foreign input: unknown methods, items and fields are skipped and counted, since every release adds some.

mod account;
mod command;
mod consent;
mod dialog;
mod environment;
mod fields;
mod hello;
mod hooks;
mod item;
mod known;
mod limits;
mod line;
mod mcp_call;
mod patch;
mod report;
mod start;
mod thread;

/// In every line that ends a turn.
pub(super) const END_OF_TURN: &[u8] = br#""turn/completed""#;

/// The prefixes of the versions that murmur was tested with, oldest first.
pub const TESTED: &[&str] = &["0.169.", "0.171."];

pub(super) use account::{HOME, account};
pub use dialog::CodexDialog;
pub use environment::configured as configured_environment;
pub use hello::{hello, is_hello};
pub(super) use line::parse;
pub(super) use patch::translate;
pub(super) use start::start;

#[cfg(test)]
mod tests;
