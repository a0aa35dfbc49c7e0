//! Drafts: small sessions in one file each, `sessions/<id>.draft`, so that a beat creates few files (README.md).
//!
//! A draft is a sequence of records, each a line with a name and a size, and then as many bytes of the session's file
//! of that name. It begins with room for `final.json`, so that a session can end on a full disk. The process that
//! writes a draft holds a lock on it, and moves the session to a folder before it gets larger than [`MAX`].

use crate::id::SessionId;
use crate::pack::{Contents, Header};
use crate::record::file;
use crate::writer::{self, InFolder};
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use sys::file::read_most;
use sys::folder::{FileInfo, Folder};
use sys::lock::{self, Lock};

/// The largest draft, in bytes: readers read all of it each time.
pub(crate) const MAX: u64 = 256 << 10;

/// The end of a draft's name, after the id.
const ENDING: &str = ".draft";

/// The size of the room for `final.json`, in bytes.
const ROOM: usize = 512;

/// A draft that is being written.
#[derive(Debug)]
pub(crate) struct Draft {
    lock: Lock,
    size: u64,
}

/// The line before the bytes of a record.
#[derive(Debug, Serialize, Deserialize)]
struct RecordHeader {
    name: String,
    size: usize,
}

/// Only a part of a record was written.
#[derive(Debug)]
pub(crate) struct Torn {
    /// How many of the last record's bytes were written.
    pub(crate) written: usize,
    /// The cause.
    pub(crate) source: io::Error,
}

/// The name of the draft of `id` in the folder of sessions.
pub(crate) fn name(id: &SessionId) -> String {
    format!("{id}{ENDING}")
}

/// The session whose draft is called `name`.
pub(crate) fn id_of(name: &OsStr) -> Option<SessionId> {
    SessionId::parse(name.to_str()?.strip_suffix(ENDING)?).ok()
}

impl Draft {
    /// Creates the draft of `id` in `sessions`, with the metadata `meta`.
    pub(crate) fn create(sessions: &Folder, id: &SessionId, meta: &[u8]) -> io::Result<Self> {
        let name = name(id);
        let file = sessions.create_room(&name, 0)?;
        let lock = lock::try_take(file)?.ok_or(io::ErrorKind::ResourceBusy)?;
        let mut draft = Self { lock, size: 0 };
        let room = [room(file::ROOM).as_bytes(), &[b' '; ROOM]].concat();
        draft.write(room, &[(file::META, meta)]).map_err(|torn| {
            let _best_effort = sessions.remove_file(&name);
            torn.source
        })?;
        Ok(draft)
    }

    /// Whether `more` bytes fit into it.
    pub(crate) fn fits(&self, more: usize) -> bool {
        // With their lines.
        self.size + more as u64 + 128 <= MAX
    }

    /// Whether it was removed from `sessions`.
    pub(crate) fn is_removed(&self, sessions: &Folder, id: &SessionId) -> bool {
        sessions.is_named(&name(id), self.file()).is_ok_and(|is_there| !is_there)
    }

    pub(crate) fn file(&self) -> &File {
        self.lock.file()
    }

    /// Appends `records`, each to the session's file of that name. A record of `meta.json` replaces it.
    ///
    /// # Errors
    /// After an error nothing more may be appended.
    pub(crate) fn append(&mut self, records: &[(&str, &[u8])]) -> Result<(), Torn> {
        self.write(Vec::new(), records)
    }

    fn write(&mut self, mut bytes: Vec<u8>, records: &[(&str, &[u8])]) -> Result<(), Torn> {
        bytes.reserve(records.iter().map(|(_, body)| body.len() + 64).sum());
        for (name, body) in records {
            let line = RecordHeader { name: (*name).to_owned(), size: body.len() };
            serde_json::to_writer(&mut bytes, &line)
                .map_err(|source| Torn { written: 0, source: source.into() })?;
            bytes.push(b'\n');
            bytes.extend_from_slice(body);
        }
        let last = bytes.len() - records.last().map_or(0, |(_, body)| body.len());
        let mut done = 0;
        while done < bytes.len() {
            match self.lock.file().write(&bytes[done..]) {
                Ok(0) => return Err(torn(done, last, io::ErrorKind::WriteZero.into())),
                Ok(written) => done += written,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(torn(done, last, error)),
            }
        }
        self.size += bytes.len() as u64;
        Ok(())
    }

    /// Writes `final.json`.
    pub(crate) fn finish(&mut self, last: &[u8]) -> io::Result<()> {
        if last.len() > ROOM {
            return self.append(&[(file::FINAL, last)]).map_err(|torn| torn.source);
        }
        let line = room(file::FINAL);
        // Written last: this header turns the reserved space into final.json.
        self.file().write_all_at(last, line.len() as u64)?;
        self.file().write_all_at(line.as_bytes(), 0)
    }
}

fn torn(done: usize, last: usize, source: io::Error) -> Torn {
    Torn { written: done.saturating_sub(last), source }
}

/// The header of the reserved space; it has the same length for either `name`.
fn room(name: &str) -> String {
    let line = format!(r#"{{"name":"{name}","size":{ROOM}}}"#);
    format!("{line:<40}\n")
}

/// Opens the draft of `id` in `sessions` for reading.
///
/// # Errors
/// [`io::ErrorKind::NotFound`] if there is none.
pub(crate) fn open(sessions: &Folder, id: &SessionId) -> io::Result<(File, FileInfo)> {
    sessions.open_seen(&name(id))
}

/// The session's files in the draft `file`, `meta.json` last.
pub(crate) fn read(file: &File, seen: FileInfo) -> io::Result<Contents> {
    // A long message in `final.json` may exceed the limit.
    let bytes = read_most(file, seen.size, 2 * MAX)?;
    Ok(Contents(parse(&bytes, seen.modified)))
}

/// The folder that a draft moved to.
#[derive(Debug)]
pub(crate) struct Moved {
    pub(crate) output: File,
    pub(crate) index: File,
    pub(crate) rest: InFolder,
}

/// Moves the draft of `id` in `sessions` to a folder. With `durable`, the folder is on disk when the draft is removed.
///
/// # Errors
/// The draft stays as it is.
pub(crate) fn into_folder(sessions: &Folder, id: &SessionId, durable: bool) -> io::Result<Moved> {
    let (file, seen) = open(sessions, id)?;
    let contents = read(&file, seen)?;
    // Readers see the folder once it is complete.
    let hidden = format!(".{id}.new");
    sessions.create_folder(&hidden)?;
    let moved = sessions.open_folder(&hidden).and_then(|folder| {
        let moved = fill(folder, contents, durable);
        moved.and_then(|moved| sessions.rename(&hidden, id.as_str()).map(|()| moved))
    });
    let moved = moved.inspect_err(|_| {
        let _best_effort = discard(sessions, &hidden);
    })?;
    if durable {
        sessions.sync()?;
    }
    sessions.remove_file(name(id))?;
    Ok(moved)
}

/// Writes `contents` to the new session folder `folder`.
fn fill(folder: Folder, contents: Contents, durable: bool) -> io::Result<Moved> {
    let lock = lock::try_take(folder.append_file(file::LOCK)?)?.ok_or(io::ErrorKind::ResourceBusy)?;
    let room = folder.create_room(file::ROOM, writer::ROOM)?;
    let mut files = Vec::new();
    for (header, bytes) in contents.0 {
        let mut file = folder.create_file(&header.name)?;
        file.write_all(&bytes)?;
        if durable {
            file.sync_data()?;
        }
        files.push((header.name, file));
    }
    if durable {
        folder.sync()?;
    }
    let mut take = |name: &str| {
        let place = files.iter().position(|(found, _)| found == name).ok_or(io::ErrorKind::NotFound)?;
        Ok::<File, io::Error>(files.swap_remove(place).1)
    };
    let (output, index) = (take(file::OUTPUT)?, take(file::INDEX)?);
    take(file::META)?;
    Ok(Moved { output, index, rest: InFolder { folder, room, beside: files, _lock: lock } })
}

/// Removes the folder `name`, which was not completed.
fn discard(sessions: &Folder, name: &str) -> io::Result<()> {
    let folder = sessions.open_folder(name)?;
    folder.names()?.into_iter().try_for_each(|name| folder.remove_file(name))?;
    sessions.remove_folder(name)
}

fn parse(mut rest: &[u8], modified: i64) -> Vec<(Header, Vec<u8>)> {
    let mut files = vec![(file::OUTPUT.to_owned(), Vec::new()), (file::INDEX.to_owned(), Vec::new())];
    let mut meta = None;
    // A record that is incomplete, or was lost when the power failed, is the last one.
    while let Some(end) = memchr::memchr(b'\n', rest)
        && let Ok(line) = serde_json::from_slice::<RecordHeader>(&rest[..end])
    {
        let body = &rest[end + 1..];
        let (bytes, after) = body.split_at(line.size.min(body.len()));
        let is_whole = bytes.len() == line.size;
        match &*line.name {
            file::ROOM => {}
            file::META => meta = is_whole.then(|| bytes.to_vec()).or(meta),
            file::FINAL if is_whole => files.push((line.name, [bytes.trim_ascii_end(), b"\n"].concat())),
            file::FINAL => {}
            _ => match files.iter_mut().find(|(name, _)| *name == line.name) {
                Some((_, content)) => content.extend_from_slice(bytes),
                None => files.push((line.name, bytes.to_vec())),
            },
        }
        rest = after;
    }
    let meta = meta.map(|meta| (file::META.to_owned(), meta));
    let with_header = |(name, bytes): (String, Vec<u8>)| {
        (Header { name, size: bytes.len(), modified, session: None }, bytes)
    };
    files.into_iter().chain(meta).map(with_header).collect()
}

#[cfg(test)]
mod tests;
