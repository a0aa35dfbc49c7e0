//! Append-only files that several processes share, rotated by size into dated zstd files.
//!
//! A *live* file such as `heartbeats.jsonl` has older *parts* in the folder `archive` beside it:
//! `heartbeats-2026-02-03-000001.jsonl.zst`. Their numbers give the order, since a clock can be set back.
//!
//! # Theory of operation
//!
//! - A writer opens the live file, takes its lock, and checks that the path still leads to it; otherwise it starts over
//!   ([`open_locked`]). A rotation renames the file under the same lock ([`append()`]). So no writer appends to a file
//!   that has been renamed.
//! - Programs that don't check the path, such as older versions, may still append to the newest part. It is therefore
//!   compressed only after the next rotation ([`compress()`]).
//! - A part is removed once its compressed file is on disk. A reader that finds both reads the former.
//! - Readers take no lock: they open the live file, list its parts, and start over if the path leads to another file by
//!   then ([`History::open`]).
//!
//! A symlink is never rotated: the file may be shared with other programs.

mod append;
mod compress;
mod history;
mod part;

pub use append::{append, append_line, open_locked, rotate_if_full};
pub use compress::compress;
pub use history::History;
pub use part::{Content, Part, PartError, list as parts};

/// How large a file may become before it is rotated, in bytes.
pub const LIMIT: u64 = 16 << 20;

#[cfg(test)]
mod tests;
