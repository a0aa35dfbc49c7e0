//! What is on its way to disk: last runs to config.json, journal lines that could not be written yet.

mod lines;
mod waits;

use super::last_runs;
use super::recent::{Pending, Runs};
use super::state::State;
use crate::config::edit::EditError;
use crate::journal::entry::Entry;
use crate::journal::unfinished;
use jiff::Timestamp;
use std::io;
use std::path::PathBuf;
use std::time::Duration;
use sys::clock;
use sys::error::Hinted;
use sys::file::{is_full, room_hint};
use sys::paths::DataDir;
use sys::replace::{self, Care, Outcome, Replaced};
use sys::swap::write_beside;
use tokio::time::{Instant, sleep_until};
use waits::Waits;

/// How long last runs are gathered before they are written.
const GATHER: Duration = Duration::from_secs(1);
/// How long after one write of config.json the next one is, at least: each of them is in the way of other programs that
/// edit the file. What is known meanwhile is in the journal.
const SPACING: Duration = Duration::from_secs(60);
/// How soon it is tried again if another program is just writing config.json, and how often before it is written all the
/// same: a program may keep the file open for ever.
const AGAIN: Duration = Duration::from_secs(1);
const PATIENCE: u32 = 30;
/// How often another process may hold config.json's lock in a row before that is a problem: it is held for a moment only.
const LOCK_PATIENCE: u32 = 3;
/// How long after a write it is looked whether a program that had the old file open has written into that.
const LOOK_BACK: Duration = Duration::from_secs(2);
/// How often a full disk, or a config.json that cannot be changed, is tried again.
const RETRY: Duration = Duration::from_secs(10);

/// All of it, and when it is tried next.
#[derive(Debug)]
pub struct Upkeep {
    dir: DataDir,
    pending: Pending,
    flush_at: Option<Instant>,
    /// When config.json was last written.
    written_at: Option<Instant>,
    /// How often in a row another program was just writing config.json.
    met: u32,
    /// The config.json that was replaced last, and when to look at it.
    replaced: Option<(Instant, Replaced)>,
    retry_at: Option<Instant>,
    waits: Waits,
    /// How many lines waited on disk when they were last tried; `None` if that could not be told.
    tried: Option<usize>,
    /// Why it cannot be told which lines wait.
    untold: Option<String>,
    /// Lines that not even the reserve has room for.
    homeless: Vec<Entry>,
    /// Whether what is needed on a full disk is there.
    has_room: bool,
    /// Why no beat begins: its line would have nowhere to be kept.
    full: Option<String>,
    /// Why config.json does not have the last runs.
    unwritten: Option<String>,
    /// Whether the data folder is gone: nothing is written any more.
    is_over: bool,
}

/// What there is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Chore {
    /// [`Upkeep::flush`].
    Flush,
    /// [`Upkeep::look_back`].
    LookBack,
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
            written_at: None,
            met: 0,
            replaced: None,
            retry_at: None,
            homeless: Vec::new(),
            waits: Waits::default(),
            tried: Some(0),
            untold: None,
            has_room: false,
            full: None,
            unwritten: None,
            is_over: false,
            dir,
        }
    }

    /// Writes nothing any more, since the data folder is gone; lines are kept here.
    pub fn end(&mut self) {
        self.is_over = true;
    }

    /// Takes the room that lines need on a full disk.
    pub fn begin(&mut self) -> Result<(), String> {
        let taken = unfinished::allocate(&self.dir);
        self.has_room = taken.is_ok();
        self.set_retry();
        taken.map_err(|error| waits::unreserved(&self.dir, &error))
    }

    /// Takes that room, if it was not there the last time.
    pub fn take_room(&mut self) {
        if !self.has_room && !self.is_over {
            let _tried_again = self.begin();
        }
    }

    /// Learns whether a beat could be recorded that is about to begin. Returns what there is to say of that, if it is
    /// news, and whether it may begin.
    pub fn recorded(&mut self, recorded: &io::Result<()>) -> (bool, Option<String>) {
        match recorded {
            Err(error) if is_full(error) => {
                let full = format!(
                    "no beat starts because its journal line could not be kept: {error}; {}",
                    room_hint(error)
                );
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

    /// Waits until there is something to do; for ever, if there is nothing.
    pub async fn chore(&self) -> Chore {
        tokio::select! {
            () = at(self.flush_at) => Chore::Flush,
            () = at(self.replaced.as_ref().map(|(at, _)| *at)) => Chore::LookBack,
            () = at(self.retry_at) => Chore::Retry,
        }
    }

    /// A heartbeat has begun at `at`.
    pub fn remember(&mut self, workspace: PathBuf, name: Option<String>, at: Timestamp) {
        self.pending.add(workspace, name, at);
        let spaced = self.written_at.map(|written| written + SPACING);
        self.flush_at.get_or_insert_with(|| spaced.into_iter().fold(Instant::now() + GATHER, Instant::max));
    }

    /// It has not begun after all.
    pub fn forget(&mut self, workspace: PathBuf, name: Option<String>) {
        self.pending.forget(workspace, name);
    }

    /// Has [`Self::flush`] be called later instead of now.
    pub fn put_off_flush(&mut self) {
        self.flush_at = Some(Instant::now() + AGAIN);
    }

    /// Writes what `state` knows to last-runs.json, and the last runs to config.json. Returns what that has now.
    pub fn flush(&mut self, state: &State) -> Result<Runs, String> {
        self.flush_at = None;
        if self.pending.is_empty() {
            return Ok(Runs::new());
        }
        // Without it the journal has to do.
        let saved = last_runs::write(&self.dir, state, clock::now());
        let saved =
            saved.map_err(|error| format!("cannot write {}: {error}", self.dir.last_runs().display()));
        let care = if self.met < PATIENCE { Care::Full } else { Care::Less };
        let flushed = match self.pending.flush(&self.dir, care) {
            Ok((runs, replaced)) => {
                self.met = 0;
                if let Some(replaced) = replaced {
                    self.written_at = Some(Instant::now());
                    self.replaced = Some((Instant::now() + LOOK_BACK, replaced));
                }
                saved.map(|()| runs)
            }
            Err(error) if self.passes(&error) => {
                self.met += 1;
                self.flush_at = Some(Instant::now() + AGAIN);
                return Ok(Runs::new());
            }
            Err(error) => {
                self.flush_at = Some(Instant::now() + RETRY);
                Err(format!("cannot write lastRun: {}", error.line()))
            }
        };
        self.unwritten = flushed.as_ref().err().cloned();
        flushed
    }

    /// Whether the error will pass: another program is writing config.json.
    fn passes(&self, error: &EditError) -> bool {
        match error {
            EditError::Open { .. } | EditError::Restless { .. } => true,
            EditError::Busy { .. } => self.met < LOCK_PATIENCE,
            _ => false,
        }
    }

    /// Looks whether a program that had config.json open when it was replaced has written into the old file since, and
    /// puts that in its place.
    pub fn look_back(&mut self) -> Result<(), String> {
        let Some((_, replaced)) = self.replaced.take() else { return Ok(()) };
        let config = self.dir.config();
        let late = match replaced.late_edit() {
            Ok(None) => return Ok(()),
            // It is not done yet.
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
                self.replaced = Some((Instant::now() + LOOK_BACK, replaced));
                return Ok(());
            }
            Ok(Some(late)) => late,
            Err(error) => return Err(format!("cannot read the replaced {}: {error}", config.display())),
        };
        // Its last runs are older, and so are corrected when it is read.
        match replace::replace(&config, Some(replaced.next()), &late, Care::Less) {
            Ok(Outcome::Done(_)) => Ok(()),
            outcome => {
                let beside = config.with_extension("json.other");
                let kept = write_beside(&beside, &late, 0o600);
                let kept = kept.map_or_else(|error| error.to_string(), |()| beside.display().to_string());
                let why = outcome.err().map(|error| format!(" ({error})")).unwrap_or_default();
                Err(format!(
                    "two programs wrote {} at once{why}; what one of them wrote is in {kept}",
                    config.display()
                ))
            }
        }
    }

    /// Why it cannot be told which lines wait, for `status`.
    #[must_use]
    pub fn untold(&self) -> Option<&str> {
        self.untold.as_deref()
    }

    /// What is wrong, for `status`.
    #[must_use]
    pub fn problem(&self) -> Option<&str> {
        self.unwritten.as_deref()
    }

    /// Why no beat begins, for `status`.
    #[must_use]
    pub fn full(&self) -> Option<&str> {
        self.full.as_deref()
    }

    fn set_retry(&mut self) {
        let wants = self.waiting_lines() > 0 || self.untold.is_some() || !self.has_room;
        self.retry_at = wants.then(|| Instant::now() + RETRY);
    }
}

/// Waits until `time`, or for ever.
pub async fn at(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => std::future::pending().await,
    }
}
