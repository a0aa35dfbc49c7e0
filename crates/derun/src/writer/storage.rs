//! Where a session's files are: in its folder, or in a draft.

use super::Writer;
#[cfg(unix)]
use crate::draft::{self, Draft};
use crate::parts::Writing;
use std::fs::File;
use std::io::{self, Write};
use sys::folder::Folder;
use sys::lock::Lock;

/// Where the session's files are.
#[derive(Debug)]
pub(super) enum SessionStorage {
    /// In its folder.
    Folder(InFolder),
    /// In one file.
    #[cfg(unix)]
    Draft(Draft),
}

/// A session in its folder.
#[derive(Debug)]
pub(crate) struct InFolder {
    pub(crate) folder: Folder,
    /// Becomes `final.json`, so that there is room for it on a full disk.
    pub(crate) room: File,
    /// Additional files.
    pub(crate) beside: Vec<(String, File)>,
    /// Held while this exists; the kernel releases it if we die.
    pub(crate) _lock: Lock,
}

/// Additional files of the session.
impl Writer {
    /// Creates the additional file `name` in the session's folder, for appending. It is removed with the session.
    pub fn beside(&mut self, name: &str) -> io::Result<File> {
        self.folder()?.0.folder.create_file(name)
    }

    /// Appends `bytes` to the additional file `name`, and creates it if necessary.
    ///
    /// # Errors
    /// After an error nothing more may be appended.
    pub fn append_beside(&mut self, name: &str, bytes: &[u8]) -> io::Result<()> {
        #[cfg(unix)]
        {
            self.make_room(bytes.len())?;
            if let SessionStorage::Draft(draft) = &mut self.storage {
                return draft.append(&[(name, bytes)]).map_err(|torn| torn.source);
            }
        }
        let (InFolder { folder, beside, .. }, _) = self.folder()?;
        match beside.iter_mut().find(|(known, _)| known == name) {
            Some((_, file)) => file.write_all(bytes),
            None => {
                let mut file = folder.create_file(name)?;
                file.write_all(bytes)?;
                beside.push((name.to_owned(), file));
                Ok(())
            }
        }
    }

    /// Its folder, to which a draft moves.
    pub(super) fn folder(&mut self) -> io::Result<(&mut InFolder, &mut Writing)> {
        #[cfg(unix)]
        if let SessionStorage::Draft(_) = &self.storage {
            let moved = draft::into_folder(&self.sessions, &self.id, self.is_synced)?;
            self.part.move_to(moved.output, moved.index);
            self.storage = SessionStorage::Folder(moved.rest);
        }
        match &mut self.storage {
            SessionStorage::Folder(folder) => Ok((folder, &mut self.part)),
            #[cfg(unix)]
            SessionStorage::Draft(_) => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// Moves a draft to a folder if it would get too large with `more` bytes.
    #[cfg(unix)]
    pub(super) fn make_room(&mut self, more: usize) -> io::Result<()> {
        match &self.storage {
            SessionStorage::Draft(draft) if !draft.fits(more) => self.folder().map(drop),
            _ => Ok(()),
        }
    }
}
