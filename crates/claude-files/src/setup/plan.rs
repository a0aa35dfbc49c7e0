//! Plans the change of a settings file and its backup from their bytes.

use super::SetupError;
use super::change::{self, SetupOutcome};
use super::file::{Backup, Plan, SettingsFile};
use super::flat::fix_flat;
use super::tree::{Settings, text_of};
use super::undo::{UndoOutcome, undo};
use super::wanted::Wanted;
use std::path::Path;

/// The decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// What happens to murmur's hooks.
    pub outcome: SetupOutcome,
    /// The rewritten flat entries, such as `hooks.PostToolUse[0]`.
    pub rewritten: Vec<String>,
    /// Whether the file is restored to its state before the first setup.
    pub is_as_before: bool,
}

/// Installs murmur's hooks; `path` is for messages.
///
/// The backup is the file before murmur's first hook, so a file with hooks never replaces it.
pub fn set_up(found: SettingsFile<'_>, wanted: &Wanted, path: &Path) -> Result<Plan<Decision>, SetupError> {
    let source = text_of(found.file.unwrap_or_default(), path)?;
    let (text, outcome) = change::set_up(source, wanted, path)?;
    plan(found, text, Decision { outcome, rewritten: Vec::new(), is_as_before: false }, path)
}

/// Rewrites flat entries and changes nothing else.
pub fn rewrite_flat(found: SettingsFile<'_>, path: &Path) -> Result<Plan<Decision>, SetupError> {
    let (text, rewritten) = match found.file {
        Some(bytes) => fix_flat(text_of(bytes, path)?, path)?,
        None => Default::default(),
    };
    plan(found, text, Decision { outcome: SetupOutcome::Untouched, rewritten, is_as_before: false }, path)
}

/// Changes the file to `text`, and keeps a backup if it had none of murmur's hooks.
fn plan(
    found: SettingsFile<'_>,
    text: String,
    decision: Decision,
    path: &Path,
) -> Result<Plan<Decision>, SetupError> {
    let source = text_of(found.file.unwrap_or_default(), path)?;
    if text == source {
        return Ok(Plan { next: found.file.map(<[u8]>::to_vec), backup: Backup::Keep, decision });
    }
    let had_ours = Settings::read(source, path, &[])?.has_ours();
    // A file with only murmur's hooks was created by setup.
    let is_kept =
        || found.backup.is_some() || undo(source, None, path).is_ok_and(|undone| undone == UndoOutcome::Gone);
    let backup = if had_ours && is_kept() { Backup::Keep } else { Backup::Write };
    Ok(Plan { next: Some(text.into_bytes()), backup, decision })
}

/// Removes murmur's hooks; `path` is for messages.
pub fn remove(found: SettingsFile<'_>, path: &Path) -> Result<Plan<Decision>, SetupError> {
    let decision = |outcome, is_as_before| Decision { outcome, rewritten: Vec::new(), is_as_before };
    let unchanged = || Plan {
        next: found.file.map(<[u8]>::to_vec),
        backup: Backup::Keep,
        decision: decision(SetupOutcome::NotConfigured, false),
    };
    let Some(bytes) = found.file else { return Ok(unchanged()) };
    Ok(match undo(text_of(bytes, path)?, found.backup, path)? {
        UndoOutcome::NotConfigured => unchanged(),
        UndoOutcome::Restored => {
            let next = found.backup.map(<[u8]>::to_vec);
            Plan { next, backup: Backup::Remove, decision: decision(SetupOutcome::Removed, true) }
        }
        UndoOutcome::Gone => {
            Plan { next: None, backup: Backup::Keep, decision: decision(SetupOutcome::Removed, true) }
        }
        UndoOutcome::TakenOut(text) => {
            let next = Some(text.into_bytes());
            Plan { next, backup: Backup::Keep, decision: decision(SetupOutcome::Removed, false) }
        }
    })
}
