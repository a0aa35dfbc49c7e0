//! `events.jsonl`, beside an agent's session: murmur's own events, and where in the bytes which number is reached.
//!
//! One line is written at once, after the bytes it speaks of. A torn last line is none.

use super::derive::Begins;
use super::event::Own;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, Write};
use sys::file::append_from;
use sys::lines::LineBuffer;

/// Its name.
pub const FILE: &str = "events.jsonl";

/// A line: when all bytes before `at` had come, the next event was number `offset`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// The number.
    pub offset: u64,
    /// The bytes.
    pub at: u64,
    /// Where what was no event yet began.
    pub begins: Begins,
    /// Whether that counted as events, since no more bytes would come.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub flushed: bool,
    /// The event `offset`, if it is murmur's own; else the line only says how far things were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own: Option<Own>,
}

/// Writes `entry` to the end of `file`.
///
/// # Errors
/// What the system says. The line may be torn then, and nothing more may be written.
pub fn write(mut file: &File, entry: &Entry) -> io::Result<()> {
    let mut line = serde_json::to_vec(entry)?;
    line.push(b'\n');
    file.write_all(&line)
}

/// Reads the entries one after the other, also while they are written.
#[derive(Debug)]
pub struct Entries {
    file: File,
    at: u64,
    buffer: LineBuffer,
}

/// What is read at once.
const BLOCK: usize = 16 << 10;

impl Entries {
    /// The entries of `file`.
    #[must_use]
    pub fn new(file: File) -> Self {
        Self { file, at: 0, buffer: LineBuffer::new(usize::MAX) }
    }

    /// The next; `None` if there is none yet. A line that is no entry is passed over.
    ///
    /// # Errors
    /// What the system says.
    pub fn next_entry(&mut self) -> io::Result<Option<Entry>> {
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
