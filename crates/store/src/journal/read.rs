//! Reads the journal newest first, from the end of the file, so that old lines cost nothing; then its archived parts.

use super::entry::JournalEntry;
use super::tail::Position;
use jiff::Timestamp;
use memchr::{memmem, memrchr};
use murmur_core::usage::scan::Input;
use regex::Regex;
use rotate::{Content, History, Part, PartError};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use sys::unreadable::unreadable;

/// Bytes to read at once; small enough to stay in a core's cache until they are searched.
const BLOCK: usize = 256 << 10;

/// The lines of a file and of its parts, newest first, without their newlines. A last line without a newline is still
/// being written and is left out.
pub struct Backward {
    content: Option<Content>,
    /// Older parts, oldest first.
    parts: Vec<Part>,
    /// Parts that were left out because they are not readable.
    skipped: Vec<PartError>,
    /// Where in the content `block` starts.
    start: u64,
    /// Buffer; its first `filled` bytes have been read and not yet returned.
    block: Vec<u8>,
    filled: usize,
    /// Skips blocks that don't contain this.
    needle: Option<memmem::Finder<'static>>,
}

impl Backward {
    /// Opens the file at `path`, with its parts. A missing file has no lines.
    pub fn open(path: &Path) -> io::Result<Self> {
        let History { live, parts, .. } = History::open(path).map_err(|error| unreadable(path, error))?;
        let content = live.map(Content::File);
        let start = content.as_ref().map_or(Ok(0), Content::size)?;
        Ok(Self { content, parts, skipped: Vec::new(), start, block: Vec::new(), filled: 0, needle: None })
    }

    /// Opens the file at `path` like [`Self::open`], without its parts.
    pub fn open_live(path: &Path) -> io::Result<Self> {
        Ok(Self { parts: Vec::new(), ..Self::open(path)? })
    }

    /// Reads only what is before `end`. Call it before the first [`Self::next_line`].
    pub fn until(mut self, end: Position) -> io::Result<Self> {
        let inode = match &self.content {
            Some(Content::File(file)) => file.metadata()?.ino(),
            _ => 0,
        };
        if inode != end.inode {
            // It was rotated since.
            self.content = None;
            let newer = self.parts.iter().rev().take_while(|part| part.inode() != Some(end.inode)).count();
            if newer < self.parts.len() {
                self.parts.truncate(self.parts.len() - newer);
                self.open_part();
            }
        }
        self.start = self.start.min(end.end);
        Ok(self)
    }

    /// The parts that were left out so far because they are not readable.
    #[must_use]
    pub fn skipped(&self) -> &[PartError] {
        &self.skipped
    }

    /// Like [`Self::skipped`].
    #[must_use]
    pub fn into_skipped(self) -> Vec<PartError> {
        self.skipped
    }

    /// Opens the newest part that is left. Returns `false` if there is none.
    fn open_part(&mut self) -> bool {
        (self.content, self.start) = (None, 0);
        while let Some(part) = self.parts.pop() {
            let sized = part.open().and_then(|content| match content.size() {
                Ok(size) => Ok((content, size)),
                Err(source) => Err(PartError { path: part.path(), source }),
            });
            match sized {
                Ok((content, size)) => {
                    (self.content, self.start) = (Some(content), size);
                    return true;
                }
                Err(error) => self.skipped.push(error),
            }
        }
        false
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
                None if self.start == 0 && self.filled > 0 => {
                    let line = body.to_vec();
                    self.filled = 0;
                    if self.matches(&line) {
                        return Ok(Some(line));
                    }
                }
                None if self.start == 0 => {
                    if !self.open_part() {
                        return Ok(None);
                    }
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
        let Some(content) = &self.content else { return Ok(()) };
        let kept = self.filled;
        let size = usize::try_from(self.start).unwrap_or(usize::MAX).min(BLOCK.max(kept));
        let start = self.start - size as u64;
        if self.block.len() < size + kept {
            self.block.resize(size + kept, 0);
        }
        self.block.copy_within(..kept, size);
        content.read_exact_at(&mut self.block[..size], start)?;
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
pub enum OutcomeFilter {
    /// By itself, with this outcome.
    As(murmur_core::outcome::OutcomeKind),
    /// Stopped by a person.
    Stopped,
}

impl OutcomeFilter {
    fn matches(self, entry: &JournalEntry) -> bool {
        match self {
            Self::As(outcome) => outcome == entry.outcome && !entry.is_stopped(),
            Self::Stopped => entry.is_stopped(),
        }
    }
}

/// Selects entries.
#[derive(Debug, Default, Clone)]
pub struct Filter {
    /// Only this workspace, by its path as the journal has it.
    pub workspace: Option<String>,
    /// Only beats that ended like this.
    pub outcome: Option<OutcomeFilter>,
    /// Only this heartbeat of the workspace: its name, or `None` for the workspace's own one.
    pub heartbeat: Option<Option<String>>,
    /// Only entries that ended, or were noticed, at this time or later.
    pub since: Option<Timestamp>,
    /// Only entries that ended, or were noticed, before this time.
    pub until: Option<Timestamp>,
    /// Only entries whose text matches.
    pub text: Option<Regex>,
}

impl Filter {
    /// Whether `entry` is selected.
    #[must_use]
    pub fn matches(&self, entry: &JournalEntry) -> bool {
        self.workspace.as_ref().is_none_or(|workspace| *workspace == entry.workspace)
            && self.outcome.is_none_or(|outcome| outcome.matches(entry))
            && self.heartbeat.as_ref().is_none_or(|heartbeat| *heartbeat == entry.heartbeat)
            && self.since.is_none_or(|since| entry.ended().is_none_or(|ended| ended >= since))
            && self.until.is_none_or(|until| entry.ended().is_none_or(|ended| ended < until))
            && self.text.as_ref().is_none_or(|text| entry.text().is_some_and(|found| text.is_match(&found)))
    }

    /// A string that every selected line contains and most others don't, to skip lines without parsing them. Only
    /// murmur writes the journal, so the exact spelling is known.
    fn needle(&self) -> Option<String> {
        let whole = match (&self.workspace, self.outcome) {
            (Some(workspace), _) => serde_json::to_string(workspace).ok()?,
            (None, Some(OutcomeFilter::As(outcome))) => format!("\"outcome\":\"{outcome}\""),
            (None, Some(OutcomeFilter::Stopped)) => "\"stopped\":true".to_owned(),
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
pub struct FoundEntry {
    /// The entry.
    pub entry: JournalEntry,
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

    /// The parts that were left out so far because they are not readable.
    #[must_use]
    pub fn into_skipped(self) -> Vec<PartError> {
        self.lines.into_skipped()
    }

    /// Returns the next older entry whose line `wants` accepts. It may be older than `since`.
    pub fn next_entry(&mut self, mut wants: impl FnMut(&[u8]) -> bool) -> io::Result<Option<FoundEntry>> {
        while self.older < OLDER_IN_A_ROW
            && let Some(line) = self.lines.next_line()?
        {
            if !wants(&line) {
                continue;
            }
            let Ok(entry) = serde_json::from_slice::<JournalEntry>(&line) else { continue };
            let is_older = self.since.zip(entry.ended()).is_some_and(|(since, ended)| ended < since);
            self.older = if is_older { self.older + 1 } else { 0 };
            return Ok(Some(FoundEntry { entry, line }));
        }
        Ok(None)
    }
}

/// Entries that a filter selected.
#[derive(Debug)]
pub struct Selected {
    /// The entries, oldest first.
    pub found: Vec<FoundEntry>,
    /// Parts that were left out because they are not readable.
    pub skipped: Vec<PartError>,
}

/// The entries before `end`, among which `filter` selects; lines that it can't select are skipped where that is cheap.
pub fn entries(path: &Path, end: Option<Position>, filter: &Filter) -> io::Result<Entries> {
    let mut lines = Backward::open(path)?;
    if let Some(end) = end {
        lines = lines.until(end)?;
    }
    if let Some(needle) = filter.needle() {
        lines = lines.containing(&needle);
    }
    Ok(Entries::new(lines, filter.since))
}

/// Returns the newest `most` entries before `end` that `filter` selects.
pub fn newest(path: &Path, end: Option<Position>, filter: &Filter, most: usize) -> io::Result<Selected> {
    let mut entries = entries(path, end, filter)?;
    let mut found = Vec::new();
    while found.len() < most
        && let Some(next) = entries.next_entry(|_| true)?
    {
        if filter.matches(&next.entry) {
            found.push(next);
        }
    }
    found.reverse();
    Ok(Selected { found, skipped: entries.into_skipped() })
}

/// Opens the file at `path` before `end` and its parts, oldest first, to read all lines that ended at `since` or later
/// and some older ones. A part that is not readable is left out, and passed to `skip`. A missing file has no lines.
pub fn readers<'a>(
    path: &Path,
    end: Option<Position>,
    since: Option<Timestamp>,
    skip: &'a (dyn Fn(PartError) + Sync),
) -> io::Result<impl Iterator<Item = Input<'a, Box<dyn Read + Send>>> + Send + use<'a>> {
    let History { live, mut parts, .. } = History::open(path).map_err(|error| unreadable(path, error))?;
    let inode = live.as_ref().map_or(Ok(0), |file| file.metadata().map(|found| found.ino()))?;
    let mut live = live.map(Content::File);
    if let Some(end) = end.filter(|end| end.inode != inode) {
        // It was rotated since.
        live = None;
        while let Some(part) = parts.pop() {
            if part.inode() == Some(end.inode) {
                live = part.open().map_err(skip).ok();
                break;
            }
        }
    }
    let is_wanted = move |part: &Part| {
        let modified = part.modified().and_then(|at| Timestamp::try_from(at).ok());
        since.zip(modified).is_none_or(|(since, modified)| modified >= since)
    };
    let parts = parts.into_iter().filter(is_wanted);
    let parts = parts.map(move |part| {
        Input::Closed(Box::new(move |bytes: &mut Vec<u8>| part.read_into(bytes).map_err(skip).is_ok()))
    });
    let last = live.map(|live| {
        let file = live.into_reader().take(end.map_or(u64::MAX, |end| end.end));
        Input::Open(Box::new(file) as Box<dyn Read + Send>)
    });
    Ok(parts.chain(last))
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

impl JournalEntry {
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
mod tests;
