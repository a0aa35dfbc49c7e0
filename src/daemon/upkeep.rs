//! What is on its way to disk: last runs to config.json, journal lines that found no room or no writer.

use super::last_runs;
use super::recent::{Pending, Runs};
use super::state::State;
use crate::config::edit::EditError;
use crate::error::Hinted;
use crate::journal::entry::Entry;
use crate::journal::reserve::Reserve;
use crate::journal::{append, unfinished};
use crate::sys::clock;
use crate::sys::file::{is_full, room_hint};
use crate::sys::paths::DataDir;
use crate::sys::replace::{self, Care, Outcome, Replaced};
use crate::sys::swap::write_beside;
use jiff::Timestamp;
use std::io;
use std::path::PathBuf;
use std::time::Duration;
use tokio::time::{Instant, sleep_until};

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
    /// Lines that wait in the reserve or in `beats/`.
    waiting: usize,
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
            waiting: 0,
            homeless: Vec::new(),
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
    ///
    /// # Errors
    /// Why they cannot be kept on a full disk; it is tried again.
    pub fn begin(&mut self) -> Result<(), String> {
        let taken = unfinished::take_room(&self.dir);
        self.has_room = taken.is_ok();
        self.set_retry();
        taken.map_err(|error| {
            format!("no room for journal lines on a full disk yet: {error}; {}", room_hint(&error))
        })
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
                    "no beat begins, as its journal line would find no room: {error}; {}",
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
    ///
    /// # Errors
    /// Why it was left as it is; it is tried again later.
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
    ///
    /// # Errors
    /// Why that cannot be, and where the other text is.
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

    /// Takes a line that nobody else has and writes it as soon as it can.
    ///
    /// # Errors
    /// Why it has to wait.
    pub fn keep(&mut self, entry: Entry) -> Result<(), String> {
        self.homeless.push(entry);
        self.write_lines()
    }

    /// Takes the line of a beat whose process is dead and could not even write it into the beat's record.
    ///
    /// # Errors
    /// Why it has to wait.
    pub fn keep_of_dead(&mut self, line: &str) -> Result<(), String> {
        let entry: Entry = serde_json::from_str(line).map_err(|error| format!("no journal line: {error}"))?;
        let beat = entry.beat.clone();
        let kept = self.keep(entry);
        if self.homeless.iter().all(|homeless| homeless.beat != beat) {
            let _recovered_as_killed = unfinished::discard(&self.dir, &beat);
        }
        kept
    }

    /// Whether the line of `entry` is one of those that wait for room.
    #[must_use]
    pub fn keeps(&self, entry: &Entry) -> bool {
        let reserved = Reserve::new(&self.dir).entries().unwrap_or_default();
        self.homeless.iter().chain(&reserved).any(|kept| kept.is_same(entry))
    }

    /// The lines that are lost if this process ends now.
    pub fn homeless(&self) -> impl Iterator<Item = String> {
        self.homeless.iter().filter_map(|entry| entry.line().ok())
    }

    /// Gives the beats of dead processes their lines.
    ///
    /// # Errors
    /// Why that cannot be told.
    pub fn recover(&mut self) -> Result<(), String> {
        if self.is_over {
            return Ok(());
        }
        let recovered = unfinished::recover(&self.dir, clock::now());
        let before = self.waiting;
        let recovered = recovered.map(|waiting| self.waiting = waiting);
        self.set_retry();
        recovered
            .map_err(|error| format!("journal lines are kept until they can be written: {}", error.line()))?;
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
        if self.is_over {
            // Where the folder was moved, the next daemon there finds its record.
            return Ok(());
        }
        match unfinished::is_known(&self.dir, failed) {
            Ok(true) => recovered,
            _ => self.keep(failed.clone()),
        }
    }

    /// Tries again whatever waits.
    ///
    /// # Errors
    /// Why it goes on waiting.
    pub fn retry(&mut self) -> Result<(), String> {
        let written = self.write();
        // The journal first: what it needs is not taken from it.
        self.take_room();
        written
    }

    /// Writes whatever waits.
    ///
    /// # Errors
    /// Why it goes on waiting.
    pub fn write(&mut self) -> Result<(), String> {
        self.write_lines().and_then(|()| self.recover())
    }

    /// How many journal lines wait for room on the disk.
    #[must_use]
    pub fn waiting_lines(&self) -> usize {
        self.waiting + self.homeless.len()
    }

    fn write_lines(&mut self) -> Result<(), String> {
        let mut result = Ok(());
        if self.is_over {
            return result;
        }
        for entry in std::mem::take(&mut self.homeless) {
            let Err(error) = append::append(&self.dir.journal(), &entry) else { continue };
            result =
                Err(format!("cannot write the journal: {error}; its lines are kept until there is room"));
            match Reserve::new(&self.dir).keep(&entry, || {}) {
                Ok(()) => self.waiting += 1,
                Err(_) => self.homeless.push(entry),
            }
        }
        self.set_retry();
        result
    }

    fn set_retry(&mut self) {
        let wants = self.waiting_lines() > 0 || !self.has_room;
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
