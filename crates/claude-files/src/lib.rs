//! Claude Code's own files.
//!
//! Reads settings and a repository's files; returns what to change or what they would run. Must not know hosts or the
//! daemon.
//!
//! Each module uses only those above it; `tests/it/layers.rs` checks it against this list.
//!
//! - `trust`: what a repository's Claude files would do, whether the user trusts them, and how agents start without
//!   them
//! - `setup`: adds murmur's hooks to Claude Code's settings files and removes them, changing nothing else

pub mod setup;
pub mod trust;
