//! Reads a session, also while it is written: its metadata, its status, and its output from a cursor on.
//!
//! A cursor is an offset in `output.bin`. Reading costs the same at every offset.

use super::id::SessionId;
use super::index;
use super::record::{Final, Meta, State, Stretch, file};
use super::session_files::Files;
use super::store::{FOLDER, StoreError};
use jiff::{SignedDuration, Timestamp};
use serde::de::DeserializeOwned;
use std::fs::File;
use std::io::{self, Read};
use std::time::Duration;
use sys::folder::Folder;
use sys::identity::{Ending, Identity};
use sys::watch::{Place, Watch};
use sys::{file as read, lock};

/// The maximum size of meta.json or final.json, in bytes.
const MAX_RECORD: u64 = 16 * 1024 * 1024;

/// The polling interval if the system cannot report changes.
const TICK: Duration = Duration::from_millis(100);

/// A session, opened for reading.
#[derive(Debug)]
pub struct Session {
    id: SessionId,
    files: Files,
    meta: Meta,
}

/// The status of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// Its state.
    pub state: State,
    /// How it ended, if that was recorded.
    pub last: Option<Final>,
    /// When it may be removed; `None` before its end.
    pub expires_at: Option<Timestamp>,
}

/// Output from a cursor on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The offset of the first byte.
    pub cursor: u64,
    /// The bytes.
    pub bytes: Vec<u8>,
    /// The stretches of the bytes, contiguous and in order.
    pub stretches: Vec<Stretch>,
    /// Whether there is no more output after these bytes, and never will be.
    pub eof: bool,
}

impl Page {
    /// The offset after the last byte.
    #[must_use]
    pub fn next(&self) -> u64 {
        self.cursor + self.bytes.len() as u64
    }

    /// The bytes in chunks of one channel each: adjacent stretches of one channel are joined, with the time of the
    /// first.
    pub fn chunks(&self) -> impl Iterator<Item = (Stretch, &[u8])> {
        let same_channel = |one: &Stretch, next: &Stretch| one.channel == next.channel;
        self.stretches.chunk_by(same_channel).filter_map(|joined| {
            let (first, last) = (joined.first()?, joined.last()?);
            let start = usize::try_from(first.offset.checked_sub(self.cursor)?).ok()?;
            let end = usize::try_from(last.end().checked_sub(self.cursor)?).ok()?;
            Some((Stretch { length: last.end() - first.offset, ..*first }, self.bytes.get(start..end)?))
        })
    }

    /// When the byte at `cursor` was written; `None` if it is not on this page.
    #[must_use]
    pub fn time_of(&self, cursor: u64) -> Option<Timestamp> {
        let after = self.stretches.partition_point(|stretch| stretch.end() <= cursor);
        self.stretches.get(after).filter(|stretch| stretch.offset <= cursor).map(|stretch| stretch.timestamp)
    }
}

impl Session {
    /// Opens the session `id` in `sessions`.
    pub(super) fn open(id: SessionId, sessions: &Folder) -> Result<Self, StoreError> {
        let failed = |file| {
            let id = id.to_string();
            move |source| StoreError::File { id, file, source }
        };
        let files = Files::open(&id, sessions).map_err(failed(FOLDER))?;
        match read_json::<Meta>(&files, file::META) {
            Ok(Some(meta)) => Ok(Self { id, files, meta }),
            // A session that is being created or removed has no meta.json.
            Ok(None) => Err(StoreError::NotFound(id.to_string())),
            Err(source) => Err(failed(file::META)(source)),
        }
    }

    /// Its id.
    #[must_use]
    pub fn id(&self) -> &SessionId {
        &self.id
    }

    /// Its metadata.
    #[must_use]
    pub fn meta(&self) -> &Meta {
        &self.meta
    }

    /// Opens the additional file `name` of the session.
    pub fn beside(&self, name: &str) -> io::Result<File> {
        self.files.open_file(name)
    }

    fn failed(&self, file: &'static str) -> impl FnOnce(io::Error) -> StoreError {
        move |source| match source.kind() {
            // Removed meanwhile by a sweep.
            io::ErrorKind::NotFound if self.files.modified(file::META).is_none() => {
                StoreError::NotFound(self.id.to_string())
            }
            _ => StoreError::File { id: self.id.to_string(), file, source },
        }
    }

    /// Its status. A session whose owner died without recording an end is `failed`, as shown by the owner's PID and
    /// start time, and by its lock, which also works across PID namespaces.
    ///
    /// # Errors
    /// [`StoreError::File`] if `final.json` is not readable.
    pub fn status(&self, now: Timestamp) -> Result<Status, StoreError> {
        // Checked first: a dead owner writes nothing more.
        let has_owner = self.has_owner();
        // An incomplete file is left by a power failure: the end was not recorded.
        let last = match read_json::<Final>(&self.files, file::FINAL) {
            Err(error) if is_torn(&error) => None,
            read => read.map_err(self.failed(file::FINAL))?,
        };
        if last.is_none() && has_owner {
            let state = if self.meta.pid.is_none() { State::Starting } else { State::Running };
            return Ok(Status { state, last, expires_at: None });
        }
        let ended = match &last {
            Some(last) => last.ended_at,
            None => self.last_touched().max(self.meta.started_at),
        };
        let kept = SignedDuration::from_secs(i64::try_from(self.meta.retention_seconds).unwrap_or(i64::MAX));
        let expires_at = ended.checked_add(kept).unwrap_or(Timestamp::MAX);
        let state = match &last {
            _ if expires_at <= now => State::Expired,
            Some(last) => last.state,
            None => State::Failed,
        };
        Ok(Status { state, last, expires_at: Some(expires_at) })
    }

    fn has_owner(&self) -> bool {
        let is_locked =
            || self.files.open_file(file::LOCK).is_ok_and(|file| lock::is_held(&file).unwrap_or(false));
        self.meta.owner.as_ref().is_some_and(Identity::is_alive) || is_locked()
    }

    /// When one of its files was last changed.
    fn last_touched(&self) -> Timestamp {
        let files = [file::META, file::OUTPUT, file::INDEX].map(|name| self.files.modified(name));
        let newest = files.into_iter().flatten().max();
        newest.and_then(|second| Timestamp::from_second(second).ok()).unwrap_or(Timestamp::MIN)
    }

    /// Its current size in bytes.
    pub fn end(&self) -> Result<u64, StoreError> {
        let index = self.files.open_file(file::INDEX).map_err(self.failed(file::INDEX))?;
        let output = self.files.open_file(file::OUTPUT).map_err(self.failed(file::OUTPUT))?;
        self.known_end(&output, &index)
    }

    /// The size of `output.bin`, or 0 if the index has no line about it.
    fn known_end(&self, output: &File, index: &File) -> Result<u64, StoreError> {
        let end = output.metadata().map_err(self.failed(file::OUTPUT))?.len();
        let is_known = end == 0 || {
            let first = index::stretches(index, 0, 1).map_err(self.failed(file::INDEX))?;
            !first.is_empty()
        };
        Ok(if is_known { end } else { 0 })
    }

    /// The number of stretches in the index, and the last one.
    pub fn stretches(&self) -> Result<(u64, Option<Stretch>), StoreError> {
        let index = self.files.open_file(file::INDEX).map_err(self.failed(file::INDEX))?;
        let counted = index::count(&index).and_then(|count| Ok((count, index::last(&index)?)));
        counted.map_err(self.failed(file::INDEX))
    }

    /// At most `most` bytes from `cursor` on.
    ///
    /// # Errors
    /// [`StoreError::PastTheEnd`]; [`StoreError::NotFound`] if the session was removed meanwhile;
    /// [`StoreError::File`].
    pub fn read(&self, cursor: u64, most: usize, now: Timestamp) -> Result<Page, StoreError> {
        // Checked first: if it has ended, no more output follows.
        let is_over = !self.status(now)?.state.is_active();
        let open = |name| self.files.open_file(name).map_err(|error| (name, error));
        let opened = open(file::OUTPUT).and_then(|output| Ok((output, open(file::INDEX)?)));
        let (output, index) = match opened {
            Ok(opened) => opened,
            // The session has a meta.json, but no other files yet.
            Err((_, error)) if error.kind() == io::ErrorKind::NotFound && cursor == 0 && !is_over => {
                return Ok(Page { cursor, bytes: Vec::new(), stretches: Vec::new(), eof: false });
            }
            Err((name, error)) => return Err(self.failed(name)(error)),
        };
        let end = self.known_end(&output, &index)?;
        if cursor > end {
            return Err(StoreError::PastTheEnd { cursor, end });
        }
        let wanted = usize::try_from(end - cursor).unwrap_or(usize::MAX).min(most);
        let mut bytes = vec![0; wanted];
        read::read_exact_at(&output, &mut bytes, cursor).map_err(self.failed(file::OUTPUT))?;
        let to = cursor + wanted as u64;
        let stretches = match wanted {
            0 => Vec::new(),
            _ => index::stretches(&index, cursor, to).map_err(self.failed(file::INDEX))?,
        };
        Ok(Page { cursor, bytes, stretches, eof: is_over && to == end })
    }

    /// Follows the session: reports new output, its end, and the death of its owner.
    ///
    /// Changes after this returns are reported, so read after calling it, not before.
    pub fn follow(&self) -> io::Result<Following> {
        let Some(folder) = &self.files.folder else {
            // It ended before it was packed.
            return Ok(Following { watch: None, owner: None });
        };
        let place = Place::new(&folder.path(), &[file::OUTPUT, file::FINAL]).and_writes();
        let owner = self.meta.owner.clone();
        let watch = match Watch::new([&place]) {
            Err(error) if error.kind() == io::ErrorKind::Unsupported => None,
            watch => Some(watch?),
        };
        Ok(Following { watch, owner: owner.and_then(|owner| owner.watch()) })
    }
}

/// See [`Session::follow`].
#[derive(Debug)]
pub struct Following {
    /// `None` if the system cannot report changes: then it is polled every [`TICK`].
    watch: Option<Watch>,
    owner: Option<Ending>,
}

impl Following {
    /// Waits for a possible change.
    pub async fn changed(&mut self) -> io::Result<()> {
        let changed = async {
            match &mut self.watch {
                Some(watch) => watch.changed().await,
                None => {
                    tokio::time::sleep(TICK).await;
                    Ok(())
                }
            }
        };
        let Some(owner) = &self.owner else { return changed.await };
        let dead = tokio::select! {
            changed = changed => return changed,
            dead = owner.ended() => dead,
        };
        // It dies only once.
        self.owner = None;
        dead
    }
}

/// Whether a file was read but has no valid content.
fn is_torn(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData)
}

/// Parses the file `name`; `None` if it does not exist.
fn read_json<T: DeserializeOwned>(files: &Files, name: &'static str) -> io::Result<Option<T>> {
    let file = match files.open_file(name) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut bytes = Vec::new();
    file.take(MAX_RECORD).read_to_end(&mut bytes)?;
    Ok(Some(serde_json::from_slice(&bytes)?))
}
