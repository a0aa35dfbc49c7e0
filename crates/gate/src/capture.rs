//! The capture of what a beat's gates and verifiers print: one session, begun with the first byte that one of them
//! writes.
//!
//! Before the first byte of each program comes a line such as `== when: ./changed.sh`. If the store fails, capturing
//! stops but the programs keep running. Conditions built into murmur aren't captured.

use derun::id::SessionId as CaptureId;
use derun::log::Log;
use derun::record::{Channel, TransportMode};
use derun::recorder::Recorder;
use derun::store::{NewSession, Store, StoreError};
use derun::writer::End;
use murmur_host::capture::Destination;
use secrets::mask;
use std::cell::RefCell;
use std::path::PathBuf;
use sys::clock;
use sys::error::{Failure, Hinted};

/// The capture; a beat has one.
#[derive(Debug)]
pub struct GateCapture {
    to: Destination,
    workspace: PathBuf,
    state: RefCell<State>,
}

#[derive(Debug)]
struct State {
    /// `None` before the first byte, and if the store can't be used.
    session: Option<(CaptureId, Recorder)>,
    /// Why there is no session, although something was printed.
    unusable: Option<String>,
    /// How the last program ended.
    end: End,
    /// Whether the last byte ended a line.
    ends_line: bool,
}

/// A program whose output is captured.
pub(super) struct Captured<'a> {
    capture: &'a GateCapture,
    /// Notes the session once it has begun.
    note: &'a dyn Fn(&CaptureId),
    /// What it is, such as `when: ./changed.sh`, until that was written.
    title: Option<String>,
    command: Vec<String>,
}

/// A finished capture.
#[derive(Debug, Default)]
pub struct FinishedCapture {
    /// The session, if anything was printed.
    pub session: Option<CaptureId>,
    /// Why it is incomplete.
    pub lost: Option<String>,
}

impl GateCapture {
    /// A capture in `to`, of programs that run in `workspace`.
    #[must_use]
    pub fn new(to: Destination, workspace: PathBuf) -> Self {
        let end = End::Failed("no program ended".to_owned());
        let state = State { session: None, unusable: None, end, ends_line: true };
        Self { to, workspace, state: RefCell::new(state) }
    }

    /// The session, once something was printed.
    #[must_use]
    pub fn session(&self) -> Option<CaptureId> {
        self.state.borrow().session.as_ref().map(|(id, _)| id.clone())
    }

    /// Captures the program `command`, called `title`, next. If that begins the session, calls `note`.
    pub(super) fn program<'a>(
        &'a self,
        title: &str,
        command: Vec<String>,
        note: &'a dyn Fn(&CaptureId),
    ) -> Captured<'a> {
        Captured { capture: self, note, title: Some(format!("== {}\n", mask(title))), command }
    }

    /// Ends the session.
    #[must_use]
    pub fn finish(self) -> FinishedCapture {
        let State { session, unusable, end, .. } = self.state.into_inner();
        let Some((id, recorder)) = session else { return FinishedCapture { session: None, lost: unusable } };
        let lost = recorder.lost().map(|lost| lost.reason);
        let unwritten = recorder.finish(&end).err().map(|unwritten| Failure::of(&unwritten).line());
        FinishedCapture { session: Some(id), lost: lost.or(unwritten) }
    }

    fn begin(&self, command: Vec<String>) -> Result<(CaptureId, Recorder), StoreError> {
        let limits = &self.to.limits;
        let store = Store::open(self.to.root.as_deref().ok_or(StoreError::NoStateRoot)?)?;
        let new = NewSession {
            id: None,
            command,
            working_directory: self.workspace.display().to_string(),
            retention: limits.keep_failed.max(limits.keep).duration(),
            transport: TransportMode::Pipe,
            tty_attached: false,
            max_bytes: Some(limits.max_per_run.bytes()),
            group: self.to.group.clone(),
        };
        let writer = store.create(new, clock::now())?;
        let id = writer.id().clone();
        Ok((id, Recorder::with_deferred_sync(writer, Log::open(store.root()))))
    }
}

impl Captured<'_> {
    /// Captures `bytes`, which the process `pid` printed.
    pub(super) fn add(&mut self, pid: Option<u32>, channel: Channel, bytes: &[u8]) {
        let state = &mut *self.capture.state.borrow_mut();
        if bytes.is_empty() || state.unusable.is_some() {
            return;
        }
        if state.session.is_none() {
            match self.capture.begin(std::mem::take(&mut self.command)) {
                Ok((id, recorder)) => {
                    pid.into_iter().for_each(|pid| recorder.started(pid));
                    (self.note)(&id);
                    state.session = Some((id, recorder));
                }
                Err(error) => {
                    state.unusable = Some(error.line());
                    return;
                }
            }
        }
        let Some((_, recorder)) = &state.session else { return };
        if let Some(title) = self.title.take() {
            let title = if state.ends_line { title } else { format!("\n{title}") };
            recorder.capture(channel, title.as_bytes());
        }
        recorder.capture(channel, bytes);
        state.ends_line = bytes.ends_with(b"\n");
    }

    /// Notes how the program ended.
    pub(super) fn ended(self, end: End) {
        self.capture.state.borrow_mut().end = end;
    }
}
