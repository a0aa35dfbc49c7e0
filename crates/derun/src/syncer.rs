//! A thread that syncs a session to disk while it is written: its metadata at once, its output after a second. It
//! sleeps while there is nothing to do.

use super::writer::Unsynced;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// How much output a power failure may lose at most.
pub const DURABLE_AFTER: Duration = Duration::from_secs(1);

/// When a session's metadata must be on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MetadataSync {
    /// As soon as possible.
    AtOnce,
    /// Together with its first output.
    Later,
    /// When the thread starts, together with all output so far.
    OnRequest,
}

/// The thread.
#[derive(Debug)]
pub(super) struct Syncer {
    dirty: Arc<AtomicBool>,
    wake: SyncSender<()>,
    thread: JoinHandle<bool>,
}

impl Syncer {
    /// Starts the thread.
    pub(super) fn start(unsynced: Unsynced, metadata_sync: MetadataSync) -> io::Result<Self> {
        let dirty = Arc::new(AtomicBool::new(false));
        // One message covers all earlier requests: if the channel is full, a sync is already pending.
        let (wake, woken) = sync_channel::<()>(1);
        let seen = Arc::clone(&dirty);
        let thread = std::thread::Builder::new().name("sync".to_owned()).spawn(move || {
            let mut is_begun = metadata_sync != MetadataSync::Later && unsynced.sync_begin().is_ok();
            if metadata_sync == MetadataSync::OnRequest {
                let _tried_again_in_the_end = unsynced.sync_output();
            }
            while woken.recv().is_ok() {
                if let Err(RecvTimeoutError::Disconnected) = woken.recv_timeout(DURABLE_AFTER) {
                    break;
                }
                // Cleared first: later writes request another sync.
                seen.store(false, Ordering::Release);
                is_begun = is_begun || unsynced.sync_begin().is_ok();
                let _tried_again_in_the_end = unsynced.sync_output();
            }
            is_begun
        })?;
        Ok(Self { dirty, wake, thread })
    }

    /// Requests a sync of recent output.
    pub(super) fn soon(&self) {
        if !self.dirty.swap(true, Ordering::AcqRel) {
            let _asked = self.wake.try_send(());
        }
    }

    /// Stops the thread; returns whether the metadata has reached the disk.
    pub(super) fn end(self) -> bool {
        drop(self.wake);
        self.thread.join().unwrap_or(false)
    }
}
