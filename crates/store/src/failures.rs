//! failures.json: how often each heartbeat has failed in a row.
//!
//! The daemon writes it as beats end, and `murmur resume` resets it, both under a lock. A file that is not
//! readable counts as empty: the heartbeats run as scheduled. Only one with an unknown format or version is replaced.

use jiff::Timestamp;
use murmur_core::config::heartbeat::HeartbeatId;
use murmur_core::failures::Streak;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use sys::error::Failure;
use sys::paths::DataDir;
use sys::versioned::{self, ReadError};
use sys::{failure, lock};

/// The failures of heartbeats, by their ids. Most have none.
pub type Streaks = BTreeMap<String, Streak>;

#[derive(Debug, Default, Serialize, Deserialize)]
struct Contents {
    heartbeats: Streaks,
}

/// Reads the file; a missing one is empty.
pub fn read(dir: &DataDir) -> Result<Streaks, Failure> {
    let path = dir.failures();
    match versioned::read::<Contents>(&path) {
        Ok(contents) => Ok(contents.unwrap_or_default().heartbeats),
        Err(ReadError::Io(error)) => Err(failure!("cannot read {}", path.display()).because(&error)),
        Err(ReadError::Foreign) => Err(failure!(
            "{} has an unknown format or version, so failures are counted from 0", path.display();
            "remove it"
        )),
    }
}

/// Sets the failures of a heartbeat, or removes them.
pub fn set(dir: &DataDir, id: &HeartbeatId, streak: Option<Streak>) -> io::Result<()> {
    change(dir, |streaks| {
        match streak {
            Some(streak) => streaks.insert(id.as_str().to_owned(), streak),
            None => streaks.remove(id.as_str()),
        };
    })
}

/// Resets the failures of these heartbeats, and with `and_others` of all that have any, so that none from before `now`
/// count anymore. Returns how many each had.
pub fn reset(
    dir: &DataDir,
    ids: &[HeartbeatId],
    and_others: bool,
    now: Timestamp,
) -> io::Result<BTreeMap<String, u32>> {
    let mut had = BTreeMap::new();
    if ids.is_empty() && !dir.failures().exists() {
        return Ok(had);
    }
    change(dir, |streaks| {
        let others = streaks.keys().filter(|_| and_others).cloned();
        for id in others.chain(ids.iter().map(ToString::to_string)).collect::<BTreeSet<_>>() {
            let streak = streaks.insert(id.clone(), Streak::none(now));
            had.extend(streak.filter(|streak| streak.failures > 0).map(|streak| (id, streak.failures)));
        }
    })?;
    Ok(had)
}

fn change(dir: &DataDir, change: impl FnOnce(&mut Streaks)) -> io::Result<()> {
    let _lock = lock::lock(&dir.failures_lock())?;
    let mut heartbeats = versioned::read_known::<Contents>(&dir.failures())?.heartbeats;
    change(&mut heartbeats);
    versioned::write(&dir.failures(), &Contents { heartbeats })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileTypeExt;

    fn streak(failures: u32) -> Streak {
        Streak {
            failures,
            retries: 0,
            started_at: "2026-02-03T10:00:00Z".parse().unwrap(),
            retry_at: None,
            reported: false,
            replaced: 0,
        }
    }

    #[test]
    fn failures_are_kept_until_they_are_reset() {
        let folder = tempfile::tempdir().unwrap();
        let dir = DataDir::find(Some(folder.path()), None, None).unwrap();
        let now = "2026-02-03T11:00:00Z".parse().unwrap();
        assert_eq!(reset(&dir, &[], true, now).unwrap(), BTreeMap::new());
        assert!(std::fs::read_dir(folder.path()).unwrap().next().is_none());
        let [one, two, three] = ["/a", "/b", "/c"].map(HeartbeatId::parse);
        for (id, failures) in [(&one, 1), (&two, 2), (&one, 7), (&three, 3)] {
            set(&dir, id, Some(streak(failures))).unwrap();
        }
        set(&dir, &three, None).unwrap();
        assert_eq!(read(&dir).unwrap().values().map(|streak| streak.failures).collect::<Vec<_>>(), [7, 2]);
        assert_eq!(reset(&dir, &[two, three], false, now).unwrap(), BTreeMap::from([("/b".to_owned(), 2)]));
        assert_eq!(reset(&dir, &[], true, now).unwrap(), BTreeMap::from([("/a".to_owned(), 7)]));
        // Beats from before that do not count anymore, even if the daemon missed them.
        let none = ["/a", "/b", "/c"].map(|id| (id.to_owned(), Streak::none(now)));
        assert_eq!(read(&dir).unwrap(), none.into());
    }

    #[test]
    fn an_invalid_file_is_reported_and_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let dir = DataDir::find(Some(folder.path()), None, None).unwrap();
        std::fs::write(dir.failures(), "{").unwrap();
        assert!(read(&dir).unwrap_err().line().ends_with("counted from 0; remove it"));
        set(&dir, &HeartbeatId::parse("/a"), Some(streak(1))).unwrap();
        assert_eq!(read(&dir).unwrap().len(), 1);
    }

    #[test]
    fn a_file_that_cannot_be_read_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let dir = DataDir::find(Some(folder.path()), None, None).unwrap();
        let id = HeartbeatId::parse("/a");
        // Not even root can read a socket, but anybody can replace it.
        let _socket = std::os::unix::net::UnixListener::bind(dir.failures()).unwrap();
        let error = set(&dir, &id, Some(streak(1))).unwrap_err();
        assert!(error.to_string().starts_with("cannot read "), "{error}");
        reset(&dir, &[id], false, "2026-02-03T11:00:00Z".parse().unwrap()).unwrap_err();
        assert!(dir.failures().metadata().unwrap().file_type().is_socket());
    }
}
