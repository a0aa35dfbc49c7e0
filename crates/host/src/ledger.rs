//! `events.jsonl`, next to an agent's session: murmur's own events, and checkpoints that map event numbers to byte
//! offsets.
//!
//! Each line is written at once, after the bytes that it refers to. A torn last line is ignored.

use super::event::MurmurEvent;
use super::output_parser::LineStarts;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io;
use sys::file::append_from;
use sys::lines::LineBuffer;

/// The file's name.
pub const FILE: &str = "events.jsonl";

/// A line: once all bytes before `at` had arrived, the next event was number `offset`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LedgerEntry {
    /// The event number.
    pub offset: u64,
    /// The byte offset.
    pub at: u64,
    /// Where unfinished lines started.
    #[serde(rename = "begins")]
    pub line_starts: LineStarts,
    /// Whether unfinished lines became events because the input had ended.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub flushed: bool,
    /// The event `offset`, if it is murmur's own; otherwise the line is only a checkpoint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own: Option<MurmurEvent>,
}

/// The line of `entry`.
pub fn line(entry: &LedgerEntry) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(entry)?;
    line.push(b'\n');
    Ok(line)
}

/// Reads entries one at a time, also while the file grows.
#[derive(Debug)]
pub struct Entries {
    file: File,
    at: u64,
    buffer: LineBuffer,
}

/// How much is read at once.
const BLOCK: usize = 16 << 10;

impl Entries {
    /// Reads the entries of `file`.
    #[must_use]
    pub fn new(file: File) -> Self {
        Self { file, at: 0, buffer: LineBuffer::new(usize::MAX) }
    }

    /// The next entry; `None` if there is none yet. Invalid lines are skipped.
    pub fn next_entry(&mut self) -> io::Result<Option<LedgerEntry>> {
        loop {
            while self.buffer.find().is_some() {
                if let Ok(entry) = serde_json::from_slice(self.buffer.line()) {
                    return Ok(Some(entry));
                }
            }
            match append_from(&self.file, self.buffer.space(), self.at, BLOCK)? {
                0 => return Ok(None),
                read => self.at += read as u64,
            }
        }
    }
}
