//! What is on its way to disk: last runs to config.json, journal lines that found no room or no writer.

use super::follow::with_cause;
use super::recent::{Pending, Runs};
use crate::journal::entry::Entry;
use crate::journal::reserve::Reserve;
use crate::journal::{append, unfinished};
use crate::sys::clock;
use crate::sys::paths::DataDir;
use jiff::Timestamp;
use std::path::PathBuf;
use std::time::Duration;
use tokio::time::{Instant, sleep_until};

/// How long last runs are gathered before they are written.
const GATHER: Duration = Duration::from_secs(1);
/// How often a full disk, or a config.json that cannot be changed, is tried again.
const RETRY: Duration = Duration::from_secs(10);

/// All of it, and when it is tried next.
#[derive(Debug)]
pub struct Upkeep {
    dir: DataDir,
    pending: Pending,
    flush_at: Option<Instant>,
    retry_at: Option<Instant>,
    /// Lines that wait in `beats/`.
    waiting: usize,
    /// Lines that have no record in `beats/`.
    homeless: Vec<String>,
    /// Where they are kept while the journal has no room.
    reserve: Reserve,
    /// Why config.json does not have the last runs.
    unwritten: Option<String>,
}

/// What there is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Chore {
    /// [`Upkeep::flush`].
    Flush,
    /// [`Upkeep::retry`].
    Retry,
}

impl Upkeep {
    /// Nothing to do yet.
    #[must_use]
    pub fn new(dir: DataDir) -> Self {
        Self {
            pending: Pending::default(),
            flush_at: None,
            retry_at: None,
            waiting: 0,
            homeless: Vec::new(),
            reserve: Reserve::new(dir.reserve()),
            unwritten: None,
            dir,
        }
    }

    /// Takes over the lines that an earlier daemon had no room for.
    ///
    /// # Errors
    /// Why they, or those to come, cannot be kept on a full disk.
    pub fn begin(&mut self) -> Result<(), String> {
        let kept = self.reserve.take(&self.dir.beats(), &self.dir.journal());
        let kept = kept.map_err(|error| format!("cannot use {}: {error}", self.dir.reserve().display()))?;
        self.homeless.extend(kept);
        self.write_lines()
    }

    /// Waits until there is something to do; for ever, if there is nothing.
    pub async fn chore(&self) -> Chore {
        tokio::select! {
            () = at(self.flush_at) => Chore::Flush,
            () = at(self.retry_at) => Chore::Retry,
        }
    }

    /// A heartbeat has begun at `at`.
    pub fn remember(&mut self, workspace: PathBuf, name: Option<String>, at: Timestamp) {
        self.pending.add(workspace, name, at);
        self.flush_at.get_or_insert_with(|| Instant::now() + GATHER);
    }

    /// It has not begun after all.
    pub fn forget(&mut self, workspace: PathBuf, name: Option<String>) {
        self.pending.forget(workspace, name);
    }

    /// Writes the last runs to config.json and returns what it has now.
    ///
    /// # Errors
    /// Why it was left as it is; it is tried again later.
    pub fn flush(&mut self) -> Result<Runs, String> {
        self.flush_at = None;
        if self.pending.is_empty() {
            return Ok(Runs::new());
        }
        let flushed = self.pending.flush(&self.dir);
        let flushed = flushed.map_err(|error| {
            self.flush_at = Some(Instant::now() + RETRY);
            format!("cannot write lastRun: {}", with_cause(&error))
        });
        self.unwritten = flushed.as_ref().err().cloned();
        flushed
    }

    /// What is wrong, for `status`.
    #[must_use]
    pub fn problem(&self) -> Option<&str> {
        self.unwritten.as_deref()
    }

    /// Takes a line that nobody else has, with its newline, and writes it as soon as it can.
    ///
    /// # Errors
    /// Why it has to wait.
    pub fn keep(&mut self, line: String) -> Result<(), String> {
        self.homeless.push(line);
        self.write_lines()
    }

    /// Whether the line of `entry` is one of those that wait for room.
    #[must_use]
    pub fn keeps(&self, entry: &Entry) -> bool {
        let mut kept = self.homeless.iter().filter_map(|line| serde_json::from_str::<Entry>(line).ok());
        kept.any(|kept| kept.is_same(entry))
    }

    /// Gives the beats of dead processes their lines.
    ///
    /// # Errors
    /// Why that cannot be told.
    pub fn recover(&mut self) -> Result<(), String> {
        let recovered = unfinished::recover(&self.dir.beats(), &self.dir.journal(), clock::now());
        let before = self.waiting;
        let recovered = recovered.map(|waiting| self.waiting = waiting);
        self.set_retry();
        recovered.map_err(|error| format!("beats that died wait for their lines: {error}"))?;
        if self.waiting > before {
            return Err(format!("the journal has no room; lines kept until there is: {}", self.waiting));
        }
        Ok(())
    }

    /// Does the same after the death of a process that was to run the beat of `failed`; where it died so early that
    /// nothing is known of its beat, `failed` becomes the line.
    ///
    /// # Errors
    /// Why a line has to wait.
    pub fn recover_or_write(&mut self, failed: &Entry) -> Result<(), String> {
        let recovered = self.recover();
        match unfinished::is_known(&self.dir.beats(), &self.dir.journal(), failed) {
            Ok(true) => recovered,
            _ => failed.line().map_or_else(|error| Err(error.to_string()), |line| self.keep(line)),
        }
    }

    /// Tries again whatever waits.
    ///
    /// # Errors
    /// Why it goes on waiting.
    pub fn retry(&mut self) -> Result<(), String> {
        self.write_lines().and_then(|()| self.recover())
    }

    /// How many journal lines wait for room on the disk.
    #[must_use]
    pub fn waiting_lines(&self) -> usize {
        self.waiting + self.homeless.len()
    }

    fn write_lines(&mut self) -> Result<(), String> {
        let journal = self.dir.journal();
        let mut result = Ok(());
        while let Some(line) = self.homeless.first() {
            if let Err(error) = append::append_line(&journal, line) {
                result =
                    Err(format!("cannot write the journal: {error}; its lines are kept until there is room"));
                break;
            }
            self.homeless.remove(0);
        }
        if let Err(error) = self.reserve.keep(&self.homeless) {
            result = result.and(Err(format!("cannot use {}: {error}", self.dir.reserve().display())));
        }
        self.set_retry();
        result
    }

    fn set_retry(&mut self) {
        self.retry_at = (self.waiting_lines() > 0).then(|| Instant::now() + RETRY);
    }
}

/// Waits until `time`, or for ever.
pub async fn at(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => std::future::pending().await,
    }
}
