//! Beats that have begun and are not in the journal: one file each in `beats/`, locked by the process that runs it.
//!
//! The lock ends with its holder, so a record that can be locked belongs to a dead process. The file is as large
//! from the start as its line will ever need, so that the line can be kept in it when the disk is full. A record is
//! removed only when its line is in the journal or in the reserve; whoever finds one of a dead process sees to that.

#[cfg(test)]
mod tests;

use super::append;
use super::entry::Entry;
use super::read::{Backward, Entries};
use super::reserve::Reserve;
use super::spares::Spares;
use crate::agent::invocation;
use crate::sys::held::{self, Held, Lasting};
use crate::sys::paths::DataDir;
use crate::sys::process;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Path, PathBuf};

/// What is known of a beat that has begun.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Begun {
    /// The process that runs it.
    pub pid: u32,
    /// Its journal line as it would be if that process died now, or as it is when it could not be written.
    pub entry: Entry,
    /// Whether `entry` is what came of the beat, and only waits for room in the journal.
    pub over: bool,
    /// Whether a daemon started it, and whoever stops that daemon's successor means it too.
    #[serde(default)]
    pub scheduled: bool,
    /// Whether it has only been decided that it is to begin: its process has not taken it over yet.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub announced: bool,
    /// The heartbeat's last run before this one, as long as it is announced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Timestamp>,
    /// The data folder, as the agent knows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_dir: Option<PathBuf>,
}

/// The record of a beat that this process runs.
#[derive(Debug)]
pub struct Record(Held);

/// The name of a beat's record.
fn name(beat: &str) -> String {
    format!("{beat}.json")
}

impl Record {
    /// Records that a beat has begun.
    ///
    /// # Errors
    /// What the system says, for example that the disk is full and no spare record is left.
    pub fn create(dir: &DataDir, begun: &Begun) -> io::Result<Self> {
        let text = serde_json::to_vec(begun)?;
        let name = name(&begun.entry.beat);
        let held = Spares::new(dir).record(&dir.beats(), &name, &text, Lasting::Yes)?;
        held.map(Self).ok_or_else(|| io::ErrorKind::AlreadyExists.into())
    }

    /// Takes over the record of a beat that was announced. `None` if it was withdrawn meanwhile: it must not begin.
    ///
    /// # Errors
    /// What the system says.
    pub fn take_announced(dir: &DataDir, begun: &Begun) -> io::Result<Option<Self>> {
        let Some(held) = Held::take_over(&dir.beats().join(name(&begun.entry.beat)))? else {
            return Ok(None);
        };
        held.rewrite(&serde_json::to_vec(begun)?)?;
        held.sync()?;
        Ok(Some(Self(held)))
    }

    /// Writes down what is known by now, without asking the disk for room.
    ///
    /// # Errors
    /// What the system says.
    pub fn note(&self, begun: &Begun) -> io::Result<()> {
        self.0.rewrite(&serde_json::to_vec(begun)?)
    }

    /// Moves the beat to the journal: appends `entry` there and removes the record. Where the journal has no room
    /// the line is kept, without its turns, in the reserve, or else in the record; [`recover`] moves it to the journal.
    ///
    /// # Errors
    /// Why the journal could not be written, and where the line is.
    pub fn finish(self, dir: &DataDir, entry: &Entry) -> Result<(), (io::Error, Kept)> {
        let Err(error) = append::append(&dir.journal(), entry) else {
            let _stays_and_is_recovered = Spares::new(dir).give_back(self.0);
            return Ok(());
        };
        let over = over(entry).and_then(|text| self.0.rewrite(&text));
        let reserved = keep_in_reserve(dir, entry, self.0);
        let kept = if over.is_ok() || reserved { Kept::OnDisk } else { Kept::Nowhere };
        Err((error, kept))
    }
}

/// The record of a beat that is over and whose line is that of `entry`, without its turns.
fn over(entry: &Entry) -> io::Result<Vec<u8>> {
    let begun = Begun {
        pid: std::process::id(),
        entry: Entry { turns: None, ..entry.clone() },
        over: true,
        scheduled: false,
        announced: false,
        before: None,
        data_dir: None,
    };
    Ok(serde_json::to_vec(&begun)?)
}

/// Moves the line of `entry` from its record to the reserve, so that another beat can have the room of the record.
fn keep_in_reserve(dir: &DataDir, entry: &Entry, record: Held) -> bool {
    let give_back = || {
        let _stays_and_is_recovered = Spares::new(dir).give_back(record);
    };
    Reserve::new(dir).keep(entry, give_back).is_ok()
}

/// Takes the room that lines and records need on a full disk, as far as it is not taken.
///
/// # Errors
/// What the system says, for example that there is no room now.
pub fn take_room(dir: &DataDir) -> io::Result<()> {
    Spares::new(dir).fill().and(Reserve::new(dir).prepare())
}

/// Where a line is that the journal had no room for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// In the reserve or in the beat's record; the next recovery moves it to the journal.
    OnDisk,
    /// Nowhere on disk: whoever has it must say it.
    Nowhere,
}

/// Writes down that a beat is about to begin, before there is a process for it. That takes it over; or the next daemon
/// withdraws it, and starts the heartbeat anew.
///
/// # Errors
/// What the system says, for example that the disk is full and no spare record is left.
pub fn announce(dir: &DataDir, begun: &Begun) -> io::Result<()> {
    let text = serde_json::to_vec(&Begun { announced: true, ..begun.clone() })?;
    // After a power failure it has not begun either.
    let name = name(&begun.entry.beat);
    let held = Spares::new(dir).record(&dir.beats(), &name, &text, Lasting::No)?;
    held.map(drop).ok_or_else(|| io::ErrorKind::AlreadyExists.into())
}

/// Withdraws a beat that was announced; `false` if its process has taken it over, or it is gone.
///
/// # Errors
/// What the system says.
pub fn withdraw(dir: &DataDir, beat: &str) -> io::Result<bool> {
    let Some(held) = Held::take_over(&dir.beats().join(name(beat)))? else { return Ok(false) };
    let is_announced = serde_json::from_slice::<Begun>(&held.read()?).is_ok_and(|begun| begun.announced);
    if is_announced {
        Spares::new(dir).give_back(held)?;
    }
    Ok(is_announced)
}

/// What `beats/` holds.
#[derive(Debug, Default)]
pub struct Survey {
    /// Beats that are running now.
    pub running: Vec<Begun>,
    /// Beats whose process died, or whose line waits for room.
    pub dead: Vec<(PathBuf, Begun)>,
    /// Beats that were announced, and have no process yet.
    pub announced: Vec<Begun>,
}

/// Looks through `folder`. Records that cannot be read are passed over: they are being written or removed.
///
/// # Errors
/// What the system says of reading the folder. One that does not exist is empty.
pub fn survey(folder: &Path) -> io::Result<Survey> {
    survey_but(folder, |_| false)
}

/// The same without the beats whose ids are `known`: their records are not read.
///
/// # Errors
/// As for [`survey`].
pub fn survey_but(folder: &Path, known: impl Fn(&str) -> bool) -> io::Result<Survey> {
    let mut survey = Survey::default();
    for found in held::all_but(folder, known)? {
        match serde_json::from_slice::<Begun>(&found.text) {
            // Also while it is just being taken over.
            Ok(begun) if begun.announced => survey.announced.push(begun),
            Ok(begun) if found.is_held => survey.running.push(begun),
            Ok(begun) => survey.dead.push((found.path, begun)),
            Err(_) => {}
        }
    }
    survey.running.sort_by(|one, other| one.entry.beat.cmp(&other.entry.beat));
    survey.dead.sort_by(|(_, one), (_, other)| one.entry.beat.cmp(&other.entry.beat));
    Ok(survey)
}

/// Sends `signal` to the process that runs the beat of `begun`, if it still does.
pub fn signal(folder: &Path, begun: &Begun, signal: process::Signal) {
    let path = folder.join(name(&begun.entry.beat));
    process::signal_if(begun.pid, signal, || held::look(&path).is_some_and(|found| found.is_held));
}

/// Whether a beat that was announced is over: its record is gone, or its process has left nothing but its line there.
#[must_use]
pub fn is_over(dir: &DataDir, beat: &str) -> bool {
    let path = dir.beats().join(name(beat));
    match held::look(&path) {
        Some(found) => {
            !found.is_held && serde_json::from_slice::<Begun>(&found.text).is_ok_and(|begun| begun.over)
        }
        None => path.try_exists().is_ok_and(|is_there| !is_there),
    }
}

/// Removes the record of a dead process whose line is elsewhere.
///
/// # Errors
/// What the system says.
pub fn discard(dir: &DataDir, beat: &str) -> io::Result<()> {
    match Held::take_over(&dir.beats().join(name(beat)))? {
        Some(held) => Spares::new(dir).give_back(held),
        None => Ok(()),
    }
}

/// Gives every dead beat its line in the journal, exactly once, also those whose lines are in the reserve. Returns how many
/// still wait because the journal has no room.
///
/// # Errors
/// What the system says of reading.
pub fn recover(dir: &DataDir, now: Timestamp) -> io::Result<usize> {
    let mut waiting = Reserve::new(dir).drain(dir)?;
    for (path, mut begun) in survey(&dir.beats())?.dead {
        // Whoever holds the lock is the one that recovers; a record that is gone was recovered by another.
        let Some(record) = Held::take_over(&path)? else { continue };
        if !begun.over {
            // Its agent died with its process; what the agent had started may still run.
            process::kill_marked(&invocation::marks(&begun.entry.agent, begun.data_dir.as_deref()));
            // Until its death was noticed: nobody knows better.
            let lasted = begun.entry.started().map(|started| now.duration_since(started).as_millis());
            begun.entry.duration_ms = lasted.and_then(|lasted| u64::try_from(lasted).ok()).unwrap_or(0);
        }
        if has_line(&dir.journal(), &begun.entry)? || append::append(&dir.journal(), &begun.entry).is_ok() {
            Spares::new(dir).give_back(record)?;
        } else {
            waiting += 1;
            if !begun.over {
                let _recovered_again = over(&begun.entry).and_then(|text| record.rewrite(&text));
            }
            let _stays_in_its_record = keep_in_reserve(dir, &begun.entry, record);
        }
    }
    Ok(waiting)
}

/// How many lines wait because the journal has no room.
///
/// # Errors
/// What the system says of reading.
pub fn waiting(dir: &DataDir) -> io::Result<usize> {
    let in_records = survey(&dir.beats())?.dead.iter().filter(|(_, begun)| begun.over).count();
    Ok(in_records + Reserve::new(dir).entries()?.len())
}

/// Whether what `entry` is about has a line in the journal, or is a beat with a record from which it will get one.
///
/// # Errors
/// What the system says of reading.
pub fn is_known(dir: &DataDir, entry: &Entry) -> io::Result<bool> {
    // The record first: it is removed when the journal has the line.
    let has_record = entry.kind.is_beat() && dir.beats().join(name(&entry.beat)).exists();
    Ok(has_record || has_line(&dir.journal(), entry)?)
}

/// Whether the journal has a line of this already: the beat's process died after writing it.
fn has_line(journal: &Path, entry: &Entry) -> io::Result<bool> {
    let mut entries = Entries::new(Backward::open(journal)?, entry.started());
    while let Some((found, _)) = entries.next_entry(|_| true)? {
        if found.is_same(entry) {
            return Ok(true);
        }
    }
    Ok(false)
}
