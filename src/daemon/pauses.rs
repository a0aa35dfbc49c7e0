//! `paused.json`: the heartbeats that a person has paused. The daemon does not start them until they are resumed.
//!
//! An unreadable file pauses everything, because the pauses in it are unknown.

use jiff::{SignedDuration, Timestamp};
use murmur_core::config::heartbeat::HeartbeatId;
use serde::{Deserialize, Serialize};
use std::io;
use sys::error::Failure;
use sys::file::Stamp;
use sys::paths::DataDir;
use sys::unreadable::unwritable;
use sys::{failure, file, lock, versioned};

/// When to read again a file that was not readable.
const RETRY: SignedDuration = SignedDuration::from_secs(10);

#[derive(Debug, Serialize, Deserialize)]
struct Contents {
    paused: Vec<Pause>,
}

/// A pause of one heartbeat, or of all.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pause {
    /// The heartbeat's id; `None` pauses all.
    pub heartbeat: Option<String>,
    /// When it began, if known.
    pub since: Option<Timestamp>,
    /// When it ends; `None` if it ends only when a person resumes.
    pub until: Option<Timestamp>,
    /// The reason that the person gave.
    pub reason: Option<String>,
}

impl Pause {
    /// Whether it has not ended at `now`.
    #[must_use]
    pub fn is_active(&self, now: Timestamp) -> bool {
        self.until.is_none_or(|until| now < until)
    }

    fn is_of(&self, id: &HeartbeatId) -> bool {
        self.heartbeat.as_deref().is_none_or(|heartbeat| heartbeat == id.as_str())
    }
}

/// Until when a heartbeat is paused, from the shortest to the longest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PausedUntil {
    /// Until this time.
    Until(Timestamp),
    /// Until a person acts.
    Open,
}

impl PausedUntil {
    fn of(pause: &Pause) -> Self {
        pause.until.map_or(Self::Open, Self::Until)
    }

    /// Whether it is over at `now`.
    #[must_use]
    pub fn is_over(self, now: Timestamp) -> bool {
        matches!(self, Self::Until(until) if until <= now)
    }
}

/// All pauses.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pauses(Vec<Pause>);

impl Pauses {
    /// Pauses for tests and for changes.
    #[must_use]
    pub fn new(pauses: Vec<Pause>) -> Self {
        Self(pauses)
    }

    /// The pauses that have not ended at `now`: that of all heartbeats first.
    pub fn active(&self, now: Timestamp) -> impl Iterator<Item = &Pause> {
        let (all, some): (Vec<&Pause>, Vec<&Pause>) =
            self.0.iter().filter(|pause| pause.is_active(now)).partition(|pause| pause.heartbeat.is_none());
        all.into_iter().chain(some)
    }

    /// The longest pause of a heartbeat, which may have ended.
    #[must_use]
    pub fn of(&self, id: &HeartbeatId) -> Option<&Pause> {
        self.0.iter().filter(|pause| pause.is_of(id)).max_by_key(|pause| PausedUntil::of(pause))
    }

    /// Until when a heartbeat is paused.
    #[must_use]
    pub fn hold(&self, id: &HeartbeatId) -> Option<PausedUntil> {
        self.of(id).map(PausedUntil::of)
    }

    /// Adds `pause`, in place of an earlier one of the same heartbeat.
    pub fn add(&mut self, pause: Pause) {
        self.remove(pause.heartbeat.as_deref());
        self.0.push(pause);
    }

    /// Removes the pause of this heartbeat, or that of all; returns it.
    pub fn remove(&mut self, heartbeat: Option<&str>) -> Option<Pause> {
        let place = self.0.iter().position(|pause| pause.heartbeat.as_deref() == heartbeat)?;
        Some(self.0.remove(place))
    }

    /// Removes every pause; returns whether there was one.
    pub fn clear(&mut self) -> bool {
        !std::mem::take(&mut self.0).is_empty()
    }

    /// A pause of all heartbeats, because the file is not usable for this reason.
    fn unreadable(reason: &Failure) -> Self {
        Self(vec![Pause { reason: Some(reason.line()), ..Pause::default() }])
    }
}

/// Reads the file. A missing file pauses nothing, and one that is not readable everything.
#[must_use]
pub fn read(dir: &DataDir) -> Pauses {
    parse(dir, file::read_regular(&dir.paused()))
}

/// Why the file is not readable; `None` if it is.
#[must_use]
pub fn problem(dir: &DataDir) -> Option<Failure> {
    let unreadable = pauses_in(dir, file::read_regular(&dir.paused())).err()?;
    Some(unreadable.or_hint(Some("to resume all heartbeats, run: murmur resume --all".to_owned())))
}

fn parse(dir: &DataDir, bytes: io::Result<Option<Vec<u8>>>) -> Pauses {
    pauses_in(dir, bytes).unwrap_or_else(|failure| Pauses::unreadable(&failure))
}

fn pauses_in(dir: &DataDir, bytes: io::Result<Option<Vec<u8>>>) -> Result<Pauses, Failure> {
    let file = dir.paused().display().to_string();
    let bytes = match bytes {
        Ok(Some(bytes)) => bytes,
        Ok(None) => return Ok(Pauses::default()),
        Err(error) => return Err(failure!("cannot read {file}").because(&error)),
    };
    let contents = versioned::parse::<Contents>(&bytes);
    let contents =
        contents.ok_or_else(|| failure!("{file} is not a list of pauses that this version can read"))?;
    Ok(Pauses(contents.paused))
}

/// Changes the pauses, under a lock. Those that ended before `now` are dropped.
pub fn change<T>(dir: &DataDir, now: Timestamp, change: impl FnOnce(&mut Pauses) -> T) -> Result<T, Failure> {
    let path = dir.paused();
    let failed = |error: io::Error| unwritable(&path, &error);
    let _lock = lock::lock(&dir.paused_lock()).map_err(failed)?;
    let mut pauses = read(dir);
    let changed = change(&mut pauses);
    pauses.0.retain(|pause| pause.is_active(now));
    versioned::write(&path, &Contents { paused: pauses.0 }).map_err(failed)?;
    Ok(changed)
}

/// The file, as the daemon last read it.
#[derive(Debug, Default)]
pub struct PauseFile {
    /// What was last read; the inner one is `None` if there was no file.
    seen: Option<Option<Stamp>>,
    retry_at: Option<Timestamp>,
}

impl PauseFile {
    /// Returns the pauses if the file may have changed since the last call.
    pub fn changed(&mut self, dir: &DataDir, now: Timestamp) -> Option<Pauses> {
        let stamp = Stamp::of(&dir.paused());
        if self.seen == Some(stamp) && self.retry_at.is_none_or(|at| now < at) {
            return None;
        }
        let bytes = file::read_regular(&dir.paused());
        self.seen = Some(stamp);
        // The cause may pass, such as too many open files.
        self.retry_at = bytes.as_ref().err().and_then(|_| now.checked_add(RETRY).ok());
        Some(parse(dir, bytes))
    }

    /// When to call [`Self::changed`] again even if nothing has happened.
    #[must_use]
    pub fn wake_at(&self) -> Option<Timestamp> {
        self.retry_at
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn at(text: &str) -> Timestamp {
        format!("2026-02-03T{text}Z").parse().unwrap()
    }

    fn pause(heartbeat: Option<&str>, until: Option<&str>) -> Pause {
        Pause {
            heartbeat: heartbeat.map(str::to_owned),
            since: Some(at("08:00:00")),
            until: until.map(at),
            reason: None,
        }
    }

    #[test]
    fn the_longest_pause_holds_a_heartbeat() {
        let site = HeartbeatId::new(Path::new("/site"), None);
        let until = |text| Some(PausedUntil::Until(at(text)));
        for (pauses, expected) in [
            (vec![], None),
            (vec![pause(Some("/blog"), None)], None),
            (vec![pause(Some("/site::heartbeats/x/HEARTBEAT.md"), None)], None),
            (vec![pause(Some("/site"), Some("10:00:00"))], until("10:00:00")),
            (vec![pause(None, Some("11:00:00")), pause(Some("/site"), Some("10:00:00"))], until("11:00:00")),
            (vec![pause(None, Some("11:00:00")), pause(Some("/site"), None)], Some(PausedUntil::Open)),
            (vec![pause(None, None), pause(Some("/site"), Some("10:00:00"))], Some(PausedUntil::Open)),
        ] {
            assert_eq!(Pauses(pauses.clone()).hold(&site), expected, "{pauses:?}");
        }
        assert!(PausedUntil::Until(at("10:00:00")).is_over(at("10:00:00")));
        assert!(!PausedUntil::Until(at("10:00:00")).is_over(at("09:59:59")));
        assert!(!PausedUntil::Open.is_over(at("23:00:00")));
    }

    #[test]
    fn pauses_survive_in_the_file_until_they_end() {
        let folder = tempfile::tempdir().unwrap();
        let dir = DataDir::find(Some(folder.path()), None, None).unwrap();
        let mut file = PauseFile::default();
        let mut changed = || file.changed(&dir, at("09:00:00"));
        assert_eq!([changed(), changed()], [Some(Pauses::default()), None]);
        change(&dir, at("09:00:00"), |pauses| pauses.add(pause(Some("/a"), Some("10:00:00")))).unwrap();
        change(&dir, at("09:00:00"), |pauses| pauses.add(pause(Some("/a"), Some("11:00:00")))).unwrap();
        change(&dir, at("09:00:00"), |pauses| pauses.add(pause(None, None))).unwrap();
        let both = Pauses(vec![pause(Some("/a"), Some("11:00:00")), pause(None, None)]);
        assert_eq!((changed(), read(&dir)), (Some(both.clone()), both.clone()));
        let names: Vec<_> = both.active(at("10:59:00")).map(|pause| pause.heartbeat.as_deref()).collect();
        assert_eq!(names, [None, Some("/a")]);
        assert_eq!(both.active(at("11:00:00")).count(), 1);
        assert!(change(&dir, at("11:00:00"), |pauses| pauses.remove(None)).unwrap().is_some());
        assert_eq!(read(&dir), Pauses::default());
    }

    #[test]
    fn an_unreadable_file_pauses_everything_until_all_is_resumed() {
        let folder = tempfile::tempdir().unwrap();
        let dir = DataDir::find(Some(folder.path()), None, None).unwrap();
        for text in ["", "{", "[]", r#"{"version":2,"paused":[]}"#, r#"{"version":1,"paused":[{"until":1}]}"#]
        {
            std::fs::write(dir.paused(), text).unwrap();
            let pauses = read(&dir);
            assert_eq!(pauses.hold(&HeartbeatId::parse("/any")), Some(PausedUntil::Open), "{text}");
            let reason = pauses.0[0].reason.clone().unwrap();
            assert!(reason.contains("paused.json is not a list"), "{reason}");
            // Changing one heartbeat doesn't lift the other pauses.
            change(&dir, at("09:00:00"), |pauses| pauses.remove(Some("/a"))).unwrap();
            assert_eq!(read(&dir).hold(&HeartbeatId::parse("/any")), Some(PausedUntil::Open), "{text}");
        }
        assert!(change(&dir, at("09:00:00"), Pauses::clear).unwrap());
        assert_eq!(read(&dir), Pauses::default());
        std::fs::remove_file(dir.paused()).unwrap();
        std::fs::create_dir(dir.paused()).unwrap();
        let mut file = PauseFile::default();
        for (now, is_read) in [("09:00:00", true), ("09:00:09", false), ("09:00:10", true)] {
            assert_eq!(file.changed(&dir, at(now)).is_some(), is_read, "{now}");
        }
        assert_eq!(file.wake_at(), Some(at("09:00:20")));
    }
}
