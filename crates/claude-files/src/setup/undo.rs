//! Restores a file's state before setup: exactly its backup, if nobody else has changed it since.

use super::change::{SetupOutcome, remove_hooks, set_up};
use super::tree::{Settings, text_of};
use super::wanted::Wanted;
use murmur_core::config::problem::Problem;
use std::path::Path;

/// How to remove murmur's entries from a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UndoOutcome {
    /// There are no entries.
    NotConfigured,
    /// Restore the backup.
    Restored,
    /// Remove the file, as there was none.
    Gone,
    /// Remove only the entries, as the file has other changes.
    TakenOut(String),
}

/// Returns how to undo setup in `current`, given the backup's bytes; `path` is for messages.
pub fn undo(current: &str, backup: Option<&[u8]>, path: &Path) -> Result<UndoOutcome, Problem> {
    let (text, outcome) = remove_hooks(current, path)?;
    if outcome == SetupOutcome::NotConfigured {
        return Ok(UndoOutcome::NotConfigured);
    }
    // If adding these entries to the backup gives the current text, nobody else has changed it.
    let wanted = Wanted::found_in(&Settings::read(current, path, &[])?);
    let becomes = |before: &str| {
        let wanted = wanted.as_ref()?;
        let has_ours = Settings::read(before, path, &[]).ok()?.has_ours();
        Some(!has_ours && set_up(before, wanted, path).ok()?.0 == current)
    };
    let had_file = backup.is_some();
    let backup = backup.and_then(|bytes| text_of(bytes, path).ok());
    Ok(if backup.and_then(becomes) == Some(true) {
        UndoOutcome::Restored
    } else if !had_file && becomes("") == Some(true) {
        UndoOutcome::Gone
    } else {
        UndoOutcome::TakenOut(text)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use murmur_agent::settings::HookProgram;
    use serde_json::json;

    const PATH: &str = "/h/settings.json";

    fn wanted() -> Wanted {
        Wanted::of(&HookProgram::at("/b/murmur-hook".into())).unwrap()
    }

    #[test]
    fn a_command_that_does_more_than_call_the_hook_stays_whole() {
        for more in ["; /home/me/notify.sh done", " && notify.sh", " 2>/dev/null"] {
            let hook = json!({ "type": "command", "command": format!("'/b/murmur-hook' Stop{more}") });
            let source = json!({ "hooks": { "Stop": [{ "hooks": [hook] }] } }).to_string();
            let text = set_up(&source, &wanted(), Path::new(PATH)).unwrap().0;
            assert!(text.contains(more), "{text}");
            assert_eq!(
                remove_hooks(&text, Path::new(PATH)).unwrap(),
                (source.clone(), SetupOutcome::Removed)
            );
            assert_eq!(undo(&source, None, Path::new(PATH)).unwrap(), UndoOutcome::NotConfigured);
        }
    }

    #[test]
    fn a_reformatted_file_is_not_removed() {
        let text = set_up("", &wanted(), Path::new(PATH)).unwrap().0;
        assert_eq!(undo(&text, None, Path::new(PATH)).unwrap(), UndoOutcome::Gone);
        let UndoOutcome::TakenOut(rest) = undo(&text, Some(b"{ }"), Path::new(PATH)).unwrap() else {
            panic!("{text}")
        };
        assert_eq!(rest.trim(), "{}");
    }

    #[test]
    fn a_file_with_edited_entries_is_not_removed() {
        let text = set_up("", &wanted(), Path::new(PATH)).unwrap().0;
        for (written, edited) in [
            ("'/b/murmur-hook' Stop", "/b/murmur-hook Stop"),
            (
                "'/b/murmur-hook' Stop\",",
                "'/b/murmur-hook' Stop\",\n            \"statusMessage\": \"mine\",",
            ),
        ] {
            let edited = text.replace(written, edited);
            assert_ne!(edited, text);
            assert_eq!(
                undo(&edited, None, Path::new(PATH)).unwrap(),
                UndoOutcome::TakenOut("{}\n".to_owned())
            );
        }
    }
}
