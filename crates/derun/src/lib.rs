//! Runs any command as if nothing stood between it and the terminal, and keeps every byte that it writes.
//!
//! ```text
//! child bytes ─┬─> terminal, unchanged                                  (transport)
//!              └─> Recorder ─> Writer ─> sessions/<id>/ ─> Session ─> page, follow    (store)
//! ```
//!
//! The store knows nothing of transports: whoever has bytes and a [`writer::Writer`] can keep them, in as many
//! channels as it likes. docs/guide/captures.md describes the files.
//!
//! [`mcp`] serves what sessions wrote over the Model Context Protocol. [`cli`] is derun's command line, which murmur's
//! `run`, `mcp`, `sessions` and `show` share; on Windows it is all there is.

pub mod cli;
pub mod id;
mod index;
pub mod log;
pub mod mcp;
pub mod plain;
pub mod record;
pub mod recorder;
pub mod retention;
pub mod search;
pub mod session;
pub mod store;
mod syncer;
pub mod tail;
pub mod text;
pub mod transport;
pub mod writer;

#[cfg(test)]
mod tests;
