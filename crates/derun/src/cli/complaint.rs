//! Prints errors of commands: `error: …` and `hint: …` on stderr.

use super::wrapped::{error_width, wrapped};
use crate::id::IdError;
use crate::store::StoreError;
use std::error::Error;
use std::io::{self, Write};
use sys::error::{Failure, Hinted};
use sys::text::Shown;

/// Prints `error` and its hint.
pub fn complain(error: &anyhow::Error) {
    show(&describe(error, hint));
}

/// Prints a failure and its hint.
pub fn show(failure: &Failure) {
    let text = format!("{}\n", failure.shown());
    let _closed = Shown(io::stderr().lock()).write_all(wrapped(&text, error_width()).as_bytes());
}

/// The message with its causes, without repetitions, and the first hint that `hint` returns for one of them.
#[must_use]
pub fn describe(error: &anyhow::Error, hint: impl Fn(&(dyn Error + 'static)) -> Option<String>) -> Failure {
    Failure::of_chain(error.chain()).or_hint(error.chain().find_map(hint))
}

/// The hint of one of derun's errors.
#[must_use]
pub fn hint(error: &(dyn Error + 'static)) -> Option<String> {
    if let Some(error) = error.downcast_ref::<IdError>() {
        return error.hint();
    }
    if let Some(error) = error.downcast_ref::<StoreError>() {
        return error.hint();
    }
    if let Some(error) = error.downcast_ref::<Failure>() {
        return error.hint();
    }
    error.downcast_ref::<io::Error>().and_then(Hinted::hint)
}
