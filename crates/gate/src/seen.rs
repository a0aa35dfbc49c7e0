//! What built-in conditions have seen up to the end of the last beat that was `ok` or `attention`:
//! `gates-<heartbeat>.json` in the data folder. Also what they had seen at the end of a beat that a usage limit
//! stopped: that counts once its continuation succeeds.
//!
//! A file that is missing or not readable counts as empty: then the beat runs, which is the safe choice.

use super::changed::differences;
use murmur_core::outcome::OutcomeKind;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;
use sys::error::Failure;
use sys::paths::DataDir;
use sys::{atomic, failure, file};

/// The version of the file.
const VERSION: u32 = 1;

/// The longest file that is read, in bytes.
const MAX_FILE: u64 = 64 << 20;

/// Distinguishes two versions of a page.
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

/// The commits of a repository.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "StoredCommits")]
pub struct Commits {
    /// HEAD.
    pub head: String,
    /// Where HEAD was when the last beat began, if that beat moved it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begun: Option<String>,
    /// The branch that HEAD is on; `None` if it is detached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The last commit of each local branch.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub branches: BTreeMap<String, String>,
}

/// How commits are stored; earlier versions knew only HEAD.
#[derive(Deserialize)]
#[serde(untagged)]
enum StoredCommits {
    Head(String),
    All {
        head: String,
        #[serde(default)]
        begun: Option<String>,
        #[serde(default)]
        branch: Option<String>,
        #[serde(default)]
        branches: BTreeMap<String, String>,
    },
}

impl From<StoredCommits> for Commits {
    fn from(stored: StoredCommits) -> Self {
        match stored {
            StoredCommits::Head(head) => Self { head, ..Self::default() },
            StoredCommits::All { head, begun, branch, branches } => Self { head, begun, branch, branches },
        }
    }
}

/// Files by their path in the workspace, each with what tells two versions apart.
pub type Files = BTreeMap<String, String>;

/// What the conditions of a heartbeat saw, each under its name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateMemory {
    version: u32,
    /// Files.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, Files>,
    /// Commits.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub commits: BTreeMap<String, Commits>,
    /// Pages.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub pages: BTreeMap<String, Page>,
    /// The files at the end of the last beat, if anything but its agent may have changed some of them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    ended: BTreeMap<String, Files>,
    /// What they had seen at the end of a beat that a usage limit stopped and that is not continued yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    limited: Option<Box<GateMemory>>,
}

impl GateMemory {
    /// Reads the file at `path`; an error if its contents are invalid.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let bytes = match file::read_first(path, MAX_FILE) {
            Ok(Some(bytes)) => bytes,
            Ok(None) => return Ok(Self::default()),
            Err(error) => return Err(failure!("cannot read {}", path.display()).because(&error)),
        };
        let seen: Option<Self> = serde_json::from_slice(&bytes).ok();
        seen.filter(|seen| seen.version == VERSION).ok_or_else(|| {
            failure!(
                "{} has an unknown format or version, so its gates see everything as new", path.display();
                "remove it"
            )
        })
    }

    fn is_empty(&self) -> bool {
        self.files.is_empty() && self.commits.is_empty() && self.pages.is_empty()
    }

    /// What counts as already seen when a beat begins. A beat that `continues` another starts from what that one saw at
    /// its end.
    #[must_use]
    pub fn basis(&self, continues: bool) -> Self {
        match &self.limited {
            Some(limited) if continues => (**limited).clone(),
            _ if continues => Self::default(),
            _ => Self { limited: None, ..self.clone() },
        }
    }

    /// Whether nothing has changed, except possibly pages, about which only their server knows.
    #[must_use]
    pub fn is_as_before(&self, now: &Self) -> bool {
        let heads =
            |seen: &Self| seen.commits.values().map(|commits| commits.head.clone()).collect::<Vec<_>>();
        let is_same =
            |name: &String, files| now.files.get(name).is_some_and(|now| differences(files, now).is_empty());
        heads(self) == heads(now)
            && self.files.len() == now.files.len()
            && self.files.iter().all(|(name, files)| is_same(name, files))
    }

    /// Treats files that changed during the beat as new unless its agent `edited` them. The gates saw `begun` at its
    /// start.
    #[must_use]
    pub fn without_foreign_changes(mut self, begun: &Self, edited: &BTreeSet<String>) -> Self {
        for (name, files) in &mut self.files {
            let Some(before) = begun.files.get(name) else { continue };
            let ended = files.clone();
            let changed = differences(before, &ended).into_iter().map(|(_, path)| path);
            for path in changed.filter(|path| !edited.contains(*path)) {
                match before.get(path) {
                    Some(stamp) => files.insert(path.clone(), stamp.clone()),
                    None => files.remove(path),
                };
            }
            if *files != ended {
                self.ended.insert(name.clone(), ended);
            }
        }
        self
    }

    /// Whether only changes during the previous beat started this one, at whose start the gates saw `begun`. If so, and
    /// the agent ran commands, changes during this beat don't count; otherwise it could start itself forever.
    #[must_use]
    pub fn was_started_by_previous_beat(&self, begun: &Self) -> bool {
        let mut ended = Self { ended: BTreeMap::new(), ..self.clone() };
        ended.files.extend(self.ended.clone());
        !self.ended.is_empty() && ended.is_as_before(begun) && self.pages == begun.pages
    }

    /// What to remember after a beat with this outcome, at whose end the conditions have seen `now`. `None` changes
    /// nothing.
    #[must_use]
    pub fn after(self, outcome: OutcomeKind, now: Self) -> Option<Self> {
        match outcome {
            _ if now.is_empty() => None,
            OutcomeKind::Ok | OutcomeKind::Attention => Some(now),
            OutcomeKind::Limited => Some(Self { limited: Some(Box::new(now)), ..self }),
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

/// What is wrong with these files in `dir`.
#[must_use]
pub fn problems(dir: &DataDir) -> Vec<Failure> {
    let entries = std::fs::read_dir(dir.root()).into_iter().flatten().flatten();
    let is_ours = |name: &str| name.starts_with("gates-") && name.ends_with(".json");
    let mut paths: Vec<_> = entries
        .filter(|entry| entry.file_name().to_str().is_some_and(is_ours))
        .map(|entry| entry.path())
        .collect();
    paths.sort_unstable();
    paths.iter().filter_map(|path| GateMemory::read(path).err()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(commit: &str) -> GateMemory {
        let commits = Commits { head: commit.to_owned(), ..Commits::default() };
        let commits = BTreeMap::from([("main".to_owned(), commits)]);
        GateMemory { version: VERSION, commits, ..GateMemory::default() }
    }

    #[test]
    fn what_a_limited_beat_saw_counts_once_it_was_continued() {
        let after = |before: GateMemory, outcome, now: &GateMemory| {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("gates.json");
            before.write(&path).unwrap();
            if let Some(next) = GateMemory::read(&path).unwrap().after(outcome, now.clone()) {
                next.write(&path).unwrap();
            }
            GateMemory::read(&path).unwrap()
        };
        let (old, none) = (seen("old"), GateMemory::default());
        let limited = after(old.clone(), OutcomeKind::Limited, &seen("new"));
        assert_eq!(limited.commits, old.commits);
        assert_eq!((limited.basis(true), limited.basis(false)), (seen("new"), seen("old")));
        for (before, outcome, now, expected) in [
            (&limited, OutcomeKind::Ok, &seen("new"), "new"),
            (&limited, OutcomeKind::Attention, &seen("newer"), "newer"),
            (&limited, OutcomeKind::Error, &seen("new"), "old"),
            (&limited, OutcomeKind::Limited, &seen("newer"), "old"),
            (&old, OutcomeKind::Ok, &none, "old"),
            (&old, OutcomeKind::Error, &seen("new"), "old"),
            (&old, OutcomeKind::Skipped, &seen("new"), "old"),
        ] {
            let found = after(before.clone(), outcome, now);
            assert_eq!(found.commits["main"].head, expected, "{outcome} {before:?}");
        }
        // Limited twice, before anything was remembered.
        let first = after(none.clone(), OutcomeKind::Limited, &seen("new"));
        let second = after(first, OutcomeKind::Limited, &seen("newer"));
        assert_eq!(second.basis(true), seen("newer"));
        assert_eq!(old.basis(true), none);
    }

    #[test]
    fn files_of_earlier_versions_are_read_and_broken_ones_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let dir = DataDir::find(Some(folder.path()), None, None).unwrap();
        let path = folder.path().join("gates-site-0.json");
        assert_eq!(GateMemory::read(&path).unwrap(), GateMemory::default());
        std::fs::write(&path, r#"{"version":1,"commits":{"main":"old"}}"#).unwrap();
        assert_eq!(GateMemory::read(&path).unwrap(), seen("old"));
        assert_eq!(problems(&dir), []);
        for broken in ["{\"version\":1,", "{\"version\":99}", ""] {
            std::fs::write(&path, broken).unwrap();
            let [problem] = &problems(&dir)[..] else { panic!("{broken}") };
            assert!(problem.to_string().contains("gates-site-0.json"), "{problem}");
            assert!(problem.to_do().is_some(), "{problem}");
        }
    }
}
