//! The files of a session that must be synced to disk while it is written.

use crate::parts::UnsyncedFiles;
use crate::record::file;
use std::io;
use sys::folder::Folder;

/// Files of a session that must be synced.
#[derive(Debug)]
pub(crate) struct Unsynced {
    pub(super) output: UnsyncedFiles,
    /// `None` for a draft.
    pub(super) folder: Option<Folder>,
    pub(super) sessions: Folder,
}

impl Unsynced {
    /// Syncs the metadata and folder entry.
    pub(crate) fn sync_begin(&self) -> io::Result<()> {
        match &self.folder {
            Some(folder) => sync(folder, file::META).and_then(|()| folder.sync())?,
            // One file has everything.
            None => self.sync_output()?,
        }
        self.sessions.sync()
    }

    /// Syncs the output.
    pub(crate) fn sync_output(&self) -> io::Result<()> {
        self.output.sync()
    }
}

/// Syncs the file `name`, unless another file has taken its place.
fn sync(folder: &Folder, name: &str) -> io::Result<()> {
    folder.open_to_sync(name).map_or(Ok(()), |file| file.sync_all())
}
