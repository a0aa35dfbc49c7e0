//! The reserve, `journal.reserve`: disk space allocated in advance, for lines that don't fit into the journal.
//!
//! Any process may put lines into it or move them to the journal, holding the file's lock. The space between lines is
//! filled with whitespace, and a line never moves.

use super::entry::JournalEntry;
use super::spares::share;
use super::unfinished::{self, Waiting};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use sys::file::open_regular;
use sys::paths::DataDir;
use sys::unreadable::unreadable;

/// Its usual size, in bytes; fits some hundred lines.
const SIZE: usize = 64 << 10;

/// Its minimum size, in bytes: one block of most file systems.
const LEAST: usize = 4 << 10;

/// The file `journal.reserve`.
#[derive(Debug)]
pub struct Reserve {
    path: PathBuf,
    root: PathBuf,
}

impl Reserve {
    /// The reserve of the data folder `dir`; [`Self::prepare`] creates it.
    #[must_use]
    pub fn new(dir: &DataDir) -> Self {
        Self { path: dir.reserve(), root: dir.root().to_path_buf() }
    }

    /// Creates the file if it doesn't exist, as large as the disk allows.
    pub fn prepare(&self) -> io::Result<()> {
        if self.path.metadata().is_ok_and(|found| found.is_file() && found.len() >= LEAST as u64) {
            return Ok(());
        }
        if let Some(file) = self.open()? {
            // Another program truncated it.
            file.lock()?;
            let length = usize::try_from(file.metadata()?.len()).unwrap_or(LEAST);
            return file.write_all_at(&blank(LEAST.saturating_sub(length)), length as u64);
        }
        let most = share(&self.root, SIZE as u64);
        let mut size = usize::try_from(most).unwrap_or(SIZE);
        loop {
            match self.create(size) {
                Err(error) if size == LEAST => return Err(error),
                Err(_) => size = (size / 2).max(LEAST),
                Ok(()) => return Ok(()),
            }
        }
    }

    fn create(&self, size: usize) -> io::Result<()> {
        let mut file = tempfile::Builder::new().prefix(".new-").tempfile_in(&self.root)?;
        file.write_all(&blank(size))?;
        file.as_file().sync_all()?;
        match file.persist_noclobber(&self.path) {
            // Another process was faster.
            Err(failed) if failed.error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            made => made.map(drop).map_err(|failed| failed.error),
        }
    }

    /// Stores `entry` without its turns and without allocating disk space. Calls `then` before any other process can
    /// move the line to the journal.
    pub fn keep(&self, entry: &JournalEntry, then: impl FnOnce()) -> io::Result<()> {
        let file = self.open()?.ok_or(io::ErrorKind::NotFound)?;
        file.lock()?;
        let text = read(&file)?;
        if !entries(&text).any(|kept| kept.is_same(entry)) {
            // Starts on a new line, as a crash may have left a torn one before it.
            let line = format!("\n{}", JournalEntry { turns: None, ..entry.clone() }.line()?);
            let start = gap(&text, line.len()).ok_or(io::ErrorKind::StorageFull)?;
            file.write_all_at(line.as_bytes(), start as u64)?;
            file.sync_data()?;
        }
        then();
        Ok(())
    }

    /// Moves lines to the journal of `dir` until one can't be written. Returns how many remain, and why.
    pub fn drain(&self, dir: &DataDir) -> io::Result<Waiting> {
        let mut waiting = Waiting::default();
        if self.text()?.trim_ascii().is_empty() {
            return Ok(waiting);
        }
        let Some(file) = self.open()? else { return Ok(waiting) };
        file.lock()?;
        let text = read(&file)?;
        let mut end = 0;
        for line in text.split_inclusive(|byte| *byte == b'\n') {
            let start = end;
            end += line.len();
            if line.trim_ascii().is_empty() {
                continue;
            }
            // A torn line can be dropped: its record still exists.
            let is_done = match serde_json::from_slice::<JournalEntry>(line) {
                Err(_) => true,
                Ok(_) if waiting.lines > 0 => false,
                Ok(entry) => waiting.write(dir, &entry, unfinished::is_known(dir, &entry)),
            };
            if is_done {
                file.write_all_at(&blank(line.len()), start as u64)?;
            } else {
                waiting.lines += 1;
            }
        }
        Ok(waiting)
    }

    /// Returns the stored entries.
    pub fn entries(&self) -> io::Result<Vec<JournalEntry>> {
        Ok(entries(&self.text()?).collect())
    }

    fn open(&self) -> io::Result<Option<File>> {
        self.open_with(File::options().read(true).write(true))
    }

    /// Its contents. Reading needs no write permission.
    fn text(&self) -> io::Result<Vec<u8>> {
        let file =
            self.open_with(File::options().read(true)).map_err(|error| unreadable(&self.path, error))?;
        file.map_or(Ok(Vec::new()), |file| read(&file))
    }

    fn open_with(&self, options: &mut OpenOptions) -> io::Result<Option<File>> {
        match open_regular(&self.path, options) {
            Ok(file) => Ok(Some(file)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}

fn read(file: &File) -> io::Result<Vec<u8>> {
    let mut text = vec![0; usize::try_from(file.metadata()?.len()).unwrap_or(SIZE).min(SIZE)];
    let mut read = 0;
    while read < text.len() {
        match file.read_at(&mut text[read..], read as u64) {
            Ok(0) => break,
            Ok(count) => read += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    text.truncate(read);
    Ok(text)
}

fn entries(text: &[u8]) -> impl Iterator<Item = JournalEntry> {
    // Usually, there is only whitespace.
    let text = memchr::memchr(b'{', text).map_or(&[][..], |start| &text[start..]);
    text.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok())
}

/// Where `size` bytes of whitespace begin.
fn gap(text: &[u8], size: usize) -> Option<usize> {
    let mut start = 0;
    while start + size <= text.len() {
        match text[start..start + size].iter().rposition(|byte| !byte.is_ascii_whitespace()) {
            None => return Some(start),
            Some(taken) => start += taken + 1,
        }
    }
    None
}

fn blank(size: usize) -> Vec<u8> {
    let mut text = vec![b' '; size];
    if let Some(last) = text.last_mut() {
        *last = b'\n';
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::append;
    use super::*;
    use murmur_core::id::BeatId;
    use murmur_core::outcome::OutcomeKind;

    fn entry(beat: &str) -> JournalEntry {
        let ts = "2026-02-03T10:00:00Z".to_owned();
        JournalEntry {
            beat: Some(BeatId::new(beat)),
            ..JournalEntry::new(ts, "/w".to_owned(), OutcomeKind::Ok, 1)
        }
    }

    fn data() -> (tempfile::TempDir, DataDir, Reserve) {
        let top = tempfile::tempdir().unwrap();
        let dir = DataDir::find(Some(top.path()), None, None).unwrap();
        let reserve = Reserve::new(&dir);
        reserve.prepare().unwrap();
        (top, dir, reserve)
    }

    fn beats(reserve: &Reserve) -> Vec<String> {
        reserve.entries().unwrap().into_iter().filter_map(|entry| Some(entry.beat?.to_string())).collect()
    }

    #[test]
    fn lines_move_to_the_journal_once_and_allocate_no_disk_space() {
        let (_top, dir, reserve) = data();
        let size = || dir.reserve().metadata().unwrap().len();
        let before = size();
        for beat in ["one", "two", "one"] {
            reserve.keep(&entry(beat), || {}).unwrap();
        }
        assert_eq!((beats(&reserve), size()), (vec!["one".to_owned(), "two".to_owned()], before));
        append::append(&dir.journal(), &entry("one")).unwrap();
        assert_eq!(reserve.drain(&dir).unwrap().lines, 0);
        assert_eq!(std::fs::read_to_string(dir.journal()).unwrap().lines().count(), 2);
        assert_eq!((beats(&reserve), size()), (Vec::new(), before));
        reserve.prepare().unwrap();
        assert_eq!(size(), before);
    }

    #[test]
    fn a_full_reserve_refuses_lines_and_gaps_are_reused() {
        let (_top, dir, reserve) = data();
        std::fs::create_dir(dir.journal()).unwrap();
        let kept = (0..2000).take_while(|n| reserve.keep(&entry(&n.to_string()), || {}).is_ok()).count();
        assert!((400..2000).contains(&kept), "{kept}");
        let text = std::fs::read(dir.reserve()).unwrap();
        let start = memchr::memmem::find(&text, br#""beat":"17""#).unwrap();
        let line = text[..start].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
        let length = text[line..].iter().position(|byte| *byte == b'\n').unwrap();
        let file = File::options().write(true).open(dir.reserve()).unwrap();
        file.write_all_at(&vec![b' '; length], line as u64).unwrap();
        reserve.keep(&entry("a"), || {}).unwrap();
        let waiting = reserve.drain(&dir).unwrap();
        assert_eq!(waiting.lines, kept);
        assert!(waiting.error.unwrap().to_string().contains("it is a folder, not a file"));
        std::fs::remove_dir(dir.journal()).unwrap();
        assert_eq!(reserve.drain(&dir).unwrap().lines, 0);
        assert_eq!(std::fs::read_to_string(dir.journal()).unwrap().lines().count(), kept);
        reserve.keep(&entry("b"), || {}).unwrap();
        assert_eq!(beats(&reserve), ["b"]);
    }

    #[test]
    fn a_torn_line_does_not_affect_later_lines() {
        let (_top, dir, reserve) = data();
        let torn = &entry("torn").line().unwrap()[..40];
        let file = File::options().write(true).open(dir.reserve()).unwrap();
        file.write_all_at(format!("\n{torn}").as_bytes(), 0).unwrap();
        reserve.keep(&entry("one"), || {}).unwrap();
        assert_eq!(beats(&reserve), ["one"]);
        assert_eq!(reserve.drain(&dir).unwrap().lines, 0);
        assert!(std::fs::read(dir.reserve()).unwrap().trim_ascii().is_empty());
        assert_eq!(std::fs::read_to_string(dir.journal()).unwrap().lines().count(), 1);
    }
}
