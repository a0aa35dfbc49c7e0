//! Claude Code: the parser of its stream-json, and what murmur writes to its stdin.
//!
//! Foreign input: unknown types, fields and shapes are skipped, since every release adds some. Types and fields that
//! are not in `known` are counted.

mod account;
mod dialog;
mod json;
mod known;
mod line;
mod login;
mod rare;
mod session;
mod start;

/// In every line that ends a turn.
pub(super) const END_OF_TURN: &[u8] = br#""result""#;

/// The prefixes of the versions that murmur was tested with.
pub(super) const TESTED: &[&str] = &["2.1."];

pub(super) use account::account;
pub use dialog::ClaudeDialog;
pub(super) use line::parse;
pub use login::Places;
pub(super) use login::logged_out;
pub(super) use start::start;

#[cfg(test)]
mod tests;
