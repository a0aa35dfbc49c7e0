//! Heartbeats: config.json, what lies in a workspace's folder, and its frontmatter, made into one answer.
//!
//! A heartbeat that cannot run is still one: it carries its [`Problem`], comes due and says so in the journal.

mod cache;
mod note;
mod resolve;
#[cfg(test)]
mod tests;

use std::fmt;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;

use super::asking::Asking;
use super::cron::Crons;
use super::file::{BadWorkspace, File, Workspace};
use super::interval::Interval;
use super::limit::{Notices, Source, Sourced};
use super::mcp::Mcp;
use super::permissions::Permissions;
use super::problem::Problem;
use super::requires::Requires;
use super::timing::Schedule;

pub use cache::Cache;
pub use note::{Content, MAX_BYTES, load_body};
pub use resolve::file_of;

/// The file that makes a folder a workspace.
pub const FILE: &str = "HEARTBEAT.md";
/// The folder in a workspace that has its named heartbeats.
pub const FOLDER: &str = "heartbeats";

/// A heartbeat's id: the workspace path, or `path::heartbeats/<name>/HEARTBEAT.md`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HeartbeatId(Arc<str>);

impl HeartbeatId {
    /// The id of a workspace's own heartbeat, or of one of its named ones.
    #[must_use]
    pub fn new(workspace: &Path, name: Option<&str>) -> Self {
        match name {
            None => Self(workspace.to_string_lossy().into()),
            Some(name) => Self(format!("{}::{FOLDER}/{name}/{FILE}", workspace.display()).into()),
        }
    }

    /// The id that this text is.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        Self(text.into())
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for HeartbeatId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

/// One scheduled prompt of a workspace, with everything resolved that a beat needs but the prompt itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heartbeat {
    /// Its id, unique in a configuration.
    pub id: HeartbeatId,
    /// The folder it runs in: absolute, as config.json has it.
    pub workspace: Arc<Path>,
    /// The folder's name under `heartbeats/`; none for the workspace's own HEARTBEAT.md.
    pub name: Option<Box<str>>,
    /// What to call it in lists.
    pub title: Box<str>,
    /// What it is for, where its author says so.
    pub description: Option<Box<str>>,
    /// The file with its prompt.
    pub file: PathBuf,
    /// When it runs; without one it never does by itself.
    pub schedule: Option<Schedule>,
    /// Who says when it runs.
    pub scheduled_by: Source,
    /// How many turns a beat may take; none is [`DEFAULT_MAX_TURNS`](super::file::DEFAULT_MAX_TURNS).
    pub max_turns: Option<Sourced<NonZeroU32>>,
    /// How long a beat may take.
    pub timeout: Sourced<Interval>,
    /// How long a beat is let be when its turn is over, in case that it begins another one.
    pub background_wait: Sourced<Interval>,
    /// The model, where it is not the agent's own choice.
    pub model: Option<Sourced<Arc<str>>>,
    /// What its agent may not do.
    pub permissions: Permissions,
    /// How many of the patterns in that are the user's, who come first; the others are the frontmatter's.
    pub denied_by_user: usize,
    /// Whether the guard looks at what its agent does: not where config.json says `permissions: "skip"`. Frontmatter,
    /// which lies where the agent can write, has no say in that.
    pub guard: bool,
    /// Who is asked before its agent acts, as config.json has it.
    pub asking: Asking,
    /// The same as its frontmatter has it, which can only make that stricter ([`Settled`](super::asking::Settled)).
    pub tighter: Asking,
    /// The MCP servers that it can't do without.
    pub requires: Requires,
    /// How many of those are the user's, likewise.
    pub required_by_user: usize,
    /// What its frontmatter asks for and does not get, but for what `tighter` asks for.
    pub notices: Notices,
    /// The MCP servers that it may have: those that config.json and its frontmatter both let in.
    pub mcp: Mcp,
    /// Why it cannot run. A beat that comes due then ends at once with this as its error.
    pub problem: Option<Problem>,
    /// Whether its file is a template that nobody has edited: the daemon does not start it until somebody has.
    pub unedited: bool,
    /// Whether a person has approved it, where that is known here; a workspace's own needs no approval but its workspace's.
    pub approved: bool,
    /// When it last ran.
    pub last_run: Option<Timestamp>,
}

/// A configuration, resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// How many beats may run at once.
    pub max_concurrent: NonZeroU32,
    /// The heartbeats, in the order of config.json, a workspace's own before its named ones, those by name.
    pub heartbeats: Vec<Heartbeat>,
    /// What is wrong and belongs to no heartbeat, such as an entry without a path.
    pub problems: Vec<Problem>,
    /// What is probably a slip and was skipped.
    pub warnings: Vec<Problem>,
}

/// The heartbeats of one folder (an absolute path) as `file` has it, without a look at the other workspaces; `None`
/// if it is not there.
#[must_use]
pub fn resolve_registered(file: &File, folder: &Path, crons: &Crons) -> Option<Vec<Heartbeat>> {
    match entry(file, folder)? {
        Ok(workspace) => Some(resolve_workspace(workspace, crons)),
        Err(bad) => Some(resolve::bad(bad).into_iter().collect()),
    }
}

/// The entry of one folder (an absolute path).
#[must_use]
pub fn entry<'a>(file: &'a File, folder: &Path) -> Option<Result<&'a Workspace, &'a BadWorkspace>> {
    let is_it = |path: &Path| path == folder || path.canonicalize().is_ok_and(|real| real == folder);
    file.workspaces.iter().find_map(|entry| match entry {
        Ok(workspace) if is_it(&workspace.path) => Some(Ok(workspace)),
        Err(bad) if bad.path.as_deref().is_some_and(is_it) => Some(Err(&**bad)),
        _ => None,
    })
}

/// The schedule that is there already, and the file where it stands, or would.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// When it runs, if that is said.
    pub schedule: Option<Schedule>,
    /// Where that is said.
    pub said_in: PathBuf,
}

/// When a folder's own heartbeat runs, or the one called `name`; `None` where the folder is not registered, or has none
/// of that name. `config` is where `file` was read.
#[must_use]
pub fn standing(
    file: &File,
    config: &Path,
    folder: &Path,
    name: Option<&str>,
    crons: &Crons,
) -> Option<Standing> {
    let entry = entry(file, folder);
    let general = match entry {
        Some(Ok(workspace)) => workspace.schedule.clone(),
        Some(Err(bad)) => bad.schedule.clone(),
        None => None,
    };
    // Without the entry there is no schedule but the file's own.
    let found = resolve_folder(folder, crons).into_iter().find(|found| found.name.as_deref() == name);
    match (name, found) {
        (None, _) if entry.is_none() => None,
        (Some(_), None) => None,
        (_, Some(Heartbeat { schedule: Some(own), file, .. })) => {
            Some(Standing { schedule: Some(own), said_in: file })
        }
        (Some(_), Some(found)) => Some(Standing { schedule: general, said_in: found.file }),
        (None, _) => Some(Standing { schedule: general, said_in: config.to_owned() }),
    }
}

/// The heartbeats of one folder (an absolute path) that config.json does not name: defaults, frontmatter, and no
/// complaint about a missing schedule.
#[must_use]
pub fn resolve_folder(folder: &Path, crons: &Crons) -> Vec<Heartbeat> {
    resolve_workspace(&Workspace::unregistered(folder), crons)
}

fn resolve_workspace(workspace: &Workspace, crons: &Crons) -> Vec<Heartbeat> {
    let mut problems = Vec::new();
    let seen = resolve::Folder::look(&workspace.path, crons);
    let mut heartbeats = Vec::new();
    resolve::heartbeats(workspace, &seen, &mut heartbeats, &mut problems);
    // A name that cannot be used has no heartbeat of its own to tell it, so the first one does.
    if let (Some(problem), Some(first)) = (problems.pop(), heartbeats.first_mut()) {
        first.problem.get_or_insert(problem);
    }
    heartbeats
}
