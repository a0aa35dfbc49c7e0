//! What is recorded of a beat while its agent runs, for whoever recovers it if its host is killed.

use derun::id::SessionId as CaptureId;
use murmur_host::registration::Registration;
use murmur_host::unrecorded::Unrecorded;
use murmur_outcome::refused::UndecidedCalls;
use murmur_store::journal::unfinished::{BeatRecord, Record};
use std::cell::RefCell;
use std::io;

/// The records of a running beat. Writing them is best effort: they matter only after a crash.
pub(super) struct CrashRecord<'a> {
    record: &'a io::Result<Record>,
    registration: Option<&'a Registration>,
    begun: RefCell<BeatRecord>,
}

impl<'a> CrashRecord<'a> {
    /// The `record` of the beat, which has `begun`, and that of its host.
    pub(super) fn new(
        record: &'a io::Result<Record>,
        registration: Option<&'a Registration>,
        begun: BeatRecord,
    ) -> Self {
        Self { record, registration, begun: RefCell::new(begun) }
    }

    /// Records which session captures the agent's output.
    pub(super) fn note_capture(&self, capture: Option<CaptureId>) {
        let Some(capture) = capture else { return };
        self.update(|begun| begun.entry.capture = Some(capture.clone()));
        if let Some(registration) = self.registration {
            // The beat's own record has it, too.
            let _best_effort = registration.note_capture(capture);
        }
    }

    /// Records calls that ran without a decision in the beat's line, and the rest in the host's record.
    pub(super) fn note_unrecorded(&self, unrecorded: &Unrecorded) {
        let UndecidedCalls { calls, more, .. } = &unrecorded.undecided;
        if self.begun.borrow().entry.undecided_count() != unrecorded.undecided.count() {
            self.update(|begun| {
                (begun.entry.undecided, begun.entry.undecided_more) = (calls.clone(), *more);
            });
        }
        if let Some(registration) = self.registration.filter(|_| !unrecorded.unknown.is_empty()) {
            let rest = Unrecorded { undecided: UndecidedCalls::default(), ..unrecorded.clone() };
            let _best_effort = registration.note_unrecorded(&rest);
        }
    }

    /// What is recorded of the beat.
    pub(super) fn into_begun(self) -> BeatRecord {
        self.begun.into_inner()
    }

    fn update(&self, change: impl FnOnce(&mut BeatRecord)) {
        let mut begun = self.begun.borrow_mut();
        change(&mut begun);
        let _best_effort = self.record.as_ref().map(|record| record.update(&begun));
    }
}
