//! Heartbeats: config.json, the files in a workspace's folder and their frontmatter, combined.
//!
//! A heartbeat that can't run is still a heartbeat: it has a [`Problem`], comes due, and reports it in the journal.

mod beat_settings;
mod cache;
mod heartbeat_file;
mod never_runs;
mod on_backend;
mod resolve;
#[cfg(test)]
mod tests;

use std::fmt;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use sys::error::Hinted;

use jiff::Timestamp;

use super::backend::BothPlaces;
use super::cron::Crons;
use super::file::{BadWorkspace, File, Workspace};
use super::limit::Source;
use super::problem::Problem;
use super::settings::Settings;
use super::timing::Schedule;
use super::trigger::On;

pub use beat_settings::BeatSettings;
pub use cache::Cache;
pub use heartbeat_file::{Content, MAX_BYTES};
pub use resolve::file_of;

/// The file that makes a folder a workspace.
pub const FILE: &str = "HEARTBEAT.md";
/// The folder in a workspace that has its named heartbeats.
pub const FOLDER: &str = "heartbeats";

/// A heartbeat's id: the workspace's path, or `path::heartbeats/<name>/HEARTBEAT.md`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HeartbeatId(Arc<str>);

impl HeartbeatId {
    /// The id of a workspace's own heartbeat, or of a named one.
    #[must_use]
    pub fn new(workspace: &Path, name: Option<&str>) -> Self {
        match name {
            None => Self(workspace.to_string_lossy().into()),
            Some(name) => Self(format!("{}::{FOLDER}/{name}/{FILE}", workspace.display()).into()),
        }
    }

    /// Takes `text` as an id.
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

/// One scheduled prompt of a workspace, with everything resolved that a beat needs except the prompt itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heartbeat {
    /// Its id, unique in a configuration.
    pub id: HeartbeatId,
    /// The folder that it runs in: absolute, as in config.json.
    pub workspace: Arc<Path>,
    /// The folder's name under `heartbeats/`; `None` for the workspace's own HEARTBEAT.md.
    pub name: Option<Box<str>>,
    /// Its title in lists.
    pub title: Box<str>,
    /// What it is for, if its author wrote that.
    pub description: Option<Box<str>>,
    /// The file with its prompt.
    pub file: PathBuf,
    /// When it runs; `None` if it never runs by itself.
    pub schedule: Option<Schedule>,
    /// Where the schedule is set.
    pub scheduled_by: Source,
    /// How its beats run.
    pub settings: Arc<BeatSettings>,
    /// Where keys are set that not every backend can fulfill, if any is.
    pub places: Option<Box<BothPlaces>>,
    /// Why it can't run. A beat that comes due then ends at once with this error.
    pub problem: Option<Problem>,
    /// Whether that problem is that nothing starts it.
    pub never_runs: bool,
    /// Whether its file is an unedited template, which the daemon does not start.
    pub unedited: bool,
    /// Whether a person has approved it, as far as is known here. A workspace's own heartbeat is approved with its
    /// workspace.
    pub approved: bool,
    /// When it last ran.
    pub last_run: Option<Timestamp>,
}

impl Heartbeat {
    /// Whether the daemon may start it.
    #[must_use]
    pub fn is_enabled(&self) -> bool {
        self.settings.options.as_ref().is_none_or(|options| options.enabled.value)
    }

    /// The files whose changes start it.
    #[must_use]
    pub fn on(&self) -> Option<&On> {
        Some(&self.settings.options.as_ref()?.on.as_ref()?.value)
    }

    /// When it runs, for people.
    #[must_use]
    pub fn timing(&self) -> String {
        match (&self.schedule, self.on()) {
            (None, None) => "never".to_owned(),
            (Some(schedule), None) => schedule.to_string(),
            (None, Some(on)) => format!("on {on}"),
            (Some(schedule), Some(on)) => format!("{schedule}, and on {on}"),
        }
    }
}

/// A resolved configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// How many beats may run at once.
    pub max_concurrent: NonZeroU32,
    /// The heartbeats, in the order of config.json; a workspace's own before its named ones, which are sorted by name.
    pub heartbeats: Vec<Heartbeat>,
    /// Problems that belong to no heartbeat, such as an entry without a path.
    pub problems: Vec<Problem>,
    /// Probable typos that were skipped.
    pub warnings: Vec<Problem>,
    /// Last runs that are in the future; the daemon corrects them.
    pub ahead: Vec<Problem>,
}

impl Resolved {
    /// Problems that aren't about a single heartbeat, one line each. `ahead` describes a last run in the future.
    #[must_use]
    pub fn problem_lines(&self, ahead: impl Fn(&Problem) -> String) -> Vec<String> {
        let lines = self.problems.iter().chain(&self.warnings).map(Hinted::line);
        lines.chain(self.ahead.iter().map(ahead)).collect()
    }

    /// Why heartbeats can't run, one line each, given config.toml's `settings`, unless those are not readable.
    #[must_use]
    pub fn heartbeat_problem_lines(&self, settings: Option<&Settings>) -> Vec<String> {
        let problems = self.heartbeats.iter().filter_map(|heartbeat| heartbeat.problem(settings));
        let lines = |problem: &Problem| problem.all().map(Hinted::line).collect::<Vec<_>>();
        let mut lines: Vec<String> = problems.flat_map(|problem| lines(&problem)).collect();
        // Heartbeats of a workspace share its problems.
        let mut known = std::collections::HashSet::new();
        lines.retain(|line| known.insert(line.clone()));
        lines
    }
}

/// Returns the heartbeats of one registered folder (an absolute path), without resolving other workspaces; `None` if it
/// is not in `file`.
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

/// The current schedule of a heartbeat, and the file that sets it, or would.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CurrentSchedule {
    /// When it runs, if that is set.
    pub schedule: Option<Schedule>,
    /// The file that sets it.
    pub file: PathBuf,
}

/// Returns the current schedule of a folder's own heartbeat, or of the one called `name`; `None` if the folder is not
/// registered, or has no such heartbeat. `config` is the path of `file`.
#[must_use]
pub fn current_schedule(
    file: &File,
    config: &Path,
    folder: &Path,
    name: Option<&str>,
    crons: &Crons,
) -> Option<CurrentSchedule> {
    let entry = entry(file, folder);
    let general = match entry {
        Some(Ok(workspace)) => workspace.schedule.clone(),
        Some(Err(bad)) => bad.schedule.clone(),
        None => None,
    };
    // Without an entry, only the HEARTBEAT.md can set a schedule.
    let found = resolve_folder(folder, crons).into_iter().find(|found| found.name.as_deref() == name);
    match (name, found) {
        (None, _) if entry.is_none() => None,
        (Some(_), None) => None,
        (_, Some(Heartbeat { schedule: Some(own), file, .. })) => {
            Some(CurrentSchedule { schedule: Some(own), file })
        }
        (Some(_), Some(found)) => Some(CurrentSchedule { schedule: general, file: found.file }),
        (None, _) => Some(CurrentSchedule { schedule: general, file: config.to_owned() }),
    }
}

/// Returns the heartbeats of one folder (an absolute path) that config.json doesn't list: defaults and frontmatter. A
/// missing schedule is not a problem here.
#[must_use]
pub fn resolve_folder(folder: &Path, crons: &Crons) -> Vec<Heartbeat> {
    resolve_workspace(&Workspace::unregistered(folder), crons)
}

fn resolve_workspace(workspace: &Workspace, crons: &Crons) -> Vec<Heartbeat> {
    let mut problems = Vec::new();
    let seen = resolve::Folder::read(&workspace.path, crons);
    let mut heartbeats = Vec::new();
    resolve::heartbeats(workspace, &seen, &mut heartbeats, &mut problems);
    // An unusable name has no heartbeat to report its problem, so the first one does.
    if let (Some(problem), Some(first)) = (problems.pop(), heartbeats.first_mut()) {
        first.problem.get_or_insert(problem);
    }
    heartbeats
}
