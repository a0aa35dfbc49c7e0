//! Reads the journal newest first, from the end of the file, so that old lines cost nothing.

use super::entry::Entry;
use jiff::Timestamp;
use memchr::{memmem, memrchr};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use sys::file::open_regular;
use sys::unreadable::unreadable;

/// Bytes to read at once; small enough to stay in a core's cache until they are searched.
const BLOCK: usize = 256 << 10;

/// The lines of a file, newest first, without their newlines. A last line without a newline is still being
/// written and is left out.
pub struct Backward {
    file: Option<File>,
    /// Where in the file `block` starts.
    start: u64,
    /// Buffer; its first `filled` bytes have been read and not yet returned.
    block: Vec<u8>,
    filled: usize,
    /// Skips blocks that don't contain this.
    needle: Option<memmem::Finder<'static>>,
}

impl Backward {
    /// Opens the file at `path`. A missing file has no lines.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = match open_regular(path, File::options().read(true)) {
            Ok(file) => Some(file),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(unreadable(path, error)),
        };
        let length = file.as_ref().map_or(Ok(0), |file| file.metadata().map(|found| found.len()))?;
        Ok(Self { file, start: length, block: Vec::new(), filled: 0, needle: None })
    }

    /// Reads only what is before the byte `end`. Call it before the first [`Self::next_line`].
    #[must_use]
    pub fn until(mut self, end: u64) -> Self {
        self.start = self.start.min(end);
        self
    }

    /// Returns only lines that contain `needle`. Call it before the first [`Self::next_line`].
    #[must_use]
    pub fn containing(mut self, needle: &str) -> Self {
        self.needle = Some(memmem::Finder::new(needle.as_bytes()).into_owned());
        self
    }

    /// Returns the next older line.
    pub fn next_line(&mut self) -> io::Result<Option<Vec<u8>>> {
        loop {
            // The filled part ends with the newline of the next line to return.
            let body = &self.block[..self.filled.saturating_sub(1)];
            match memrchr(b'\n', body) {
                Some(before) => {
                    let line = self.block[before + 1..body.len()].to_vec();
                    self.filled = before + 1;
                    if self.matches(&line) {
                        return Ok(Some(line));
                    }
                }
                None if self.start == 0 => {
                    let line = body.to_vec();
                    let whole = self.filled > 0;
                    self.filled = 0;
                    return Ok((whole && self.matches(&line)).then_some(line));
                }
                None => self.read_before()?,
            }
        }
    }

    fn matches(&self, line: &[u8]) -> bool {
        self.needle.as_ref().is_none_or(|needle| needle.find(line).is_some())
    }

    /// Reads the bytes before the block and prepends them.
    fn read_before(&mut self) -> io::Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        let kept = self.filled;
        let size = usize::try_from(self.start).unwrap_or(usize::MAX).min(BLOCK.max(kept));
        let start = self.start - size as u64;
        if self.block.len() < size + kept {
            self.block.resize(size + kept, 0);
        }
        self.block.copy_within(..kept, size);
        file.read_exact_at(&mut self.block[..size], start)?;
        self.start = start;
        self.filled = size + kept;
        if kept == 0 {
            self.filled = memrchr(b'\n', &self.block[..size]).map_or(0, |newline| newline + 1);
        }
        self.skip_block();
        Ok(())
    }

    /// If no line of the block contains the needle, keeps only its first line, which may begin in the block before.
    fn skip_block(&mut self) {
        let Some(needle) = &self.needle else { return };
        let filled = &self.block[..self.filled];
        if needle.find(filled).is_none()
            && let Some(first_newline) = memchr::memchr(b'\n', filled)
        {
            self.filled = first_newline + 1;
        }
    }
}

/// How a beat ended, as people filter for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// By itself, with this outcome.
    As(murmur_core::outcome::Kind),
    /// Stopped by a person.
    Stopped,
}

impl Ended {
    fn matches(self, entry: &Entry) -> bool {
        match self {
            Self::As(outcome) => outcome == entry.outcome && !entry.stopped,
            Self::Stopped => entry.stopped,
        }
    }
}

/// Selects entries.
#[derive(Debug, Default, Clone)]
pub struct Filter {
    /// Only this workspace, by its path as the journal has it.
    pub workspace: Option<String>,
    /// Only beats that ended like this.
    pub outcome: Option<Ended>,
    /// Only entries that ended, or were noticed, at this time or later.
    pub since: Option<Timestamp>,
}

impl Filter {
    /// Whether `entry` is selected.
    #[must_use]
    pub fn matches(&self, entry: &Entry) -> bool {
        self.workspace.as_ref().is_none_or(|workspace| *workspace == entry.workspace)
            && self.outcome.is_none_or(|outcome| outcome.matches(entry))
            && self.since.is_none_or(|since| entry.ended().is_none_or(|ended| ended >= since))
    }

    /// A string that every selected line contains and most others don't, to skip lines without parsing them. Only murmur
    /// writes the journal, so the exact spelling is known.
    fn needle(&self) -> Option<String> {
        let whole = match (&self.workspace, self.outcome) {
            (Some(workspace), _) => serde_json::to_string(workspace).ok()?,
            (None, Some(Ended::As(outcome))) => format!("\"outcome\":\"{outcome}\""),
            (None, Some(Ended::Stopped)) => "\"stopped\":true".to_owned(),
            (None, None) => return None,
        };
        let start = whole.len().saturating_sub(NEEDLE);
        (start..).find_map(|start| whole.get(start..)).map(str::to_owned)
    }
}

/// The longest needle that `memmem` finds with vector instructions alone, in bytes. The end of a path is most specific.
const NEEDLE: usize = 16;

/// An entry and the line it came from.
#[derive(Debug)]
pub struct Found {
    /// The entry.
    pub entry: Entry,
    /// The line, without its newline.
    pub line: Vec<u8>,
}

/// How many entries in a row must be too old before the search ends: a line written late, after a crash or a full disk,
/// is older than the lines before it.
const OLDER_IN_A_ROW: usize = 1000;

/// The entries of a journal, newest first, back to a time and a little further. Skips lines that are not entries.
pub struct Entries {
    lines: Backward,
    since: Option<Timestamp>,
    older: usize,
}

impl Entries {
    /// Reads entries from `lines` until none that ended at `since` or later can be expected, or until the journal's
    /// beginning.
    #[must_use]
    pub fn new(lines: Backward, since: Option<Timestamp>) -> Self {
        Self { lines, since, older: 0 }
    }

    /// Returns the next older entry whose line `wants` accepts. It may be older than `since`.
    pub fn next_entry(&mut self, mut wants: impl FnMut(&[u8]) -> bool) -> io::Result<Option<Found>> {
        while self.older < OLDER_IN_A_ROW
            && let Some(line) = self.lines.next_line()?
        {
            if !wants(&line) {
                continue;
            }
            let Ok(entry) = serde_json::from_slice::<Entry>(&line) else { continue };
            let is_older = self.since.zip(entry.ended()).is_some_and(|(since, ended)| ended < since);
            self.older = if is_older { self.older + 1 } else { 0 };
            return Ok(Some(Found { entry, line }));
        }
        Ok(None)
    }
}

/// Returns the newest `most` entries before the byte `end` that `filter` selects, oldest first.
pub fn newest(path: &Path, end: u64, filter: &Filter, most: usize) -> io::Result<Vec<Found>> {
    let mut lines = Backward::open(path)?.until(end);
    if let Some(needle) = filter.needle() {
        lines = lines.containing(&needle);
    }
    let mut entries = Entries::new(lines, filter.since);
    let mut found = Vec::new();
    while found.len() < most
        && let Some(next) = entries.next_entry(|_| true)?
    {
        if filter.matches(&next.entry) {
            found.push(next);
        }
    }
    found.reverse();
    Ok(found)
}

/// The workspace of a journal line in its raw form, with quotes and escapes, without parsing the line.
#[must_use]
pub fn raw_workspace(line: &[u8]) -> Option<&[u8]> {
    const KEY: &[u8] = b"\"workspace\":\"";
    let start = memmem::find(line, KEY)? + KEY.len();
    let mut end = start;
    loop {
        end += memchr::memchr2(b'"', b'\\', line.get(end..)?)?;
        match line[end] {
            b'"' => return line.get(start - 1..=end),
            _ => end += 2,
        }
    }
}

impl Entry {
    /// When the beat started, if the line has a valid time.
    #[must_use]
    pub fn started(&self) -> Option<Timestamp> {
        self.ts.parse().ok()
    }

    /// When it ended.
    #[must_use]
    pub fn ended(&self) -> Option<Timestamp> {
        let lasted = jiff::SignedDuration::from_millis(i64::try_from(self.duration_ms).ok()?);
        self.started()?.checked_add(lasted).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn backward(text: &[u8], needle: Option<&str>) -> Vec<Vec<u8>> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        std::fs::write(&path, text).unwrap();
        let mut lines = Backward::open(&path).unwrap();
        if let Some(needle) = needle {
            lines = lines.containing(needle);
        }
        std::iter::from_fn(|| lines.next_line().unwrap()).collect()
    }

    #[test]
    fn a_workspace_is_read_as_it_is_written() {
        let workspace =
            |line: &str| raw_workspace(line.as_bytes()).map(|raw| String::from_utf8(raw.to_vec()).unwrap());
        assert_eq!(workspace(r#"{"ts":"x","workspace":"/a b","outcome":"ok"}"#).unwrap(), r#""/a b""#);
        assert_eq!(workspace(r#"{"workspace":"/a\"\\","outcome":"ok"}"#).unwrap(), r#""/a\"\\""#);
        assert_eq!(workspace(r#"{"workspace":"/a"#), None);
        assert_eq!(workspace(r#"{"workspace":"/a\"#), None);
        assert_eq!(workspace("{}"), None);
    }

    #[test]
    fn a_line_written_late_hides_no_older_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        let line = |at: &str| {
            format!(r#"{{"ts":"2026-02-03T{at}Z","workspace":"/w","outcome":"ok","durationMs":0}}"#) + "\n"
        };
        std::fs::write(&path, line("09:40:00") + &line("09:50:00") + &line("08:30:00") + &line("09:55:00"))
            .unwrap();
        let filter = Filter { since: Some("2026-02-03T09:00:00Z".parse().unwrap()), ..Filter::default() };
        let found = newest(&path, u64::MAX, &filter, 20).unwrap();
        let times: Vec<&str> = found.iter().map(|found| &found.entry.ts[11..16]).collect();
        assert_eq!(times, ["09:40", "09:50", "09:55"]);
    }

    #[test]
    fn a_file_that_is_not_there_has_no_lines() {
        assert!(Backward::open(Path::new("/nonexistent/journal")).unwrap().next_line().unwrap().is_none());
    }

    #[test]
    fn lines_longer_than_a_block_and_lines_still_being_written() {
        let long = "x".repeat(3 * BLOCK + 7);
        let text = format!("first\n{long}\nlast\ntorn");
        let lines = backward(text.as_bytes(), None);
        assert_eq!(lines, [b"last".to_vec(), long.into_bytes(), b"first".to_vec()]);
    }

    #[test]
    fn a_workspace_is_found_by_the_end_of_its_path_unless_another_ends_alike() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        let line = |workspace: &str| {
            format!(
                "{{\"ts\":\"2026-02-03T10:00:00Z\",\"workspace\":{workspace:?},\"outcome\":\"ok\",\"durationMs\":1}}\n"
            )
        };
        let workspaces = ["/w", "/a/größe-größe-größe", "/b/größe-größe-größe", "/größe-größe-größe"];
        std::fs::write(&path, workspaces.map(line).concat()).unwrap();
        for workspace in workspaces {
            let filter = Filter { workspace: Some(workspace.to_owned()), ..Filter::default() };
            let found = newest(&path, u64::MAX, &filter, 20).unwrap();
            assert_eq!(found.iter().map(|found| &found.entry.workspace).collect::<Vec<_>>(), [workspace]);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn backward_is_forward_reversed(lines in prop::collection::vec("[ab]{0,9}", 0..40), torn in "[ab]{0,3}") {
            let mut text = String::new();
            for line in &lines {
                text.push_str(line);
                text.push('\n');
            }
            text.push_str(&torn);
            let mut expected: Vec<Vec<u8>> = lines.iter().rev().map(|line| line.clone().into_bytes()).collect();
            prop_assert_eq!(backward(text.as_bytes(), None), expected.clone());
            expected.retain(|line| memmem::find(line, b"ab").is_some());
            prop_assert_eq!(backward(text.as_bytes(), Some("ab")), expected);
        }
    }
}
