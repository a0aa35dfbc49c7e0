//! Spare records, created while the disk has space: a beat that begins on a full disk uses one as its record.

use std::collections::HashSet;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use sys::file::is_full;
use sys::paths::DataDir;
use sys::process_lock::{Durability, ProcessLock, SPARE_SIZE};

/// How many to keep, unless the disk is tiny.
const COUNT: u64 = 8;

/// The divisor of the disk size for the maximum size of the spares, and likewise of the reserve.
const SHARE: u64 = 16;

/// How many of `most` bytes may be used on the disk with `folder`; at least one block.
pub(super) fn share(folder: &Path, most: u64) -> u64 {
    let size = rustix::fs::statvfs(folder).map_or(0, |found| found.f_blocks.saturating_mul(found.f_frsize));
    let block = SPARE_SIZE as u64;
    (size / SHARE / block * block).clamp(block, most)
}

/// The folder of spare records.
#[derive(Debug)]
pub struct Spares {
    folder: PathBuf,
    root: PathBuf,
}

impl Spares {
    /// The spare records in the data folder `dir`; [`Self::fill`] creates them.
    #[must_use]
    pub fn new(dir: &DataDir) -> Self {
        Self { folder: dir.spares(), root: dir.root().to_path_buf() }
    }

    /// Creates the missing ones.
    pub fn fill(&self) -> io::Result<()> {
        let listed = std::fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let names: HashSet<OsString> = listed.map(|entry| entry.file_name()).collect();
        let mut missing =
            (0..COUNT).filter(|number| !names.contains(&*OsString::from(file_name(*number)))).peekable();
        if missing.peek().is_none() {
            return Ok(());
        }
        let count = share(&self.root, COUNT * SPARE_SIZE as u64) / SPARE_SIZE as u64;
        missing
            .take_while(|number| *number < count)
            .try_for_each(|number| ProcessLock::create_spare(&self.folder, &file_name(number)))
    }

    /// Creates the record `name` in `folder`, from a spare one if the disk is full. Returns `None` if `name` exists.
    pub fn record(
        &self,
        folder: &Path,
        name: &str,
        text: &[u8],
        durability: Durability,
    ) -> io::Result<Option<ProcessLock>> {
        let full = match ProcessLock::create(folder, name, text, durability) {
            Err(error) if is_full(&error) => error,
            made => return made,
        };
        if folder.join(name).exists() {
            return Ok(None);
        }
        for number in 0..COUNT {
            // Skip spares that are not usable.
            if let Ok(Some(held)) = ProcessLock::create_from(&self.place(number), folder, name, text) {
                return Ok(Some(held));
            }
        }
        Err(full)
    }

    /// Removes `held`, or stores it for another beat if it was a spare.
    pub fn release(&self, held: ProcessLock) -> io::Result<()> {
        let free = || (0..COUNT).map(|number| self.place(number)).find(|place| !place.exists());
        match held.is_spare().then(free).flatten() {
            Some(place) if held.keep_as_spare(&place).is_ok() => Ok(()),
            _ => held.remove(),
        }
    }

    fn place(&self, number: u64) -> PathBuf {
        self.folder.join(file_name(number))
    }
}

fn file_name(number: u64) -> String {
    format!("{number}.spare")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spare_is_used_once_and_returned() {
        let top = tempfile::tempdir().unwrap();
        let dir = DataDir::find(Some(top.path()), None, None).unwrap();
        let spares = Spares::new(&dir);
        spares.fill().unwrap();
        let count = || std::fs::read_dir(dir.spares()).unwrap().count() as u64;
        assert_eq!(count(), COUNT);
        std::fs::create_dir(dir.beats()).unwrap();
        let taken: Vec<ProcessLock> = (0..COUNT)
            .map(|number| {
                let name = format!("{number}.json");
                ProcessLock::create_from(&spares.place(number), &dir.beats(), &name, b"one").unwrap().unwrap()
            })
            .collect();
        assert_eq!(count(), 0);
        for held in taken {
            assert!(held.is_spare());
            // A spare that is too small grows.
            held.rewrite(&[b'x'; SPARE_SIZE]).unwrap();
            assert_eq!(held.read().unwrap().trim_ascii_end().len(), SPARE_SIZE);
            spares.release(held).unwrap();
        }
        assert_eq!((count(), std::fs::read_dir(dir.beats()).unwrap().count()), (0, 0));
        spares.fill().unwrap();
        let held =
            ProcessLock::create_from(&spares.place(3), &dir.beats(), "a.json", b"one").unwrap().unwrap();
        assert_eq!(count(), COUNT - 1);
        spares.release(held).unwrap();
        assert_eq!(count(), COUNT);
    }
}
