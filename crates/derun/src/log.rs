//! `logs/derun.log`: what happened to sessions, one JSON object per line (spec 4, Logging). It never contains output
//! or arguments of commands.

use super::record::{State, Stretch, TransportMode};
use jiff::Timestamp;
use serde::Serialize;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use sys::folder::Folder;
use sys::{atomic, clock, lock};

/// A larger log is renamed to `derun.log.1` when it is next opened, or during a long run.
const MAX: u64 = 8 * 1024 * 1024;

/// The approximate size of a write, in bytes.
const PORTION: usize = 32 * 1024;

/// The result of sweeping a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CleanupResult {
    /// It was kept.
    Skipped,
    /// It was removed.
    Removed,
    /// It could not be checked or removed.
    Error,
}

/// The reason (spec 4, "Logging boundary rules").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CleanupReason {
    /// It has not expired.
    NotExpired,
    /// It is being written.
    ActiveSession,
    /// It has expired.
    Expired,
    /// It has no readable meta.json and was changed recently.
    UnreadableNotExpired,
    /// It has no readable meta.json and was not changed recently.
    UnreadableExpired,
    /// It has no readable meta.json, and its files cannot be checked.
    UnreadableStatError,
    /// Removing it failed.
    RemoveError,
}

/// An event in the log.
#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event<'a> {
    /// A session changed its state.
    StateTransition {
        /// The session.
        session_id: &'a str,
        /// How its output is captured.
        transport_mode: TransportMode,
        /// Whether stdin and stdout are a terminal.
        tty_attached: bool,
        /// Such as `starting->running`.
        state_transition: String,
        /// The exit code.
        #[serde(skip_serializing_if = "Option::is_none")]
        exit_code: Option<i32>,
        /// The signal.
        #[serde(skip_serializing_if = "Option::is_none")]
        signal: Option<&'a str>,
    },
    /// A stretch of output was written.
    Chunk {
        /// The session.
        session_id: &'a str,
        /// The offset of its first byte.
        chunk_offset: u64,
        /// Its size in bytes.
        chunk_size: u64,
    },
    /// Capturing stopped.
    CaptureStopped {
        /// The session.
        session_id: &'a str,
        /// The number of captured bytes.
        kept_bytes: u64,
        /// The underlying error.
        error: &'a str,
    },
    /// A sweep checked a session.
    CleanupResult {
        /// The session.
        session_id: &'a str,
        /// The result.
        cleanup_result: CleanupResult,
        /// The reason.
        cleanup_reason: CleanupReason,
        /// The underlying error.
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
}

#[derive(Serialize)]
struct LogLine<'a> {
    timestamp: Timestamp,
    #[serde(flatten)]
    event: &'a Event<'a>,
}

/// An open log. Errors are ignored: what cannot be written is dropped.
#[derive(Debug, Default)]
pub struct Log {
    root: PathBuf,
    file: Option<File>,
    waiting: Vec<u8>,
    /// How many bytes were written since the size of the file was checked.
    unchecked: usize,
}

impl Log {
    /// The log of the store at `root`.
    #[must_use]
    pub fn open(root: &Path) -> Self {
        Self { root: root.to_owned(), file: open(root).ok(), waiting: Vec::new(), unchecked: 0 }
    }

    /// Adds `event`. It is written with later ones, or when this is flushed or dropped.
    pub fn note(&mut self, event: &Event<'_>) {
        if self.file.is_none() {
            return;
        }
        let line = LogLine { timestamp: clock::now(), event };
        if serde_json::to_writer(&mut self.waiting, &line).is_ok() {
            self.waiting.push(b'\n');
        }
        if self.waiting.len() > PORTION {
            self.flush();
        }
    }

    /// Logs a stretch of `session`.
    pub(super) fn note_stretch(&mut self, session: &str, stretch: &Stretch) {
        self.note(&Event::Chunk {
            session_id: session,
            chunk_offset: stretch.offset,
            chunk_size: stretch.length,
        });
    }

    /// Logs that `session` changes to state `to`.
    pub(super) fn note_state(
        &mut self,
        meta: &super::record::Meta,
        from: State,
        to: State,
        exit_code: Option<i32>,
        signal: Option<&str>,
    ) {
        self.note(&Event::StateTransition {
            session_id: meta.session_id.as_str(),
            transport_mode: meta.transport_mode,
            tty_attached: meta.tty_attached,
            state_transition: format!("{from}->{to}"),
            exit_code,
            signal,
        });
    }

    /// Writes buffered lines with a single `write`, so that several programs can share the file.
    pub fn flush(&mut self) {
        let is_large = |file: &File| file.metadata().is_ok_and(|found| found.len() > MAX);
        if self.unchecked > PORTION {
            self.unchecked = 0;
            if self.file.as_ref().is_some_and(is_large) {
                // Windows renames no file that is open.
                self.file = None;
                self.file = open(&self.root).ok();
            }
        }
        self.unchecked += self.waiting.len();
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
    // Only one process may rotate: a second one would rename the new log over the old.
    if let Some(lock) = lock::try_take(file)?
        && folder.is_named("derun.log", lock.file())?
    {
        folder.rename("derun.log", "derun.log.1")?;
    }
    folder.append_file("derun.log")
}
