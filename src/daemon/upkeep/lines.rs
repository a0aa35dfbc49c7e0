//! Journal lines that could not be written yet, of this process and of others: kept, counted, and tried again.

use super::Upkeep;
use crate::daemon::status;
use crate::journal::entry::Entry;
use crate::journal::reserve::Reserve;
use crate::journal::{append, unfinished};
use std::io;
use sys::clock;
use sys::error::Hinted;

impl Upkeep {
    /// Takes a line that nobody else has and writes it as soon as it can.
    pub fn keep(&mut self, entry: Entry) -> Result<(), String> {
        self.homeless.push(entry);
        self.write_lines()
    }

    /// Takes the line of a beat whose process is dead and could not even write it into the beat's record.
    pub fn keep_of_dead(&mut self, line: &str) -> Result<(), String> {
        let entry: Entry = serde_json::from_str(line).map_err(|error| format!("no journal line: {error}"))?;
        let beat = entry.beat.clone();
        let kept = self.keep(entry);
        if self.homeless.iter().all(|homeless| homeless.beat != beat) {
            let _recovered_as_killed = unfinished::discard(&self.dir, &beat);
        }
        kept
    }

    /// Whether the line of `entry` is one of those that wait.
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
    pub fn recover(&mut self) -> Result<(), String> {
        if self.is_over {
            return Ok(());
        }
        let recovered = unfinished::recover(&self.dir, clock::now());
        self.tried = unfinished::waiting(&self.dir).ok();
        let news = match recovered {
            Ok(left) => {
                self.untold = None;
                self.waits.grow(&self.dir, &left).then(|| self.kept())
            }
            Err(error) => {
                let said = format!("journal lines are kept until they can be written: {}", error.line());
                let before = self.untold.replace(said.clone());
                (before.as_ref() != Some(&said)).then_some(said)
            }
        };
        self.set_retry();
        news.map_or(Ok(()), Err)
    }

    /// Tries to write the lines on disk if there are others than at the last try: other processes keep lines there, and
    /// write them. `waiting` is how many there are.
    pub fn recount(&mut self, waiting: io::Result<usize>) -> Result<(), String> {
        if waiting.ok() == self.tried { Ok(()) } else { self.recover() }
    }

    /// Does the same after the death of a process that was to run the beat of `failed`; where it died so early that
    /// nothing is known of its beat, `failed` becomes the line.
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
    pub fn retry(&mut self) -> Result<(), String> {
        let written = self.write();
        // The journal first: what it needs is not taken from it.
        self.take_room();
        written
    }

    /// Writes whatever waits.
    pub fn write(&mut self) -> Result<(), String> {
        self.write_lines().and_then(|()| self.recover())
    }

    /// How many journal lines could not be written yet.
    #[must_use]
    pub fn waiting_lines(&self) -> usize {
        self.waits.kept + self.homeless.len()
    }

    /// Why they could not, and what to do.
    #[must_use]
    pub fn waits(&self) -> Option<&str> {
        self.waits.reason(self.waiting_lines())
    }

    /// How many lines are kept, and why.
    fn kept(&self) -> String {
        status::waiting(self.waiting_lines(), self.waits(), true)
    }

    fn write_lines(&mut self) -> Result<(), String> {
        if self.is_over {
            return Ok(());
        }
        let mut is_done = true;
        for entry in std::mem::take(&mut self.homeless) {
            let Err(error) = append::append(&self.dir.journal(), &entry) else { continue };
            is_done = false;
            self.waits.learn(&self.dir, &error);
            match Reserve::new(&self.dir).keep(&entry, || {}) {
                Ok(()) => self.waits.kept += 1,
                Err(_) => self.homeless.push(entry),
            }
        }
        self.set_retry();
        if is_done { Ok(()) } else { Err(self.kept()) }
    }
}
