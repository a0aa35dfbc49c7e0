//! The files of a session that is read: in its folder, in its draft or, once it ended, possibly in its pack.

#[cfg(unix)]
use crate::draft;
use crate::id::SessionId;
#[cfg(unix)]
use crate::pack::{self, Unpacked};
use crate::parts::tail_start;
#[cfg(unix)]
use crate::record::file;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::sync::OnceLock;
use sys::folder::Folder;

/// See the module's documentation.
#[derive(Debug)]
pub(super) struct Files {
    pub(super) id: SessionId,
    pub(super) sessions: Folder,
    /// Its folder, once it was found.
    folder: OnceLock<Folder>,
    /// The contents of the pack, once they are needed.
    #[cfg(unix)]
    packed: OnceLock<Unpacked>,
}

impl Files {
    /// The files of the session `id` in `sessions`.
    pub(super) fn open(id: &SessionId, sessions: &Folder) -> io::Result<Self> {
        let files = Self {
            id: id.clone(),
            sessions: sessions.try_clone()?,
            folder: OnceLock::new(),
            #[cfg(unix)]
            packed: OnceLock::new(),
        };
        files.find_folder()?;
        Ok(files)
    }

    /// Its folder; `None` while it is a draft, and if it was packed before it was opened.
    pub(super) fn folder(&self) -> Option<&Folder> {
        self.folder.get()
    }

    /// Looks for the folder. A draft may have moved there.
    pub(super) fn find_folder(&self) -> io::Result<Option<&Folder>> {
        match self.sessions.open_folder(self.id.as_str()) {
            Ok(folder) => Ok(Some(self.folder.get_or_init(|| folder))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Opens the file `name`, to be read only at offsets. This is cheap also if it is in a pack.
    pub(super) fn open_part(&self, name: &str) -> io::Result<File> {
        #[cfg(unix)]
        if let Some(packed) = self.packed.get() {
            return packed.shared(name);
        }
        self.open_file(name)
    }

    /// Opens the file `name`.
    pub(super) fn open_file(&self, name: &str) -> io::Result<File> {
        let opened = match self.folder() {
            Some(folder) => folder.open_file(name),
            None => Err(io::ErrorKind::NotFound.into()),
        };
        match opened {
            #[cfg(unix)]
            Err(error) if error.kind() == io::ErrorKind::NotFound => self.open_elsewhere(name),
            opened => opened,
        }
    }

    /// Opens the file `name` of a session that is a draft, or has moved since it was opened.
    #[cfg(unix)]
    fn open_elsewhere(&self, name: &str) -> io::Result<File> {
        if self.folder().is_none() {
            match draft::open(&self.sessions, &self.id) {
                // The lock is on the draft itself.
                Ok((file, _)) if name == file::LOCK => return Ok(file),
                Ok((file, seen)) => return draft::read(&file, seen)?.open(name),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
            if let Some(folder) = self.find_folder()? {
                match folder.open_file(name) {
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    opened => return opened,
                }
            }
        }
        self.packed()?.open(name)
    }

    /// Where the tails of the output start, in order.
    pub(super) fn tails(&self) -> io::Result<Vec<u64>> {
        let start = |name: OsString| tail_start(name.to_str()?);
        #[cfg(unix)]
        if self.is_draft() {
            return Ok(Vec::new());
        }
        let listed = self.folder().map_or(Ok(Vec::new()), Folder::names)?;
        let tails: BTreeSet<u64> = listed.into_iter().filter_map(start).collect();
        #[cfg(unix)]
        let tails = match self.packed() {
            Ok(contents) => tails.into_iter().chain(contents.names().filter_map(tail_start)).collect(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => tails,
            Err(error) => return Err(error),
        };
        Ok(tails.into_iter().collect())
    }

    /// Whether it is a draft now. Otherwise, its folder is known if it has one.
    #[cfg(unix)]
    pub(super) fn is_draft(&self) -> bool {
        self.folder().is_none()
            && (self.sessions.look(draft::name(&self.id)).is_ok() || self.find_folder().is_err())
    }

    /// When the file `name` was last changed, in seconds since 1970; `None` if there is none.
    pub(super) fn modified(&self, name: &str) -> Option<i64> {
        let seen = self.folder().and_then(|folder| folder.look(name).ok());
        let modified = seen.map(|seen| seen.modified);
        #[cfg(unix)]
        let modified = modified.or_else(|| {
            let read =
                || draft::open(&self.sessions, &self.id).and_then(|(file, seen)| draft::read(&file, seen));
            let draft = self.folder().is_none().then(read).and_then(Result::ok);
            draft.and_then(|draft| draft.modified(name)).or_else(|| self.packed().ok()?.modified(name))
        });
        modified
    }

    /// The contents of the pack.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`] if there is none.
    #[cfg(unix)]
    fn packed(&self) -> io::Result<&Unpacked> {
        if let Some(contents) = self.packed.get() {
            return Ok(contents);
        }
        let unpacked = pack::unpack(&self.sessions, &self.id)?;
        Ok(self.packed.get_or_init(|| unpacked))
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::pack::Label;
    use crate::record::Channel;
    use crate::store::Store;
    use crate::tests::new_session;
    use crate::writer::End;
    use std::os::unix::fs::MetadataExt;
    use sys::clock;

    #[test]
    fn a_pack_is_unpacked_once() {
        let root = tempfile::tempdir().unwrap();
        let store = Store::open(root.path()).unwrap();
        let mut writer = store.create(new_session(None, None, None), clock::now()).unwrap();
        let id = writer.id().clone();
        writer.append(Channel::Stdout, b"one\n", clock::now()).unwrap();
        writer.finish(&End::Exited(0), None, clock::now()).unwrap();
        let label = Label { group: "site".to_owned(), failed: false };
        assert!(pack::pack(&store, &[&id], &label, false).unwrap());
        let files = Files::open(&id, store.sessions()).unwrap();
        let opened = || files.open_part(file::OUTPUT).unwrap();
        let first = opened();
        let inodes = [opened(), opened()].map(|file| file.metadata().unwrap().ino());
        assert_eq!(inodes[0], inodes[1]);
        // What reads from the beginning doesn't move the others.
        assert_eq!(io::read_to_string(files.open_file(file::OUTPUT).unwrap()).unwrap(), "one\n");
        for file in [first, opened()] {
            let mut bytes = [0; 4];
            assert_eq!(sys::file::read_at(&file, &mut bytes, 0).unwrap(), 4);
            assert_eq!(&bytes, b"one\n");
        }
    }
}
