//! Reading a session, also while it is written: what it is, how far it is, and its bytes from a cursor on.
//!
//! A cursor is a number of bytes from the beginning of `output.bin`. Reading costs the same wherever it points to.

use super::id::SessionId;
use super::index;
use super::record::{Final, Meta, State, Stretch, file};
use super::store::StoreError;
use jiff::{SignedDuration, Timestamp};
use serde::de::DeserializeOwned;
use std::fs::File;
use std::io::{self, Read};
use std::time::Duration;
use sys::folder::Folder;
use sys::identity::{Ending, Identity};
use sys::watch::{Place, Watch};
use sys::{file as read, lock};

/// The largest meta.json or final.json that is read.
const MAX_RECORD: u64 = 16 * 1024 * 1024;

/// Where the system does not tell of changes, they are looked for this often.
const TICK: Duration = Duration::from_millis(100);

/// A session, opened to be read.
#[derive(Debug)]
pub struct Session {
    id: SessionId,
    folder: Folder,
    meta: Meta,
}

/// How far a session is, and how it ended if it did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// How far.
    pub state: State,
    /// How it ended, as far as somebody was left to say so.
    pub last: Option<Final>,
    /// When it is removed at the earliest; not before its end.
    pub expires_at: Option<Timestamp>,
}

/// Bytes from a cursor on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// Where they begin.
    pub cursor: u64,
    /// The bytes.
    pub bytes: Vec<u8>,
    /// Which of them came from where and when: without a gap, in the order of the bytes.
    pub stretches: Vec<Stretch>,
    /// Whether there is nothing behind them, and nothing will come.
    pub eof: bool,
}

impl Page {
    /// The cursor of the byte behind the last.
    #[must_use]
    pub fn next(&self) -> u64 {
        self.cursor + self.bytes.len() as u64
    }

    /// The bytes, in portions of one channel each: neighboring stretches of one channel are joined, and have the time of
    /// the first.
    pub fn chunks(&self) -> impl Iterator<Item = (Stretch, &[u8])> {
        let same_channel = |one: &Stretch, next: &Stretch| one.channel == next.channel;
        self.stretches.chunk_by(same_channel).filter_map(|joined| {
            let (first, last) = (joined.first()?, joined.last()?);
            let start = usize::try_from(first.offset.checked_sub(self.cursor)?).ok()?;
            let end = usize::try_from(last.end().checked_sub(self.cursor)?).ok()?;
            Some((Stretch { length: last.end() - first.offset, ..*first }, self.bytes.get(start..end)?))
        })
    }

    /// When the byte at `cursor` came; `None` if it is not on this page.
    #[must_use]
    pub fn time_of(&self, cursor: u64) -> Option<Timestamp> {
        let after = self.stretches.partition_point(|stretch| stretch.end() <= cursor);
        self.stretches.get(after).filter(|stretch| stretch.offset <= cursor).map(|stretch| stretch.timestamp)
    }
}

impl Session {
    pub(super) fn open(id: SessionId, folder: Folder) -> Result<Self, StoreError> {
        match read_json::<Meta>(&folder, file::META) {
            Ok(Some(meta)) => Ok(Self { id, folder, meta }),
            // A session that is being made or removed has no meta.json: it is not there.
            Ok(None) => Err(StoreError::NotFound(id.to_string())),
            Err(source) => Err(StoreError::File { id: id.to_string(), file: file::META, source }),
        }
    }

    /// Its id.
    #[must_use]
    pub fn id(&self) -> &SessionId {
        &self.id
    }

    /// What it is.
    #[must_use]
    pub fn meta(&self) -> &Meta {
        &self.meta
    }

    /// Opens the file `name` beside those that every session has.
    pub fn beside(&self, name: &str) -> io::Result<File> {
        self.folder.open_file(name)
    }

    fn failed(&self, file: &'static str) -> impl FnOnce(io::Error) -> StoreError {
        move |source| match source.kind() {
            // Swept away while we looked.
            io::ErrorKind::NotFound if self.folder.look(file::META).is_err() => {
                StoreError::NotFound(self.id.to_string())
            }
            _ => StoreError::File { id: self.id.to_string(), file, source },
        }
    }

    /// How far it is. A session whose owner died without a word is `failed`: that is found by the owner's PID and
    /// start time, and by its lock, which also tells of an owner in another PID namespace.
    ///
    /// # Errors
    /// [`StoreError::File`] if `final.json` cannot be read.
    pub fn status(&self, now: Timestamp) -> Result<Status, StoreError> {
        // Asked first: whoever is dead now has written all that it ever will.
        let has_owner = self.has_owner();
        // One that is not whole is of a machine that lost power while it was written: nobody said how it ended.
        let last = match read_json::<Final>(&self.folder, file::FINAL) {
            Err(error) if is_torn(&error) => None,
            read => read.map_err(self.failed(file::FINAL))?,
        };
        if last.is_none() && has_owner {
            let state = if self.meta.pid == 0 { State::Starting } else { State::Running };
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
            || self.folder.open_file(file::LOCK).is_ok_and(|file| lock::is_held(&file).unwrap_or(false));
        self.meta.owner.as_ref().is_some_and(Identity::is_alive) || is_locked()
    }

    /// When a file of it was last changed.
    fn last_touched(&self) -> Timestamp {
        let files = [file::META, file::OUTPUT, file::INDEX].map(|name| self.folder.look(name));
        let newest = files.into_iter().flatten().map(|seen| seen.modified).max();
        newest.and_then(|second| Timestamp::from_second(second).ok()).unwrap_or(Timestamp::MIN)
    }

    /// How many bytes it has by now.
    ///
    /// # Errors
    /// [`StoreError::File`].
    pub fn end(&self) -> Result<u64, StoreError> {
        let index = self.folder.open_file(file::INDEX).map_err(self.failed(file::INDEX))?;
        let output = self.folder.open_file(file::OUTPUT).map_err(self.failed(file::OUTPUT))?;
        self.known_end(&output, &index)
    }

    /// The end of `output.bin`, or 0 if no line of the index says where any of it came from.
    fn known_end(&self, output: &File, index: &File) -> Result<u64, StoreError> {
        let end = output.metadata().map_err(self.failed(file::OUTPUT))?.len();
        let is_known = end == 0 || {
            let first = index::stretches(index, 0, 1).map_err(self.failed(file::INDEX))?;
            !first.is_empty()
        };
        Ok(if is_known { end } else { 0 })
    }

    /// How many stretches the index has, and the last of them.
    ///
    /// # Errors
    /// [`StoreError::File`].
    pub fn stretches(&self) -> Result<(u64, Option<Stretch>), StoreError> {
        let index = self.folder.open_file(file::INDEX).map_err(self.failed(file::INDEX))?;
        let counted = index::count(&index).and_then(|count| Ok((count, index::last(&index)?)));
        counted.map_err(self.failed(file::INDEX))
    }

    /// At most `most` bytes from `cursor` on.
    ///
    /// # Errors
    /// [`StoreError::PastTheEnd`]; [`StoreError::NotFound`] if it was removed meanwhile; [`StoreError::File`].
    pub fn read(&self, cursor: u64, most: usize, now: Timestamp) -> Result<Page, StoreError> {
        // Asked first: behind the end of one that is over, nothing comes.
        let is_over = !self.status(now)?.state.is_active();
        let open = |name| self.folder.open_file(name).map_err(|error| (name, error));
        let opened = open(file::OUTPUT).and_then(|output| Ok((output, open(file::INDEX)?)));
        let (output, index) = match opened {
            Ok(opened) => opened,
            // Between meta.json and the first of them.
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

    /// Something that tells when there is more to see: bytes, an end, or the end of who writes it.
    ///
    /// What changes after this returns is told of, so look after it and not before.
    ///
    /// # Errors
    /// What the system says, for example that it cannot watch as many.
    pub fn follow(&self) -> io::Result<Following> {
        let place = Place::new(&self.folder.path(), &[file::OUTPUT, file::FINAL]).and_writes();
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
    /// `None` where the system does not tell: then it is looked every [`TICK`].
    watch: Option<Watch>,
    owner: Option<Ending>,
}

impl Following {
    /// Waits until there may be more to see.
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
        // It dies once.
        self.owner = None;
        dead
    }
}

/// Whether a file was read, and has no value in it.
fn is_torn(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData)
}

/// The value in the file `name`, or `None` if there is no such file.
fn read_json<T: DeserializeOwned>(folder: &Folder, name: &'static str) -> io::Result<Option<T>> {
    let file = match folder.open_file(name) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut bytes = Vec::new();
    file.take(MAX_RECORD).read_to_end(&mut bytes)?;
    Ok(Some(serde_json::from_slice(&bytes)?))
}
