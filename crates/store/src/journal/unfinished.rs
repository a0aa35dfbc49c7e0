//! Beats that have begun and are not yet in the journal: one record each in `beats/`, locked by the process that runs
//! the beat.
//!
//! The lock ends with its process, so a record that can be locked belongs to a dead one. The file is as large from the
//! start as its line will ever be, so that the line fits into it when the disk is full. A record is removed only when
//! its line is in the journal or in the journal reserve; [`recover`] does so for dead processes.

mod file;
#[cfg(test)]
mod tests;

use super::append;
use super::entry::JournalEntry;
use super::read::{Backward, Entries};
use super::reserve::Reserve;
use super::spares::Spares;
use jiff::Timestamp;
use murmur_agent::invocation;
use murmur_core::id::BeatId;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Path, PathBuf};
use sys::paths::DataDir;
use sys::process;
use sys::process_lock::{self, Durability, ProcessLock};

/// A beat's record: a beat whose line is not yet in the journal.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(from = "file::Contents", into = "file::Contents")]
pub struct BeatRecord {
    /// Its journal line: the final one in [`Phase::Over`], otherwise the one to write if its process dies now.
    pub entry: JournalEntry,
    /// How far it has come.
    pub phase: Phase,
}

/// How far a beat has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Phase {
    /// A daemon is about to start it; no process has taken it over yet.
    Announced {
        /// The heartbeat's last run before this one.
        before: Option<Timestamp>,
    },
    /// A process runs it, or ran it and died.
    Running {
        /// The process.
        pid: u32,
        /// Whether a daemon started it; stopping that daemon, or its successor, stops the beat.
        scheduled: bool,
        /// The data folder, as the agent was given it.
        data_dir: Option<PathBuf>,
    },
    /// It has ended, and its line only has to be appended to the journal.
    Over,
}

impl BeatRecord {
    /// Whether a daemon started it, and it is running.
    #[must_use]
    pub fn is_scheduled(&self) -> bool {
        matches!(self.phase, Phase::Running { scheduled: true, .. })
    }

    fn is_announced(&self) -> bool {
        matches!(self.phase, Phase::Announced { .. })
    }

    /// Whether its line is final.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.phase == Phase::Over
    }
}

/// The record of a beat that this process runs.
#[derive(Debug)]
pub struct Record(ProcessLock);

/// The file name of a beat's record.
fn name(beat: &BeatId) -> String {
    format!("{beat}.json")
}

/// The file name of the record of `begun`.
fn name_of(begun: &BeatRecord) -> io::Result<String> {
    begun.entry.beat.as_ref().map(name).ok_or_else(|| io::ErrorKind::InvalidInput.into())
}

impl Record {
    /// Creates the record of a beat. It survives a power failure after [`Self::sync`].
    pub fn create(dir: &DataDir, begun: &BeatRecord) -> io::Result<Self> {
        let text = serde_json::to_vec(begun)?;
        let name = name_of(begun)?;
        let held = Spares::new(dir).record(&dir.beats(), &name, &text, Durability::Unsynced)?;
        held.map(Self).ok_or_else(|| io::ErrorKind::AlreadyExists.into())
    }

    /// Takes over the record of an announced beat. Returns `None` if it was withdrawn; the beat must not begin then.
    /// It survives a power failure after [`Self::sync`].
    pub fn take_announced(dir: &DataDir, begun: &BeatRecord) -> io::Result<Option<Self>> {
        let Some(held) = ProcessLock::take_over(&dir.beats().join(name_of(begun)?))? else {
            return Ok(None);
        };
        held.rewrite(&serde_json::to_vec(begun)?)?;
        Ok(Some(Self(held)))
    }

    /// Updates the record without allocating disk space.
    pub fn update(&self, begun: &BeatRecord) -> io::Result<()> {
        self.0.rewrite(&serde_json::to_vec(begun)?)
    }

    /// Syncs the record to disk.
    pub fn sync(&self) -> io::Result<()> {
        self.0.sync()
    }

    /// Appends `entry` to the journal and removes the record. If the journal is not writable, keeps the line without
    /// its turns in the reserve or else in the record, from where [`recover`] moves it to the journal.
    ///
    /// # Errors
    /// Why the journal could not be written, and where the line is.
    pub fn finish(self, dir: &DataDir, entry: &JournalEntry) -> Result<(), Unwritten> {
        let Err(error) = append::append(&dir.journal(), entry) else {
            let _recovered_later = Spares::new(dir).release(self.0);
            return Ok(());
        };
        let over = over(entry).and_then(|text| self.0.rewrite(&text));
        let reserved = keep_in_reserve(dir, entry, self.0);
        let kept = if over.is_ok() || reserved { LineKept::OnDisk } else { LineKept::Nowhere };
        Err(Unwritten { error, kept })
    }
}

/// The record of a finished beat with the line `entry`, without its turns.
fn over(entry: &JournalEntry) -> io::Result<Vec<u8>> {
    let entry = JournalEntry { turns: None, ..entry.clone() };
    Ok(serde_json::to_vec(&BeatRecord { entry, phase: Phase::Over })?)
}

/// Moves the line of `entry` from its record to the reserve, which frees the record for another beat.
fn keep_in_reserve(dir: &DataDir, entry: &JournalEntry, record: ProcessLock) -> bool {
    let release = || {
        let _recovered_later = Spares::new(dir).release(record);
    };
    Reserve::new(dir).keep(entry, release).is_ok()
}

/// Allocates the disk space that lines and records need on a full disk, unless that has been done.
pub fn allocate(dir: &DataDir) -> io::Result<()> {
    Spares::new(dir).fill().and(Reserve::new(dir).prepare())
}

/// A line that could not be appended to the journal.
#[derive(Debug)]
pub struct Unwritten {
    /// Why.
    pub error: io::Error,
    /// Where it is kept instead.
    pub kept: LineKept,
}

/// Where a line is kept that could not be appended to the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineKept {
    /// In the reserve or in the beat's record; the next recovery moves it to the journal.
    OnDisk,
    /// Not on disk; the caller must report it.
    Nowhere,
}

/// Records that a beat is about to begin, before it has a process. The process takes the record over; if it doesn't,
/// the next daemon withdraws the beat and starts the heartbeat again.
pub fn announce(dir: &DataDir, begun: &BeatRecord) -> io::Result<()> {
    let text = serde_json::to_vec(begun)?;
    // Needn't survive a power failure: the beat has not begun then.
    let name = name_of(begun)?;
    let held = Spares::new(dir).record(&dir.beats(), &name, &text, Durability::Unsynced)?;
    held.map(drop).ok_or_else(|| io::ErrorKind::AlreadyExists.into())
}

/// Withdraws an announced beat. Returns `false` if its process has taken it over, or if it has no record.
pub fn withdraw(dir: &DataDir, beat: &BeatId) -> io::Result<bool> {
    let Some(held) = ProcessLock::take_over(&dir.beats().join(name(beat)))? else { return Ok(false) };
    let is_announced =
        serde_json::from_slice::<BeatRecord>(&held.read()?).is_ok_and(|begun| begun.is_announced());
    if is_announced {
        Spares::new(dir).release(held)?;
    }
    Ok(is_announced)
}

/// A beat that no process runs.
#[derive(Debug)]
pub struct Dead {
    /// Its record's file.
    pub path: PathBuf,
    /// Its record.
    pub begun: BeatRecord,
}

/// The beats in `beats/`.
#[derive(Debug, Default)]
pub struct Survey {
    /// Beats that are running.
    pub running: Vec<BeatRecord>,
    /// Beats whose process died, or whose line is not in the journal yet.
    pub dead: Vec<Dead>,
    /// Announced beats without a process.
    pub announced: Vec<BeatRecord>,
    /// Records that lost their contents when the power failed.
    empty: Vec<PathBuf>,
}

impl Survey {
    /// How many lines wait in records to be appended to the journal.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.dead.iter().filter(|dead| dead.begun.is_over()).count()
    }
}

/// Lists the records in `folder`. Skips records that are not readable: they are being written or removed. A missing
/// folder is empty.
pub fn survey(folder: &Path) -> io::Result<Survey> {
    survey_except(folder, |_| false)
}

/// Like [`survey`], without the beats whose ids are `known`, whose records it doesn't read.
pub fn survey_except(folder: &Path, known: impl Fn(&str) -> bool) -> io::Result<Survey> {
    let mut survey = Survey::default();
    for found in process_lock::all_but(folder, known)? {
        match serde_json::from_slice::<BeatRecord>(&found.text) {
            // Also while it is being taken over.
            Ok(begun) if begun.is_announced() => survey.announced.push(begun),
            Ok(begun) if found.is_held => survey.running.push(begun),
            Ok(begun) => survey.dead.push(Dead { path: found.path, begun }),
            Err(_) if !found.is_held && found.text.iter().all(|byte| *byte == 0) => {
                survey.empty.push(found.path);
            }
            Err(_) => {}
        }
    }
    survey.running.sort_by(|one, other| one.entry.beat.cmp(&other.entry.beat));
    survey.dead.sort_by(|one, other| one.begun.entry.beat.cmp(&other.begun.entry.beat));
    Ok(survey)
}

/// Sends `signal` to the process that runs the beat, if it is still running.
pub fn signal(folder: &Path, begun: &BeatRecord, signal: process::Signal) {
    let (Phase::Running { pid, .. }, Some(beat)) = (&begun.phase, &begun.entry.beat) else { return };
    let path = folder.join(name(beat));
    process::signal_if(*pid, signal, || process_lock::look(&path).is_some_and(|found| found.is_held));
}

/// Whether an announced beat is over: its record is removed, or its dead process left only the journal line in it.
#[must_use]
pub fn is_over(dir: &DataDir, beat: &BeatId) -> bool {
    let path = dir.beats().join(name(beat));
    match process_lock::look(&path) {
        Some(found) => {
            !found.is_held
                && serde_json::from_slice::<BeatRecord>(&found.text).is_ok_and(|begun| begun.is_over())
        }
        None => path.try_exists().is_ok_and(|is_there| !is_there),
    }
}

/// Removes the record of a dead process whose line is kept elsewhere.
pub fn discard(dir: &DataDir, beat: &BeatId) -> io::Result<()> {
    match ProcessLock::take_over(&dir.beats().join(name(beat)))? {
        Some(held) => Spares::new(dir).release(held),
        None => Ok(()),
    }
}

/// Lines that could not be appended to the journal.
#[derive(Debug, Default)]
pub struct Waiting {
    /// How many there are.
    pub lines: usize,
    /// The error for the last one that was tried.
    pub error: Option<io::Error>,
}

impl Waiting {
    /// Appends the line of `entry` to the journal of `dir` unless it is already `known` there. Returns whether the
    /// journal has it now; if not, keeps the reason, which may be that the journal can't be read.
    pub(super) fn write(&mut self, dir: &DataDir, entry: &JournalEntry, known: io::Result<bool>) -> bool {
        let written =
            known.and_then(|known| if known { Ok(()) } else { append::append(&dir.journal(), entry) });
        let failed = written.err();
        let is_done = failed.is_none();
        self.error = failed.or(self.error.take());
        is_done
    }
}

/// Appends a line for every dead beat exactly once, including lines in the journal reserve. Returns how many could not
/// be written, and why.
pub fn recover(dir: &DataDir, now: Timestamp) -> io::Result<Waiting> {
    let mut waiting = Reserve::new(dir).drain(dir)?;
    let Survey { dead, empty, .. } = survey(&dir.beats())?;
    for path in empty {
        ProcessLock::take_over(&path)?.map_or(Ok(()), ProcessLock::remove)?;
    }
    for Dead { path, mut begun } in dead {
        // Whoever holds the lock recovers it; a removed record was recovered by another process.
        let Some(record) = ProcessLock::take_over(&path)? else { continue };
        let is_final = begun.is_over();
        if let Phase::Running { data_dir, .. } = &begun.phase {
            // The agent died with its process, but processes that it started may still run.
            process::kill_marked(&invocation::marks(&begun.entry.agent, data_dir.as_deref()));
            // Until now: when it died is not known.
            let lasted = begun.entry.started().map(|started| now.duration_since(started).as_millis());
            begun.entry.duration_ms = lasted.and_then(|lasted| u64::try_from(lasted).ok()).unwrap_or(0);
        }
        if waiting.write(dir, &begun.entry, has_line(&dir.journal(), &begun.entry)) {
            Spares::new(dir).release(record)?;
        } else {
            waiting.lines += 1;
            if !is_final {
                let _recovered_again = over(&begun.entry).and_then(|text| record.rewrite(&text));
            }
            let _stays_in_its_record = keep_in_reserve(dir, &begun.entry, record);
        }
    }
    Ok(waiting)
}

/// Returns how many lines could not be appended to the journal and are kept elsewhere.
pub fn waiting(dir: &DataDir) -> io::Result<usize> {
    waiting_with(dir, survey(&dir.beats())?.waiting())
}

/// The same, where `in_records` of them are in records.
pub fn waiting_with(dir: &DataDir, in_records: usize) -> io::Result<usize> {
    Ok(in_records + Reserve::new(dir).entries()?.len())
}

/// Whether `entry` is in the journal, or is a beat with a record from which it will get its line.
pub fn is_known(dir: &DataDir, entry: &JournalEntry) -> io::Result<bool> {
    // Check the record first: it is removed after the journal has the line.
    let beat = entry.beat.as_ref().filter(|_| entry.kind.is_beat());
    let has_record = beat.is_some_and(|beat| dir.beats().join(name(beat)).exists());
    Ok(has_record || has_line(&dir.journal(), entry)?)
}

/// Whether the journal has this line already because the process died after writing it.
fn has_line(journal: &Path, entry: &JournalEntry) -> io::Result<bool> {
    let mut entries = Entries::new(Backward::open(journal)?, entry.started());
    while let Some(found) = entries.next_entry(|_| true)? {
        if found.entry.is_same(entry) {
            return Ok(true);
        }
    }
    Ok(false)
}
