//! Follows the journal as it grows: returns every complete line once, in order.
//!
//! The user may move the journal away, truncate it, or have a program rewrite it. The rest of a journal that was moved
//! away is read before the new one; in a new file that is a copy of the old one, reading continues at the same place.
//! Callers decide when to read.

use super::append::start_of_last_line;
use super::entry::Entry;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use sys::file::open_regular;
use sys::unreadable::unreadable;

/// Bytes to read at once.
const BLOCK: usize = 16 << 10;

/// How many bytes before the current position must be equal for a file to count as a copy: enough to include a line's
/// time and beat.
const SAME: u64 = 1 << 10;

/// A reader and its position.
#[derive(Debug)]
pub struct Tail {
    path: PathBuf,
    open: Option<Open>,
}

#[derive(Debug)]
struct Open {
    /// Kept open so that its inode is not reused and lines appended after a rename can be read.
    file: File,
    device: u64,
    inode: u64,
    /// The end of the last complete line that was read.
    at: u64,
    /// The bytes before `at`.
    last: Vec<u8>,
}

/// A position in the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Position {
    /// The file's inode; 0 if there is no file.
    pub inode: u64,
    /// The end of a line, in bytes.
    pub end: u64,
}

/// A line of the journal, read on demand.
#[derive(Debug)]
pub struct TailLine<'a> {
    file: &'a File,
    start: u64,
    position: Position,
}

impl Tail {
    /// Reads the journal at `path` from its beginning.
    #[must_use]
    pub fn from_start(path: PathBuf) -> Self {
        Self { path, open: None }
    }

    /// Reads what is appended after the last complete line that the journal at `path` has now. A missing journal is empty.
    pub fn from_end(path: PathBuf) -> io::Result<Self> {
        let mut open = Open::new(&path).map_err(|error| unreadable(&path, error))?;
        if let Some(open) = &mut open {
            open.at = start_of_last_line(&open.file, open.file.metadata()?.size())?;
            open.last = before(&open.file, open.at)?;
        }
        Ok(Self { path, open })
    }

    /// The end of the last line that was read.
    #[must_use]
    pub fn position(&self) -> Position {
        self.open.as_ref().map(Open::position).unwrap_or_default()
    }

    /// Passes every complete new line to `take`, about `most` bytes of them. Returns whether there may be more. A line
    /// for which `take` fails counts as read.
    pub fn read(
        &mut self,
        most: u64,
        mut take: impl FnMut(&TailLine<'_>) -> io::Result<()>,
    ) -> io::Result<bool> {
        let found = Open::new(&self.path).map_err(|error| unreadable(&self.path, error))?;
        // Lines may have been appended to it before it was replaced.
        if let Some(open) = &mut self.open
            && open.read(most, &mut take)?
        {
            return Ok(true);
        }
        match (&mut self.open, found) {
            (Some(open), Some(found)) if open.is(&found) => Ok(false),
            // Close a file that is gone: its space is freed only then.
            (open, None) => {
                *open = None;
                Ok(false)
            }
            (open, Some(mut found)) => {
                if let Some(old) = open
                    && old.continues_in(&found.file)?
                {
                    found.at = old.at;
                    found.last = std::mem::take(&mut old.last);
                }
                open.insert(found).read(most, &mut take)
            }
        }
    }
}

impl Open {
    fn new(path: &Path) -> io::Result<Option<Self>> {
        let file = match open_regular(path, File::options().read(true)) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let found = file.metadata()?;
        Ok(Some(Self { device: found.dev(), inode: found.ino(), at: 0, last: Vec::new(), file }))
    }

    fn is(&self, other: &Self) -> bool {
        (self.device, self.inode) == (other.device, other.inode)
    }

    fn position(&self) -> Position {
        Position { inode: self.inode, end: self.at }
    }

    /// Whether `file` begins with what was read so far.
    fn continues_in(&self, file: &File) -> io::Result<bool> {
        Ok(file.metadata()?.size() >= self.at && before(file, self.at)? == self.last)
    }

    fn read(
        &mut self,
        most: u64,
        take: &mut impl FnMut(&TailLine<'_>) -> io::Result<()>,
    ) -> io::Result<bool> {
        // It may have been truncated and have grown to the same length since.
        if !self.continues_in(&self.file)? {
            self.at = 0;
        }
        let more = self.read_lines(most, take);
        self.last = before(&self.file, self.at)?;
        more
    }

    fn read_lines(
        &mut self,
        most: u64,
        take: &mut impl FnMut(&TailLine<'_>) -> io::Result<()>,
    ) -> io::Result<bool> {
        let size = self.file.metadata()?.size();
        let (first, mut searched) = (self.at, self.at);
        let mut block = vec![0; BLOCK];
        while searched < size {
            let wanted = usize::try_from(size - searched).unwrap_or(BLOCK).min(BLOCK);
            let count = match self.file.read_at(&mut block[..wanted], searched) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            for newline in memchr::memchr_iter(b'\n', &block[..count]) {
                let start = std::mem::replace(&mut self.at, searched + newline as u64 + 1);
                take(&TailLine { file: &self.file, start, position: self.position() })?;
                if self.at - first >= most {
                    return Ok(true);
                }
            }
            searched += count as u64;
        }
        Ok(false)
    }
}

/// The bytes before `at`, or fewer if the file is shorter.
fn before(file: &File, at: u64) -> io::Result<Vec<u8>> {
    let length = at.min(SAME);
    let mut bytes = Vec::new();
    Part { file, at: at - length, end: at }.read_to_end(&mut bytes)?;
    Ok(bytes)
}

impl TailLine<'_> {
    /// The position after its newline.
    #[must_use]
    pub fn position(&self) -> Position {
        self.position
    }

    /// The raw line, without its newline.
    pub fn bytes(&self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.reader().read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Its entry, or `None` if it is not a journal line. Turns, of which there may be very many, are skipped and never in
    /// memory.
    #[must_use]
    pub fn entry(&self) -> Option<Entry> {
        serde_json::from_reader(BufReader::new(self.reader())).ok()
    }

    fn reader(&self) -> Part<'_> {
        Part { file: self.file, at: self.start, end: self.position.end - 1 }
    }
}

struct Part<'a> {
    file: &'a File,
    at: u64,
    end: u64,
}

impl Read for Part<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let rest = usize::try_from(self.end - self.at).unwrap_or(usize::MAX).min(buffer.len());
        let count = self.file.read_at(&mut buffer[..rest], self.at)?;
        self.at += count as u64;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use murmur_core::id::BeatId;
    use std::io::Write;

    struct Journal {
        folder: tempfile::TempDir,
    }

    impl Journal {
        fn new(text: &str) -> Self {
            let journal = Self { folder: tempfile::tempdir().unwrap() };
            journal.add(text);
            journal
        }

        fn path(&self) -> PathBuf {
            self.folder.path().join("journal")
        }

        fn add(&self, text: &str) {
            let file = File::options().append(true).create(true).open(self.path());
            file.unwrap().write_all(text.as_bytes()).unwrap();
        }

        fn move_away(&self) {
            std::fs::rename(self.path(), self.folder.path().join("old")).unwrap();
        }
    }

    fn read(tail: &mut Tail) -> Vec<String> {
        let mut lines = Vec::new();
        let mut take = |line: &TailLine<'_>| {
            lines.push(String::from_utf8(line.bytes()?).unwrap());
            Ok(())
        };
        while tail.read(1, &mut take).unwrap() {}
        lines
    }

    #[test]
    fn every_complete_line_is_read_once() {
        let journal = Journal::new("old\nto");
        let mut tail = Tail::from_end(journal.path()).unwrap();
        assert_eq!(tail.position().end, 4);
        assert!(read(&mut tail).is_empty());
        journal.add("rn\n\nnext\nhal");
        assert_eq!(read(&mut tail), ["torn", "", "next"]);
        journal.add("f\n");
        assert_eq!(read(&mut tail), ["half"]);
        assert!(read(&mut tail).is_empty());
        assert_eq!(read(&mut Tail::from_start(journal.path())).len(), 5);
    }

    #[test]
    fn a_journal_that_is_not_there_yet_is_read_from_its_start() {
        let folder = tempfile::tempdir().unwrap();
        let journal = Journal { folder };
        let mut tail = Tail::from_end(journal.path()).unwrap();
        assert!(read(&mut tail).is_empty());
        journal.add("one\n");
        assert_eq!(read(&mut tail), ["one"]);
    }

    #[test]
    fn a_moved_journal_is_read_to_its_end_and_the_new_one_from_its_start() {
        let journal = Journal::new("one\n");
        let mut tail = Tail::from_end(journal.path()).unwrap();
        journal.add("two\n");
        journal.move_away();
        journal.add("a much longer first line\n");
        assert_eq!(read(&mut tail), ["two", "a much longer first line"]);
        journal.add("three\n");
        journal.move_away();
        assert_eq!(read(&mut tail), ["three"]);
        assert_eq!(tail.position(), Position::default());
        journal.add("four\n");
        assert_eq!(read(&mut tail), ["four"]);
    }

    #[test]
    fn a_truncated_journal_starts_over_and_a_copy_continues() {
        let journal = Journal::new("one\ntwo\n");
        let mut tail = Tail::from_end(journal.path()).unwrap();
        File::create(journal.path()).unwrap();
        journal.add("1\n");
        assert_eq!(read(&mut tail), ["1"]);
        File::create(journal.path()).unwrap();
        journal.add("2\n");
        assert_eq!(read(&mut tail), ["2"]);
        journal.move_away();
        std::fs::copy(journal.folder.path().join("old"), journal.path()).unwrap();
        journal.add("3\n");
        assert_eq!(read(&mut tail), ["3"]);
    }

    #[test]
    fn a_link_to_a_device_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let journal = Journal { folder };
        std::os::unix::fs::symlink("/dev/zero", journal.path()).unwrap();
        let refused = Tail::from_end(journal.path()).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::InvalidInput);
    }

    #[test]
    fn an_entry_is_read_without_its_turns() {
        let turns = format!(r#"[{{"role":"assistant","text":"{}"}}]"#, "x".repeat(3 * BLOCK));
        let line = format!(
            r#"{{"ts":"2026-02-03T10:00:00Z","workspace":"/w","outcome":"ok","durationMs":1,"turns":{turns},"beat":"b"}}"#
        );
        let journal = Journal::new(&format!("{line}\nnot ours\n"));
        let mut found = Vec::new();
        let mut tail = Tail::from_start(journal.path());
        let more = tail.read(u64::MAX, |line| {
            found.push((line.entry().and_then(|entry| entry.beat), line.position().end));
            Ok(())
        });
        assert!(!more.unwrap());
        let end = line.len() as u64 + 1;
        assert_eq!(found, [(Some(BeatId::new("b")), end), (None, end + 9)]);
    }
}
