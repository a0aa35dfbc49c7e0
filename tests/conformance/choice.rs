//! The requested Claude Code: `MURMUR_REAL_CLAUDE` is a path, `REAL_CLAUDE_VERSION` a version.

use std::path::PathBuf;

/// A Claude Code to check.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// This file.
    Path(PathBuf),
    /// This version, from npm.
    Version(String),
    /// Not specified: the pinned version.
    Pinned,
}

impl Choice {
    /// Reads the values of the two variables; empty ones count as unset.
    pub(crate) fn parse(path: Option<PathBuf>, version: Option<String>) -> Result<Self, String> {
        let path = path.filter(|path| !path.as_os_str().is_empty());
        let version = version.filter(|version| !version.is_empty());
        match (path, version) {
            (Some(_), Some(_)) => {
                Err("set either MURMUR_REAL_CLAUDE or REAL_CLAUDE_VERSION, not both".into())
            }
            (Some(path), None) if path.is_file() => Ok(Self::Path(path)),
            (Some(path), None) => Err(format!("no file at MURMUR_REAL_CLAUDE: {}", path.display())),
            (None, Some(version)) if is_exact(&version) => Ok(Self::Version(version)),
            (None, Some(version)) => {
                Err(format!("REAL_CLAUDE_VERSION: {version} is not an exact version; write it like 2.1.330"))
            }
            (None, None) => Ok(Self::Pinned),
        }
    }
}

/// Whether npm always installs the same package for it, and it can be a folder name.
pub(crate) fn is_exact(version: &str) -> bool {
    let numbers: Vec<&str> = version.split('.').collect();
    let is_number = |word: &&str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
    numbers.len() == 3 && numbers.iter().all(is_number)
}
