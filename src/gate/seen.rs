//! What built-in conditions saw when a beat last succeeded: `gates-<heartbeat>.json` in the data folder.
//!
//! A file that is missing or not readable counts as empty: then the beat runs, which is the safe side.

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
pub struct Seen {
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
}

impl Seen {
    /// Reads the file at `path`.
    #[must_use]
    pub fn read(path: &Path) -> Self {
        let bytes = file::read_first(path, LONGEST).ok().flatten().unwrap_or_default();
        let seen: Option<Self> = serde_json::from_slice(&bytes).ok();
        seen.filter(|seen| seen.version == VERSION).unwrap_or_default()
    }

    /// Writes the file at `path`, if there is anything to write.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        if self.files.is_empty() && self.commits.is_empty() && self.pages.is_empty() {
            return Ok(());
        }
        atomic::write(path, &serde_json::to_vec(&Self { version: VERSION, ..self.clone() })?)
    }
}
