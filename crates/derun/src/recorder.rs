//! Captures a copy of what the terminal receives, without ever disturbing the command.
//!
//! If the store fails (full, read-only, deleted), capturing stops and the command continues: the remaining bytes are
//! counted, and [`Recorder::finish`] reports the loss.

use super::log::{Event, Log};
use super::record::{Channel, Lost, Meta, State, TransportMode};
use super::syncer::{MetadataSync, Syncer};
use super::writer::{End, OnDisk, Writer};
use crate::id::SessionId;
use jiff::Timestamp;
use std::fs::File;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use sys::clock;

/// Captures a command's output. Shared by the threads that read its channels.
#[derive(Debug)]
pub struct Recorder(Option<Mutex<Inner>>);

#[derive(Debug)]
struct Inner {
    writer: Writer,
    log: Log,
    keeping: Capturing,
    metadata_sync: MetadataSync,
    syncer: Option<Syncer>,
}

#[derive(Debug)]
enum Capturing {
    On,
    Off(Lost),
}

impl Recorder {
    /// Captures to `writer` and logs to `log`.
    #[must_use]
    pub fn new(writer: Writer, log: Log) -> Self {
        Self::with(writer, log, MetadataSync::AtOnce)
    }

    /// Captures to `writer` and logs to `log`. A session that ends within a second is not synced to disk.
    #[must_use]
    pub fn with_deferred_sync(writer: Writer, log: Log) -> Self {
        Self::with(writer, log, MetadataSync::Later)
    }

    /// Captures to `writer` and logs to `log`. The session is not synced to disk before [`Self::begin_to_sync`].
    #[must_use]
    pub fn with_sync_on_request(writer: Writer, log: Log) -> Self {
        Self::with(writer, log, MetadataSync::OnRequest)
    }

    fn with(writer: Writer, log: Log, metadata_sync: MetadataSync) -> Self {
        Self(Some(Mutex::new(Inner { writer, log, keeping: Capturing::On, metadata_sync, syncer: None })))
    }

    /// Captures nothing.
    #[must_use]
    pub fn none() -> Self {
        Self(None)
    }

    fn inner(&self) -> Option<MutexGuard<'_, Inner>> {
        // If a thread panics while capturing, at worst a stretch is incomplete.
        self.0.as_ref().map(|inner| inner.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The number of captured bytes; `None` once something is lost.
    #[must_use]
    pub fn position(&self) -> Option<u64> {
        let inner = self.inner()?;
        matches!(inner.keeping, Capturing::On).then(|| inner.writer.end())
    }

    /// Stops capturing because of `error`.
    pub fn stop(&self, error: io::Error) {
        if let Some(mut inner) = self.inner() {
            inner.stop_after(Err(error));
        }
    }

    /// Output lost so far.
    #[must_use]
    pub fn lost(&self) -> Option<Lost> {
        match &self.inner()?.keeping {
            Capturing::On => None,
            Capturing::Off(lost) => Some(lost.clone()),
        }
    }

    /// Creates the file `name` in the session's folder like [`Writer::beside`]; `None` if nothing is captured.
    pub fn beside(&self, name: &str) -> io::Result<Option<File>> {
        self.inner().map(|mut inner| inner.writer.beside(name)).transpose()
    }

    /// Appends `bytes` to the file `name` like [`Writer::append_beside`]. Does nothing if nothing is captured.
    pub fn append_beside(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.inner().map_or(Ok(()), |mut inner| inner.writer.append_beside(name, bytes))
    }

    /// Captures `bytes`, or counts them as lost.
    pub fn capture(&self, channel: Channel, bytes: &[u8]) {
        // Taken before waiting for another channel's bytes, whose disk may be slow.
        let at = clock::now();
        if let Some(mut inner) = self.inner() {
            inner.capture(channel, bytes, at);
        }
    }

    /// Records that the command is running.
    pub fn started(&self, pid: u32) {
        let Some(mut inner) = self.inner() else { return };
        if inner.writer.meta().pid != Some(pid) {
            let written = inner.writer.started(pid);
            inner.stop_after(written);
        }
        let Inner { writer, log, .. } = &mut *inner;
        log.note_state(writer.meta(), State::Starting, State::Running, None, None);
        if inner.metadata_sync != MetadataSync::OnRequest {
            // Started early, so that less remains to be synced at the end.
            inner.start_syncer();
        }
    }

    /// Syncs the session to disk from now on, beginning with everything so far.
    pub fn begin_to_sync(&self) {
        if let Some(mut inner) = self.inner()
            && inner.syncer.is_none()
        {
            inner.start_syncer();
        }
    }

    /// Records that the output is captured differently than expected.
    pub fn transport(&self, mode: TransportMode) {
        let Some(mut inner) = self.inner() else { return };
        let written = inner.writer.transport(mode);
        inner.stop_after(written);
    }

    /// Records how the command ended. Returns what was lost, and whether the session records that.
    pub fn finish(self, end: &End) -> Result<(), UnrecordedLoss> {
        let Some(inner) = self.0 else { return Ok(()) };
        let Inner { mut writer, mut log, keeping, metadata_sync, syncer } =
            inner.into_inner().unwrap_or_else(PoisonError::into_inner);
        let on_disk = match (syncer.is_some_and(Syncer::end), metadata_sync) {
            (true, _) => OnDisk::Begin,
            (false, MetadataSync::AtOnce) => OnDisk::Nothing,
            (false, MetadataSync::Later | MetadataSync::OnRequest) => OnDisk::Unwanted,
        };
        note_end(&mut log, writer.meta(), end);
        log.flush();
        let id = writer.id().clone();
        let lost = match keeping {
            Capturing::On => None,
            Capturing::Off(lost) => Some(lost),
        };
        writer.finish_from(end, lost.clone(), clock::now(), on_disk).map_err(|source| UnrecordedLoss {
            id,
            // Nobody can read files that were deleted.
            kept: if writer.is_removed() { 0 } else { writer.end() },
            lost,
            source,
        })
    }
}

fn note_end(log: &mut Log, meta: &Meta, end: &End) {
    let from = if meta.pid.is_none() { State::Starting } else { State::Running };
    match end {
        End::Exited(code) => log.note_state(meta, from, State::Exited, Some(*code), None),
        End::Signaled(signal) => log.note_state(meta, from, State::Signaled, None, Some(signal)),
        End::Failed(_) => log.note_state(meta, from, State::Failed, None, None),
    }
}

impl Inner {
    fn start_syncer(&mut self) {
        let started = self.writer.unsynced().and_then(|unsynced| Syncer::start(unsynced, self.metadata_sync));
        self.syncer = started.ok();
    }

    fn capture(&mut self, channel: Channel, bytes: &[u8], at: Timestamp) {
        if let Capturing::Off(lost) = &mut self.keeping {
            lost.lost_bytes += bytes.len() as u64;
            return;
        }
        let before = self.writer.end();
        match self.writer.append(channel, bytes, at) {
            Ok(stretches) => {
                for stretch in &stretches {
                    self.log.note_stretch(self.writer.meta().session_id.as_str(), stretch);
                }
                if let Some(syncer) = &self.syncer {
                    syncer.soon();
                }
            }
            Err(error) => {
                self.stop_after(Err(error));
                if let Capturing::Off(lost) = &mut self.keeping {
                    lost.lost_bytes += bytes.len() as u64 - (lost.kept_bytes - before);
                }
            }
        }
    }

    /// Stops capturing if `outcome` is an error.
    fn stop_after(&mut self, outcome: io::Result<()>) {
        if let (Err(error), Capturing::On) = (outcome, &self.keeping) {
            let (kept_bytes, reason) = (self.writer.end(), error.to_string());
            let session_id = self.writer.meta().session_id.as_str();
            self.log.note(&Event::CaptureStopped { session_id, kept_bytes, error: &reason });
            self.keeping = Capturing::Off(Lost { kept_bytes, lost_bytes: 0, reason });
        }
    }
}

/// The loss of output, which could not be recorded in the session.
#[derive(Debug, thiserror::Error)]
#[error("session {id}: its end was not recorded ({})", in_words(*kept, lost.as_ref()))]
pub struct UnrecordedLoss {
    /// The session.
    pub id: SessionId,
    /// The number of captured bytes.
    pub kept: u64,
    /// The lost output.
    pub lost: Option<Lost>,
    /// The underlying error.
    pub source: io::Error,
}

fn in_words(kept: u64, lost: Option<&Lost>) -> String {
    match lost {
        Some(lost) => format!("{kept} bytes were captured and {} lost: {}", lost.lost_bytes, lost.reason),
        None if kept == 0 => "nothing was captured".to_owned(),
        None => format!("{kept} bytes were captured"),
    }
}
