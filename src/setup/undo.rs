//! What a file was before setup: its backup, to the byte, where nobody else has changed it since.

use super::change::{Outcome, set_up, take_out};
use super::tree::{Settings, text_of};
use super::wanted::Wanted;
use crate::config::problem::Problem;
use std::path::Path;

/// What is to become of a file from which murmur's entries go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Undone {
    /// There are none.
    NotConfigured,
    /// It becomes its backup, which is needed no longer.
    Restored,
    /// There was no file.
    Gone,
    /// It has changed otherwise as well: only the entries go.
    TakenOut(String),
}

/// What the text `current` was before, given the bytes of its backup; `path` is for messages.
///
/// # Errors
/// As [`take_out`].
pub fn undo(current: &str, backup: Option<&[u8]>, path: &Path) -> Result<Undone, Problem> {
    let (text, outcome) = take_out(current, path)?;
    if outcome == Outcome::NotConfigured {
        return Ok(Undone::NotConfigured);
    }
    // Of whatever version and path the entries are: nobody else's change lies between if these make one from the other.
    let wanted = Wanted::found_in(&Settings::read(current, path, &[])?);
    let becomes = |before: &str| {
        let wanted = wanted.as_ref()?;
        let has_ours = Settings::read(before, path, &[]).ok()?.has_ours();
        Some(!has_ours && set_up(before, wanted, path).ok()?.0 == current)
    };
    let backup = backup.and_then(|bytes| text_of(bytes, path).ok());
    Ok(if backup.and_then(becomes) == Some(true) {
        Undone::Restored
    } else if becomes("") == Some(true) {
        Undone::Gone
    } else {
        Undone::TakenOut(text)
    })
}
