//! The side channel: takes what the terminal gets and keeps it, and never troubles who gives it.
//!
//! A store that fails (full, read-only, gone) ends the keeping, not the command: the rest is counted, and
//! [`Recorder::finish`] says what was lost. What is kept reaches the disk within a second.

use super::log::{Event, Log};
use super::record::{Channel, Lost, Meta, State, TransportMode};
use super::writer::{End, Unsynced, Writer};
use crate::sys::clock;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// After a power failure, at most the output of this time is missing.
const DURABLE_AFTER: Duration = Duration::from_secs(1);

/// Who keeps a command's output. Shared by the threads that read its channels.
#[derive(Debug)]
pub struct Recorder(Option<Mutex<Inner>>);

#[derive(Debug)]
struct Inner {
    writer: Writer,
    log: Log,
    keeping: Keeping,
    syncer: Option<Syncer>,
}

#[derive(Debug)]
enum Keeping {
    On,
    Off(Lost),
}

impl Recorder {
    /// Keeps in `writer`, and logs in `log`.
    #[must_use]
    pub fn new(writer: Writer, log: Log) -> Self {
        Self(Some(Mutex::new(Inner { writer, log, keeping: Keeping::On, syncer: None })))
    }

    /// Keeps nothing.
    #[must_use]
    pub fn none() -> Self {
        Self(None)
    }

    fn inner(&self) -> Option<MutexGuard<'_, Inner>> {
        // A thread that panicked while it kept something leaves at worst a stretch without all its bytes.
        self.0.as_ref().map(|inner| inner.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Keeps `bytes`, or counts them as lost.
    pub fn keep(&self, channel: Channel, bytes: &[u8]) {
        if let Some(mut inner) = self.inner() {
            inner.keep(channel, bytes);
        }
    }

    /// Notes that the command runs.
    pub fn started(&self, pid: u32) {
        let Some(mut inner) = self.inner() else { return };
        let written = inner.writer.started(pid);
        inner.stop_after(written);
        let Inner { writer, log, .. } = &mut *inner;
        log.note_state(writer.meta(), State::Starting, State::Running, None, None);
        inner.sync_soon();
    }

    /// Notes that the output comes another way than was thought.
    pub fn transport(&self, mode: TransportMode) {
        let Some(mut inner) = self.inner() else { return };
        let written = inner.writer.transport(mode);
        inner.stop_after(written);
    }

    /// Writes down how it ended. Returns what was lost, and whether the session says so itself.
    ///
    /// # Errors
    /// [`Unsaid`]: something was lost, and not even that could be written down.
    pub fn finish(self, end: &End) -> Result<(), Unsaid> {
        let Some(inner) = self.0 else { return Ok(()) };
        let Inner { writer, mut log, keeping, syncer } =
            inner.into_inner().unwrap_or_else(PoisonError::into_inner);
        drop(syncer);
        note_end(&mut log, writer.meta(), end);
        log.flush();
        let (id, kept) = (writer.id().to_string(), writer.end());
        let lost = match keeping {
            Keeping::On => None,
            Keeping::Off(lost) => Some(lost),
        };
        writer.finish(end, lost.clone(), clock::now()).map_err(|source| Unsaid { id, kept, lost, source })
    }
}

fn note_end(log: &mut Log, meta: &Meta, end: &End) {
    let from = if meta.pid == 0 { State::Starting } else { State::Running };
    match end {
        End::Exited(code) => log.note_state(meta, from, State::Exited, Some(*code), None),
        End::Signaled(signal) => log.note_state(meta, from, State::Signaled, None, Some(signal)),
        End::Failed(_) => log.note_state(meta, from, State::Failed, None, None),
    }
}

impl Inner {
    fn keep(&mut self, channel: Channel, bytes: &[u8]) {
        if let Keeping::Off(lost) = &mut self.keeping {
            lost.lost_bytes += bytes.len() as u64;
            return;
        }
        let before = self.writer.end();
        match self.writer.append(channel, bytes, clock::now()) {
            Ok(stretch) => {
                if let Some(stretch) = stretch {
                    self.log.note_stretch(&self.writer.meta().session_id, &stretch);
                }
                self.sync_soon();
            }
            Err(error) => {
                self.stop_after(Err(error));
                if let Keeping::Off(lost) = &mut self.keeping {
                    lost.lost_bytes += bytes.len() as u64 - (lost.kept_bytes - before);
                }
            }
        }
    }

    /// Keeps nothing more if that failed.
    fn stop_after(&mut self, outcome: io::Result<()>) {
        if let (Err(error), Keeping::On) = (outcome, &self.keeping) {
            let (kept_bytes, reason) = (self.writer.end(), error.to_string());
            let session_id = &self.writer.meta().session_id;
            self.log.note(&Event::CaptureStopped { session_id, kept_bytes, error: &reason });
            self.keeping = Keeping::Off(Lost { kept_bytes, lost_bytes: 0, reason });
        }
    }

    fn sync_soon(&mut self) {
        if self.syncer.is_none() {
            self.syncer = self.writer.unsynced().ok().and_then(|unsynced| Syncer::start(unsynced).ok());
        }
        if let Some(syncer) = &self.syncer {
            syncer.soon();
        }
    }
}

/// What was lost, and that the session could not be told.
#[derive(Debug, thiserror::Error)]
#[error("session {id}: its end was not written down: {source}; {}", in_words(*kept, lost.as_ref()))]
pub struct Unsaid {
    /// Which session.
    pub id: String,
    /// How many bytes it has.
    pub kept: u64,
    /// What it does not have.
    pub lost: Option<Lost>,
    /// What the system said.
    pub source: io::Error,
}

fn in_words(kept: u64, lost: Option<&Lost>) -> String {
    match lost {
        Some(lost) => format!("{kept} bytes were captured and {} lost: {}", lost.lost_bytes, lost.reason),
        None => format!("{kept} bytes were captured"),
    }
}

/// A thread that brings what was written to the disk, a second after the first of it. It sleeps while there is
/// nothing to do, and ends when this drops.
#[derive(Debug)]
struct Syncer {
    dirty: Arc<AtomicBool>,
    wake: SyncSender<()>,
}

impl Syncer {
    fn start(unsynced: Unsynced) -> io::Result<Self> {
        let dirty = Arc::new(AtomicBool::new(false));
        let (wake, woken) = sync_channel::<()>(1);
        let seen = Arc::clone(&dirty);
        std::thread::Builder::new().name("sync".to_owned()).spawn(move || {
            while woken.recv().is_ok() {
                if let Err(RecvTimeoutError::Disconnected) = woken.recv_timeout(DURABLE_AFTER) {
                    return;
                }
                // Cleared before: what is written meanwhile asks again.
                seen.store(false, Ordering::Release);
                let _tried_again_in_the_end = unsynced.sync(true);
            }
        })?;
        Ok(Self { dirty, wake })
    }

    fn soon(&self) {
        if !self.dirty.swap(true, Ordering::AcqRel) {
            // Full: it has been asked already.
            let _asked = self.wake.try_send(());
        }
    }
}
