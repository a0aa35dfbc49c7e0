//! `logs/derun.log`: what happened to sessions, one JSON object a line (spec 4, Logging). No output of a command is
//! ever in it, and no argument of one.

use super::record::{State, Stretch, TransportMode};
use jiff::Timestamp;
use serde::Serialize;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use sys::folder::Folder;
use sys::{atomic, clock, lock};

/// A log of more bytes than this is moved to `derun.log.1` when it is opened next.
const MAX: u64 = 8 * 1024 * 1024;

/// Lines are written in portions of about this many bytes.
const PORTION: usize = 32 * 1024;

/// What a sweep did with a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CleanupResult {
    /// It stays.
    Skipped,
    /// It is gone.
    Removed,
    /// It could not be told or done.
    Error,
}

/// Why (spec 4, "Logging boundary rules").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CleanupReason {
    /// Its time has not come.
    NotExpired,
    /// It is being written.
    ActiveSession,
    /// Its time is over.
    Expired,
    /// It has no readable meta.json, and was changed not long ago.
    UnreadableNotExpired,
    /// It has no readable meta.json, and was changed long ago.
    UnreadableExpired,
    /// It has no readable meta.json, and cannot be looked at.
    UnreadableStatError,
    /// Removing it failed.
    RemoveError,
}

/// What a line says.
#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event<'a> {
    /// A session went from a state to the next.
    StateTransition {
        /// Which.
        session_id: &'a str,
        /// How its output reaches us.
        transport_mode: TransportMode,
        /// Whether stdin and stdout are a terminal.
        tty_attached: bool,
        /// As `starting->running`.
        state_transition: String,
        /// The exit code.
        #[serde(skip_serializing_if = "Option::is_none")]
        exit_code: Option<i32>,
        /// The signal.
        #[serde(skip_serializing_if = "Option::is_none")]
        signal: Option<&'a str>,
    },
    /// A stretch of output was written down.
    Chunk {
        /// Of which session.
        session_id: &'a str,
        /// Its first byte.
        chunk_offset: u64,
        /// How many bytes it has.
        chunk_size: u64,
    },
    /// The session takes no more output.
    CaptureStopped {
        /// Which.
        session_id: &'a str,
        /// How many bytes it has.
        kept_bytes: u64,
        /// The underlying error.
        error: &'a str,
    },
    /// A sweep looked at a session.
    CleanupResult {
        /// Which.
        session_id: &'a str,
        /// What came of it.
        cleanup_result: CleanupResult,
        /// Why.
        cleanup_reason: CleanupReason,
        /// The underlying error.
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
}

#[derive(Serialize)]
struct Line<'a> {
    timestamp: Timestamp,
    #[serde(flatten)]
    event: &'a Event<'a>,
}

/// A log that is open. Trouble with it troubles nobody: what cannot be written is dropped.
#[derive(Debug, Default)]
pub struct Log {
    file: Option<File>,
    waiting: Vec<u8>,
}

impl Log {
    /// The log of the store at `root`.
    #[must_use]
    pub fn open(root: &Path) -> Self {
        Self { file: open(root).ok(), waiting: Vec::new() }
    }

    /// Notes `event`; it is written with others, or when this is flushed or dropped.
    pub fn note(&mut self, event: &Event<'_>) {
        if self.file.is_none() {
            return;
        }
        let line = Line { timestamp: clock::now(), event };
        if serde_json::to_writer(&mut self.waiting, &line).is_ok() {
            self.waiting.push(b'\n');
        }
        if self.waiting.len() > PORTION {
            self.flush();
        }
    }

    /// Notes a stretch of `session`.
    pub(super) fn note_stretch(&mut self, session: &str, stretch: &Stretch) {
        self.note(&Event::Chunk {
            session_id: session,
            chunk_offset: stretch.offset,
            chunk_size: stretch.length,
        });
    }

    /// Notes that `session` goes on to `to`.
    pub(super) fn note_state(
        &mut self,
        meta: &super::record::Meta,
        from: State,
        to: State,
        exit_code: Option<i32>,
        signal: Option<&str>,
    ) {
        self.note(&Event::StateTransition {
            session_id: &meta.session_id,
            transport_mode: meta.transport_mode,
            tty_attached: meta.tty_attached,
            state_transition: format!("{from}->{to}"),
            exit_code,
            signal,
        });
    }

    /// Writes what waits, whole lines in one `write`, so that several programs share the file.
    pub fn flush(&mut self) {
        if let Some(file) = &mut self.file {
            let _full = file.write_all(&self.waiting);
        }
        self.waiting.clear();
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        self.flush();
    }
}

fn open(root: &Path) -> io::Result<File> {
    let logs = root.join("logs");
    let folder = match Folder::open(&logs) {
        Ok(folder) => folder,
        Err(_) => {
            atomic::create_private_folder(&logs)?;
            Folder::open(&logs)?
        }
    };
    let file = folder.append_file("derun.log")?;
    if file.metadata()?.len() <= MAX {
        return Ok(file);
    }
    // By one of those that see it at the same time: a second one would move the new log over the old.
    if let Some(lock) = lock::try_take(file)?
        && folder.is_named("derun.log", lock.file())?
    {
        folder.rename("derun.log", "derun.log.1")?;
    }
    folder.append_file("derun.log")
}
