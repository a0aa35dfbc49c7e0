//! That pulses cannot be written, noted in murmur.log: at most once a minute, however many hooks fail.
//!
//! The log itself says when it was noted last, so there is no other file that might not be written either.

use crate::pulse::brief;
use crate::sys::clock;
use crate::sys::lock;
use crate::sys::paths::DataDir;
use jiff::Timestamp;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::time::Duration;

/// What such a line says behind its time.
const WORDS: &str = "a pulse could not be written: ";

/// How long nothing is noted after something was.
const QUIET: Duration = Duration::from_secs(60);

/// How far back in the log the last note is looked for, in bytes.
const REACH: u64 = 64 << 10;

/// The most characters of what went wrong.
const REASON: usize = 500;

/// Notes `what` went wrong, if that can be done at all.
pub(super) fn note(dir: &DataDir, what: &str) {
    // Nobody is left to be told that it cannot.
    let _unnoted = try_note(dir, what, clock::now());
}

fn try_note(dir: &DataDir, what: &str, now: Timestamp) -> io::Result<()> {
    let mut file = OpenOptions::new()
        .read(true)
        .append(true)
        .create(true)
        .mode(0o600)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(dir.log())?;
    // Whoever has the lock notes that pulses fail.
    if !file.metadata()?.is_file() || !lock::try_take(&file)? {
        return Ok(());
    }
    let is_recent = |at: Timestamp| now.duration_since(at).unsigned_abs() < QUIET;
    if last(&file)?.is_some_and(is_recent) {
        return Ok(());
    }
    let line = format!("{} {WORDS}{}\n", clock::rfc3339(now), brief::line(what, REASON));
    file.write(line.as_bytes()).map(drop)
}

/// When the newest note in the log was made.
fn last(file: &File) -> io::Result<Option<Timestamp>> {
    let size = file.metadata()?.len();
    let reach = size.min(REACH);
    let mut text = vec![0; usize::try_from(reach).unwrap_or_default()];
    file.read_exact_at(&mut text, size - reach)?;
    let text = String::from_utf8_lossy(&text);
    let time = |line: &str| {
        let (time, words) = line.split_once(' ')?;
        words.starts_with(WORDS).then(|| time.parse().ok())?
    };
    Ok(text.lines().rev().find_map(time))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trouble_is_noted_once_a_minute() {
        let folder = tempfile::tempdir().unwrap();
        let dir = DataDir::find(Some(folder.path()), None, None).unwrap();
        let log = || std::fs::read_to_string(dir.log()).unwrap();
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let first = "2026-01-01T10:00:00Z a pulse could not be written: one two\n";
        try_note(&dir, "one\ntwo", at("2026-01-01T10:00:00Z")).unwrap();
        assert_eq!(log(), first);
        try_note(&dir, "x", at("2026-01-01T10:00:59Z")).unwrap();
        // A clock that is set back a little is none.
        try_note(&dir, "x", at("2026-01-01T09:59:30Z")).unwrap();
        assert_eq!(log(), first);
        let other = "2026-01-01T10:00:30Z murmur stopped\n";
        std::fs::write(dir.log(), format!("{first}{other}")).unwrap();
        try_note(&dir, "x", at("2026-01-01T10:00:40Z")).unwrap();
        assert_eq!(log(), format!("{first}{other}"));
        try_note(&dir, "three", at("2026-01-01T10:01:00Z")).unwrap();
        assert_eq!(
            log(),
            format!("{first}{other}2026-01-01T10:01:00Z a pulse could not be written: three\n")
        );
        let held = File::open(dir.log()).unwrap();
        held.lock().unwrap();
        try_note(&dir, "x", at("2026-01-01T11:00:00Z")).unwrap();
        assert_eq!(log().lines().count(), 3);
    }
}
