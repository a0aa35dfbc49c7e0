//! Runs any command as if it were connected to the terminal directly, and captures every byte that it writes.
//!
//! ```text
//! child bytes ─┬─> terminal, unchanged                                  (transport)
//!              └─> Recorder ─> Writer ─> sessions/ ─> Session ─> page, follow    (store)
//! ```
//!
//! The store doesn't depend on transports: anything that has bytes and a [`writer::Writer`] can capture them, in any
//! number of channels. README.md describes the files.
//!
//! [`mcp`] serves captured sessions over the Model Context Protocol. [`cli`] is derun's command line, which murmur's
//! `capture` and `mcp` share; on Windows there is only derun.

pub mod cli;
#[cfg(unix)]
mod draft;
pub mod id;
mod index;
pub mod log;
pub mod mcp;
#[cfg(unix)]
pub mod pack;
mod parts;
pub mod plain;
pub mod record;
pub mod recorder;
pub mod retention;
pub mod search;
pub mod session;
mod session_files;
pub mod store;
pub mod syncer;
pub mod tail;
pub mod text;
pub mod transport;
#[cfg(unix)]
pub mod unpacked;
pub mod writer;

#[cfg(test)]
mod tests;
