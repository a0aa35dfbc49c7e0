//! Resolves one workspace: combines its entry in config.json with the frontmatter of each HEARTBEAT.md in its folder.

use std::fs::Metadata;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use sys::error::Failure;
use sys::failure;

use super::heartbeat_file::{self, HeartbeatFile};
use super::{BeatSettings, FILE, FOLDER, Heartbeat, HeartbeatId};
use crate::config::backend::{Backend, Backends, BothPlaces, KeyPlaces};
use crate::config::cron::Crons;
use crate::config::file::{BadWorkspace, Workspace};
use crate::config::frontmatter::Frontmatter;
use crate::config::limit::{Notices, Source, Sourced};
use crate::config::problem::Problem;
use crate::config::schedule_options::ScheduleOptions;

/// The contents of a workspace's folder.
#[derive(Debug)]
pub(super) struct Folder {
    /// A problem with the folder itself.
    pub(super) problem: Option<Problem>,
    pub(super) own: HeartbeatFile,
    /// Its named heartbeats, sorted, including those without a HEARTBEAT.md.
    pub(super) named: Vec<(Box<str>, HeartbeatFile)>,
    /// Problems with names under `heartbeats/`.
    pub(super) names: Vec<Problem>,
}

impl Folder {
    /// Reads the folder, without a cache.
    pub(super) fn read(path: &Path, crons: &Crons) -> Self {
        let problem = folder_problem(path, &std::fs::metadata(path));
        let read = |file: PathBuf| HeartbeatFile::read(path, &file, &std::fs::metadata(&file), crons);
        if problem.is_some() {
            return Self { problem, own: HeartbeatFile::Missing, named: Vec::new(), names: Vec::new() };
        }
        let (found, names) = list(path);
        let named = found.into_iter().map(|name| {
            let file = file_of(path, Some(&name));
            (name, read(file))
        });
        Self { problem, own: read(file_of(path, None)), named: named.collect(), names }
    }
}

pub(super) fn folder_problem(path: &Path, found: &io::Result<Metadata>) -> Option<Problem> {
    match found {
        Ok(metadata) if metadata.is_dir() => None,
        Ok(_) => Some(Problem::with(
            path,
            failure!("the workspace is not a folder"; "fix its path in config.json"),
        )),
        Err(error) if heartbeat_file::is_absent(error) => Some(Problem::with(
            path,
            failure!("the workspace does not exist"; "create the folder; if you moved it, change its path in config.json"),
        )),
        Err(error) => Some(heartbeat_file::unreadable(path, error)),
    }
}

/// Lists the names under `heartbeats/`, sorted, and the problems with invalid ones. Ignores hidden folders and files.
pub(super) fn list(workspace: &Path) -> (Vec<Box<str>>, Vec<Problem>) {
    let folder = workspace.join(FOLDER);
    let (mut names, mut problems) = (Vec::new(), Vec::new());
    let entries = match std::fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if heartbeat_file::is_absent(&error) => return (names, problems),
        Err(error) => return (names, vec![heartbeat_file::unreadable(&folder, &error)]),
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let is_folder = match entry.file_type() {
            Ok(kind) if kind.is_symlink() => entry.path().is_dir(),
            Ok(kind) => kind.is_dir(),
            Err(_) => false,
        };
        match name.to_str() {
            _ if !is_folder || name.as_encoded_bytes().starts_with(b".") => {}
            Some(name) if !name.chars().any(char::is_control) => names.push(name.into()),
            _ => problems.push(Problem::with(
                &entry.path(),
                failure!("its name has control characters or is not UTF-8, so it never runs"; "rename the folder"),
            )),
        }
    }
    names.sort_unstable();
    (names, problems)
}

/// The HEARTBEAT.md of a workspace's own heartbeat, or of a named one.
#[must_use]
pub fn file_of(workspace: &Path, name: Option<&str>) -> PathBuf {
    // A single allocation of the exact size: there are many paths, and each is kept.
    let parts = name.map_or([None, None, Some(FILE)], |name| [Some(FOLDER), Some(name), Some(FILE)]);
    let length = parts.iter().flatten().map(|part| part.len() + 1).sum::<usize>();
    let mut path = PathBuf::with_capacity(workspace.as_os_str().len() + length);
    path.push(workspace);
    path.extend(parts.into_iter().flatten());
    path
}

/// Adds the heartbeats of a workspace.
pub(super) fn heartbeats(
    workspace: &Workspace,
    seen: &Folder,
    out: &mut Vec<Heartbeat>,
    problems: &mut Vec<Problem>,
) {
    problems.extend(seen.names.iter().cloned());
    let named = seen.named.iter().filter(|(_, file)| !matches!(file, HeartbeatFile::Missing));
    if !matches!(seen.own, HeartbeatFile::Missing) || named.clone().next().is_none() {
        out.push(heartbeat(workspace, None, &seen.own, seen.problem.as_ref(), out));
    }
    for (name, file) in named {
        out.push(heartbeat(workspace, Some(name), file, seen.problem.as_ref(), out));
    }
}

fn heartbeat(
    workspace: &Workspace,
    name: Option<&str>,
    contents: &HeartbeatFile,
    folder: Option<&Problem>,
    others: &[Heartbeat],
) -> Heartbeat {
    let none = Frontmatter::default();
    let file = file_of(&workspace.path, name);
    let (front, unedited, unread) = match contents {
        HeartbeatFile::Valid { front, unedited } => (front.as_deref().unwrap_or(&none), *unedited, None),
        HeartbeatFile::Invalid(problem) => (&none, false, Some(problem.clone())),
        HeartbeatFile::Missing => (&none, false, Some(heartbeat_file::missing(&file))),
    };
    let last_run = match name {
        None => workspace.last_run,
        Some(name) => workspace.last_runs.iter().find(|(known, _)| **known == *name).map(|(_, at)| *at),
    };
    let title = front.name.as_deref().or(name).or(workspace.name.as_deref());
    let mut notices = Notices::default();
    let schedule = notices.less_frequent(workspace.schedule.clone(), front.schedule.as_ref());
    let mut settings = BeatSettings::combine(workspace, front, notices);
    let backend = backend(workspace.agents.as_ref(), front.agent.as_ref());
    let gates = workspace.gates.joined(&front.gates, workspace.gate_source, &mut settings.notices);
    let within = |place, error| Some(Problem::within(&file, place, error));
    let problem = (folder.cloned().or(unread))
        .or_else(|| within(front.agent_place, backend.clone().err()?))
        .or_else(|| within(front.gates_place, gates.clone().err()?));
    settings.backend = backend.unwrap_or_default();
    settings.gates = gates.unwrap_or_default();
    let mut heartbeat = Heartbeat {
        name: name.map(Into::into),
        title: title.map_or_else(|| folder_name(&workspace.path), Into::into),
        description: front.description.clone(),
        scheduled_by: schedule.as_ref().map_or(Source::Default, |schedule| schedule.source),
        schedule: schedule.map(|schedule| schedule.value),
        places: places(workspace, front),
        problem,
        unedited,
        approved: name.is_none(),
        last_run,
        ..Heartbeat::unscheduled(&workspace.path, name, file, shared(settings, others))
    };
    if let (None, Some(chosen)) = (&heartbeat.problem, &heartbeat.settings.backend) {
        heartbeat.problem = heartbeat.check_on(&chosen.value).err();
    }
    heartbeat
}

/// How many heartbeats to compare with one whose settings might be the same.
const MAX_COMPARED: usize = 8;

/// These settings, shared with one of the last `others` if that has the same.
fn shared(settings: BeatSettings, others: &[Heartbeat]) -> Arc<BeatSettings> {
    let mut last = others.iter().rev().take(MAX_COMPARED).map(|other| &other.settings);
    last.find(|known| ***known == settings).map_or_else(|| Arc::new(settings), Arc::clone)
}

impl Heartbeat {
    /// A heartbeat without a schedule.
    fn unscheduled(
        workspace: &Arc<Path>,
        name: Option<&str>,
        file: PathBuf,
        settings: Arc<BeatSettings>,
    ) -> Self {
        Self {
            id: HeartbeatId::new(workspace, name),
            workspace: Arc::clone(workspace),
            name: None,
            title: folder_name(workspace),
            description: None,
            file,
            schedule: None,
            scheduled_by: Source::Default,
            settings,
            places: None,
            problem: None,
            never_runs: false,
            unedited: false,
            approved: true,
            last_run: None,
        }
    }
}

/// Where keys are set that not every backend can fulfill.
fn places(workspace: &Workspace, front: &Frontmatter) -> Option<Box<BothPlaces>> {
    let (config_file, config) = &workspace.key_places;
    let is_any = [config, &front.places].into_iter().any(|places| *places != KeyPlaces::default());
    let asked = front.agent.as_ref().filter(|asked| workspace.agents.is_none() && !asked.is_default());
    let both = || BothPlaces {
        asked: asked.cloned(),
        front: front.places.clone(),
        config: config.clone(),
        config_file: Arc::clone(config_file),
    };
    is_any.then(|| Box::new(both()))
}

/// The program that runs the agent; `None` if config.toml's applies. If config.json names none, only that one may be
/// asked for, which [`Heartbeat::problem`] checks.
fn backend(allowed: Option<&Backends>, front: Option<&Backend>) -> Result<Option<Sourced<Backend>>, Failure> {
    let Some(asked) = front else {
        return Ok(allowed.map(|allowed| Sourced::user(allowed.first().clone())));
    };
    match allowed {
        _ if asked.is_default() => Ok(Some(Sourced::front(asked.clone()))),
        None => Ok(None),
        Some(allowed) if allowed.allow(asked) => Ok(Some(Sourced::front(asked.clone()))),
        Some(_) => Err(not_allowed(asked)),
    }
}

pub(super) fn not_allowed(asked: &Backend) -> Failure {
    failure!(
        "agent: {asked} in HEARTBEAT.md is not allowed by config.json";
        "add \"agent\": \"{asked}\" to the workspace in config.json"
    )
}

/// The heartbeat of an invalid entry, if its path is known.
pub(super) fn bad(entry: &BadWorkspace) -> Option<Heartbeat> {
    let path = entry.path.as_ref()?;
    let options = ScheduleOptions::of(entry.options.as_deref(), None, true, &mut Notices::default());
    let settings = Arc::new(BeatSettings { options, ..BeatSettings::default() });
    Some(Heartbeat {
        schedule: entry.schedule.clone(),
        scheduled_by: Source::ConfigJson,
        problem: Some(entry.problem.clone()),
        last_run: entry.last_run,
        ..Heartbeat::unscheduled(path, None, file_of(path, None), settings)
    })
}

fn folder_name(path: &Path) -> Box<str> {
    path.file_name().map_or_else(|| path.to_string_lossy(), |name| name.to_string_lossy()).into()
}
