//! Removes captures: packed ones of beats by age and size, others once they expire.

use super::{Collector, Removed};
use derun::log::Log;
use derun::pack;
use derun::retention;
use derun::store::{DEFAULT_RETENTION, Store};
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
        if !sessions.is_dir() {
            return;
        }
        let collected = Store::open(root).map_err(io::Error::other).and_then(|store| {
            self.packs(&store, &sessions, limits)?;
            self.expired(&store, &sessions)
        });
        self.record("clean up", &sessions, collected);
    }

    fn packs(&mut self, store: &Store, sessions: &Path, limits: &Captures) -> io::Result<()> {
        let mut packs = pack::list(store)?;
        packs.retain(|pack| pack.id.time().is_some());
        let capture = |pack: &pack::Pack| {
            Some(Capture { started: pack.id.time()?, bytes: pack.size.next_multiple_of(BLOCK) })
        };
        let captures: Vec<Capture> = packs.iter().filter_map(capture).collect();
        let beat = |place: usize| {
            let label = pack::label(store, &packs[place].id).ok()?;
            Some(Beat { heartbeat: label.group, failed: label.failed })
        };
        for (place, why) in removals(&captures, limits, self.now, beat) {
            let id = &packs[place].id;
            let path = sessions.join(format!("{id}.zst"));
            if !self.is_dry_run {
                self.record("remove", &path, pack::remove(store, id));
            }
            let why = match why {
                Why::Age => "too old",
                Why::Size => "captures exceed max",
            };
            self.removed.push(Removed { path, bytes: captures[place].bytes, why });
        }
        Ok(())
    }

    fn expired(&mut self, store: &Store, sessions: &Path) -> io::Result<()> {
        for name in retention::expired(store, DEFAULT_RETENTION, self.now)? {
            self.note_removal(&sessions.join(name), "expired");
        }
        if !self.is_dry_run {
            let mut log = Log::open(store.root());
            retention::sweep(store, DEFAULT_RETENTION, self.now, &mut log, || ControlFlow::Continue(()))?;
        }
        Ok(())
    }
}
