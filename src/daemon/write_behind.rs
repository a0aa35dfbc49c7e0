//! Write-behind: batches last runs for config.json and keeps journal lines that could not be written yet.

mod lines;
mod waiting;

use super::heartbeats::{HeartbeatRef, Heartbeats};
use super::last_runs;
use super::pending_runs::{PendingRuns, Runs};
use jiff::Timestamp;
use murmur_core::config::edit::EditError;
use murmur_store::journal::entry::JournalEntry;
use murmur_store::journal::unfinished;
use std::io;
use std::time::Duration;
use sys::error::{Failure, Hinted};
use sys::file::{is_full, room_hint};
use sys::paths::DataDir;
use sys::pause::wait_until;
use sys::replace::{self, OpenWriters, Replaced, Replacement};
use sys::swap::write_beside;
use sys::{clock, failure};
use tokio::time::Instant;
use waiting::WaitingLines;

/// How long last runs are collected before they are written.
const BATCH_TIME: Duration = Duration::from_secs(1);
/// The minimum time between two writes of config.json, as each may conflict with an editor. The journal has the runs
/// too.
const MIN_INTERVAL: Duration = Duration::from_secs(60);
/// When to retry while another program writes config.json.
const RETRY_BUSY: Duration = Duration::from_secs(1);
/// How often to do so before config.json is written anyway: a program may keep the file open forever.
const MAX_BUSY: u32 = 30;
/// How many times in a row another process may hold config.json's lock before that is a problem.
const MAX_LOCKED: u32 = 3;
/// How long after a write to check whether a program that had the old file open has written to it.
const CHECK_REPLACED_AFTER: Duration = Duration::from_secs(2);
/// How often to retry on a full disk or an unwritable config.json.
const RETRY: Duration = Duration::from_secs(10);

/// Everything that waits to be written, and when to retry.
#[derive(Debug)]
pub struct WriteBehind {
    dir: DataDir,
    pending: PendingRuns,
    flush_at: Option<Instant>,
    /// When config.json was last written.
    written_at: Option<Instant>,
    /// How many times in a row another program was writing config.json.
    busy_count: u32,
    /// The last replaced config.json, until it is checked.
    replaced: Option<Unchecked>,
    retry_at: Option<Instant>,
    waiting: WaitingLines,
    /// How many lines waited on disk at the last attempt; `None` if unknown.
    last_count: Option<usize>,
    /// Why it is unknown which lines wait.
    unreadable: Option<Failure>,
    /// Lines that did not even fit into the journal reserve.
    unsaved: Vec<JournalEntry>,
    /// Whether the journal reserve for a full disk is allocated.
    has_journal_reserve: bool,
    /// Why no beat starts: there is no room to keep its line.
    full: Option<Failure>,
    /// Why config.json does not have the last runs.
    unwritten: Option<Failure>,
    /// Whether the data folder is gone, so that nothing is written.
    is_closed: bool,
}

/// A task that is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Task {
    /// [`WriteBehind::flush`].
    Flush,
    /// [`WriteBehind::check_replaced`].
    CheckReplaced,
    /// [`WriteBehind::retry`].
    Retry,
}

/// A replaced config.json that another program may still have open.
#[derive(Debug)]
struct Unchecked {
    replaced: Replaced,
    check_at: Instant,
}

impl Unchecked {
    fn new(replaced: Replaced) -> Self {
        Self { replaced, check_at: Instant::now() + CHECK_REPLACED_AFTER }
    }
}

impl WriteBehind {
    /// Creates one with nothing to do.
    #[must_use]
    pub fn new(dir: DataDir) -> Self {
        Self {
            pending: PendingRuns::default(),
            flush_at: None,
            written_at: None,
            busy_count: 0,
            replaced: None,
            retry_at: None,
            unsaved: Vec::new(),
            waiting: WaitingLines::default(),
            last_count: Some(0),
            unreadable: None,
            has_journal_reserve: false,
            full: None,
            unwritten: None,
            is_closed: false,
            dir,
        }
    }

    /// Stops writing because the data folder is gone; lines are kept in memory.
    pub fn close(&mut self) {
        self.is_closed = true;
    }

    /// Allocates the journal reserve for lines on a full disk; retried on errors.
    pub fn allocate_journal_reserve(&mut self) -> Result<(), Failure> {
        let taken = unfinished::allocate(&self.dir);
        self.has_journal_reserve = taken.is_ok();
        self.set_retry();
        taken.map_err(|error| waiting::journal_reserve_problem(&self.dir, &error))
    }

    /// Allocates the journal reserve if that failed before.
    pub fn ensure_journal_reserve(&mut self) {
        if !self.has_journal_reserve && !self.is_closed {
            let _tried_again = self.allocate_journal_reserve();
        }
    }

    /// Handles the result of recording a beat before its start. Returns whether it may start, and a message if that is
    /// new.
    pub fn check_recorded(&mut self, recorded: &io::Result<()>) -> (bool, Option<Failure>) {
        match recorded {
            Err(error) if is_full(error) => {
                let full = failure!("no beat starts because its journal line could not be kept")
                    .because(error)
                    .hint(room_hint(error));
                let is_news = self.full.is_none();
                self.full = Some(full.clone());
                (false, is_news.then_some(full))
            }
            _ => {
                self.full = None;
                (true, None)
            }
        }
    }

    /// Waits until a task is due; forever if there is none.
    pub async fn next_task(&self) -> Task {
        tokio::select! {
            () = wait_until(self.flush_at) => Task::Flush,
            () = wait_until(self.replaced.as_ref().map(|unchecked| unchecked.check_at)) => Task::CheckReplaced,
            () = wait_until(self.retry_at) => Task::Retry,
        }
    }

    /// Records that a heartbeat started at `at`.
    pub fn remember(&mut self, heartbeat: HeartbeatRef, at: Timestamp) {
        self.pending.add(heartbeat, at);
        let spaced = self.written_at.map(|written| written + MIN_INTERVAL);
        self.flush_at
            .get_or_insert_with(|| spaced.into_iter().fold(Instant::now() + BATCH_TIME, Instant::max));
    }

    /// Forgets a run that did not start after all.
    pub fn forget(&mut self, heartbeat: &HeartbeatRef) {
        self.pending.forget(heartbeat);
    }

    /// Postpones [`Self::flush`].
    pub fn postpone_flush(&mut self) {
        self.flush_at = Some(Instant::now() + RETRY_BUSY);
    }

    /// Writes `state` to last-runs.json and the last runs to config.json. Returns those it wrote; retried on errors.
    pub fn flush(&mut self, state: &Heartbeats) -> Result<Runs, Failure> {
        self.flush_at = None;
        if self.pending.is_empty() {
            return Ok(Runs::new());
        }
        // If this fails, the journal still has the runs.
        let saved = last_runs::write(&self.dir, state, clock::now());
        let saved = saved
            .map_err(|error| failure!("cannot write {}", self.dir.last_runs().display()).because(&error));
        let open_writers = if self.busy_count < MAX_BUSY { OpenWriters::Refuse } else { OpenWriters::Ignore };
        let flushed = match self.pending.flush(&self.dir, open_writers) {
            Ok((runs, replaced)) => {
                self.busy_count = 0;
                if let Some(replaced) = replaced {
                    self.written_at = Some(Instant::now());
                    self.replaced = Some(Unchecked::new(replaced));
                }
                saved.map(|()| runs)
            }
            Err(error) if self.is_temporary(&error) => {
                self.busy_count += 1;
                self.flush_at = Some(Instant::now() + RETRY_BUSY);
                return Ok(Runs::new());
            }
            Err(error) => {
                self.flush_at = Some(Instant::now() + RETRY);
                Err(error.failure().after("cannot write lastRun: "))
            }
        };
        self.unwritten = flushed.as_ref().err().cloned();
        flushed
    }

    /// The last replaced config.json, until it is checked.
    #[must_use]
    pub fn replaced(&self) -> Option<&Replaced> {
        self.replaced.as_ref().map(|unchecked| &unchecked.replaced)
    }

    /// Whether the error is temporary: another program is writing config.json.
    fn is_temporary(&self, error: &EditError) -> bool {
        match error {
            EditError::Open { .. } | EditError::KeepsChanging { .. } => true,
            EditError::Busy { .. } => self.busy_count < MAX_LOCKED,
            _ => false,
        }
    }

    /// Checks whether a program that had config.json open when it was replaced has since written to the old file, and
    /// if so restores that edit.
    pub fn check_replaced(&mut self) -> Result<(), Failure> {
        let Some(Unchecked { replaced, .. }) = self.replaced.take() else { return Ok(()) };
        let config = self.dir.config();
        let late = match replaced.late_edit() {
            Ok(None) => return Ok(()),
            // It is still writing.
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
                self.replaced = Some(Unchecked::new(replaced));
                return Ok(());
            }
            Ok(Some(late)) => late,
            Err(error) => {
                return Err(failure!("cannot read the replaced {}", config.display()).because(&error));
            }
        };
        // Its last runs are older, and are corrected on reload.
        match replace::replace(&config, Some(replaced.next()), &late, OpenWriters::Ignore) {
            Ok(Replacement::Done(_)) => Ok(()),
            outcome => {
                let beside = config.with_extension("json.other");
                let kept = write_beside(&beside, &late, 0o600);
                let kept = kept.map_or_else(|error| error.to_string(), |()| beside.display().to_string());
                let why = outcome.err().map(|error| format!(" ({error})")).unwrap_or_default();
                Err(
                    failure!("two programs wrote {} at once{why}", config.display(); "one version was saved as {kept}"),
                )
            }
        }
    }

    /// Why it is unknown which lines wait, for `status`.
    #[must_use]
    pub fn unreadable(&self) -> Option<&Failure> {
        self.unreadable.as_ref()
    }

    /// Why config.json does not have the last runs, for `status`.
    #[must_use]
    pub fn problem(&self) -> Option<&Failure> {
        self.unwritten.as_ref()
    }

    /// Why no beat starts, for `status`.
    #[must_use]
    pub fn full(&self) -> Option<&Failure> {
        self.full.as_ref()
    }

    fn set_retry(&mut self) {
        let wants = self.waiting_lines() > 0 || self.unreadable.is_some() || !self.has_journal_reserve;
        self.retry_at = wants.then(|| Instant::now() + RETRY);
    }
}
