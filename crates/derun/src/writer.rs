//! Writes a session: the single process that holds `append.lock` appends to `output.bin` and `index.jsonl`.
//!
//! # Guarantees for readers
//! A stretch is written to the index *before* the first byte that changes the channel is written to the output. So
//! every byte of `output.bin` belongs to the stretch that covers it or, at the end, to the channel of the last
//! stretch; a stretch that exceeds `output.bin` is clipped to its end.
//!
//! A stretch has the time of its first byte. Consecutive bytes of one channel share a stretch of up to 64 KiB and 50
//! ms: so one line covers many small reads, and most appends are a single `write`. Bytes without a line were written
//! less than 50 ms after the last line's time, so that time applies to them too.
//!
//! If the session limits its output, this applies to each of its parts (`parts`). While a session is a draft (`draft`),
//! its files are in one file, with the same guarantees.

mod storage;
mod stretches;
mod unsynced;

#[cfg(unix)]
use super::draft::Draft;
use super::id::SessionId;
use super::parts::Writing;
use super::record::{Channel, Final, Gap, Lost, Meta, SCHEMA_VERSION, State, Stretch, file};
use super::store::StoreError;
use jiff::Timestamp;
use std::fs::File;
use std::io::{self, Write};
use sys::folder::Folder;
use sys::lock::Lock;

pub(crate) use storage::InFolder;
use storage::SessionStorage;
use stretches::lines;
pub(super) use unsynced::Unsynced;

/// The maximum size of `final.json` in bytes, unless it contains a very long message.
pub(super) const ROOM: usize = 512;

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// It exited with this code.
    Exited(i32),
    /// This signal killed it, such as `SIGINT`.
    Signaled(String),
    /// It could not be started, or we failed.
    Failed(String),
}

/// A session that is being written.
#[derive(Debug)]
pub struct Writer {
    id: SessionId,
    sessions: Folder,
    storage: SessionStorage,
    meta: Meta,
    part: Writing,
    /// The size of the output.
    end: u64,
    /// How many bytes the index covers.
    covered: u64,
    /// The channel and time of the last stretch in the index.
    last: Option<(Channel, Timestamp)>,
    /// The time of the first byte that the index doesn't cover, if any. It is of the last stretch's channel.
    uncovered: Option<Timestamp>,
    /// Whether what it has written must be on disk soon.
    is_synced: bool,
}

impl Writer {
    /// Starts the session `id` in `folder`, which is in `sessions`.
    pub(super) fn begin(
        id: SessionId,
        sessions: Folder,
        folder: Folder,
        lock: Lock,
        meta: Meta,
    ) -> Result<Self, StoreError> {
        let failed = |file| {
            let id = id.to_string();
            move |source| StoreError::File { id, file, source }
        };
        // A process that died before its meta.json leaves at most empty files.
        let fresh = |name, make: fn(&Folder, &str) -> io::Result<File>| {
            make(&folder, name).or_else(|error| match error.kind() {
                io::ErrorKind::AlreadyExists => folder.remove_file(name).and_then(|()| make(&folder, name)),
                _ => Err(error),
            })
        };
        let output = fresh(file::OUTPUT, Folder::create_file).map_err(failed(file::OUTPUT))?;
        let index = fresh(file::INDEX, Folder::create_file).map_err(failed(file::INDEX))?;
        let room = fresh(file::ROOM, |folder, name| folder.create_room(name, ROOM));
        let room = room.map_err(failed(file::FINAL))?;
        // Written last: its existence makes this a session, which is then readable and writable.
        json(&meta).and_then(|meta| folder.write(file::META, &meta, false)).map_err(failed(file::META))?;
        let storage = SessionStorage::Folder(InFolder { folder, room, beside: Vec::new(), _lock: lock });
        Ok(Self::new(id, sessions, storage, meta, Writing::begin(output, index)))
    }

    /// Starts the session `id` in `sessions` as a draft.
    #[cfg(unix)]
    pub(super) fn begin_draft(id: SessionId, sessions: Folder, meta: Meta) -> Result<Self, StoreError> {
        let failed = |source| StoreError::File { id: id.to_string(), file: file::META, source };
        let begin = || {
            let draft = Draft::create(&sessions, &id, &json(&meta)?)?;
            let part = Writing::begin_in(draft.file().try_clone()?);
            Ok((draft, part))
        };
        let (draft, part) = begin().map_err(failed)?;
        Ok(Self::new(id, sessions, SessionStorage::Draft(draft), meta, part))
    }

    fn new(id: SessionId, sessions: Folder, storage: SessionStorage, meta: Meta, part: Writing) -> Self {
        Self {
            id,
            sessions,
            storage,
            meta,
            part,
            end: 0,
            covered: 0,
            last: None,
            uncovered: None,
            is_synced: false,
        }
    }

    /// The session's id.
    #[must_use]
    pub fn id(&self) -> &SessionId {
        &self.id
    }

    /// The session's metadata.
    #[must_use]
    pub fn meta(&self) -> &Meta {
        &self.meta
    }

    /// The number of bytes so far.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Records that the command is running.
    pub fn started(&mut self, pid: u32) -> io::Result<()> {
        self.meta.pid = Some(pid);
        self.write_meta()
    }

    /// Records that the output is captured differently than expected.
    pub fn transport(&mut self, mode: super::record::TransportMode) -> io::Result<()> {
        self.meta.transport_mode = mode;
        self.write_meta()
    }

    fn write_meta(&mut self) -> io::Result<()> {
        let meta = json(&self.meta)?;
        match &mut self.storage {
            SessionStorage::Folder(InFolder { folder, .. }) => folder.write(file::META, &meta, false),
            #[cfg(unix)]
            SessionStorage::Draft(draft) => draft.append(&[(file::META, &meta)]).map_err(|torn| torn.source),
        }
    }

    /// Appends `bytes` that arrived at `at`. Returns the stretches that were recorded.
    ///
    /// # Errors
    /// Some of the bytes may have been written: [`Self::end`] counts them. After an error nothing more may be
    /// appended.
    pub fn append(&mut self, channel: Channel, bytes: &[u8], at: Timestamp) -> io::Result<Vec<Stretch>> {
        let (mut recorded, mut rest) = (Vec::new(), bytes);
        while !rest.is_empty() {
            let room = |of: &Self| of.meta.max_bytes.map_or(u64::MAX, |max| of.part.room(of.end, max));
            if room(self) == 0 {
                recorded.extend(self.start_part()?);
            }
            let fits = usize::try_from(room(self)).unwrap_or(usize::MAX).min(rest.len());
            let (now, later) = rest.split_at(fits);
            recorded.extend(self.append_here(channel, now, at)?);
            rest = later;
        }
        Ok(recorded)
    }

    /// Appends bytes to the current part.
    fn append_here(&mut self, channel: Channel, bytes: &[u8], at: Timestamp) -> io::Result<Vec<Stretch>> {
        let stretches = self.arrived(channel, self.end + bytes.len() as u64, at);
        self.write(&lines(&stretches)?, bytes)?;
        Ok(stretches)
    }

    /// Appends lines to the index, and then `bytes` to the output.
    fn write(&mut self, lines: &[u8], bytes: &[u8]) -> io::Result<()> {
        #[cfg(unix)]
        {
            self.make_room(lines.len() + bytes.len())?;
            if let SessionStorage::Draft(draft) = &mut self.storage {
                self.part.count_index(lines);
                if bytes.is_empty() {
                    return draft.append(&[(file::INDEX, lines)]).map_err(|torn| torn.source);
                }
                let records = [(file::INDEX, lines), (file::OUTPUT, bytes)];
                let written = draft.append(if lines.is_empty() { &records[1..] } else { &records });
                self.end += written.as_ref().map_or_else(|torn| torn.written, |()| bytes.len()) as u64;
                return written.map_err(|torn| torn.source);
            }
        }
        if !lines.is_empty() {
            self.part.write_index(lines)?;
        }
        let mut rest = bytes;
        while !rest.is_empty() {
            match (&*self.part.output).write(rest) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => {
                    self.end += written as u64;
                    rest = &rest[written..];
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Starts another part of the output. Returns the last stretch of this one if it was not yet recorded.
    fn start_part(&mut self) -> io::Result<Vec<Stretch>> {
        let (last, end) = (self.cover_rest()?, self.end);
        let (InFolder { folder, .. }, part) = self.folder()?;
        part.start_next(folder, end)?;
        (self.covered, self.last) = (self.end, None);
        Ok(last.into_iter().collect())
    }

    /// The files to be synced while writing continues.
    pub(super) fn unsynced(&mut self) -> io::Result<Unsynced> {
        self.is_synced = true;
        let folder = match &self.storage {
            SessionStorage::Folder(InFolder { folder, .. }) => Some(folder.try_clone()?),
            #[cfg(unix)]
            SessionStorage::Draft(_) => None,
        };
        Ok(Unsynced { output: self.part.unsynced(), folder, sessions: self.sessions.try_clone()? })
    }

    /// The output that was not kept so far.
    #[must_use]
    pub fn gap(&self) -> Option<Gap> {
        self.part.gap()
    }

    /// Whether the files have been removed, so that nobody will read them.
    #[must_use]
    pub fn is_removed(&self) -> bool {
        match &self.storage {
            SessionStorage::Folder(InFolder { folder, .. }) => self.part.is_removed(folder),
            #[cfg(unix)]
            SessionStorage::Draft(draft) => draft.is_removed(&self.sessions, &self.id),
        }
    }

    /// Writes `final.json`, and syncs the session to disk.
    ///
    /// # Errors
    /// After an error the session has no end, and counts as `failed`.
    pub fn finish(mut self, end: &End, lost: Option<Lost>, at: Timestamp) -> io::Result<()> {
        self.finish_from(end, lost, at, OnDisk::Nothing)
    }

    /// Like [`Self::finish`], if some of it is already synced or need not be. Nothing may be appended afterward.
    pub(super) fn finish_from(
        &mut self,
        end: &End,
        lost: Option<Lost>,
        at: Timestamp,
        on_disk: OnDisk,
    ) -> io::Result<()> {
        if lost.is_none() {
            self.cover_rest()?;
        }
        let (state, exit_code, signal, error) = match end {
            End::Exited(code) => (State::Exited, Some(*code), None, None),
            End::Signaled(signal) => (State::Signaled, None, Some(signal.clone()), None),
            End::Failed(error) => (State::Failed, None, None, Some(error.clone())),
        };
        let last = Final {
            schema_version: SCHEMA_VERSION.to_owned(),
            session_id: self.id.clone(),
            state,
            ended_at: at,
            exit_code,
            signal,
            error,
            lost,
            gap: self.gap(),
        };
        let bytes = json(&last)?;
        if on_disk != OnDisk::Unwanted {
            let unsynced = self.unsynced()?;
            if on_disk == OnDisk::Nothing {
                unsynced.sync_begin()?;
            }
            if self.end > 0 {
                unsynced.sync_output()?;
            }
        }
        let InFolder { folder, room, .. } = match &mut self.storage {
            SessionStorage::Folder(folder) => folder,
            #[cfg(unix)]
            SessionStorage::Draft(draft) => {
                draft.finish(&bytes)?;
                return if on_disk == OnDisk::Unwanted { Ok(()) } else { draft.file().sync_all() };
            }
        };
        // Overwriting the reserved bytes needs no space.
        room.write_all(&bytes)?;
        room.set_len(bytes.len() as u64)?;
        if on_disk == OnDisk::Unwanted {
            return folder.rename(file::ROOM, file::FINAL);
        }
        room.sync_all()?;
        folder.rename(file::ROOM, file::FINAL)?;
        folder.sync()
    }
}

/// How much of a session is already synced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OnDisk {
    /// Nothing.
    Nothing,
    /// Its metadata and folder entry.
    Begin,
    /// Nothing, and nothing needs to be.
    Unwanted,
}

fn json(value: &impl serde::Serialize) -> io::Result<Vec<u8>> {
    let mut bytes = serde_json::to_vec_pretty(value)?;
    bytes.push(b'\n');
    Ok(bytes)
}
