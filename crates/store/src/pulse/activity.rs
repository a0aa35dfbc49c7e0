//! An agent's last actions, `agents/<agent>/activity.jsonl`: one pulse per line, newest last.
//!
//! Lines are appended in one write, and the file is occasionally cut to its last lines. Writers take its lock if they
//! get it soon, so that lines of concurrent hooks are in order and none is cut while being written.

use super::Pulse;
use murmur_core::id::SessionId;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use sys::atomic;
use sys::deadline::lock_within;
use sys::paths::DataDir;

/// How many lines are kept when the file is cut.
pub const KEPT: usize = 100;

/// The most lines in the file.
pub const MAX_LINES: usize = 2 * KEPT;

/// How many bytes are written between two checks of the number of lines.
const STEP: u64 = 8 << 10;

/// How much is read from the file's end to cut it, in bytes: enough for [`MAX_LINES`] lines of long pulses.
const LOOKED_AT: u64 = 2 << 20;

/// The fewest bytes of a line: a pulse with empty fields.
const SHORTEST: u64 = 200;

/// How long to wait for other writers in total.
const LOCK_TIMEOUT: Duration = Duration::from_millis(50);

/// How much is read from the file's end to find a session's last call, in bytes.
const SEARCHED: u64 = 64 << 10;

/// How often the file may be replaced while it is opened.
const TRIES: usize = 8;

/// The file, opened for writing.
#[derive(Debug)]
pub struct Activity {
    path: PathBuf,
    file: File,
    is_locked: bool,
    /// Its length, if it is time to check whether to cut it.
    is_long: Option<u64>,
}

impl Activity {
    /// Opens or creates the file of `agent`, and locks it if that takes at most 50 ms. It can be written without the
    /// lock.
    pub fn open(dir: &DataDir, agent: &str) -> io::Result<Self> {
        let folder = dir.agent(agent);
        let path = folder.join("activity.jsonl");
        let begun = Instant::now();
        for _ in 0..TRIES {
            let file = open(&folder, &path)?;
            let is_locked = lock_within(&file, LOCK_TIMEOUT.saturating_sub(begun.elapsed()))?;
            // The previous holder may have replaced the file.
            if !is_locked || is_at(&file, &path) {
                return Ok(Self { path, file, is_locked, is_long: None });
            }
        }
        let file = open(&folder, &path)?;
        Ok(Self { path, file, is_locked: false, is_long: None })
    }

    /// The newest pulse of a call of `session`, if it is recent.
    #[must_use]
    pub fn last_call(&self, session: Option<&SessionId>) -> Option<Pulse> {
        let size = self.file.metadata().ok()?.len();
        let searched = size.min(SEARCHED);
        let mut text = vec![0; usize::try_from(searched).ok()?];
        self.file.read_exact_at(&mut text, size - searched).ok()?;
        let mut pulses = text.rsplit(|byte| *byte == b'\n').filter_map(Pulse::parse);
        pulses.find(|pulse| !pulse.tool_name.is_empty() && pulse.session_id.as_ref() == session)
    }

    /// Appends `line`, which ends in a newline.
    pub fn append(&mut self, line: &[u8]) -> io::Result<()> {
        let (before, is_torn) = self.end()?;
        let mut text = Vec::with_capacity(line.len() + 1);
        if is_torn {
            text.push(b'\n');
        }
        text.extend_from_slice(line);
        let written = self.file.write(&text)?;
        if written < text.len() {
            if self.is_locked {
                self.file.set_len(before)?;
            }
            return Err(io::ErrorKind::StorageFull.into());
        }
        let after = before + text.len() as u64;
        if self.is_locked && before / STEP != after / STEP && after > SHORTEST * KEPT as u64 {
            self.is_long = Some(after);
        }
        Ok(())
    }

    /// The file's length, and whether its last line is torn, as after a full disk: the next one must be kept apart. A
    /// line that another is writing isn't torn, although its beginning may be visible already.
    fn end(&self) -> io::Result<(u64, bool)> {
        let mut size = self.file.metadata()?.len();
        for _ in 0..TRIES {
            let mut last = *b"\n";
            if size > 0 {
                self.file.read_at(&mut last, size - 1)?;
            }
            if last == *b"\n" {
                return Ok((size, false));
            }
            // Waits for the inode's lock, which a writer holds. Best effort: not every file system has this call.
            let _hole = rustix::fs::seek(&self.file, rustix::fs::SeekFrom::Hole(0));
            let before = std::mem::replace(&mut size, self.file.metadata()?.len());
            if before == size {
                break;
            }
        }
        Ok((size, true))
    }

    /// Cuts the file to its last [`KEPT`] lines if it could exceed [`MAX_LINES`] before the next check. A file that is
    /// too large to be ours is cut to the complete lines that were read.
    pub fn cut_if_long(&mut self) -> io::Result<()> {
        let Some(size) = self.is_long.take() else { return Ok(()) };
        let looked_at = size.min(LOOKED_AT);
        let mut text = vec![0; usize::try_from(looked_at).unwrap_or_default()];
        self.file.read_exact_at(&mut text, size - looked_at)?;
        let mut ends = memchr::memrchr_iter(b'\n', &text);
        // The last newline ends the last line.
        let end = ends.nth(KEPT);
        let more = ends.count();
        let to_come = usize::try_from(STEP / SHORTEST).unwrap_or(usize::MAX);
        let first = match end {
            _ if size > looked_at => end.or_else(|| memchr::memchr(b'\n', &text)),
            Some(_) if more + KEPT + to_come < MAX_LINES => None,
            end => end,
        };
        first.map_or(Ok(()), |end| replace(&self.path, &text[end + 1..]))
    }
}

/// Replaces `path`, whatever it is, with a file of `bytes`, mode 0600. Without fsync: it is worthless after a system
/// crash.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::Builder::new().prefix(".new-").tempfile_in(folder)?;
    file.write_all(bytes)?;
    file.persist(path).map_err(|failed| failed.error)?;
    Ok(())
}

/// Creates an agent's folder in the data folder.
pub(super) fn make(folder: &Path) -> io::Result<()> {
    folder.parent().map_or(Ok(()), atomic::create_private_subfolder)?;
    atomic::create_private_subfolder(folder)
}

fn open(folder: &Path, path: &Path) -> io::Result<File> {
    let attempt = || {
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true).mode(0o600);
        options.custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path)
    };
    let is_file = |file: &File| file.metadata().is_ok_and(|found| found.is_file());
    match attempt() {
        Ok(file) if is_file(&file) => return Ok(file),
        Err(error) if error.kind() == io::ErrorKind::NotFound => make(folder)?,
        // Something else is there: remove it and do not follow it.
        Ok(_) => std::fs::remove_file(path)?,
        Err(_) if path.symlink_metadata().is_ok_and(|found| !found.is_file() && !found.is_dir()) => {
            std::fs::remove_file(path)?;
        }
        Err(error) => return Err(error),
    }
    attempt()
}

fn is_at(file: &File, path: &Path) -> bool {
    let (Ok(ours), Ok(named)) = (file.metadata(), path.symlink_metadata()) else { return false };
    (ours.dev(), ours.ino()) == (named.dev(), named.ino())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn line(number: usize, length: usize) -> Vec<u8> {
        format!("{number} {}\n", "x".repeat(length)).into_bytes()
    }

    fn numbers(path: &Path) -> Vec<usize> {
        let text = std::fs::read_to_string(path).unwrap();
        assert!(text.ends_with('\n'));
        text.lines().map(|line| line.split_once(' ').unwrap().0.parse().unwrap()).collect()
    }

    #[test]
    fn the_file_keeps_100_to_200_lines() {
        for length in [200, 900, 10_000] {
            let folder = tempfile::tempdir().unwrap();
            let dir = DataDir::find(Some(folder.path()), None, None).unwrap();
            let path = dir.agent("a").join("activity.jsonl");
            let (mut cuts, mut inode) = (0, 0);
            for number in 1..=600 {
                let mut activity = Activity::open(&dir, "a").unwrap();
                activity.append(&line(number, length)).unwrap();
                activity.cut_if_long().unwrap();
                let found = path.metadata().unwrap();
                assert_eq!(found.permissions().mode() & 0o777, 0o600);
                cuts += usize::from(std::mem::replace(&mut inode, found.ino()) != found.ino());
                let numbers = numbers(&path);
                assert!(numbers.len() <= MAX_LINES && numbers.len() >= number.min(KEPT), "{}", numbers.len());
                assert!(numbers.iter().rev().copied().eq((1..=number).rev().take(numbers.len())));
            }
            assert!((2..=10).contains(&cuts), "{length}: {cuts}");
            assert_eq!(std::fs::read_dir(dir.agent("a")).unwrap().count(), 1);
        }
    }

    #[test]
    fn only_the_end_of_an_oversized_file_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let dir = DataDir::find(Some(folder.path()), None, None).unwrap();
        let path = dir.agent("a").join("activity.jsonl");
        std::fs::create_dir_all(dir.agent("a")).unwrap();
        // A sparse file, larger than memory.
        File::create(&path).unwrap().set_len(10 << 40).unwrap();
        for number in 1..=50 {
            let mut activity = Activity::open(&dir, "a").unwrap();
            activity.append(&line(number, 900)).unwrap();
            activity.cut_if_long().unwrap();
        }
        assert!(numbers(&path).into_iter().eq(1..=50));
    }

    #[test]
    fn a_torn_line_stays_a_line_of_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let dir = DataDir::find(Some(folder.path()), None, None).unwrap();
        Activity::open(&dir, "a").unwrap().append(b"one\n").unwrap();
        let path = dir.agent("a").join("activity.jsonl");
        std::fs::write(&path, "one\ntor").unwrap();
        Activity::open(&dir, "a").unwrap().append(b"two\n").unwrap();
        assert_eq!(std::fs::read_to_string(path).unwrap(), "one\ntor\ntwo\n");
    }

    #[test]
    fn a_line_being_written_is_not_torn() {
        let folder = tempfile::tempdir().unwrap();
        let dir = DataDir::find(Some(folder.path()), None, None).unwrap();
        let path = dir.agent("a").join("activity.jsonl");
        Activity::open(&dir, "a").unwrap();
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let (dir, path) = (&dir, path.clone());
                scope.spawn(move || {
                    let file = open(&dir.agent("a"), &path).unwrap();
                    let mut other = Activity { path, file, is_locked: false, is_long: None };
                    for number in 0..200 {
                        // Several pages, which become visible one by one.
                        other.append(&line(writer * 1000 + number, 40_000)).unwrap();
                    }
                });
            }
        });
        assert_eq!(numbers(&path).len(), 800);
    }

    #[test]
    fn whatever_is_in_the_files_place_is_replaced_and_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let dir = DataDir::find(Some(&folder.path().join("data")), None, None).unwrap();
        atomic::create_private_folder(&dir.agent("a")).unwrap();
        let (path, other) = (dir.agent("a").join("activity.jsonl"), folder.path().join("other"));
        std::fs::write(&other, "other").unwrap();
        for planted in [&other, &folder.path().join("nowhere")] {
            symlink(planted, &path).unwrap();
            Activity::open(&dir, "a").unwrap().append(b"one\n").unwrap();
            assert!(!path.is_symlink());
            std::fs::remove_file(&path).unwrap();
        }
        sys::fifo::make(&path).unwrap();
        Activity::open(&dir, "a").unwrap().append(b"one\n").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "one\n");
        assert_eq!(std::fs::read_to_string(&other).unwrap(), "other");
        std::fs::remove_file(&path).unwrap();
        std::fs::create_dir(&path).unwrap();
        assert!(Activity::open(&dir, "a").is_err());
    }

    #[test]
    fn without_the_lock_a_line_is_appended_and_nothing_is_cut() {
        let folder = tempfile::tempdir().unwrap();
        let dir = DataDir::find(Some(folder.path()), None, None).unwrap();
        let mut holder = Activity::open(&dir, "a").unwrap();
        for number in 1..=MAX_LINES + 10 {
            let file = open(&dir.agent("a"), &holder.path).unwrap();
            assert!(!lock_within(&file, Duration::ZERO).unwrap());
            let mut other = Activity { path: holder.path.clone(), file, is_locked: false, is_long: None };
            other.append(&line(number, 300)).unwrap();
            other.cut_if_long().unwrap();
        }
        assert_eq!(numbers(&holder.path).len(), MAX_LINES + 10);
        // The next holder cuts.
        for number in MAX_LINES + 11..MAX_LINES + 60 {
            holder.append(&line(number, 300)).unwrap();
            holder.cut_if_long().unwrap();
            if !is_at(&holder.file, &holder.path) {
                break;
            }
        }
        let numbers = numbers(&holder.path);
        assert_eq!((numbers.len(), numbers[99] - numbers[0]), (KEPT, KEPT - 1));
    }
}
