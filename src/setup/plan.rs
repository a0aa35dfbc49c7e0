//! Plans the change of a settings file and its backup from their bytes.

use super::SetupError;
use super::change::{self, Outcome};
use super::file::{Backup, Found, Plan};
use super::flat::fix_flat;
use super::tree::{Settings, text_of};
use super::undo::{Undone, undo};
use super::wanted::Wanted;
use std::path::Path;

/// The decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// What happens to murmur's hooks.
    pub outcome: Outcome,
    /// The rewritten flat entries, such as `hooks.PostToolUse[0]`.
    pub rewritten: Vec<String>,
    /// Whether the file is restored to its state before the first setup.
    pub is_as_before: bool,
}

/// Installs murmur's hooks; `path` is for messages.
///
/// The backup is the file before murmur's first hook, so a file with hooks never replaces it.
pub fn set_up(found: Found<'_>, wanted: &Wanted, path: &Path) -> Result<Plan<Said>, SetupError> {
    let source = text_of(found.file.unwrap_or_default(), path)?;
    let (text, outcome) = change::set_up(source, wanted, path)?;
    plan(found, text, Said { outcome, rewritten: Vec::new(), is_as_before: false }, path)
}

/// Rewrites flat entries and changes nothing else.
pub fn mend_flat(found: Found<'_>, path: &Path) -> Result<Plan<Said>, SetupError> {
    let (text, rewritten) = match found.file {
        Some(bytes) => fix_flat(text_of(bytes, path)?, path)?,
        None => Default::default(),
    };
    plan(found, text, Said { outcome: Outcome::Untouched, rewritten, is_as_before: false }, path)
}

/// Changes the file to `text`, and keeps a backup if it had none of murmur's hooks.
fn plan(found: Found<'_>, text: String, said: Said, path: &Path) -> Result<Plan<Said>, SetupError> {
    let source = text_of(found.file.unwrap_or_default(), path)?;
    if text == source {
        return Ok(Plan { next: found.file.map(<[u8]>::to_vec), backup: Backup::Stays, said });
    }
    let had_ours = Settings::read(source, path, &[])?.has_ours();
    // A file with only murmur's hooks was created by setup.
    let is_kept =
        || found.backup.is_some() || undo(source, None, path).is_ok_and(|undone| undone == Undone::Gone);
    let backup = if had_ours && is_kept() { Backup::Stays } else { Backup::Made };
    Ok(Plan { next: Some(text.into_bytes()), backup, said })
}

/// Removes murmur's hooks; `path` is for messages.
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
