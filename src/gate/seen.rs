//! What built-in conditions saw before the last beat that was `ok` or `attention`: `gates-<heartbeat>.json` in the data
//! folder. Also what they saw before a beat that a usage limit stopped: that counts once its continuation succeeds.
//!
//! A file that is missing or not readable counts as empty: then the beat runs, which is the safe choice.

use crate::outcome::OutcomeKind;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use sys::atomic;
use sys::file;

/// The version of the file.
const VERSION: u32 = 1;

/// The longest file that is read, in bytes.
const LONGEST: u64 = 64 << 20;

/// What a page was.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Page {
    /// The header `ETag`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub etag: Option<String>,
    /// The header `Last-Modified`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_modified: Option<String>,
    /// The SHA-256 of its body, if it had neither.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
}

/// What the conditions of a heartbeat saw, each under its name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateMemory {
    version: u32,
    /// Files by their path in the workspace, each with what tells two versions apart.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, BTreeMap<String, String>>,
    /// Commits.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub commits: BTreeMap<String, String>,
    /// Pages.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub pages: BTreeMap<String, Page>,
    /// What they saw before the last beat, which a usage limit stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    limited: Option<Box<GateMemory>>,
}

impl GateMemory {
    /// Reads the file at `path`.
    #[must_use]
    pub fn read(path: &Path) -> Self {
        let bytes = file::read_first(path, LONGEST).ok().flatten().unwrap_or_default();
        let seen: Option<Self> = serde_json::from_slice(&bytes).ok();
        seen.filter(|seen| seen.version == VERSION).unwrap_or_default()
    }

    fn is_empty(&self) -> bool {
        self.files.is_empty() && self.commits.is_empty() && self.pages.is_empty()
    }

    /// What to remember after a beat with this outcome, before which the conditions saw `now`. A beat that `continues` another one
    /// didn't ask them again. `None` changes nothing.
    #[must_use]
    pub fn after(self, outcome: OutcomeKind, continues: bool, now: &Self) -> Option<Self> {
        match (outcome, continues) {
            (OutcomeKind::Ok | OutcomeKind::Attention, true) => self.limited.map(|limited| *limited),
            (OutcomeKind::Ok | OutcomeKind::Attention, false) => Some(now.clone()),
            (OutcomeKind::Limited, false) => Some(Self { limited: Some(Box::new(now.clone())), ..self }),
            _ => None,
        }
    }

    /// Writes the file at `path`, if there is anything to write.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        if self.is_empty() && self.limited.as_ref().is_none_or(|limited| limited.is_empty()) {
            return Ok(());
        }
        atomic::write(path, &serde_json::to_vec(&Self { version: VERSION, ..self.clone() })?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(commit: &str) -> GateMemory {
        let commits = BTreeMap::from([("main".to_owned(), commit.to_owned())]);
        GateMemory { version: VERSION, commits, ..GateMemory::default() }
    }

    #[test]
    fn what_a_limited_beat_saw_counts_once_it_was_continued() {
        let after = |before: GateMemory, outcome, continues, now: &GateMemory| {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("gates.json");
            before.write(&path).unwrap();
            if let Some(next) = GateMemory::read(&path).after(outcome, continues, now) {
                next.write(&path).unwrap();
            }
            GateMemory::read(&path)
        };
        let (old, none) = (seen("old"), GateMemory::default());
        let limited = after(old.clone(), OutcomeKind::Limited, false, &seen("new"));
        assert_eq!(limited.commits, old.commits);
        for (before, outcome, continues, now, expected) in [
            (&limited, OutcomeKind::Ok, true, &none, "new"),
            (&limited, OutcomeKind::Attention, true, &none, "new"),
            (&limited, OutcomeKind::Error, true, &none, "old"),
            // Dropped instead of continued: the next beat sees the change again.
            (&limited, OutcomeKind::Ok, false, &seen("newer"), "newer"),
            (&old, OutcomeKind::Ok, true, &none, "old"),
            (&old, OutcomeKind::Error, false, &seen("new"), "old"),
            (&old, OutcomeKind::Skipped, false, &seen("new"), "old"),
        ] {
            let found = after(before.clone(), outcome, continues, now);
            assert_eq!(found.commits["main"], expected, "{outcome} {continues} {before:?}");
        }
        // Limited twice, before anything was remembered.
        let first = after(none.clone(), OutcomeKind::Limited, false, &seen("new"));
        let second = after(first, OutcomeKind::Limited, true, &none);
        assert_eq!(after(second, OutcomeKind::Ok, true, &none).commits["main"], "new");
    }
}
