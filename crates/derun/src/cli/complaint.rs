//! How a command shows an error: `error: …` and `hint: …` on stderr.

use crate::id::IdError;
use crate::store::StoreError;
use std::error::Error;
use std::io::{self, Write};
use sys::error::{Failure, Hinted};
use sys::text::Shown;

/// Shows `error`, and what to do about it.
pub fn complain(error: &anyhow::Error) {
    show(&told(error, hint));
}

/// Shows what failed, and what to do about it.
pub fn show(failure: &Failure) {
    let _closed = writeln!(Shown(io::stderr().lock()), "{}", failure.shown());
}

/// What failed with its causes, none of them twice, and the first hint that `hint` knows for one of them.
#[must_use]
pub fn told(error: &anyhow::Error, hint: impl Fn(&(dyn Error + 'static)) -> Option<String>) -> Failure {
    Failure::of_chain(error.chain()).or_hint(error.chain().find_map(hint))
}

/// The hint of an error of derun's.
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
