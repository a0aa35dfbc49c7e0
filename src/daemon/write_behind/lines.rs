//! Journal lines that could not be written yet, of this process and others: kept, counted and retried.

use super::WriteBehind;
use crate::daemon::status;
use murmur_store::journal::entry::JournalEntry;
use murmur_store::journal::reserve::Reserve;
use murmur_store::journal::{append, unfinished};
use sys::clock;
use sys::error::{Failure, Hinted};
use sys::failure;

impl WriteBehind {
    /// Takes a line that is stored nowhere else and writes it as soon as possible. An error says why it has to wait.
    pub fn keep(&mut self, entry: JournalEntry) -> Result<(), Failure> {
        self.unsaved.push(entry);
        self.write_lines()
    }

    /// Takes the line of a beat whose process could not even write it to the beat's record.
    pub fn keep_of_dead(&mut self, line: &str) -> Result<(), Failure> {
        let entry: JournalEntry =
            serde_json::from_str(line).map_err(|error| failure!("not a journal line").because(&error))?;
        let beat = entry.beat.clone();
        let kept = self.keep(entry);
        if let Some(beat) = beat
            && self.unsaved.iter().all(|unsaved| unsaved.beat.as_ref() != Some(&beat))
        {
            let _recovered_as_killed = unfinished::discard(&self.dir, &beat);
        }
        kept
    }

    /// Whether the line of `entry` is waiting.
    #[must_use]
    pub fn is_waiting(&self, entry: &JournalEntry) -> bool {
        let reserved = Reserve::new(&self.dir).entries().unwrap_or_default();
        self.unsaved.iter().chain(&reserved).any(|kept| kept.is_same(entry))
    }

    /// The lines that are lost if this process ends.
    pub fn unsaved_lines(&self) -> impl Iterator<Item = String> {
        self.unsaved.iter().filter_map(|entry| entry.line().ok())
    }

    /// Writes the lines of beats whose process died.
    pub fn recover(&mut self) -> Result<(), Failure> {
        if self.is_closed {
            return Ok(());
        }
        let recovered = unfinished::recover(&self.dir, clock::now());
        self.last_count = unfinished::waiting(&self.dir).ok();
        let news = match recovered {
            Ok(left) => {
                self.unreadable = None;
                self.waiting.update(&self.dir, &left).then(|| self.message().into())
            }
            Err(error) => {
                let failure = error.failure().after("cannot write waiting journal lines: ");
                let before = self.unreadable.replace(failure.clone());
                (before.as_ref() != Some(&failure)).then_some(failure)
            }
        };
        self.set_retry();
        news.map_or(Ok(()), Err)
    }

    /// Retries the lines on disk if their number changed, as other processes keep and write lines too. `in_records` is
    /// how many of them are in records.
    pub fn recount(&mut self, in_records: usize) -> Result<(), Failure> {
        let waiting = unfinished::waiting_with(&self.dir, in_records).ok();
        if waiting == self.last_count { Ok(()) } else { self.recover() }
    }

    /// Recovers the line of a beat whose process died; if it died so early that it left no record, `failed` becomes the
    /// line.
    pub fn recover_or_write(&mut self, failed: &JournalEntry) -> Result<(), Failure> {
        let recovered = self.recover();
        if self.is_closed {
            // If the folder was moved, the next daemon there finds its record.
            return Ok(());
        }
        match unfinished::is_known(&self.dir, failed) {
            Ok(true) => recovered,
            _ => self.keep(failed.clone()),
        }
    }

    /// Retries all lines, then the journal reserve.
    pub fn retry(&mut self) -> Result<(), Failure> {
        let written = self.write();
        // The journal first: it needs the space.
        self.ensure_journal_reserve();
        written
    }

    /// Writes all waiting lines.
    pub fn write(&mut self) -> Result<(), Failure> {
        self.write_lines().and_then(|()| self.recover())
    }

    /// How many journal lines could not be written yet.
    #[must_use]
    pub fn waiting_lines(&self) -> usize {
        self.waiting.kept + self.unsaved.len()
    }

    /// Why they could not, with a hint.
    #[must_use]
    pub fn waiting_reason(&self) -> Option<&str> {
        self.waiting.reason(self.waiting_lines())
    }

    /// The message about waiting lines.
    fn message(&self) -> String {
        status::waiting(self.waiting_lines(), self.waiting_reason(), true)
    }

    fn write_lines(&mut self) -> Result<(), Failure> {
        if self.is_closed {
            return Ok(());
        }
        let mut is_done = true;
        for entry in std::mem::take(&mut self.unsaved) {
            let Err(error) = append::append(&self.dir.journal(), &entry) else { continue };
            is_done = false;
            self.waiting.set_reason(&self.dir, &error);
            match Reserve::new(&self.dir).keep(&entry, || {}) {
                Ok(()) => self.waiting.kept += 1,
                Err(_) => self.unsaved.push(entry),
            }
        }
        self.set_retry();
        if is_done { Ok(()) } else { Err(self.message().into()) }
    }
}
