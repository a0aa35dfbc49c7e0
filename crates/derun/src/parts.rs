//! The parts of a session's output. `output.bin` and `index.jsonl` are the first; there are more only if the session
//! limits its output (`max_bytes`).
//!
//! Once the first part has half of the limit, output continues in tails of a quarter each, `tail-<offset>.bin` and
//! `tail-<offset>.jsonl`, named by the offset of their first byte. Only the newest two are kept. What lies between the
//! first part and the oldest tail is the gap, so dropping output changes no other file.

use super::record::{Gap, Stretch, file};
use super::session_files::Files;
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};
use sys::folder::Folder;

/// How many tails are kept.
const TAILS: usize = 2;

/// How often to list the tails again if one was dropped meanwhile.
const TRIES: u32 = 10;

/// The name of the output of the part that starts at `start`, and of its index.
pub(super) fn names(start: u64) -> [String; 2] {
    match start {
        0 => [file::OUTPUT.to_owned(), file::INDEX.to_owned()],
        _ => [format!("tail-{start:020}.bin"), format!("tail-{start:020}.jsonl")],
    }
}

/// Where the tail starts whose output is called `name`.
pub(super) fn tail_start(name: &str) -> Option<u64> {
    name.strip_prefix("tail-")?.strip_suffix(".bin")?.parse().ok()
}

/// The gap of a session whose first part ends at `end`.
fn gap(end: u64, oldest_tail: Option<u64>) -> Option<Gap> {
    let length = oldest_tail?.checked_sub(end).filter(|length| *length > 0)?;
    Some(Gap { offset: end, length })
}

/// The part that is being written, and the earlier ones.
#[derive(Debug)]
pub(super) struct Writing {
    start: u64,
    pub(super) output: Arc<File>,
    index: Arc<File>,
    index_bytes: u64,
    /// The end of the first part, once there are tails.
    first_end: u64,
    /// Where the tails start.
    tails: VecDeque<u64>,
    unsynced: UnsyncedFiles,
}

/// The files of the newest two parts, which may not be on disk yet.
#[derive(Debug, Clone, Default)]
pub(super) struct UnsyncedFiles(Arc<Mutex<VecDeque<[Arc<File>; 2]>>>);

impl UnsyncedFiles {
    fn push(&self, files: [Arc<File>; 2]) {
        let mut recent = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        recent.push_back(files);
        while recent.len() > TAILS {
            recent.pop_front();
        }
    }

    /// Syncs them to disk.
    pub(super) fn sync(&self) -> io::Result<()> {
        // Cloned, so that the writer doesn't wait for the disk.
        let recent = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        recent.iter().flatten().try_for_each(|file| file.sync_data())
    }
}

impl Writing {
    /// Starts with the files of the first part.
    pub(super) fn begin(output: File, index: File) -> Self {
        Self::with(Arc::new(output), Arc::new(index))
    }

    /// Starts with one file that has everything.
    #[cfg(unix)]
    pub(super) fn begin_in(draft: File) -> Self {
        let draft = Arc::new(draft);
        Self::with(Arc::clone(&draft), draft)
    }

    fn with(output: Arc<File>, index: Arc<File>) -> Self {
        let unsynced = UnsyncedFiles::default();
        unsynced.push([Arc::clone(&output), Arc::clone(&index)]);
        Self { start: 0, output, index, index_bytes: 0, first_end: 0, tails: VecDeque::new(), unsynced }
    }

    /// How many bytes more belong in this part, whose output ends at `end`, if `max_bytes` are kept; at least one in an
    /// empty part.
    pub(super) fn room(&self, end: u64, max_bytes: u64) -> u64 {
        let share = if self.start == 0 { 2 } else { 4 };
        let left = (max_bytes / share).saturating_sub(end - self.start + self.index_bytes);
        left.max((end == self.start).into())
    }

    /// Starts another part at `end`, in `folder`. Drops the oldest tail if there are too many.
    pub(super) fn start_next(&mut self, folder: &Folder, end: u64) -> io::Result<()> {
        if self.start == 0 {
            self.first_end = end;
        }
        while self.tails.len() >= TAILS {
            let Some(oldest) = self.tails.pop_front() else { break };
            // Without its output, a part doesn't exist.
            names(oldest).iter().try_for_each(|name| folder.remove_file(name))?;
        }
        let [output, index] = names(end);
        let index = Arc::new(folder.create_file(&index)?);
        let output = Arc::new(folder.create_file(&output)?);
        self.unsynced.push([Arc::clone(&output), Arc::clone(&index)]);
        self.tails.push_back(end);
        (self.start, self.output, self.index, self.index_bytes) = (end, output, index, 0);
        Ok(())
    }

    /// Appends lines to the index.
    pub(super) fn write_index(&mut self, lines: &[u8]) -> io::Result<()> {
        self.index_bytes += lines.len() as u64;
        (&*self.index).write_all(lines)
    }

    /// Counts lines that were appended to the index.
    #[cfg(unix)]
    pub(super) fn count_index(&mut self, lines: &[u8]) {
        self.index_bytes += lines.len() as u64;
    }

    /// Continues the first part in these files.
    #[cfg(unix)]
    pub(super) fn move_to(&mut self, output: File, index: File) {
        (self.output, self.index) = (Arc::new(output), Arc::new(index));
        self.unsynced.push([Arc::clone(&self.output), Arc::clone(&self.index)]);
    }

    /// Whether the files were removed.
    pub(super) fn is_removed(&self, folder: &Folder) -> bool {
        let [name, _] = names(self.start);
        folder.is_named(&name, &self.output).is_ok_and(|is_there| !is_there)
    }

    /// What was dropped.
    pub(super) fn gap(&self) -> Option<Gap> {
        gap(self.first_end, self.tails.front().copied())
    }

    /// The files that may not be on disk yet.
    pub(super) fn unsynced(&self) -> UnsyncedFiles {
        self.unsynced.clone()
    }
}

/// A part, opened for reading.
#[derive(Debug)]
pub(super) struct Part {
    /// The offset of its first byte.
    pub(super) start: u64,
    /// The offset after its last byte.
    pub(super) end: u64,
    output: File,
    pub(super) index: File,
}

impl Part {
    fn open(files: &Files, start: u64) -> Result<Self, (&'static str, io::Error)> {
        let [output, index] = names(start);
        let output = files.open_part(&output).map_err(|error| (file::OUTPUT, error))?;
        let index = files.open_part(&index).map_err(|error| (file::INDEX, error))?;
        let length = output.metadata().map_err(|error| (file::OUTPUT, error))?.len();
        // Without a line about it, output doesn't count.
        let is_known =
            length == 0 || super::index::has_lines(&index).map_err(|error| (file::INDEX, error))?;
        Ok(Self { start, end: start + if is_known { length } else { 0 }, output, index })
    }

    /// Appends its bytes `from..to` to `bytes`, and their stretches to `stretches`.
    pub(super) fn read(
        &self,
        from: u64,
        to: u64,
        bytes: &mut Vec<u8>,
        stretches: &mut Vec<Stretch>,
    ) -> Result<(), (&'static str, io::Error)> {
        let before = bytes.len();
        bytes.resize(before + usize::try_from(to - from).unwrap_or(usize::MAX), 0);
        sys::file::read_exact_at(&self.output, &mut bytes[before..], from - self.start)
            .map_err(|error| (file::OUTPUT, error))?;
        stretches.extend(
            super::index::stretches(&self.index, self.start..self.end, from, to)
                .map_err(|error| (file::INDEX, error))?,
        );
        Ok(())
    }
}

/// All parts of a session, in order: the first, and tails.
#[derive(Debug)]
pub(super) struct Parts(pub(super) Vec<Part>);

impl Parts {
    /// Opens the parts; only the first unless the session `is_limited`.
    ///
    /// # Errors
    /// With the file that is not readable.
    pub(super) fn open(files: &Files, is_limited: bool) -> Result<Self, (&'static str, io::Error)> {
        let mut tries = 1..=TRIES;
        'again: loop {
            // Listed first: a part that has a successor doesn't grow.
            let tails = if is_limited { files.tails() } else { Ok(Vec::new()) };
            let tails = tails.map_err(|error| (file::OUTPUT, error))?;
            let mut parts = vec![Part::open(files, 0)?];
            for start in tails {
                match Part::open(files, start) {
                    Ok(part) => parts.push(part),
                    // It was dropped meanwhile, so there is a newer one.
                    Err((_, error)) if error.kind() == io::ErrorKind::NotFound && tries.next().is_some() => {
                        continue 'again;
                    }
                    Err(error) => return Err(error),
                }
            }
            return Ok(Self(parts));
        }
    }

    /// The size of the output so far.
    pub(super) fn end(&self) -> u64 {
        self.0.last().map_or(0, |part| part.end)
    }

    /// What is missing between parts.
    pub(super) fn gap(&self) -> Option<Gap> {
        self.0.windows(2).find_map(|parts| gap(parts[0].end, Some(parts[1].start)))
    }

    /// What is missing from the offset `at` on.
    pub(super) fn gap_at(&self, at: u64) -> Option<Gap> {
        let next = self.0.iter().find(|part| part.start > at)?;
        let end = self.0.iter().map(|part| part.end).filter(|end| *end <= at).max()?;
        let is_kept = self.0.iter().any(|part| part.start <= at && at < part.end);
        gap(end, Some(next.start)).filter(|_| !is_kept)
    }
}
