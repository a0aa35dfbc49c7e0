//! Claude Code's settings files: murmur's hooks put in and taken out, nothing else touched (spec 2, Settings.json
//! Modification; docs/guide/setup.md).
//!
//! What murmur starts has its hooks from `--settings`; this is for the sessions that people start themselves. Deciding is
//! pure, from text to text, and leaves every foreign byte where it was; one file acts.
//!
//! - [`wanted`]: the entries that are to be there
//! - [`change`]: text, wanted → text with them; and without
//! - [`undo`]: text, backup → what the file was before
//! - [`flaw`]: entries by which Claude Code drops a file; [`flat`]: the flat form rewritten
//! - [`plan`]: what becomes of a file and its backup
//! - [`file`](mod@file): all of that done to a file, so that nothing is lost whoever else writes it
//! - [`check`]: the installed hook, run once
//! - [`diff`]: what would change, for people

pub mod change;
pub mod check;
pub mod diff;
pub mod file;
pub mod flat;
pub mod flaw;
mod ours;
pub mod plan;
mod splice;
mod style;
mod tree;
pub mod undo;
pub mod wanted;

#[cfg(test)]
mod tests;

use crate::agent::settings::NotUtf8;
use crate::config::problem::Problem;
use std::io;
use std::path::{Path, PathBuf};
use sys::error::Hinted;
use sys::unreadable::uncommon;

/// Whose sessions have the hooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// All of the user's.
    User,
    /// Those in a folder, of everybody who works there.
    Project,
    /// Those in a folder, of this user.
    Local,
}

/// What the environment says of where settings are.
#[derive(Debug, Clone, Copy)]
pub struct Surroundings<'a> {
    /// Claude Code's own folder, `$CLAUDE_CONFIG_DIR` or `~/.claude`, where it is known.
    pub claude: Option<&'a Path>,
    /// The current folder, absolute.
    pub here: &'a Path,
}

impl Scope {
    /// The settings file, absolute. It need not exist.
    pub fn file(self, around: &Surroundings<'_>) -> Result<PathBuf, SetupError> {
        Ok(match self {
            Self::User => around.here.join(around.claude.ok_or(SetupError::Homeless)?).join("settings.json"),
            Self::Project => around.here.join(".claude/settings.json"),
            Self::Local => around.here.join(".claude/settings.local.json"),
        })
    }
}

/// Why a settings file was not changed. It is then as it was.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// No variable says where the user's settings are.
    #[error("neither HOME nor CLAUDE_CONFIG_DIR is set")]
    Homeless,
    /// The hook's path cannot stand in settings.
    #[error(transparent)]
    NotText(#[from] NotUtf8),
    /// The hook's program is called otherwise, so that its entries would never be found again.
    #[error("{command} is neither murmur-hook nor murmur by name")]
    Renamed {
        /// The command.
        command: String,
    },
    /// It is not what can be added to.
    #[error(transparent)]
    Wrong(#[from] Problem),
    /// Replacing it would make it another's.
    #[error("{} belongs to another user (uid {owner})", path.display())]
    Foreign {
        /// The file, or the folder that it would be made in.
        path: PathBuf,
        /// Its owner.
        owner: u32,
    },
    /// Replacing it would part it from its other names.
    #[error("{} is one file under {links} names (hard links), which a change would part", path.display())]
    Linked {
        /// The file.
        path: PathBuf,
        /// How many names it has.
        links: u64,
    },
    /// The lock could not be taken.
    #[error("{} cannot be locked", path.display())]
    Lock {
        /// The lock file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// It could not be read.
    #[error("{} cannot be read", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// It could not be written.
    #[error("{} cannot be written", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// Others write it faster than it can be changed.
    #[error("{} changed {times} times while it was being changed", path.display())]
    Restless {
        /// The file.
        path: PathBuf,
        /// How often.
        times: u32,
    },
}

impl Hinted for SetupError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Homeless => "set one, or pass --scope project".to_owned(),
            Self::NotText(error) => return error.hint(),
            Self::Renamed { .. } => "give the program its name, or put murmur-hook beside it".to_owned(),
            Self::Foreign { .. } => "run this as that user".to_owned(),
            Self::Linked { .. } => "make the others symbolic links".to_owned(),
            Self::Lock { .. } => "check the owner and mode of its folder".to_owned(),
            Self::Read { path, source } => {
                uncommon(path, source).unwrap_or_else(|| "check its owner and mode".to_owned())
            }
            Self::Write { path, source } => uncommon(path, source)
                .unwrap_or_else(|| "check its folder's owner, mode and free space".to_owned()),
            Self::Restless { .. } => "close what writes it, and try again".to_owned(),
            Self::Wrong(problem) => return problem.hint(),
        })
    }
}
