//! Resolves one workspace: combines its entry in config.json with the frontmatter of each HEARTBEAT.md in its folder.

use std::fs::Metadata;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use sys::error::Failure;
use sys::failure;

use super::heartbeat_file::{self, HeartbeatFile};
use super::{FILE, FOLDER, Heartbeat, HeartbeatId};
use crate::config::approval::ApprovalSettings;
use crate::config::backend::{Backend, Backends, BothPlaces, KeyPlaces};
use crate::config::budget::{Budgets, Usd};
use crate::config::cron::Crons;
use crate::config::file::{
    BadWorkspace, DEFAULT_BACKGROUND_WAIT, DEFAULT_MIN_FREE, DEFAULT_TIMEOUT, Workspace,
};
use crate::config::frontmatter::Frontmatter;
use crate::config::gate::{GateSource, Gates};
use crate::config::limit::{MAX_TIME, MAX_TURNS, Notices, Source, Sourced};
use crate::config::mcp::Mcp;
use crate::config::on_failure::OnFailure;
use crate::config::permissions::Permissions;
use crate::config::problem::Problem;
use crate::config::requires::Requires;
use crate::config::reserve::OnLimit;
use crate::config::schedule_options::ScheduleOptions;
use crate::config::watchdogs::Watchdogs;

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
        out.push(heartbeat(workspace, None, &seen.own, seen.problem.as_ref()));
    }
    out.extend(named.map(|(name, file)| heartbeat(workspace, Some(name), file, seen.problem.as_ref())));
}

fn heartbeat(
    workspace: &Workspace,
    name: Option<&str>,
    contents: &HeartbeatFile,
    folder: Option<&Problem>,
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
    let mut heartbeat = Heartbeat {
        name: name.map(Into::into),
        title: title.map_or_else(|| folder_name(&workspace.path), Into::into),
        description: front.description.clone(),
        denied_by_user: workspace.permissions.denied().len(),
        guard: workspace.permissions != Permissions::Skip,
        asking: workspace.asking,
        tighter: front.asking,
        required_by_user: workspace.requires.0.len(),
        gate_source: match workspace.gate_source {
            GateSource::Config => Sourced::default(GateSource::Config),
            source @ GateSource::Workspace => Sourced::user(source),
        },
        gates_by_user: (workspace.gates.when.0.len(), workspace.gates.verify.0.len()),
        mcp: workspace.mcp.sourced(front.mcp.as_ref()),
        places: places(workspace, front),
        unedited,
        approved: name.is_none(),
        last_run,
        ..Heartbeat::with_defaults(&workspace.path, name, file)
    };
    heartbeat.set_limits(workspace, front);
    heartbeat.set_permissions(workspace, front);
    let backend = backend(workspace.agents.as_ref(), front.agent.as_ref());
    let gates = workspace.gates.joined(&front.gates, workspace.gate_source, &mut heartbeat.notices);
    let within = |place, error| Some(Problem::within(&heartbeat.file, place, error));
    heartbeat.problem = (folder.cloned().or(unread))
        .or_else(|| within(front.agent_place, backend.clone().err()?))
        .or_else(|| within(front.gates_place, gates.clone().err()?));
    heartbeat.backend = backend.unwrap_or_default();
    heartbeat.gates = gates.unwrap_or_default();
    if let (None, Some(chosen)) = (&heartbeat.problem, &heartbeat.backend) {
        heartbeat.problem = heartbeat.check_on(&chosen.value).err();
    }
    heartbeat
}

impl Heartbeat {
    /// A heartbeat with the default of every key.
    fn with_defaults(workspace: &Arc<Path>, name: Option<&str>, file: PathBuf) -> Self {
        Self {
            id: HeartbeatId::new(workspace, name),
            workspace: Arc::clone(workspace),
            name: None,
            title: folder_name(workspace),
            description: None,
            file,
            schedule: None,
            scheduled_by: Source::Default,
            max_turns: None,
            timeout: Sourced::default(DEFAULT_TIMEOUT),
            background_wait: Sourced::default(DEFAULT_BACKGROUND_WAIT),
            model: None,
            permissions: Permissions::default(),
            denied_by_user: 0,
            guard: true,
            asking: ApprovalSettings::default(),
            tighter: ApprovalSettings::default(),
            backend: None,
            requires: Requires::default(),
            required_by_user: 0,
            notices: Notices::default(),
            mcp: Sourced::default(Mcp::default()),
            reserve: None,
            on_limit: Sourced::default(OnLimit::default()),
            gates: Gates::default(),
            gate_source: Sourced::default(GateSource::Config),
            gates_by_user: (0, 0),
            on_failure: OnFailure::default(),
            max_budget: None,
            budgets: None,
            min_free: Sourced::default(DEFAULT_MIN_FREE),
            watchdogs: Watchdogs::default(),
            places: None,
            problem: None,
            never_runs: false,
            unedited: false,
            approved: true,
            options: None,
            last_run: None,
        }
    }

    /// Combines when it runs, and what it may use: HEARTBEAT.md can ask for less than config.json, never for more.
    fn set_limits(&mut self, workspace: &Workspace, front: &Frontmatter) {
        let notices = &mut self.notices;
        if let Some(schedule) = notices.rarer(workspace.schedule.clone(), front.schedule.as_ref()) {
            (self.schedule, self.scheduled_by) = (Some(schedule.value), schedule.source);
        }
        let of_user = workspace.max_turns.map(Sourced::user);
        self.max_turns = notices.lower("maxTurns", of_user, front.max_turns, MAX_TURNS);
        let of_user = workspace.timeout.map(Sourced::user);
        if let Some(timeout) = notices.lower("timeout", of_user, front.timeout, MAX_TIME) {
            self.timeout = timeout;
        }
        let of_user = workspace.background_wait.map(Sourced::user);
        if let Some(wait) = notices.lower("backgroundWait", of_user, front.background_wait, MAX_TIME) {
            self.background_wait = wait;
        }
        let of_user = workspace.model.clone().map(Sourced::user);
        self.model = notices.own("model", of_user, front.model.as_deref().map(Arc::from));
        self.reserve = notices.higher("reserve", workspace.reserve.map(Sourced::user), front.reserve);
        let of_user = workspace.on_limit.map(Sourced::user);
        if let Some(on_limit) = notices.stricter("onLimit", of_user, front.on_limit) {
            self.on_limit = on_limit;
        }
        let of_user = workspace.max_budget.map(Sourced::user);
        self.max_budget = notices.lower("maxBudgetUsd", of_user, front.max_budget, Usd::MOST);
        // Less than the default could fill the disk.
        let of_user = workspace.min_free.map_or(self.min_free, Sourced::user);
        if let Some(min_free) = notices.higher("minFree", Some(of_user), front.min_free) {
            self.min_free = min_free;
        }
        let budgets = Budgets {
            total: workspace.total_budget.clone(),
            workspace: workspace.budget.clone(),
            own: front.budget.clone(),
        };
        self.budgets = budgets.boxed();
        let (of_user, of_front) = (workspace.options.as_deref(), front.options.as_deref());
        self.options = ScheduleOptions::of(of_user, of_front, workspace.schedule.is_some(), notices);
        self.on_failure = workspace.on_failure.resolve(front.on_failure, notices);
        self.watchdogs = workspace.watchdogs.resolve(front.watchdogs, notices);
    }

    /// Combines the deny lists and the required MCP servers: HEARTBEAT.md adds to those of config.json.
    fn set_permissions(&mut self, workspace: &Workspace, front: &Frontmatter) {
        let permissions = front.permissions.as_ref();
        if permissions == Some(&Permissions::Skip) && workspace.permissions != Permissions::Skip {
            let notice = "permissions: skip in HEARTBEAT.md has no effect; only config.json can set it";
            self.notices.add(notice.to_owned());
        }
        self.permissions = match permissions {
            Some(narrower) => workspace.permissions.tightened(narrower),
            None => workspace.permissions.clone(),
        };
        self.requires = match &front.requires {
            Some(more) => workspace.requires.joined(more),
            None => workspace.requires.clone(),
        };
    }
}

/// Where keys are set that not every backend can fulfill.
fn places(workspace: &Workspace, front: &Frontmatter) -> Option<Box<BothPlaces>> {
    let (config_file, config) = &workspace.key_places;
    let is_any = [config, &front.places].into_iter().any(|places| *places != KeyPlaces::default());
    let both = || BothPlaces {
        front: front.places.clone(),
        config: config.clone(),
        config_file: Arc::clone(config_file),
    };
    is_any.then(|| Box::new(both()))
}

/// The program that runs the agent; `None` if neither file names one.
fn backend(allowed: Option<&Backends>, front: Option<&Backend>) -> Result<Option<Sourced<Backend>>, Failure> {
    let Some(asked) = front else {
        return Ok(allowed.map(|allowed| Sourced::user(allowed.first().clone())));
    };
    if asked.is_default() || allowed.is_some_and(|allowed| allowed.allow(asked)) {
        return Ok(Some(Sourced::front(asked.clone())));
    }
    Err(failure!(
        "agent: {asked} in HEARTBEAT.md is not allowed by config.json";
        "add \"agent\": \"{asked}\" to the workspace in config.json"
    ))
}

/// The heartbeat of an invalid entry, if its path is known.
pub(super) fn bad(entry: &BadWorkspace) -> Option<Heartbeat> {
    let path = entry.path.as_ref()?;
    Some(Heartbeat {
        schedule: entry.schedule.clone(),
        scheduled_by: Source::ConfigJson,
        options: ScheduleOptions::of(entry.options.as_deref(), None, true, &mut Notices::default()),
        problem: Some(entry.problem.clone()),
        last_run: entry.last_run,
        ..Heartbeat::with_defaults(path, None, file_of(path, None))
    })
}

fn folder_name(path: &Path) -> Box<str> {
    path.file_name().map_or_else(|| path.to_string_lossy(), |name| name.to_string_lossy()).into()
}
