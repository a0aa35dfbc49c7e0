//! Follows the journal as it grows: returns every complete line once, in order.
//!
//! After a rotation, the rest of the file is read, and what was rotated since, before the new file. The user may move
//! the journal away, truncate it, or have a program rewrite it: in a new file that is a copy of the old one, reading
//! continues at the same place. Callers decide when to read.
//!
//! Not `sys::lines::LineBuffer`: this only finds where lines are in the file, so that they can have any length.

use super::append::start_of_last_line;
use super::entry::JournalEntry;
use rotate::History;
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
    /// The number, as a part of the journal, of the last file that was opened, or of the part before it if there was
    /// none; `None` before the first read.
    number: Option<u64>,
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
        Self { path, open: None, number: None }
    }

    /// Reads what is appended after the last complete line that the journal at `path` has now. A missing journal is
    /// empty.
    pub fn from_end(path: PathBuf) -> io::Result<Self> {
        let history = History::open(&path).map_err(|error| unreadable(&path, error))?;
        let number = if history.live.is_some() { history.number() } else { history.number() - 1 };
        let mut open = history.live.map(Open::new).transpose()?;
        if let Some(open) = &mut open {
            open.at = start_of_last_line(&open.file, open.file.metadata()?.size())?;
            open.last = before(&open.file, open.at)?;
        }
        Ok(Self { path, open, number: Some(number) })
    }

    /// Reads what follows `position` in the file that was part `number` of the journal, also if it was rotated since.
    /// If it was replaced by another file, only what is appended from now on.
    pub fn after(path: PathBuf, number: u64, position: Position) -> io::Result<Self> {
        let history = History::open(&path).map_err(|error| unreadable(&path, error))?;
        if number >= history.number() {
            let mut tail = Self::from_end(path)?;
            let is_same = |open: &&mut Open| open.inode == position.inode && open.at >= position.end;
            if let Some(open) = tail.open.as_mut().filter(is_same) {
                open.at = position.end;
                open.last = before(&open.file, open.at)?;
            }
            return Ok(tail);
        }
        // Without a file, there was nothing to read after the part.
        let part = history.parts.iter().find(|part| part.number() == number && position.inode != 0);
        // If it is gone, or not readable, what follows it is read.
        let file = part
            .and_then(|part| part.open().map_err(io::Error::other).and_then(rotate::Content::into_file).ok());
        let mut open = file.map(Open::new).transpose()?;
        if let Some(open) = &mut open {
            open.at = position.end.min(open.file.metadata()?.size());
            open.last = before(&open.file, open.at)?;
        }
        Ok(Self { path, open, number: Some(number) })
    }

    /// The number, as a part of the journal, of the file that is being read; `None` before the first read.
    #[must_use]
    pub fn number(&self) -> Option<u64> {
        self.number
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
        let found = Open::find(&self.path).map_err(|error| unreadable(&self.path, error))?;
        // Lines may have been appended to it before it was replaced.
        if let Some(open) = &mut self.open
            && open.read(most, &mut take)?
        {
            return Ok(true);
        }
        match (&self.open, found) {
            (Some(open), Some(found)) if open.is(&found) => Ok(false),
            (None, None) => Ok(false),
            _ => self.read_next(most, &mut take),
        }
    }

    /// Reads what follows the open file: a part that was written and rotated meanwhile, or the journal.
    fn read_next(
        &mut self,
        most: u64,
        take: &mut impl FnMut(&TailLine<'_>) -> io::Result<()>,
    ) -> io::Result<bool> {
        let history = History::open(&self.path).map_err(|error| unreadable(&self.path, error))?;
        let newest = history.number() - 1;
        let known = self.number.unwrap_or(newest);
        for part in history.parts.iter().filter(|part| part.number() > known) {
            self.number = Some(part.number());
            // Skip what is not readable.
            if let Ok(file) = part.open().map_err(io::Error::other).and_then(rotate::Content::into_file) {
                self.open.insert(Open::new(file)?).read(most, take)?;
                return Ok(true);
            }
        }
        let Some(live) = history.live else {
            // Close a file that is gone: its space is freed only then.
            (self.open, self.number) = (None, Some(newest));
            return Ok(false);
        };
        let mut found = Open::new(live)?;
        if let Some(old) = &mut self.open
            && old.continues_in(&found.file)?
        {
            found.at = old.at;
            found.last = std::mem::take(&mut old.last);
        }
        self.number = Some(newest + 1);
        self.open.insert(found).read(most, take)
    }
}

impl Open {
    fn find(path: &Path) -> io::Result<Option<Self>> {
        match open_regular(path, File::options().read(true)) {
            Ok(file) => Self::new(file).map(Some),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn new(file: File) -> io::Result<Self> {
        let found = file.metadata()?;
        Ok(Self { device: found.dev(), inode: found.ino(), at: 0, last: Vec::new(), file })
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

    /// Its entry, or `None` if it is not a journal line. Turns, of which there may be very many, are skipped and never
    /// in memory.
    #[must_use]
    pub fn entry(&self) -> Option<JournalEntry> {
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
mod tests;
