//! A thread that brings a session to the disk while it is written: what it is at once, its output a second after it
//! came. It sleeps while there is nothing to do.

use super::writer::Unsynced;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// After a power failure, at most the output of this time is missing.
const DURABLE_AFTER: Duration = Duration::from_secs(1);

/// When what a session is has to be on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hurry {
    /// As soon as can be.
    AtOnce,
    /// With the first of its output.
    Later,
}

/// The thread.
#[derive(Debug)]
pub(super) struct Syncer {
    dirty: Arc<AtomicBool>,
    wake: SyncSender<()>,
    thread: JoinHandle<bool>,
}

impl Syncer {
    /// Starts it.
    pub(super) fn start(unsynced: Unsynced, hurry: Hurry) -> io::Result<Self> {
        let dirty = Arc::new(AtomicBool::new(false));
        // One message stands for all that came since the last: when there is no room, it has been asked already.
        let (wake, woken) = sync_channel::<()>(1);
        let seen = Arc::clone(&dirty);
        let thread = std::thread::Builder::new().name("sync".to_owned()).spawn(move || {
            let mut is_begun = hurry == Hurry::AtOnce && unsynced.sync_begin().is_ok();
            while woken.recv().is_ok() {
                if let Err(RecvTimeoutError::Disconnected) = woken.recv_timeout(DURABLE_AFTER) {
                    break;
                }
                // Cleared before: what is written meanwhile asks again.
                seen.store(false, Ordering::Release);
                is_begun = is_begun || unsynced.sync_begin().is_ok();
                let _tried_again_in_the_end = unsynced.sync_output();
            }
            is_begun
        })?;
        Ok(Self { dirty, wake, thread })
    }

    /// Asks for what was written to be brought to the disk soon.
    pub(super) fn soon(&self) {
        if !self.dirty.swap(true, Ordering::AcqRel) {
            let _asked = self.wake.try_send(());
        }
    }

    /// Ends it, and says whether what the session is has reached the disk.
    pub(super) fn end(self) -> bool {
        drop(self.wake);
        self.thread.join().unwrap_or(false)
    }
}
