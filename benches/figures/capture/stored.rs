//! A store with a session of 100 MiB, one of 1 MiB, and a running one.

use derun::id::SessionId;
use derun::record::{Channel, TransportMode};
use derun::store::{NewSession, Store};
use derun::writer::{End, Writer};
use std::path::{Path, PathBuf};
use std::time::Duration;
use sys::clock;

/// The sizes of `big` and `small`, in bytes.
pub(super) const BIG: u64 = 100 << 20;
pub(super) const SMALL: u64 = 1 << 20;

const LINE: &[u8] =
    b"\x1b[32mINFO\x1b[0m 2026-01-01 a line of a log, with a few words and a number: 0123456789\n";

/// The store.
#[derive(Debug)]
pub(super) struct Stored {
    pub(super) root: PathBuf,
    pub(super) store: Store,
}

impl Stored {
    pub(super) fn make(folder: &Path) -> anyhow::Result<Self> {
        let root = folder.join("stored");
        let store = Store::open(&root)?;
        for (id, size) in [("big", BIG), ("small", SMALL)] {
            let mut writer = begin(&store, id)?;
            let block: Vec<u8> = LINE.iter().copied().cycle().take(64 * 1024).collect();
            while writer.end() < size {
                writer.append(Channel::Stdout, &block, clock::now())?;
            }
            writer.finish(&End::Exited(0), None, clock::now())?;
        }
        Ok(Self { root, store })
    }

    /// The path of a session's output.
    pub(super) fn output(&self, id: &str) -> PathBuf {
        self.root.join("sessions").join(id).join("output.bin")
    }
}

/// Starts the session `id`, owned by this process.
pub(super) fn begin(store: &Store, id: &str) -> anyhow::Result<Writer> {
    let new = NewSession {
        id: Some(SessionId::parse(id)?),
        command: vec!["make".to_owned()],
        working_directory: "/work".to_owned(),
        retention: Duration::from_secs(24 * 60 * 60),
        transport: TransportMode::Pipe,
        tty_attached: false,
        max_bytes: None,
        group: None,
    };
    let mut writer = store.create(new, clock::now())?;
    writer.started(std::process::id())?;
    Ok(writer)
}

/// Cursors throughout a session of `size`, each followed by at least `room` bytes.
pub(super) fn cursors(size: u64, room: u64, count: usize) -> impl Iterator<Item = u64> {
    (0..count as u64).map(move |number| number.wrapping_mul(313_373) * 11 % (size - room))
}
