//! Logs in murmur.log that pulses can't be written: at most once a minute, however many hooks fail.
//!
//! The time of the last entry is read from the log itself, so no other file is needed that could fail, too.

use jiff::Timestamp;
use murmur_store::pulse::brief;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::time::Duration;
use sys::atomic;
use sys::clock;
use sys::lock;
use sys::paths::DataDir;

/// The text of an entry, after its time.
const TEXT: &str = "cannot write pulse: ";

/// The minimum time between two entries.
const MIN_INTERVAL: Duration = Duration::from_secs(60);

/// How many bytes at the end of the log to search for the last entry.
const SEARCHED: u64 = 64 << 10;

/// Maximum length of the reason, in characters.
const MAX_REASON: usize = 500;

/// Logs what went wrong. Best effort.
pub(super) fn note(dir: &DataDir, what: &str) {
    // There is nowhere left to report a failure.
    let _best_effort = try_note(dir, what, clock::now());
}

fn try_note(dir: &DataDir, what: &str, now: Timestamp) -> io::Result<()> {
    let file = atomic::open_append_no_link(&dir.log())?;
    // Whoever holds the lock is logging a failure, too.
    let Some(lock) = lock::try_take(file)? else { return Ok(()) };
    let mut file = lock.file();
    let is_recent = |at: Timestamp| now.duration_since(at).unsigned_abs() < MIN_INTERVAL;
    if last(file)?.is_some_and(is_recent) {
        return Ok(());
    }
    let line = format!("{} {TEXT}{}\n", clock::rfc3339(now), brief::line(what, MAX_REASON));
    file.write(line.as_bytes()).map(drop)
}

/// The time of the last entry in the log.
fn last(file: &File) -> io::Result<Option<Timestamp>> {
    let size = file.metadata()?.len();
    let searched = size.min(SEARCHED);
    let mut text = vec![0; usize::try_from(searched).unwrap_or_default()];
    file.read_exact_at(&mut text, size - searched)?;
    let text = String::from_utf8_lossy(&text);
    let time = |line: &str| {
        let (time, text) = line.split_once(' ')?;
        text.starts_with(TEXT).then(|| time.parse().ok())?
    };
    Ok(text.lines().rev().find_map(time))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_logged_once_a_minute() {
        let folder = tempfile::tempdir().unwrap();
        let dir = DataDir::find(Some(folder.path()), None, None).unwrap();
        let log = || std::fs::read_to_string(dir.log()).unwrap();
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let first = "2026-01-01T10:00:00Z cannot write pulse: one two\n";
        try_note(&dir, "one\ntwo", at("2026-01-01T10:00:00Z")).unwrap();
        assert_eq!(log(), first);
        try_note(&dir, "x", at("2026-01-01T10:00:59Z")).unwrap();
        // Setting the clock back a little doesn't count as time passing.
        try_note(&dir, "x", at("2026-01-01T09:59:30Z")).unwrap();
        assert_eq!(log(), first);
        let other = "2026-01-01T10:00:30Z murmur stopped\n";
        std::fs::write(dir.log(), format!("{first}{other}")).unwrap();
        try_note(&dir, "x", at("2026-01-01T10:00:40Z")).unwrap();
        assert_eq!(log(), format!("{first}{other}"));
        try_note(&dir, "three", at("2026-01-01T10:01:00Z")).unwrap();
        assert_eq!(log(), format!("{first}{other}2026-01-01T10:01:00Z cannot write pulse: three\n"));
        let held = File::open(dir.log()).unwrap();
        held.lock().unwrap();
        try_note(&dir, "x", at("2026-01-01T11:00:00Z")).unwrap();
        assert_eq!(log().lines().count(), 3);
    }
}
