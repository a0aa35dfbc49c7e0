//! What becomes of a settings file and of its backup, decided from their bytes.

use super::SetupError;
use super::change::{self, Outcome};
use super::file::{Backup, Found, Plan};
use super::flat::fix_flat;
use super::tree::{Settings, text_of};
use super::undo::{Undone, undo};
use super::wanted::Wanted;
use std::path::Path;

/// What was decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// What becomes of murmur's hooks.
    pub outcome: Outcome,
    /// The flat entries that are rewritten, as `hooks.PostToolUse[0]`.
    pub rewritten: Vec<String>,
    /// Whether the file is again what it was before the first setup.
    pub is_as_before: bool,
}

/// murmur's hooks are put in; `path` is for messages.
///
/// The backup is what the file was before the first of murmur's hooks came, so one with hooks in it replaces no other.
///
/// # Errors
/// The file is not what can be added to.
pub fn set_up(found: Found<'_>, wanted: &Wanted, path: &Path) -> Result<Plan<Said>, SetupError> {
    let source = text_of(found.file.unwrap_or_default(), path)?;
    let (text, outcome) = change::set_up(source, wanted, path)?;
    plan(found, text, Said { outcome, rewritten: Vec::new(), is_as_before: false }, path)
}

/// Flat entries are rewritten, and nothing else is done: murmur's hooks are there afterwards if they were before.
///
/// # Errors
/// The file is not JSON, or no object.
pub fn mend_flat(found: Found<'_>, path: &Path) -> Result<Plan<Said>, SetupError> {
    let (text, rewritten) = match found.file {
        Some(bytes) => fix_flat(text_of(bytes, path)?, path)?,
        None => Default::default(),
    };
    plan(found, text, Said { outcome: Outcome::Untouched, rewritten, is_as_before: false }, path)
}

/// The file becomes `text`, and what it was is kept if nothing of murmur's was in it.
fn plan(found: Found<'_>, text: String, said: Said, path: &Path) -> Result<Plan<Said>, SetupError> {
    let source = text_of(found.file.unwrap_or_default(), path)?;
    if text == source {
        return Ok(Plan { next: found.file.map(<[u8]>::to_vec), backup: Backup::Stays, said });
    }
    let had_ours = Settings::read(source, path, &[])?.has_ours();
    // Of a file that is all murmur's own there was none before.
    let is_kept =
        || found.backup.is_some() || undo(source, None, path).is_ok_and(|undone| undone == Undone::Gone);
    let backup = if had_ours && is_kept() { Backup::Stays } else { Backup::Made };
    Ok(Plan { next: Some(text.into_bytes()), backup, said })
}

/// murmur's hooks are taken out; `path` is for messages.
///
/// # Errors
/// The file is not JSON, or no object.
pub fn remove(found: Found<'_>, path: &Path) -> Result<Plan<Said>, SetupError> {
    let said = |outcome, is_as_before| Said { outcome, rewritten: Vec::new(), is_as_before };
    let unchanged = || Plan {
        next: found.file.map(<[u8]>::to_vec),
        backup: Backup::Stays,
        said: said(Outcome::NotConfigured, false),
    };
    let Some(bytes) = found.file else { return Ok(unchanged()) };
    Ok(match undo(text_of(bytes, path)?, found.backup, path)? {
        Undone::NotConfigured => unchanged(),
        Undone::Restored => {
            let next = found.backup.map(<[u8]>::to_vec);
            Plan { next, backup: Backup::Goes, said: said(Outcome::Removed, true) }
        }
        Undone::Gone => Plan { next: None, backup: Backup::Stays, said: said(Outcome::Removed, true) },
        Undone::TakenOut(text) => {
            let next = Some(text.into_bytes());
            Plan { next, backup: Backup::Stays, said: said(Outcome::Removed, false) }
        }
    })
}
