//! How many journal lines wait on disk to be written, and why.
//!
//! In: the error of the last attempt. Out: a message for the log, and the reason for `status`.

use murmur_store::journal::unfinished::Waiting;
use std::io;
use sys::error::Failure;
use sys::failure;
use sys::paths::DataDir;
use sys::unreadable::{unwritable, write_hint};

#[derive(Debug, Default)]
pub(super) struct WaitingLines {
    /// How many lines wait in the journal reserve or in `beats/`.
    pub(super) kept: usize,
    /// Why the last one could not be written, with a hint.
    reason: Option<String>,
}

impl WaitingLines {
    /// Notes why a line could not be written to the journal of `dir`.
    pub(super) fn set_reason(&mut self, dir: &DataDir, error: &io::Error) {
        self.reason = Some(unwritable(&dir.journal(), error).line());
    }

    /// Records what a recovery left; returns whether that is more than before.
    pub(super) fn update(&mut self, dir: &DataDir, left: &Waiting) -> bool {
        let before = std::mem::replace(&mut self.kept, left.lines);
        if let Some(error) = &left.error {
            self.set_reason(dir, error);
        }
        self.kept > before
    }

    /// Why `count` lines wait.
    pub(super) fn reason(&self, count: usize) -> Option<&str> {
        self.reason.as_deref().filter(|_| count > 0)
    }
}

/// The message for a journal reserve that cannot be allocated.
pub(super) fn journal_reserve_problem(dir: &DataDir, error: &io::Error) -> Failure {
    failure!("cannot reserve space for journal lines").because(error).hint(write_hint(&dir.reserve(), error))
}
