//! What every backend needs to start an agent, and the prepared agent that it returns.

use super::dialog::Conversation;
use super::invocation::Invocation;
use super::settings::{GuardedAgent, HookProgram};
use murmur_core::config::acp_program::Offers;
use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use sys::error::{Failure, Hinted};
use sys::{atomic, failure};

/// The kind of run, and what only that kind needs.
#[derive(Debug, Clone, Copy)]
pub enum RunKind<'a> {
    /// One prompt.
    Beat {
        /// Maximum number of agent loop iterations.
        max_turns: u32,
        /// How much it may cost, in US dollars; only with a backend that can limit it.
        max_budget: Option<&'a str>,
    },
    /// Messages until stdin is closed.
    Live {
        /// More arguments from the user.
        extra: &'a [String],
    },
}

/// An agent to start.
#[derive(Debug, Clone)]
pub struct Plan<'a> {
    /// The kind of run.
    pub kind: RunKind<'a>,
    /// The executable, absolute.
    pub program: PathBuf,
    /// The arguments that come first, from config.toml.
    pub args: Vec<String>,
    /// Variables for its environment, from config.toml.
    pub env: Vec<(String, String)>,
    /// What murmur offers it.
    pub offers: Offers,
    /// Its PATH.
    pub path: OsString,
    /// The agent and how its calls are checked. Its workspace is the working folder.
    pub guarded: GuardedAgent<'a>,
    /// The hook that checks them.
    pub hook: &'a HookProgram,
    /// The workspace's deny patterns; `None` omits the deny list altogether (`permissions: "skip"`).
    pub deny: Option<&'a [String]>,
    /// The model, or `None` for the user's default.
    pub model: Option<&'a str>,
    /// Options of Claude Code that follow from the workspace's trust (`trust::start`).
    pub trust: &'a [String],
    /// Whether the repository has Claude files that the agent must not get.
    pub hides_claude_files: bool,
    /// The backend's id of the conversation to resume.
    pub resume: Option<&'a str>,
    /// A beat's prompt, or the first message to a hosted agent.
    pub stdin: Vec<u8>,
}

/// An agent that is ready to start.
#[derive(Debug)]
pub struct Prepared {
    /// How to start its process.
    pub invocation: Invocation,
    /// The conversation to begin or resume.
    pub conversation: Conversation,
    /// The hook that decides on the calls that it asks about, if it does.
    pub hook: Option<HookProgram>,
    /// A folder that it needs while it runs.
    pub folder: Option<PlannedFolder>,
}

/// A private folder for one run, not yet on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedFolder {
    /// Where it will be.
    pub path: PathBuf,
    /// Its files: name and contents.
    pub files: Vec<(OsString, Vec<u8>)>,
    /// Its symlinks: name and target.
    pub links: Vec<(OsString, PathBuf)>,
}

/// A private folder on disk; removed with its contents when dropped.
#[derive(Debug)]
pub struct RunFolder(PathBuf);

impl PlannedFolder {
    /// Creates the folder with its contents, also if an earlier run left one there.
    pub fn create(&self) -> Result<RunFolder, Failure> {
        let created = || {
            if let Some(parent) = self.path.parent() {
                atomic::create_private_folder(parent)?;
            }
            match std::fs::remove_dir_all(&self.path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            atomic::create_private_folder(&self.path)?;
            let folder = RunFolder(self.path.clone());
            for (name, bytes) in &self.files {
                let mut options = OpenOptions::new();
                options.write(true).create_new(true).mode(0o600);
                options.open(self.path.join(name))?.write_all(bytes)?;
            }
            for (name, target) in &self.links {
                std::os::unix::fs::symlink(target, self.path.join(name))?;
            }
            Ok(folder)
        };
        created().map_err(|error: io::Error| {
            let hint = Hinted::hint(&error);
            failure!("cannot create {}: {error}", self.path.display()).or_hint(hint)
        })
    }
}

impl Drop for RunFolder {
    fn drop(&mut self) {
        // Symlinks in it are removed, not followed.
        let _gone = std::fs::remove_dir_all(&self.0);
        if let Some(parent) = self.0.parent() {
            let _not_empty = std::fs::remove_dir(parent);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_folder_disappears_and_what_it_links_to_stays() {
        let base = tempfile::tempdir().unwrap();
        let target = base.path().join("target");
        std::fs::create_dir(&target).unwrap();
        std::fs::write(target.join("kept"), "x").unwrap();
        let path = base.path().join("agents/a/home");
        let planned = PlannedFolder {
            path: path.clone(),
            files: vec![("settings".into(), b"{}".to_vec())],
            links: vec![("sessions".into(), target.clone())],
        };
        drop(planned.create().unwrap());
        std::fs::create_dir_all(path.join("left/over")).unwrap();
        let folder = planned.create().unwrap();
        assert!(path.join("sessions/kept").is_file());
        assert!(!path.join("left").exists());
        drop(folder);
        assert!(!path.exists());
        assert!(target.join("kept").is_file());
    }
}
