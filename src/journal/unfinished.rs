//! Beats that have begun and are not in the journal: one file each in `beats/`, locked by the process that runs it.
//!
//! The lock ends with its holder, so a record that can be locked belongs to a dead process. The file is as large
//! from the start as its line will ever need, so that the line can be kept in it when the disk is full.

use super::append;
use super::entry::Entry;
use super::read::{Backward, Entries};
use crate::agent::invocation;
use crate::sys::held::{self, Held, Lasting};
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
    /// Records that a beat has begun. `folder` is made where it does not exist.
    ///
    /// # Errors
    /// What the system says, for example that the disk is full.
    pub fn create(folder: &Path, begun: &Begun) -> io::Result<Self> {
        let text = serde_json::to_vec(begun)?;
        let held = Held::create(folder, &name(&begun.entry.beat), &text, Lasting::Yes)?;
        held.map(Self).ok_or_else(|| io::ErrorKind::AlreadyExists.into())
    }

    /// Takes over the record of a beat that was announced. `None` if it was withdrawn meanwhile: it must not begin.
    ///
    /// # Errors
    /// What the system says.
    pub fn take_announced(folder: &Path, begun: &Begun) -> io::Result<Option<Self>> {
        let Some(held) = Held::take_over(&folder.join(name(&begun.entry.beat)))? else { return Ok(None) };
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
    /// the line is kept in the record, without its turns, and goes to the journal when [`recover`] finds it.
    ///
    /// # Errors
    /// Why the journal could not be written. The line is kept all the same if `Err` holds [`Kept::InRecord`].
    pub fn finish(self, journal: &Path, entry: &Entry) -> Result<(), (io::Error, Kept)> {
        let appended = append::append(journal, entry);
        let Err(error) = appended else {
            let _stays_and_is_recovered = self.0.remove();
            return Ok(());
        };
        let begun = Begun {
            pid: std::process::id(),
            entry: Entry { turns: None, ..entry.clone() },
            over: true,
            scheduled: false,
            announced: false,
            before: None,
            data_dir: None,
        };
        let kept = serde_json::to_vec(&begun).map_err(io::Error::from).and_then(|text| self.0.rewrite(&text));
        Err((error, if kept.is_ok() { Kept::InRecord } else { Kept::Nowhere }))
    }
}

/// Where a line is that the journal had no room for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// In the beat's record; the next recovery moves it to the journal.
    InRecord,
    /// Nowhere on disk: whoever has it must say it.
    Nowhere,
}

/// Writes down that a beat is about to begin, before there is a process for it. That takes it over; or the next daemon
/// withdraws it, and starts the heartbeat anew.
///
/// # Errors
/// What the system says, for example that the disk is full.
pub fn announce(folder: &Path, begun: &Begun) -> io::Result<()> {
    let text = serde_json::to_vec(&Begun { announced: true, ..begun.clone() })?;
    // After a power failure it has not begun either.
    let held = Held::create(folder, &name(&begun.entry.beat), &text, Lasting::No)?;
    held.map(drop).ok_or_else(|| io::ErrorKind::AlreadyExists.into())
}

/// Withdraws a beat that was announced; `false` if its process has taken it over, or it is gone.
///
/// # Errors
/// What the system says.
pub fn withdraw(folder: &Path, beat: &str) -> io::Result<bool> {
    let Some(held) = Held::take_over(&folder.join(name(beat)))? else { return Ok(false) };
    let is_announced = serde_json::from_slice::<Begun>(&held.read()?).is_ok_and(|begun| begun.announced);
    if is_announced {
        held.remove()?;
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

/// Gives every dead beat of `folder` its line in `journal`, exactly once, and returns how many still wait because
/// the journal has no room.
///
/// # Errors
/// What the system says of reading.
pub fn recover(folder: &Path, journal: &Path, now: Timestamp) -> io::Result<usize> {
    let mut waiting = 0;
    for (path, mut begun) in survey(folder)?.dead {
        // Whoever holds the lock is the one that recovers; a record that is gone was recovered by another.
        let Some(record) = Held::take_over(&path)? else { continue };
        if !begun.over {
            // Its agent died with its process; what the agent had started may still run.
            process::kill_marked(&invocation::marks(&begun.entry.agent, begun.data_dir.as_deref()));
            // Until its death was noticed: nobody knows better.
            let lasted = begun.entry.started().map(|started| now.duration_since(started).as_millis());
            begun.entry.duration_ms = lasted.and_then(|lasted| u64::try_from(lasted).ok()).unwrap_or(0);
        }
        let written = has_line(journal, &begun.entry)? || append::append(journal, &begun.entry).is_ok();
        if written {
            record.remove()?;
        } else {
            waiting += 1;
        }
    }
    Ok(waiting)
}

/// Whether what `entry` is about has a line in `journal`, or is a beat with a record in `folder` from which it will get
/// one.
///
/// # Errors
/// What the system says of reading.
pub fn is_known(folder: &Path, journal: &Path, entry: &Entry) -> io::Result<bool> {
    let has_record = || entry.kind.is_beat() && folder.join(name(&entry.beat)).exists();
    Ok(has_line(journal, entry)? || has_record())
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Kind;

    fn begun(beat: &str) -> Begun {
        let entry = Entry {
            error: Some("died".to_owned()),
            beat: beat.to_owned(),
            agent: "w-1".to_owned(),
            ..Entry::new("2026-02-03T10:00:00Z".to_owned(), "/w".to_owned(), Kind::Error, 0)
        };
        Begun { pid: 1, entry, over: false, scheduled: true, announced: false, before: None, data_dir: None }
    }

    #[test]
    fn an_announced_beat_begins_once_or_is_withdrawn() {
        let folder = tempfile::tempdir().unwrap();
        let (beats, journal) = (folder.path().join("beats"), folder.path().join("journal"));
        announce(&beats, &begun("one")).unwrap();
        announce(&beats, &begun("two")).unwrap();
        assert_eq!(recover(&beats, &journal, Timestamp::UNIX_EPOCH).unwrap(), 0);
        let record = Record::take_announced(&beats, &begun("one")).unwrap().unwrap();
        assert!(!withdraw(&beats, "one").unwrap());
        assert!(withdraw(&beats, "two").unwrap());
        assert!(Record::take_announced(&beats, &begun("two")).unwrap().is_none());
        let seen = survey(&beats).unwrap();
        assert_eq!((seen.running.len(), seen.dead.len(), seen.announced.len()), (1, 0, 0));
        record.finish(&journal, &begun("one").entry).unwrap();
        assert!(!withdraw(&beats, "one").unwrap());
        assert_eq!(std::fs::read_to_string(&journal).unwrap().lines().count(), 1);
    }

    #[test]
    fn a_running_beat_is_seen_and_a_finished_one_is_in_the_journal_alone() {
        let folder = tempfile::tempdir().unwrap();
        let (beats, journal) = (folder.path().join("beats"), folder.path().join("journal"));
        let record = Record::create(&beats, &begun("one")).unwrap();
        assert_eq!(survey(&beats).unwrap().running.len(), 1);
        assert_eq!(recover(&beats, &journal, Timestamp::UNIX_EPOCH).unwrap(), 0);
        record.finish(&journal, &begun("one").entry).unwrap();
        assert_eq!(std::fs::read_dir(&beats).unwrap().count(), 0);
        assert_eq!(std::fs::read_to_string(&journal).unwrap().lines().count(), 1);
    }

    #[test]
    fn a_dead_process_leaves_one_line_however_often_one_looks() {
        let folder = tempfile::tempdir().unwrap();
        let (beats, journal) = (folder.path().join("beats"), folder.path().join("journal"));
        drop(Record::create(&beats, &begun("one")).unwrap());
        for _ in 0..3 {
            assert_eq!(recover(&beats, &journal, Timestamp::UNIX_EPOCH).unwrap(), 0);
        }
        assert_eq!(std::fs::read_to_string(&journal).unwrap().lines().count(), 1);
    }

    #[test]
    fn a_process_that_died_after_its_line_gets_no_second_one() {
        let folder = tempfile::tempdir().unwrap();
        let (beats, journal) = (folder.path().join("beats"), folder.path().join("journal"));
        drop(Record::create(&beats, &begun("one")).unwrap());
        append::append(&journal, &begun("one").entry).unwrap();
        recover(&beats, &journal, Timestamp::UNIX_EPOCH).unwrap();
        assert_eq!(std::fs::read_to_string(&journal).unwrap().lines().count(), 1);
    }

    #[test]
    fn a_line_the_journal_has_no_room_for_waits_in_the_record() {
        let folder = tempfile::tempdir().unwrap();
        let (beats, journal) = (folder.path().join("beats"), folder.path().join("journal"));
        let record = Record::create(&beats, &begun("one")).unwrap();
        let done = Entry { outcome: Kind::Ok, error: None, ..begun("one").entry };
        let (error, kept) = record.finish(Path::new("/dev/full"), &done).unwrap_err();
        assert_eq!((error.kind(), kept), (io::ErrorKind::StorageFull, Kept::InRecord));
        assert_eq!(recover(&beats, Path::new("/dev/full"), Timestamp::UNIX_EPOCH).unwrap(), 1);
        assert!(survey(&beats).unwrap().dead[0].1.over);
        assert_eq!(recover(&beats, &journal, Timestamp::UNIX_EPOCH).unwrap(), 0);
        assert_eq!(std::fs::read_to_string(&journal).unwrap(), done.line().unwrap());
    }
}
