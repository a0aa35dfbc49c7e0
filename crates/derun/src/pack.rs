//! Packs: ended sessions in one compressed file each, `sessions/<id>.zst`, so that many of them take little space and
//! few inodes (README.md).
//!
//! A pack is a zstd file. It begins with a skippable frame with its [`Label`], which can be read without decompressing
//! anything; then come the session's files, each after a line with its name, size and modification time. Sessions that
//! belong together share a pack, which then has a name (a hard link) for each.

use crate::draft;
use crate::id::SessionId;
use crate::record::file;
use crate::store::Store;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use sys::file::{read_most, unnamed};
use sys::folder::{FileInfo, Folder};
use sys::lock::{self, Lock};

#[cfg(test)]
mod tests;

/// What is added to an id.
const ENDING: &str = ".zst";

/// The magic number of a skippable frame.
const SKIPPABLE: u32 = 0x184D_2A50;

/// The largest label, in bytes.
const MAX_LABEL: u32 = 4096;

/// The largest session that is packed, in bytes: packing needs it in memory.
const MAX: u64 = 256 << 20;

/// The longest line about a file, in bytes.
const MAX_HEADER: u64 = 64 << 10;

/// How many bytes are unpacked at a time.
const BLOCK: usize = 128 << 10;

/// The compression level: zstd's default.
const LEVEL: i32 = 3;

/// What retention needs to know of a pack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Label {
    /// The newest session of a group is kept longer than others.
    pub group: String,
    /// Whether what ran in it failed.
    pub failed: bool,
}

/// A pack.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pack {
    /// Its oldest session.
    pub id: SessionId,
    /// The other sessions in it.
    pub others: Vec<SessionId>,
    /// Its size in bytes.
    pub size: u64,
}

/// A file in a pack.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Header {
    pub(crate) name: String,
    pub(crate) size: usize,
    pub(crate) modified: i64,
    /// The session, if the pack has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) session: Option<SessionId>,
}

/// An ended session that is locked, to be packed.
struct Ended<'a> {
    id: &'a SessionId,
    /// `None` if it is a draft.
    folder: Option<Folder>,
    contents: Contents,
    _lock: Lock,
}

/// The contents of a pack or draft.
#[derive(Debug)]
pub(crate) struct Contents(pub(crate) Vec<(Header, Vec<u8>)>);

impl Contents {
    /// Opens the file `name`, as a copy that vanishes when it is closed.
    pub(crate) fn open(&self, name: &str) -> io::Result<File> {
        let (_, bytes) = self.find(name).ok_or(io::ErrorKind::NotFound)?;
        unnamed(bytes)
    }

    /// When the file `name` was last changed, in seconds since 1970.
    pub(crate) fn modified(&self, name: &str) -> Option<i64> {
        self.find(name).map(|(header, _)| header.modified)
    }

    fn find(&self, name: &str) -> Option<&(Header, Vec<u8>)> {
        self.0.iter().find(|(header, _)| header.name == name)
    }
}

/// The contents of a pack, each as an open file.
#[derive(Debug)]
pub(crate) struct Unpacked(Vec<(Header, File)>);

impl Unpacked {
    /// The file `name`, to be read at offsets: all handles share one position.
    pub(crate) fn shared(&self, name: &str) -> io::Result<File> {
        self.find(name)?.1.try_clone()
    }

    /// Opens the file `name`, as a copy that vanishes when it is closed.
    pub(crate) fn open(&self, name: &str) -> io::Result<File> {
        let (header, file) = self.find(name)?;
        unnamed(&read_most(file, header.size as u64, u64::MAX)?)
    }

    /// When the file `name` was last changed, in seconds since 1970.
    pub(crate) fn modified(&self, name: &str) -> Option<i64> {
        self.find(name).ok().map(|(header, _)| header.modified)
    }

    /// The names of its files.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(header, _)| header.name.as_str())
    }

    fn find(&self, name: &str) -> io::Result<&(Header, File)> {
        let found = self.0.iter().find(|(header, _)| header.name == name);
        found.ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

fn name(id: &SessionId) -> String {
    format!("{id}{ENDING}")
}

/// Packs the ended sessions `ids`, which belong together, in one file. With `durable`, the pack is on disk before the
/// sessions' files are removed.
///
/// Returns `false` if one of them is not a session that can be packed: it hasn't ended, or is very large. After an
/// error, all of them can still be read.
pub fn pack(store: &Store, ids: &[&SessionId], label: &Label, durable: bool) -> io::Result<bool> {
    let sessions = store.sessions();
    let (mut ended, mut left) = (Vec::new(), MAX);
    for id in ids {
        let Some(session) = Ended::read(sessions, id, ids.len() > 1, &mut left)? else { return Ok(false) };
        ended.push(session);
    }
    let Some((first, others)) = ids.split_first() else { return Ok(false) };
    let mut bytes = Vec::new();
    let label = serde_json::to_vec(label)?;
    bytes.extend(SKIPPABLE.to_le_bytes());
    bytes.extend(u32::try_from(label.len()).unwrap_or(u32::MAX).to_le_bytes());
    bytes.extend(label);
    let mut files = Vec::new();
    for (header, bytes) in ended.iter().flat_map(|session| &session.contents.0) {
        let mut line = serde_json::to_vec(header)?;
        line.push(b'\n');
        files.extend([Cow::Owned(line), Cow::Borrowed(bytes.as_slice())]);
    }
    let mut encoder = zstd::stream::write::Encoder::new(bytes, LEVEL)?;
    encoder.include_checksum(true)?;
    // For the small ones that most are, this halves the time.
    encoder.set_pledged_src_size(Some(files.iter().map(|bytes| bytes.len() as u64).sum()))?;
    files.iter().try_for_each(|bytes| encoder.write_all(bytes))?;
    sessions.write(&name(first), &encoder.finish()?, durable)?;
    for other in others {
        sessions.link(&name(first), &name(other))?;
    }
    if durable && !others.is_empty() {
        sessions.sync()?;
    }
    ended.into_iter().try_for_each(|session| session.remove(sessions))?;
    Ok(true)
}

impl<'a> Ended<'a> {
    /// Reads the session `id`, of at most `left` bytes; `None` if it can't be packed.
    fn read(
        sessions: &Folder,
        id: &'a SessionId,
        is_named: bool,
        left: &mut u64,
    ) -> io::Result<Option<Self>> {
        match draft::open(sessions, id) {
            Ok((file, seen)) => return Self::read_draft(id, file, seen, is_named, left),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        let folder = sessions.open_folder(id.as_str())?;
        let Some(lock) = lock::try_take(folder.append_file(file::LOCK)?)? else { return Ok(None) };
        if folder.look(file::FINAL).is_err() {
            return Ok(None);
        }
        let session = is_named.then_some(id);
        let Some(contents) = read_folder(&folder, session, left)? else { return Ok(None) };
        Ok(Some(Self { id, folder: Some(folder), contents, _lock: lock }))
    }

    fn read_draft(
        id: &'a SessionId,
        file: File,
        seen: FileInfo,
        is_named: bool,
        left: &mut u64,
    ) -> io::Result<Option<Self>> {
        let Some(lock) = lock::try_take(file)? else { return Ok(None) };
        let mut contents = draft::read(lock.file(), seen)?;
        let size = contents.0.iter().map(|(header, _)| header.size as u64).sum();
        let Some(rest) = left.checked_sub(size).filter(|_| contents.find(file::FINAL).is_some()) else {
            return Ok(None);
        };
        *left = rest;
        if is_named {
            contents.0.iter_mut().for_each(|(header, _)| header.session = Some(id.clone()));
        }
        Ok(Some(Self { id, folder: None, contents, _lock: lock }))
    }

    /// Removes its draft or folder.
    fn remove(self, sessions: &Folder) -> io::Result<()> {
        let Some(folder) = self.folder else { return sessions.remove_file(draft::name(self.id)) };
        for (header, _) in &self.contents.0 {
            folder.remove_file(&header.name)?;
        }
        folder.remove_file(file::LOCK)?;
        sessions.remove_folder(self.id.as_str())
    }
}

/// The files of a session, `meta.json` last; `None` if they have more than `left` bytes, which is reduced.
fn read_folder(folder: &Folder, session: Option<&SessionId>, left: &mut u64) -> io::Result<Option<Contents>> {
    let mut names: Vec<String> =
        folder.names()?.into_iter().filter_map(|name| name.into_string().ok()).collect();
    names.retain(|name| name != file::LOCK);
    names.sort_by_key(|name| name == file::META);
    let mut files = Vec::new();
    for name in names {
        let (file, seen) = folder.open_seen(&name)?;
        let bytes = read_most(&file, seen.size, *left + 1)?;
        let Some(rest) = left.checked_sub(bytes.len() as u64) else { return Ok(None) };
        *left = rest;
        files.push((
            Header { name, size: bytes.len(), modified: seen.modified, session: session.cloned() },
            bytes,
        ));
    }
    Ok(Some(Contents(files)))
}

/// Reads the session `id` from its pack in `sessions`.
pub(crate) fn unpack(sessions: &Folder, id: &SessionId) -> io::Result<Unpacked> {
    let file = sessions.open_file(&name(id))?;
    // zstd's own words mean nothing to a user.
    unpack_file(file, id).map_err(|error| if error.raw_os_error().is_some() { error } else { damaged() })
}

fn damaged() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the pack is damaged")
}

fn unpack_file(file: File, id: &SessionId) -> io::Result<Unpacked> {
    let decoder = zstd::stream::read::Decoder::new(file)?;
    // Each file has a line of its own.
    let mut pack = BufReader::with_capacity(BLOCK, decoder.take(2 * MAX));
    let mut files = Vec::new();
    loop {
        let mut line = Vec::new();
        if pack.by_ref().take(MAX_HEADER).read_until(b'\n', &mut line)? == 0 {
            return Ok(Unpacked(files));
        }
        if line.last() != Some(&b'\n') {
            return Err(damaged());
        }
        let header: Header = serde_json::from_slice(&line)?;
        let copied = if header.session.as_ref().is_none_or(|session| session == id) {
            let mut file = unnamed(&[])?;
            let copied = copy(&mut pack, header.size, &mut file)?;
            files.push((header, file));
            copied
        } else {
            copy(&mut pack, header.size, &mut io::sink())?
        };
        if !copied {
            return Err(damaged());
        }
    }
}

/// Copies `size` bytes; `false` if there are fewer.
fn copy(from: &mut impl BufRead, size: usize, to: &mut impl Write) -> io::Result<bool> {
    let mut left = size;
    while left > 0 {
        let block = from.fill_buf()?;
        let block = &block[..block.len().min(left)];
        if block.is_empty() {
            return Ok(false);
        }
        to.write_all(block)?;
        let length = block.len();
        from.consume(length);
        left -= length;
    }
    Ok(true)
}

/// All packs, oldest session first.
pub fn list(store: &Store) -> io::Result<Vec<Pack>> {
    let sessions = store.sessions();
    let mut found = Vec::new();
    for name in sessions.names()? {
        let Some(id) = id_of(&name) else { continue };
        // It may be gone by now.
        if let Ok(seen) = sessions.look(&name)
            && !seen.is_folder
        {
            found.push((id, seen));
        }
    }
    found.sort_unstable_by(|(one, _), (next, _)| one.cmp(next));
    let (mut packs, mut known): (Vec<Pack>, HashMap<u64, usize>) = (Vec::new(), HashMap::new());
    for (id, seen) in found {
        match known.get(&seen.inode).and_then(|place| packs.get_mut(*place)) {
            Some(pack) => pack.others.push(id),
            None => {
                known.insert(seen.inode, packs.len());
                packs.push(Pack { id, others: Vec::new(), size: seen.size });
            }
        }
    }
    Ok(packs)
}

/// The session whose pack is called `name`.
pub(crate) fn id_of(name: &OsStr) -> Option<SessionId> {
    SessionId::parse(name.to_str()?.strip_suffix(ENDING)?).ok()
}

/// The label of a pack.
pub fn label(store: &Store, id: &SessionId) -> io::Result<Label> {
    let mut file = store.sessions().open_file(&name(id))?;
    let mut number = || -> io::Result<u32> {
        let mut bytes = [0; 4];
        file.read_exact(&mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    };
    let (magic, length) = (number()?, number()?);
    if magic != SKIPPABLE || length > MAX_LABEL {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "the pack has no label"));
    }
    let mut label = Vec::new();
    file.take(length.into()).read_to_end(&mut label)?;
    Ok(serde_json::from_slice(&label)?)
}

/// Removes a pack with all its sessions.
pub fn remove(store: &Store, pack: &Pack) -> io::Result<()> {
    pack.others.iter().chain([&pack.id]).try_for_each(|id| store.sessions().remove_file(name(id)))
}
