//! Capture: a command runs as if nothing stood between it and the terminal, and every byte it wrote is kept.
//!
//! ```text
//! child bytes ─┬─> terminal, unchanged                                  (transport)
//!              └─> Recorder ─> Writer ─> sessions/<id>/ ─> Session ─> page, follow    (store)
//! ```
//!
//! The store knows nothing of transports: whoever has bytes and a [`writer::Writer`] can keep them, in as many
//! channels as it likes. docs/captures.md describes the files.

pub mod id;
mod index;
pub mod log;
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
