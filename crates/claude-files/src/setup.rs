//! Installs murmur's hooks in Claude Code's settings files and removes them, touching nothing else (spec 2,
//! Settings.json Modification; docs/guide/setup.md).
//!
//! Agents started by murmur get their hooks from `--settings`; this is for sessions that people start themselves.
//! Decisions are pure, from text to text, and keep every foreign byte; only [`mod@file`] writes.
//!
//! - [`wanted`]: the entries to install
//! - [`change`]: text, wanted → text with or without them
//! - [`undo`]: text, backup → the original file
//! - [`flaw`]: entries that make Claude Code ignore a file; [`flat`]: rewrites the flat form
//! - [`plan`]: what to do with a file and its backup
//! - [`file`](mod@file): applies a plan, without losing concurrent edits
//! - [`check`]: runs the installed hook once
//! - [`diff`]: shows what would change

pub mod change;
pub mod check;
pub mod diff;
pub mod file;
pub mod flat;
pub mod flaw;
mod ours;
pub mod plan;
mod style;
mod tree;
pub mod undo;
pub mod wanted;

#[cfg(test)]
mod tests;

use murmur_agent::settings::NotUtf8;
use murmur_core::config::problem::Problem;
use std::io;
use std::path::{Path, PathBuf};
use sys::error::Hinted;
use sys::unreadable::uncommon;

/// Whose sessions get the hooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// All of the user's sessions.
    User,
    /// Everybody's sessions in a folder.
    Project,
    /// This user's sessions in a folder.
    Local,
}

/// The folders that determine where settings are.
#[derive(Debug, Clone, Copy)]
pub struct Locations<'a> {
    /// Claude Code's folder, `$CLAUDE_CONFIG_DIR` or `~/.claude`, if known.
    pub claude: Option<&'a Path>,
    /// The current folder, absolute.
    pub here: &'a Path,
}

impl Scope {
    /// The settings file, absolute. It need not exist.
    pub fn file(self, around: &Locations<'_>) -> Result<PathBuf, SetupError> {
        Ok(match self {
            Self::User => around.here.join(around.claude.ok_or(SetupError::NoHome)?).join("settings.json"),
            Self::Project => around.here.join(".claude/settings.json"),
            Self::Local => around.here.join(".claude/settings.local.json"),
        })
    }
}

/// Why a settings file was not changed.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// No variable gives the location of the user's settings.
    #[error("neither HOME nor CLAUDE_CONFIG_DIR is set")]
    NoHome,
    /// The hook's path cannot be written to settings.
    #[error(transparent)]
    NotText(#[from] NotUtf8),
    /// The hook's program has another name, so its entries could not be recognized.
    #[error("{command} is not named murmur-hook or murmur")]
    Renamed {
        /// The command.
        command: String,
    },
    /// Hooks cannot be added to the file.
    #[error(transparent)]
    Wrong(#[from] Problem),
    /// Replacing it would change its owner.
    #[error("{} belongs to another user (uid {owner})", path.display())]
    Foreign {
        /// The file, or the folder it would be created in.
        path: PathBuf,
        /// Its owner.
        owner: u32,
    },
    /// Replacing it would break its hard links.
    #[error("{} has {links} hard links, which editing would break", path.display())]
    Linked {
        /// The file.
        path: PathBuf,
        /// The number of links.
        links: u64,
    },
    /// The lock could not be taken.
    #[error("cannot lock {}", path.display())]
    Lock {
        /// The lock file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// It could not be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// It could not be written.
    #[error("cannot write {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Other programs kept changing it.
    #[error("{} changed {times} times while it was being changed", path.display())]
    KeepsChanging {
        /// The file.
        path: PathBuf,
        /// How many times.
        times: u32,
    },
}

impl Hinted for SetupError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NoHome => "set one, or pass --scope project".to_owned(),
            Self::NotText(error) => return error.hint(),
            Self::Renamed { .. } => "rename the program, or put murmur-hook beside it".to_owned(),
            Self::Foreign { .. } => "run this as that user".to_owned(),
            Self::Linked { .. } => "replace the others with symlinks".to_owned(),
            Self::Lock { .. } => "check the owner and mode of its folder".to_owned(),
            Self::Read { path, source } => {
                uncommon(path, source).unwrap_or_else(|| "check its owner and mode".to_owned())
            }
            Self::Write { path, source } => uncommon(path, source)
                .unwrap_or_else(|| "check its folder's owner, mode and free space".to_owned()),
            Self::KeepsChanging { .. } => "stop the program that writes it, and try again".to_owned(),
            Self::Wrong(problem) => return problem.hint(),
        })
    }
}
