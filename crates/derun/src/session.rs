//! Reads a session, also while it is written: its metadata, its status, and its output from a cursor on.
//!
//! A cursor is an offset in the output. Reading costs the same at every offset.

#[cfg(unix)]
use super::draft;
use super::id::SessionId;
use super::index;
use super::parts::{self, Parts};
use super::record::{Final, Gap, Meta, State, Stretch, file};
use super::session_files::Files;
use super::store::{FOLDER, StoreError};
use jiff::{SignedDuration, Timestamp};
use serde::de::DeserializeOwned;
use std::fs::File;
use std::io;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use sys::folder::Folder;
use sys::identity::{ExitWatch, Identity};
use sys::lock;
use sys::watch::{Watch, WatchedFolder};

/// The maximum size of meta.json or final.json, in bytes, and the size up to which one call reads it.
const MAX_RECORD: u64 = 16 * 1024 * 1024;
const USUAL_RECORD: u64 = 4095;

/// The polling interval if the system cannot report changes.
const TICK: Duration = Duration::from_millis(100);

/// A session, opened for reading.
#[derive(Debug)]
pub struct Session {
    id: SessionId,
    files: Files,
    meta: Meta,
    /// How it ended, and its output: once it has ended, neither changes.
    last: OnceLock<Final>,
    parts: OnceLock<Arc<Parts>>,
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
    /// What was not kept of the output right after these bytes.
    pub gap: Option<Gap>,
    /// Whether there is no more output after these bytes, and never will be.
    pub eof: bool,
}

impl Page {
    /// The offset after the last byte.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.cursor + self.bytes.len() as u64
    }

    /// Where to continue: after the last byte, and after the gap if there is one.
    #[must_use]
    pub fn next(&self) -> u64 {
        self.gap.map_or(self.end(), Gap::end)
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
            Ok(Some(meta)) => Ok(Self { id, files, meta, last: OnceLock::new(), parts: OnceLock::new() }),
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
        let last = match self.last()? {
            // Checked before it is read again: a dead owner writes nothing more.
            None if self.has_owner() => {
                let state = if self.meta.pid.is_none() { State::Starting } else { State::Running };
                return Ok(Status { state, last: None, expires_at: None });
            }
            None => self.last()?,
            last => last,
        };
        let ended = match last {
            Some(last) => last.ended_at,
            None => self.last_touched().max(self.meta.started_at),
        };
        let kept = SignedDuration::from_secs(i64::try_from(self.meta.retention_seconds).unwrap_or(i64::MAX));
        let expires_at = ended.checked_add(kept).unwrap_or(Timestamp::MAX);
        let state = match last {
            _ if expires_at <= now => State::Expired,
            Some(last) => last.state,
            None => State::Failed,
        };
        Ok(Status { state, last: last.cloned(), expires_at: Some(expires_at) })
    }

    /// How it ended, if that was recorded.
    fn last(&self) -> Result<Option<&Final>, StoreError> {
        if self.last.get().is_none() {
            let last = match read_json::<Final>(&self.files, file::FINAL) {
                // An incomplete file is left by a power failure: the end was not recorded.
                Err(error) if is_torn(&error) => None,
                read => read.map_err(self.failed(file::FINAL))?,
            };
            let Some(last) = last else { return Ok(None) };
            _ = self.last.set(last);
        }
        Ok(self.last.get())
    }

    fn has_owner(&self) -> bool {
        let is_locked =
            || self.files.open_file(file::LOCK).is_ok_and(|file| lock::is_held(&file).unwrap_or(false));
        self.meta.owner.as_ref().is_some_and(Identity::is_alive) || is_locked()
    }

    /// When one of its files was last changed.
    fn last_touched(&self) -> Timestamp {
        let files = [file::META, file::OUTPUT, file::INDEX].map(|name| self.files.modified(name));
        let tails = if self.is_limited() { self.files.tails().unwrap_or_default() } else { Vec::new() };
        let tails = tails.into_iter().map(|start| self.files.modified(&parts::names(start)[0]));
        let newest = files.into_iter().chain(tails).flatten().max();
        newest.and_then(|second| Timestamp::from_second(second).ok()).unwrap_or(Timestamp::MIN)
    }

    /// The size of its output so far, in bytes.
    pub fn end(&self) -> Result<u64, StoreError> {
        Ok(self.parts()?.end())
    }

    /// The output that was not kept so far.
    pub fn gap(&self) -> Result<Option<Gap>, StoreError> {
        Ok(self.parts()?.gap())
    }

    fn parts(&self) -> Result<Arc<Parts>, StoreError> {
        self.last()?;
        self.open_parts().map_err(|(file, error)| self.failed(file)(error))
    }

    /// Its output as it is now, with the file that is not readable if that fails.
    fn open_parts(&self) -> Result<Arc<Parts>, (&'static str, io::Error)> {
        if let Some(parts) = self.parts.get() {
            return Ok(Arc::clone(parts));
        }
        let has_ended = self.last.get().is_some();
        let parts = Arc::new(Parts::open(&self.files, self.is_limited())?);
        if has_ended {
            _ = self.parts.set(Arc::clone(&parts));
        }
        Ok(parts)
    }

    fn is_limited(&self) -> bool {
        self.meta.max_bytes.is_some()
    }

    /// The number of stretches in the index, and the last one.
    pub fn stretches(&self) -> Result<(u64, Option<Stretch>), StoreError> {
        let (mut all, mut newest) = (0, None);
        for part in &self.parts()?.0 {
            let counted = index::count(&part.index).and_then(|count| Ok((count, index::last(&part.index)?)));
            let (count, last) = counted.map_err(self.failed(file::INDEX))?;
            (all, newest) = (all + count, last.or(newest));
        }
        Ok((all, newest))
    }

    /// At most `most` bytes from `cursor` on, up to a gap.
    ///
    /// # Errors
    /// [`StoreError::PastTheEnd`]; [`StoreError::NotFound`] if the session was removed meanwhile;
    /// [`StoreError::File`].
    pub fn read(&self, cursor: u64, most: usize, now: Timestamp) -> Result<Page, StoreError> {
        // Checked first: if it has ended, no more output follows.
        let is_over = !self.status(now)?.state.is_active();
        let mut page = Page { cursor, bytes: Vec::new(), stretches: Vec::new(), gap: None, eof: false };
        let parts = match self.open_parts() {
            Ok(parts) => parts,
            // The session has a meta.json, but no other files yet.
            Err((_, error)) if error.kind() == io::ErrorKind::NotFound && cursor == 0 && !is_over => {
                return Ok(page);
            }
            Err((name, error)) => return Err(self.failed(name)(error)),
        };
        let end = parts.end();
        if cursor > end {
            return Err(StoreError::PastTheEnd { cursor, end });
        }
        let to = cursor.saturating_add(most as u64);
        for part in &parts.0 {
            let (at, to) = (page.end(), part.end.min(to));
            if (part.start..to).contains(&at) {
                let Page { bytes, stretches, .. } = &mut page;
                part.read(at, to, bytes, stretches).map_err(|(file, error)| self.failed(file)(error))?;
            }
        }
        page.gap = parts.gap_at(page.end());
        page.eof = is_over && page.end() == end;
        Ok(page)
    }

    /// Follows the session: reports new output, its end, and the death of its owner.
    ///
    /// Changes after this returns are reported, so read after calling it, not before.
    pub fn follow(&self) -> io::Result<Following> {
        #[cfg(unix)]
        if self.files.is_draft() {
            let place = self.files.sessions.path().join(draft::name(&self.id));
            let draft = Some(Files::open(&self.id, &self.files.sessions)?);
            let place = WatchedFolder::of(&place).map(WatchedFolder::and_writes);
            let following = Following { watch: watch(place)?, owner: self.owner(), draft };
            // It may have moved before it was watched.
            if self.files.is_draft() {
                return Ok(following);
            }
        }
        let Some(folder) = self.files.folder() else {
            // It ended before it was packed.
            return Ok(Following {
                watch: None,
                owner: None,
                #[cfg(unix)]
                draft: None,
            });
        };
        // All files, if output may continue in others.
        let names: &'static [&'static str] =
            if self.is_limited() { &[] } else { &[file::OUTPUT, file::FINAL] };
        let place = WatchedFolder::new(&folder.path(), names).and_writes();
        Ok(Following {
            watch: watch(Some(place))?,
            owner: self.owner(),
            #[cfg(unix)]
            draft: None,
        })
    }

    fn owner(&self) -> Option<ExitWatch> {
        self.meta.owner.as_ref().and_then(Identity::watch)
    }
}

/// Watches `place`; `None` if the system cannot report changes.
fn watch(place: Option<WatchedFolder>) -> io::Result<Option<Watch>> {
    match Watch::new(place) {
        Err(error) if error.kind() == io::ErrorKind::Unsupported => Ok(None),
        watch => watch.map(Some),
    }
}

/// See [`Session::follow`].
#[derive(Debug)]
pub struct Following {
    /// `None` if the system cannot report changes: then it is polled every [`TICK`].
    watch: Option<Watch>,
    owner: Option<ExitWatch>,
    /// A draft, which may move to a folder.
    #[cfg(unix)]
    draft: Option<Files>,
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
        let (is_dead, changed) = match &self.owner {
            None => (false, changed.await),
            Some(owner) => tokio::select! {
                changed = changed => (false, changed),
                dead = owner.ended() => (true, dead),
            },
        };
        if is_dead {
            // It dies only once.
            self.owner = None;
        }
        #[cfg(unix)]
        self.follow_draft()?;
        changed
    }

    /// Watches the folder that a draft has moved to.
    #[cfg(unix)]
    fn follow_draft(&mut self) -> io::Result<()> {
        if let Some(files) = self.draft.take_if(|files| !files.is_draft())
            && let Some(folder) = files.folder()
        {
            let place = WatchedFolder::new(&folder.path(), &[]).and_writes();
            self.watch = watch(Some(place))?;
        }
        Ok(())
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
    let bytes = sys::file::read_most(&file, USUAL_RECORD, MAX_RECORD)?;
    Ok(Some(serde_json::from_slice(&bytes)?))
}
