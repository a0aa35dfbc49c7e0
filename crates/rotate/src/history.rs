//! A rotated file with all its parts, as they were at one moment.

use crate::append::is_named;
use crate::part::{self, Content, Part, PartError};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use sys::file::open_regular;

/// The live file, and all that was written before it.
#[derive(Debug)]
pub struct History {
    /// The live file; `None` if there is none.
    pub live: Option<File>,
    /// The parts, oldest first.
    pub parts: Vec<Part>,
    path: PathBuf,
}

impl History {
    /// Opens the live file at `path` and lists its parts. No line is in two of them, and none is missing.
    pub fn open(path: &Path) -> io::Result<Self> {
        loop {
            let live = match open_regular(path, File::options().read(true)) {
                Ok(file) => Some(file),
                Err(error) if error.kind() == io::ErrorKind::NotFound => None,
                Err(error) => return Err(error),
            };
            let parts = part::list(path)?;
            let is_current = match &live {
                Some(file) => is_named(path, file)?,
                None => !path.exists(),
            };
            if is_current {
                return Ok(Self { live, parts, path: path.to_path_buf() });
            }
        }
    }

    /// The number that the live file will have as a part.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.parts.last().map_or(1, |part| part.number() + 1)
    }

    /// The bytes of each part and of the live file, oldest first; whole lines, except that the live file's last one may
    /// still be being written. An unreadable part is an error, and the rest follows.
    pub fn into_bytes(self) -> impl Iterator<Item = Result<Vec<u8>, PartError>> {
        let path = self.path;
        let read = |content: Content, path: PathBuf| {
            content.into_bytes().map_err(|source| PartError { path, source })
        };
        let parts = self.parts.into_iter().map(move |part| read(part.open()?, part.path()));
        parts.chain(self.live.map(|file| read(Content::File(file), path)))
    }
}
