//! The files of a session that is read: in its folder or, once it ended, possibly in its pack.

use crate::id::SessionId;
#[cfg(unix)]
use crate::pack;
use crate::parts::tail_start;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::File;
use std::io;
#[cfg(unix)]
use std::sync::OnceLock;
use sys::folder::Folder;

/// See the module's documentation.
#[derive(Debug)]
pub(super) struct Files {
    /// Its folder; `None` if it was packed before it was opened.
    pub(super) folder: Option<Folder>,
    #[cfg(unix)]
    packed: Packed,
}

/// The contents of the pack, once they are needed.
#[cfg(unix)]
#[derive(Debug)]
struct Packed {
    id: SessionId,
    sessions: Folder,
    contents: OnceLock<pack::Contents>,
}

impl Files {
    /// The files of the session `id` in `sessions`.
    pub(super) fn open(id: &SessionId, sessions: &Folder) -> io::Result<Self> {
        let folder = match sessions.open_folder(id.as_str()) {
            Ok(folder) => Some(folder),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        #[cfg(unix)]
        let packed = Packed { id: id.clone(), sessions: sessions.try_clone()?, contents: OnceLock::new() };
        Ok(Self {
            folder,
            #[cfg(unix)]
            packed,
        })
    }

    /// Opens the file `name`.
    pub(super) fn open_file(&self, name: &str) -> io::Result<File> {
        let opened = match &self.folder {
            Some(folder) => folder.open_file(name),
            None => Err(io::ErrorKind::NotFound.into()),
        };
        match opened {
            // It may have been packed since.
            #[cfg(unix)]
            Err(error) if error.kind() == io::ErrorKind::NotFound => self.packed.contents()?.open(name),
            opened => opened,
        }
    }

    /// Where the tails of the output start, in order.
    pub(super) fn tails(&self) -> io::Result<Vec<u64>> {
        let start = |name: OsString| tail_start(name.to_str()?);
        let listed = self.folder.as_ref().map_or(Ok(Vec::new()), Folder::names)?;
        let tails: BTreeSet<u64> = listed.into_iter().filter_map(start).collect();
        #[cfg(unix)]
        let tails = match self.packed.contents() {
            Ok(contents) => tails.into_iter().chain(contents.names().filter_map(tail_start)).collect(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => tails,
            Err(error) => return Err(error),
        };
        Ok(tails.into_iter().collect())
    }

    /// When the file `name` was last changed, in seconds since 1970; `None` if there is none.
    pub(super) fn modified(&self, name: &str) -> Option<i64> {
        let seen = self.folder.as_ref().and_then(|folder| folder.look(name).ok());
        let modified = seen.map(|seen| seen.modified);
        #[cfg(unix)]
        let modified = modified.or_else(|| self.packed.contents().ok()?.modified(name));
        modified
    }
}

#[cfg(unix)]
impl Packed {
    /// # Errors
    /// [`io::ErrorKind::NotFound`] if there is no pack.
    fn contents(&self) -> io::Result<&pack::Contents> {
        if let Some(contents) = self.contents.get() {
            return Ok(contents);
        }
        let contents = pack::read(&self.sessions, &self.id)?;
        Ok(self.contents.get_or_init(|| contents))
    }
}
