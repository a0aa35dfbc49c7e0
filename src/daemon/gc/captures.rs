//! Removes captures: those of beats by age and size, others once they expire.

use super::{Collector, Removed, removal};
use derun::id::SessionId;
use derun::log::Log;
use derun::pack::{self, Label, Pack};
use derun::retention;
use derun::store::{DEFAULT_RETENTION, Store};
use derun::unpacked::{self, Unpacked};
use jiff::Timestamp;
use murmur_core::config::captures::Captures;
use murmur_core::retention::{Beat, Capture, Why, removals};
use std::io;
use std::ops::ControlFlow;
use std::path::Path;

/// The usual size of a block: even the smallest file takes one.
const BLOCK: u64 = 4096;

impl Collector<'_> {
    /// Removes captures from the store at `root`, if there is one.
    pub(super) fn captures(&mut self, root: &Path, limits: &Captures) {
        let sessions = root.join("sessions");
        let collected = Store::open_existing(root).map_err(io::Error::other).and_then(|store| {
            let Some(store) = store else { return Ok(()) };
            self.beats(&store, &sessions, limits)?;
            self.expired(&store, &sessions)
        });
        self.record("clean up", &sessions, collected);
    }

    fn beats(&mut self, store: &Store, sessions: &Path, limits: &Captures) -> io::Result<()> {
        let unpacked = unpacked::list(store, self.now)?.into_iter().map(Stored::Unpacked);
        let mut stored: Vec<Stored> =
            pack::list(store)?.into_iter().map(Stored::Packed).chain(unpacked).collect();
        stored.retain(|stored| stored.id().time().is_some());
        stored.sort_by(|one, other| one.id().cmp(other.id()));
        let capture = |stored: &Stored| {
            Some(Capture { started: stored.id().time()?, bytes: stored.size().next_multiple_of(BLOCK) })
        };
        let captures: Vec<Capture> = stored.iter().filter_map(capture).collect();
        let beat = |place: usize| {
            let Label { group, failed } = stored[place].label(store)?;
            Some(Beat { heartbeat: group, failed })
        };
        for (place, why) in removals(&captures, limits, self.now, beat) {
            let path = sessions.join(stored[place].name());
            let whose = stored[place].label(store).map(|label| label.group);
            let what = whose.map_or_else(|| "capture".to_owned(), |whose| format!("capture of {whose}"));
            let why = match why {
                Why::Age => "too old",
                Why::Size => "captures exceed max",
            };
            let removal = Removed { path, what, bytes: captures[place].bytes, why };
            let now = self.now;
            self.remove(removal, |_| stored[place].remove(store, now));
        }
        Ok(())
    }

    fn expired(&mut self, store: &Store, sessions: &Path) -> io::Result<()> {
        let mut expired = Vec::new();
        for name in retention::expired(store, DEFAULT_RETENTION, self.now)? {
            let path = sessions.join(name);
            if self.removed.iter().all(|removed| removed.path != path) {
                expired.push(removal(&path, "capture", "expired"));
            }
        }
        let mut swept = Ok(());
        if !self.is_dry_run {
            let mut log = Log::open(store.root());
            let sweep =
                retention::sweep(store, DEFAULT_RETENTION, self.now, &mut log, || ControlFlow::Continue(()));
            swept = sweep.map(drop);
            expired.retain(|removal| !removal.path.exists());
        }
        self.removed.extend(expired);
        swept
    }
}

/// The capture of a beat that ended.
enum Stored {
    Packed(Pack),
    /// It was too large, or the beat's process was killed.
    Unpacked(Unpacked),
}

impl Stored {
    fn id(&self) -> &SessionId {
        match self {
            Self::Packed(pack) => &pack.id,
            Self::Unpacked(unpacked) => &unpacked.id,
        }
    }

    fn size(&self) -> u64 {
        match self {
            Self::Packed(pack) => pack.size,
            Self::Unpacked(unpacked) => unpacked.size,
        }
    }

    /// Its name in the folder of sessions.
    fn name(&self) -> String {
        match self {
            Self::Packed(pack) => format!("{}.zst", pack.id),
            Self::Unpacked(unpacked) => unpacked.id.to_string(),
        }
    }

    fn label(&self, store: &Store) -> Option<Label> {
        match self {
            Self::Packed(pack) => pack::label(store, &pack.id).ok(),
            Self::Unpacked(unpacked) => Some(unpacked.label.clone()),
        }
    }

    fn remove(&self, store: &Store, now: Timestamp) -> io::Result<()> {
        match self {
            Self::Packed(pack) => pack::remove(store, pack),
            Self::Unpacked(unpacked) => match unpacked::remove(store, &unpacked.id, now)? {
                true => Ok(()),
                // It is still being written, so removing it did not fail.
                false => Err(io::ErrorKind::NotFound.into()),
            },
        }
    }
}
