//! The Agent Client Protocol, version 1: newline-delimited JSON-RPC in both directions.
//!
//! Foreign input: unknown kinds, fields and shapes are skipped, kinds and fields are counted. Programs differ in what
//! they say about a call (`call`), in what makes them ask about it (`program`), and in how a turn fails (`outcome`).

mod call;
mod client;
mod dialog;
mod fields;
mod goose;
mod handshake;
mod line;
mod message;
mod opencode;
mod outcome;
mod program;
mod start;
#[cfg(test)]
mod tests;

/// In every line that ends a turn: the beginning of the ids of murmur's requests.
pub(super) const END_OF_TURN: &[u8] = br#""murmur-"#;

pub use dialog::AcpDialog;
pub use handshake::{HandshakeError, Introduction, hello};
pub(super) use line::parse;
pub(super) use program::tested;
pub use start::environment;
pub(super) use start::start;
