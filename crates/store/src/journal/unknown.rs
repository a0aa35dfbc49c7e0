//! `unknown.json`: agents' unknown output of the last week, for `murmur doctor`.
//!
//! It exists only once something unknown was seen. Input: the counts of a run. Output: counts by day, program, version
//! and name.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use murmur_agent::unknown::{OTHERS, Unknown};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;
use std::time::{Duration, Instant};
use sys::lock::{self, Lock};
use sys::paths::DataDir;
use sys::pause::pause;
use sys::versioned::{self, ReadError};

/// How many days before today are kept.
const DAYS: i64 = 7;

/// How long to wait for the lock. Its holder only rewrites a small file.
const LOCK_TIMEOUT: Duration = Duration::from_secs(2);

/// How many rows name something. What else is new then counts as [`OTHERS`] of its backend and version.
const ROWS: usize = 1000;

#[derive(Debug, Default, Serialize, Deserialize)]
struct Contents {
    seen: Vec<DailyCount>,
}

/// How often something was seen on a day.
#[derive(Debug, Serialize, Deserialize)]
struct DailyCount {
    /// In UTC.
    day: Date,
    #[serde(flatten)]
    what: UnknownOutput,
    count: u64,
}

/// Something unknown.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct UnknownOutput {
    /// The backend that wrote it.
    pub backend: String,
    /// The backend's version; empty if it doesn't say.
    #[serde(rename = "backendVersion")]
    pub version: String,
    /// A type of lines, such as `system/new`, or a field, such as `assistant.new`.
    pub name: String,
}

impl UnknownOutput {
    /// Whether it is a field of something that murmur knows or that has its own row.
    #[must_use]
    pub fn is_field(&self) -> bool {
        self.name.rsplit('/').next().is_some_and(|last| last.contains('.'))
    }
}

/// Adds the counts of a run that ended `now`. Waits for a process that adds others at this moment.
///
/// # Errors
/// If the file is not writable, or another process keeps it locked: then these counts are lost.
pub fn record(
    dir: &DataDir,
    backend: &str,
    version: &str,
    unknown: &Unknown,
    now: Timestamp,
) -> io::Result<()> {
    if unknown.is_empty() {
        return Ok(());
    }
    let _lock = lock_within(dir, LOCK_TIMEOUT)?;
    let today = day(now);
    let mut rows = read(dir, now)?;
    for (name, count) in unknown.iter() {
        let mut what =
            UnknownOutput { backend: backend.to_owned(), version: version.to_owned(), name: name.to_owned() };
        let is_of = |row: &DailyCount, what: &UnknownOutput| row.day == today && row.what == *what;
        if rows.len() >= ROWS && !rows.iter().any(|row| is_of(row, &what)) {
            OTHERS.clone_into(&mut what.name);
        }
        match rows.iter_mut().find(|row| is_of(row, &what)) {
            Some(row) => row.count = row.count.saturating_add(count),
            None => rows.push(DailyCount { day: today, what, count }),
        }
    }
    versioned::write(&dir.unknown(), &Contents { seen: rows })
}

fn lock_within(dir: &DataDir, timeout: Duration) -> io::Result<Lock> {
    let begun = Instant::now();
    loop {
        if let Some(lock) = lock::try_lock(&dir.unknown_lock())? {
            return Ok(lock);
        }
        if begun.elapsed() >= timeout {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "another process keeps it locked"));
        }
        pause(Duration::from_millis(10));
    }
}

/// How often each was seen in the week before `now`.
///
/// # Errors
/// If the file is unreadable. An invalid one counts as empty.
pub fn last_week(dir: &DataDir, now: Timestamp) -> io::Result<BTreeMap<UnknownOutput, u64>> {
    let mut counts = BTreeMap::new();
    for row in read(dir, now)? {
        let count: &mut u64 = counts.entry(row.what).or_default();
        *count = count.saturating_add(row.count);
    }
    Ok(counts)
}

/// The rows of the week before `now`.
fn read(dir: &DataDir, now: Timestamp) -> io::Result<Vec<DailyCount>> {
    let contents = match versioned::read::<Contents>(&dir.unknown()) {
        Ok(contents) => contents.unwrap_or_default(),
        Err(ReadError::Io(error)) => return Err(error),
        Err(ReadError::Foreign) => Contents::default(),
    };
    let first = day(now).saturating_sub(DAYS.days());
    Ok(contents.seen.into_iter().filter(|row| row.day >= first).collect())
}

fn day(at: Timestamp) -> Date {
    at.to_zoned(TimeZone::UTC).date()
}

#[cfg(test)]
mod tests {
    use super::*;
    use murmur_agent::parser::Parser;
    use std::path::Path;

    fn data_dir(root: &Path) -> DataDir {
        DataDir::find(Some(root), None, None).unwrap()
    }

    fn seen(output: &str) -> Unknown {
        let mut parser = Parser::default();
        parser.feed(output.as_bytes(), &mut |_| {});
        parser.unknown().clone()
    }

    #[test]
    fn counts_add_up_for_a_week() {
        let root = tempfile::tempdir().unwrap();
        let dir = data_dir(root.path());
        let now: Timestamp = "2026-02-03T10:00:00Z".parse().unwrap();
        let after = |days: i64| now + (24 * days).hours();
        record(&dir, "claude", "2.1.999", &Unknown::default(), now).unwrap();
        assert!(!dir.unknown().exists(), "without anything unknown there is no file");
        let both = seen("{\"type\":\"new\"}\n{\"type\":\"system\",\"subtype\":\"init\",\"x\":1}\n");
        record(&dir, "claude", "2.1.999", &both, now).unwrap();
        record(&dir, "claude", "2.1.999", &seen("{\"type\":\"new\"}\n"), after(1)).unwrap();
        record(&dir, "codex", "", &seen("{\"type\":\"new\"}\n"), after(1)).unwrap();
        let shown = |at: Timestamp| {
            let week = last_week(&dir, at).unwrap();
            let line = |(seen, count): (&UnknownOutput, &u64)| {
                format!("{} {}: {} {} {count}", seen.backend, seen.version, seen.name, seen.is_field())
            };
            week.iter().map(line).collect::<Vec<_>>().join("\n")
        };
        insta::assert_snapshot!(shown(after(7)), @r"
        claude 2.1.999: new false 2
        claude 2.1.999: system/init.x true 1
        codex : new false 1
        ");
        insta::assert_snapshot!(shown(after(8)), @r"
        claude 2.1.999: new false 1
        codex : new false 1
        ");
        assert_eq!(shown(after(9)), "");
        // Old rows are gone once the file is written again.
        record(&dir, "claude", "3", &seen("{\"type\":\"new\"}\n"), after(9)).unwrap();
        insta::assert_snapshot!(std::fs::read_to_string(dir.unknown()).unwrap(), @r#"
        {
          "version": 1,
          "seen": [
            {
              "day": "2026-02-12",
              "backend": "claude",
              "backendVersion": "3",
              "name": "new",
              "count": 1
            }
          ]
        }
        "#);
    }

    #[test]
    fn what_no_row_is_left_for_is_counted_together() {
        let root = tempfile::tempdir().unwrap();
        let dir = data_dir(root.path());
        let now = Timestamp::UNIX_EPOCH;
        let what = |number: usize| UnknownOutput {
            backend: "claude".into(),
            version: "1".into(),
            name: format!("kind{number}"),
        };
        let row = |number| DailyCount { day: day(now), what: what(number), count: 1 };
        versioned::write(&dir.unknown(), &Contents { seen: (0..ROWS).map(row).collect() }).unwrap();
        let new = "{\"type\":\"kind7\"}\n{\"type\":\"dawn\"}\n{\"type\":\"dusk\"}\n";
        record(&dir, "claude", "1", &seen(new), now).unwrap();
        record(&dir, "claude", "1", &seen(new), now).unwrap();
        record(&dir, "codex", "", &seen(new), now).unwrap();
        let week = last_week(&dir, now).unwrap();
        let count = |backend: &str, version: &str, name: &str| {
            let one = UnknownOutput { backend: backend.into(), version: version.into(), name: name.into() };
            week.get(&one).copied()
        };
        assert_eq!((count("claude", "1", "kind7"), count("claude", "1", "dawn")), (Some(3), None));
        assert_eq!((count("claude", "1", OTHERS), count("codex", "", OTHERS)), (Some(4), Some(3)));
        assert_eq!(week.len(), ROWS + 2);
    }

    #[test]
    fn an_invalid_file_is_replaced() {
        let root = tempfile::tempdir().unwrap();
        let dir = data_dir(root.path());
        let now = Timestamp::UNIX_EPOCH;
        std::fs::write(dir.unknown(), "{").unwrap();
        assert!(last_week(&dir, now).unwrap().is_empty());
        record(&dir, "claude", "1", &seen("{\"type\":\"new\"}\n"), now).unwrap();
        assert_eq!(last_week(&dir, now).unwrap().len(), 1);
    }

    #[test]
    fn a_taken_lock_is_waited_for_but_not_forever() {
        let root = tempfile::tempdir().unwrap();
        let dir = data_dir(root.path());
        let now = Timestamp::UNIX_EPOCH;
        let taken = lock::lock(&dir.unknown_lock()).unwrap();
        assert_eq!(lock_within(&dir, Duration::ZERO).unwrap_err().kind(), io::ErrorKind::TimedOut);
        std::thread::scope(|scope| {
            let waiting =
                scope.spawn(|| record(&dir, "claude", "1", &seen("{\"type\":\"new\"}\n"), now).unwrap());
            assert!(last_week(&dir, now).unwrap().is_empty());
            drop(taken);
            waiting.join().unwrap();
        });
        assert_eq!(last_week(&dir, now).unwrap().len(), 1);
    }
}
