//! Packs: ended sessions in one compressed file each, `sessions/<id>.zst`, so that many of them take little space and few
//! inodes (README.md).
//!
//! A pack is a zstd file. It begins with a skippable frame with its [`Label`], which can be read without decompressing
//! anything; then come the session's files, each after a line with its name, size and modification time.

use crate::id::SessionId;
use crate::record::file;
use crate::store::Store;
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Write};
use sys::file::read_most;
use sys::folder::Folder;
use sys::lock;

/// What is added to an id.
const ENDING: &str = ".zst";

/// The magic number of a skippable frame.
const SKIPPABLE: u32 = 0x184D_2A50;

/// The largest label, in bytes.
const LONGEST_LABEL: u32 = 4096;

/// The largest session that is packed, in bytes: packing needs it in memory.
const MAX: u64 = 256 << 20;

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
    /// The session.
    pub id: SessionId,
    /// Its size in bytes.
    pub size: u64,
}

/// A file in a pack.
#[derive(Debug, Serialize, Deserialize)]
struct Header {
    name: String,
    size: usize,
    modified: i64,
}

/// The contents of a pack.
#[derive(Debug)]
pub(crate) struct Contents(Vec<(Header, Vec<u8>)>);

impl Contents {
    /// Opens the file `name`, as a copy that vanishes when it is closed.
    pub(crate) fn open(&self, name: &str) -> io::Result<File> {
        let (_, bytes) = self.find(name).ok_or(io::ErrorKind::NotFound)?;
        let mut file = tempfile::tempfile()?;
        file.write_all(bytes)?;
        io::Seek::rewind(&mut file)?;
        Ok(file)
    }

    /// When the file `name` was last changed, in seconds since 1970.
    pub(crate) fn modified(&self, name: &str) -> Option<i64> {
        self.find(name).map(|(header, _)| header.modified)
    }

    /// The names of its files.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(header, _)| header.name.as_str())
    }

    fn find(&self, name: &str) -> Option<&(Header, Vec<u8>)> {
        self.0.iter().find(|(header, _)| header.name == name)
    }
}

fn name(id: &SessionId) -> String {
    format!("{id}{ENDING}")
}

/// Packs the ended session `id`. With `durable`, the pack is on disk before the session's files are removed.
///
/// Returns `false` if it is not a session that can be packed: it hasn't ended, or is very large. After an error, the session
/// can still be read.
pub fn pack(store: &Store, id: &SessionId, label: &Label, durable: bool) -> io::Result<bool> {
    let sessions = store.sessions();
    let folder = sessions.open_folder(id.as_str())?;
    let Some(_lock) = lock::try_take(folder.append_file(file::LOCK)?)? else { return Ok(false) };
    if folder.look(file::FINAL).is_err() {
        return Ok(false);
    }
    let Some(contents) = read_folder(&folder)? else { return Ok(false) };
    let mut bytes = Vec::new();
    let label = serde_json::to_vec(label)?;
    bytes.extend(SKIPPABLE.to_le_bytes());
    bytes.extend(u32::try_from(label.len()).unwrap_or(u32::MAX).to_le_bytes());
    bytes.extend(label);
    let mut encoder = zstd::stream::write::Encoder::new(bytes, LEVEL)?;
    encoder.include_checksum(true)?;
    for (header, bytes) in &contents.0 {
        serde_json::to_writer(&mut encoder, header)?;
        encoder.write_all(b"\n")?;
        encoder.write_all(bytes)?;
    }
    sessions.write(&name(id), &encoder.finish()?, durable)?;
    for (header, _) in &contents.0 {
        folder.remove_file(&header.name)?;
    }
    folder.remove_file(file::LOCK)?;
    sessions.remove_folder(id.as_str())?;
    Ok(true)
}

/// The files of a session, `meta.json` last; `None` if they are very large.
fn read_folder(folder: &Folder) -> io::Result<Option<Contents>> {
    let mut names: Vec<String> =
        folder.names()?.into_iter().filter_map(|name| name.into_string().ok()).collect();
    names.retain(|name| name != file::LOCK);
    names.sort_by_key(|name| name == file::META);
    let (mut files, mut total) = (Vec::new(), 0);
    for name in names {
        let (file, seen) = folder.open_seen(&name)?;
        let bytes = read_most(&file, seen.size, MAX - total + 1)?;
        total += bytes.len() as u64;
        if total > MAX {
            return Ok(None);
        }
        files.push((Header { name, size: bytes.len(), modified: seen.modified }, bytes));
    }
    Ok(Some(Contents(files)))
}

/// Reads the pack of `id` in `sessions`.
pub(crate) fn read(sessions: &Folder, id: &SessionId) -> io::Result<Contents> {
    let file = sessions.open_file(&name(id))?;
    let mut bytes = Vec::new();
    // Each file has a line of its own.
    zstd::stream::read::Decoder::new(file)?.take(2 * MAX).read_to_end(&mut bytes)?;
    let mut rest = &bytes[..];
    let mut files = Vec::new();
    let torn = || io::Error::new(io::ErrorKind::InvalidData, "the pack is damaged");
    while !rest.is_empty() {
        let end = memchr::memchr(b'\n', rest).ok_or_else(torn)?;
        let header: Header = serde_json::from_slice(&rest[..end])?;
        let content = rest.get(end + 1..).and_then(|rest| rest.split_at_checked(header.size));
        let (content, after) = content.ok_or_else(torn)?;
        files.push((header, content.to_vec()));
        rest = after;
    }
    Ok(Contents(files))
}

/// All packs, oldest session first.
pub fn list(store: &Store) -> io::Result<Vec<Pack>> {
    let sessions = store.sessions();
    let mut packs = Vec::new();
    for name in sessions.names()? {
        let Some(id) = id_of(&name) else { continue };
        // It may be gone by now.
        if let Ok(seen) = sessions.look(&name)
            && !seen.is_folder
        {
            packs.push(Pack { id, size: seen.size });
        }
    }
    packs.sort_unstable();
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
    if magic != SKIPPABLE || length > LONGEST_LABEL {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "the pack has no label"));
    }
    let mut label = Vec::new();
    file.take(length.into()).read_to_end(&mut label)?;
    Ok(serde_json::from_slice(&label)?)
}

/// Removes a pack.
pub fn remove(store: &Store, id: &SessionId) -> io::Result<()> {
    store.sessions().remove_file(name(id))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Channel, State, TransportMode};
    use crate::store::{DEFAULT_RETENTION, NewSession};
    use crate::writer::{End, Writer};
    use sys::clock;

    fn begin(store: &Store) -> Writer {
        let new = NewSession {
            id: None,
            command: vec!["claude".to_owned()],
            working_directory: "/work".to_owned(),
            retention: DEFAULT_RETENTION,
            transport: TransportMode::Pipe,
            tty_attached: false,
            max_bytes: None,
            group: None,
        };
        store.create(new, clock::now()).unwrap()
    }

    fn label(failed: bool) -> Label {
        Label { group: "site-0123abcd".to_owned(), failed }
    }

    #[test]
    fn a_packed_session_is_one_file_and_reads_as_before() {
        let root = tempfile::tempdir().unwrap();
        let store = Store::open(root.path()).unwrap();
        let mut writer = begin(&store);
        let id = writer.id().clone();
        writer.append(Channel::Stdout, b"one\n", clock::now()).unwrap();
        writer.append(Channel::Stderr, b"two\n", clock::now()).unwrap();
        writer.beside("events.jsonl").unwrap().write_all(b"{}\n").unwrap();
        assert!(!pack(&store, &id, &label(false), false).unwrap());
        // A reader that opened it before.
        let before = store.session(id.as_str()).unwrap();
        writer.finish(&End::Exited(0), None, clock::now()).unwrap();
        let read = before.read(0, 100, clock::now()).unwrap();
        assert!(pack(&store, &id, &label(false), false).unwrap());
        let names = std::fs::read_dir(root.path().join("sessions")).unwrap();
        let names: Vec<_> = names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        assert_eq!(names, [format!("{id}.zst")]);
        let after = store.session(id.as_str()).unwrap();
        for session in [before, after] {
            assert_eq!(session.read(0, 100, clock::now()).unwrap(), read);
            assert_eq!(session.status(clock::now()).unwrap().state, State::Exited);
            assert_eq!((session.end().unwrap(), session.stretches().unwrap().0), (8, 2));
            let mut events = String::new();
            session.beside("events.jsonl").unwrap().read_to_string(&mut events).unwrap();
            assert_eq!(events, "{}\n");
        }
        assert_eq!(store.list().unwrap(), std::slice::from_ref(&id));
        let packs = list(&store).unwrap();
        assert_eq!((packs.len(), &packs[0].id), (1, &id));
        assert!(packs[0].size < 2000, "{packs:?}");
        assert_eq!(super::label(&store, &id).unwrap(), label(false));
        remove(&store, &id).unwrap();
        assert!(store.session(id.as_str()).is_err() && store.list().unwrap().is_empty());
    }

    #[test]
    fn a_crash_while_packing_loses_nothing() {
        let root = tempfile::tempdir().unwrap();
        let store = Store::open(root.path()).unwrap();
        let mut writer = begin(&store);
        let id = writer.id().clone();
        writer.append(Channel::Stdout, b"one\n", clock::now()).unwrap();
        writer.finish(&End::Exited(0), None, clock::now()).unwrap();
        assert!(pack(&store, &id, &label(true), true).unwrap());
        // Some of the files were not removed yet.
        let folder = root.path().join("sessions").join(id.as_str());
        std::fs::create_dir(&folder).unwrap();
        for left in [&[][..], &[file::META]] {
            for name in left {
                let mut from = read(store.sessions(), &id).unwrap().open(name).unwrap();
                io::copy(&mut from, &mut File::create(folder.join(name)).unwrap()).unwrap();
            }
            let session = store.session(id.as_str()).unwrap();
            assert_eq!(session.read(0, 100, clock::now()).unwrap().bytes, b"one\n");
        }
    }

    #[test]
    fn a_damaged_pack_is_an_error_and_no_other_session_is_affected() {
        let root = tempfile::tempdir().unwrap();
        let store = Store::open(root.path()).unwrap();
        let ids = [0, 1].map(|_| {
            let writer = begin(&store);
            let id = writer.id().clone();
            writer.finish(&End::Exited(0), None, clock::now()).unwrap();
            assert!(pack(&store, &id, &label(true), false).unwrap());
            id
        });
        let path = root.path().join("sessions").join(name(&ids[0]));
        let whole = std::fs::read(&path).unwrap();
        for cut in 0..whole.len() {
            std::fs::write(&path, &whole[..cut]).unwrap();
            assert!(store.session(ids[0].as_str()).is_err(), "{cut}");
        }
        assert!(store.session(ids[1].as_str()).is_ok());
        assert!(super::label(&store, &ids[0]).is_ok(), "the label is at the beginning");
        std::fs::write(&path, "x").unwrap();
        assert!(super::label(&store, &ids[0]).is_err());
    }
}
