//! Writing a session: the one process that holds `append.lock` appends to `output.bin` and `index.jsonl`.
//!
//! # What a reader can rely on
//! A stretch is written to the index *before* the first of its bytes that changes the channel is written to the
//! output. So every byte of `output.bin` belongs to the stretch that covers it or, at the end, to the channel of
//! the last stretch; a stretch that promises more than there is, is cut at the end of `output.bin`.
//!
//! A stretch has the time at which its first byte came. Bytes of one channel in a row share a stretch until it has
//! 64 KiB or is 50 ms old: one line then stands for many small reads, and most appends are one `write`. Bytes that have
//! no line yet came less than 50 ms after the time of the last line, so that it dates them too.

use super::id::SessionId;
use super::record::{Channel, Final, Lost, Meta, SCHEMA_VERSION, State, Stretch, file};
use super::store::StoreError;
use jiff::{SignedDuration, Timestamp};
use std::fs::File;
use std::io::{self, Write};
use sys::folder::Folder;
use sys::lock::Lock;

/// A stretch is written down when it has this many bytes,
const STRETCH: u64 = 64 * 1024;
/// or is this old.
const AGE: SignedDuration = SignedDuration::from_millis(50);

/// How many bytes `final.json` has, at most, as long as no message in it is very long.
const ROOM: usize = 512;

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// With this code.
    Exited(i32),
    /// By this signal, as `SIGINT`.
    Signaled(String),
    /// It could not be started, or something of ours went wrong.
    Failed(String),
}

/// A session that is being written.
#[derive(Debug)]
pub struct Writer {
    id: SessionId,
    sessions: Folder,
    folder: Folder,
    meta: Meta,
    output: File,
    index: File,
    /// Bytes in `output.bin`.
    end: u64,
    /// Bytes that the index speaks of.
    covered: u64,
    /// The channel and the time of the last stretch in the index.
    last: Option<(Channel, Timestamp)>,
    /// When the first byte came that the index does not speak of, if there is one. It is of the last stretch's channel.
    uncovered: Option<Timestamp>,
    /// What becomes `final.json`, so that a disk that is full by then has room for it.
    room: File,
    /// Held for as long as this lives; the kernel lets go of it when we die.
    _lock: Lock,
}

impl Writer {
    /// Begins the session `id`, whose `folder` is in `sessions`.
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
        // Whoever died before its meta.json leaves at most empty files here.
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
        // Last, since with it there is a session: who sees one can read it, and there is none that cannot be written.
        write(&folder, file::META, &meta, false).map_err(failed(file::META))?;
        Ok(Self {
            id,
            sessions,
            folder,
            meta,
            output,
            index,
            end: 0,
            covered: 0,
            last: None,
            uncovered: None,
            room,
            _lock: lock,
        })
    }

    /// The session's id.
    #[must_use]
    pub fn id(&self) -> &SessionId {
        &self.id
    }

    /// What the session is.
    #[must_use]
    pub fn meta(&self) -> &Meta {
        &self.meta
    }

    /// How many bytes it has.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Writes down that the command runs.
    pub fn started(&mut self, pid: u32) -> io::Result<()> {
        self.meta.pid = pid;
        write(&self.folder, file::META, &self.meta, false)
    }

    /// Writes down that the output comes another way than was thought.
    pub fn transport(&mut self, mode: super::record::TransportMode) -> io::Result<()> {
        self.meta.transport_mode = mode;
        write(&self.folder, file::META, &self.meta, false)
    }

    /// Keeps `bytes` that came at `at`. Returns the stretches that were written down.
    ///
    /// # Errors
    /// What the system says. Some of the bytes may have been kept then: [`Self::end`] counts them. After an error
    /// nothing more may be appended.
    pub fn append(&mut self, channel: Channel, bytes: &[u8], at: Timestamp) -> io::Result<Vec<Stretch>> {
        if bytes.is_empty() {
            return Ok(Vec::new());
        }
        let after = self.end + bytes.len() as u64;
        let goes_on = self.last.is_some_and(|(last, since)| {
            last == channel && after - self.covered < STRETCH && is_near(since, at)
        });
        let stretches = if goes_on {
            self.uncovered.get_or_insert(at);
            Vec::new()
        } else {
            self.cover(channel, after, at)?
        };
        let mut rest = bytes;
        while !rest.is_empty() {
            match self.output.write(rest) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => {
                    self.end += written as u64;
                    rest = &rest[written..];
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(stretches)
    }

    /// Writes down every byte up to `to`, of which those after the end come at `at`.
    fn cover(&mut self, channel: Channel, to: u64, at: Timestamp) -> io::Result<Vec<Stretch>> {
        let mut stretches = Vec::with_capacity(2);
        let stretch =
            |from, to, channel, timestamp| Stretch { offset: from, length: to - from, channel, timestamp };
        match (self.last, self.uncovered) {
            (Some((last, _)), Some(since)) if last == channel && is_near(since, at) => {
                stretches.push(stretch(self.covered, to, channel, since));
            }
            (Some((last, _)), Some(since)) => {
                stretches.push(stretch(self.covered, self.end, last, since));
                stretches.push(stretch(self.end, to, channel, at));
            }
            _ => stretches.push(stretch(self.covered, to, channel, at)),
        }
        self.write_down(&stretches)?;
        Ok(stretches)
    }

    /// Appends lines to the index.
    fn write_down(&mut self, stretches: &[Stretch]) -> io::Result<()> {
        let mut lines = Vec::with_capacity(256);
        for stretch in stretches {
            serde_json::to_writer(&mut lines, stretch)?;
            lines.push(b'\n');
        }
        self.index.write_all(&lines)?;
        if let Some(last) = stretches.last() {
            self.covered = last.end();
            self.last = Some((last.channel, last.timestamp));
            self.uncovered = None;
        }
        Ok(())
    }

    /// What has to be brought to the disk while this goes on writing.
    pub(super) fn unsynced(&self) -> io::Result<Unsynced> {
        Ok(Unsynced {
            output: self.output.try_clone()?,
            index: self.index.try_clone()?,
            folder: self.folder.try_clone()?,
            sessions: self.sessions.try_clone()?,
        })
    }

    /// Makes the file `name` in the session's folder, for appending, beside those that every session has. It lives and
    /// goes with the session.
    pub fn beside(&self, name: &str) -> io::Result<File> {
        self.folder.create_file(name)
    }

    /// Whether the files that are written have been removed, so that nobody will read them.
    #[must_use]
    pub fn is_removed(&self) -> bool {
        self.folder.is_named(file::OUTPUT, &self.output).is_ok_and(|is_there| !is_there)
    }

    /// Writes `final.json`, and has all of the session survive a power failure.
    ///
    /// # Errors
    /// What the system says: then the session has no end, and is found to be `failed`.
    pub fn finish(self, end: &End, lost: Option<Lost>, at: Timestamp) -> io::Result<()> {
        self.finish_from(end, lost, at, OnDisk::Nothing)
    }

    /// As [`Self::finish`], where some of that is done already, or is not wanted.
    pub(super) fn finish_from(
        mut self,
        end: &End,
        lost: Option<Lost>,
        at: Timestamp,
        on_disk: OnDisk,
    ) -> io::Result<()> {
        if let (Some((channel, _)), Some(timestamp), None) = (self.last, self.uncovered, &lost) {
            let (offset, length) = (self.covered, self.end - self.covered);
            self.write_down(&[Stretch { offset, length, channel, timestamp }])?;
        }
        let (state, exit_code, signal, error) = match end {
            End::Exited(code) => (State::Exited, Some(*code), None, None),
            End::Signaled(signal) => (State::Signaled, None, Some(signal.clone()), None),
            End::Failed(error) => (State::Failed, None, None, Some(error.clone())),
        };
        let last = Final {
            schema_version: SCHEMA_VERSION.to_owned(),
            session_id: self.id.to_string(),
            state,
            ended_at: at,
            exit_code,
            signal,
            error,
            lost,
        };
        let mut bytes = serde_json::to_vec_pretty(&last)?;
        bytes.push(b'\n');
        let unsynced = self.unsynced()?;
        if on_disk == OnDisk::Nothing {
            unsynced.sync_begin()?;
        }
        if self.end > 0 && on_disk != OnDisk::Unwanted {
            unsynced.sync_output()?;
        }
        // Over what is there: that needs no room.
        self.room.write_all(&bytes)?;
        self.room.set_len(bytes.len() as u64)?;
        if on_disk == OnDisk::Unwanted {
            return self.folder.rename(file::ROOM, file::FINAL);
        }
        self.room.sync_all()?;
        self.folder.rename(file::ROOM, file::FINAL)?;
        self.folder.sync()
    }
}

/// How much of a session survives a power failure already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OnDisk {
    /// Nothing.
    Nothing,
    /// What it is, and that it is.
    Begin,
    /// Nothing, and nothing has to.
    Unwanted,
}

/// Files of a session that have to reach the disk.
#[derive(Debug)]
pub(super) struct Unsynced {
    output: File,
    index: File,
    folder: Folder,
    sessions: Folder,
}

impl Unsynced {
    /// Brings there what the session is, and that it is.
    pub(super) fn sync_begin(&self) -> io::Result<()> {
        sync(&self.folder, file::META)?;
        self.folder.sync()?;
        self.sessions.sync()
    }

    /// Brings there what the command wrote.
    pub(super) fn sync_output(&self) -> io::Result<()> {
        self.output.sync_data()?;
        self.index.sync_data()
    }
}

/// Brings the file `name` to the disk. What somebody has put in its place meanwhile is not ours to bring there.
fn sync(folder: &Folder, name: &str) -> io::Result<()> {
    folder.open_to_sync(name).map_or(Ok(()), |file| file.sync_all())
}

fn write(folder: &Folder, name: &str, value: &impl serde::Serialize, durable: bool) -> io::Result<()> {
    let mut bytes = serde_json::to_vec_pretty(value)?;
    bytes.push(b'\n');
    folder.write(name, &bytes, durable)
}

/// Whether one stretch may have bytes that came at both times. The clock may have been set back between them.
fn is_near(one: Timestamp, other: Timestamp) -> bool {
    other.duration_since(one).abs() < AGE
}
