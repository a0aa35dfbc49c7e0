//! Ended sessions of a group that were not packed: their process was killed, or they were too large.

use crate::draft;
use crate::id::SessionId;
use crate::pack::Label;
use crate::record::State;
use crate::retention;
use crate::store::Store;
use jiff::Timestamp;
use std::io;

/// An ended session that is not packed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unpacked {
    /// The session.
    pub id: SessionId,
    /// The size of its files in bytes.
    pub size: u64,
    /// What retention needs to know.
    pub label: Label,
}

/// All of them, oldest first. Unreadable sessions are left out.
pub fn list(store: &Store, now: Timestamp) -> io::Result<Vec<Unpacked>> {
    let sessions = store.sessions();
    let mut found = Vec::new();
    for name in sessions.folders_and_files(|name| draft::id_of(name).is_some())? {
        let id = draft::id_of(&name).map(|id| id.to_string()).or_else(|| name.into_string().ok());
        if let Some(id) = id
            && let Ok(Some(unpacked)) = read(store, &id, now)
        {
            found.push(unpacked);
        }
    }
    found.sort_unstable_by(|one, other| one.id.cmp(&other.id));
    // A session that was being moved to a folder has both.
    found.dedup_by(|one, other| one.id == other.id);
    Ok(found)
}

/// The session `id`, if it is one of them.
fn read(store: &Store, id: &str, now: Timestamp) -> io::Result<Option<Unpacked>> {
    let session = store.session(id).map_err(io::Error::other)?;
    let Some(group) = session.meta().group.clone() else { return Ok(None) };
    let status = session.status(now).map_err(io::Error::other)?;
    if status.state.is_active() {
        return Ok(None);
    }
    let size = match draft::open(store.sessions(), session.id()) {
        Ok((_, seen)) => seen.size,
        Err(_) => {
            let folder = store.sessions().open_folder(id)?;
            let sizes = folder.names()?.into_iter().map(|file| Ok(folder.look(&file)?.size));
            sizes.sum::<io::Result<u64>>()?
        }
    };
    let has_succeeded =
        status.last.is_some_and(|last| last.state == State::Exited && last.exit_code == Some(0));
    Ok(Some(Unpacked { id: session.id().clone(), size, label: Label { group, failed: !has_succeeded } }))
}

/// Removes one; returns `false` if it is being written after all.
pub fn remove(store: &Store, id: &SessionId, now: Timestamp) -> io::Result<bool> {
    retention::discard(store, id, now)
}
