//! `murmur list|add|approve|remove`: manages config.json, changing only the entry in question.

use super::args::{Add, Approve, List, Remove, Workspaces, WorkspacesCommand};
use super::beat::unknown_name;
use super::heartbeat_name::{ShortNames, named, unknown, workspace_or_heartbeat};
use super::init::{backend, checked_schedule, refuse_broad, refuse_other};
use super::lacks;
use super::requests::only_people;
use super::style::in_parentheses;
use super::user_env::UserEnv;
use crate::daemon::heartbeats::approve_hint;
use crate::daemon::{approved, pauses};
use anyhow::{Context, bail};
use derun::cli::json::print as print_json;
use derun::cli::stdout::{stdout, warn};
use derun::cli::wrapped::{Wrapped, output_width};
use murmur_claude_files::trust::Workspaces as Trust;
use murmur_core::config::cron::Crons;
use murmur_core::config::edit::{self, EditError, NewWorkspace};
use murmur_core::config::file::File;
use murmur_core::config::heartbeat::{self, Cache, Heartbeat};
use murmur_core::config::settings::Settings;
use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use sys::error::Hinted;
use sys::failure;
use sys::paths::DataDir;
use sys::text::{Shown, shown_line};
use sys::{clock, shell};

/// Whether a workspace was added to config.json.
pub(super) enum Registered {
    New,
    Already,
}

pub(super) fn run(args: &Workspaces, env: &UserEnv) -> anyhow::Result<ExitCode> {
    match &args.command {
        WorkspacesCommand::List(args) => list(args, env),
        WorkspacesCommand::Add(args) => add(args, env),
        WorkspacesCommand::Approve(args) => approve(args, env),
        WorkspacesCommand::Remove(args) => remove(args, env),
    }
}

/// `murmur add`.
pub(super) fn add(args: &Add, env: &UserEnv) -> anyhow::Result<ExitCode> {
    let Add { path, interval, cron, tz, agent, force } = args;
    let workspace = env.workspace(path)?;
    if !force {
        refuse_broad(&workspace, env)?;
    }
    if !workspace.join("HEARTBEAT.md").exists() && !workspace.join("heartbeats").is_dir() {
        bail!(
            failure!("no HEARTBEAT.md in {}", workspace.display(); "run: murmur init {}", shell::path(&workspace))
        );
    }
    let dir = env.own_data_dir()?;
    let mut schedule = checked_schedule(interval.as_deref(), cron.as_deref(), tz.as_deref(), env)?;
    refuse_other(&schedule, &dir, &workspace, None, env)?;
    // A HEARTBEAT.md with its own schedule needs none here.
    let own = heartbeat::resolve_folder(&workspace, &Crons::new(env.time_zone()));
    if interval.is_none()
        && cron.is_none()
        && own.iter().all(|heartbeat| heartbeat.schedule.is_some() || heartbeat.on().is_some())
    {
        schedule.interval = None;
    }
    backend(agent.as_ref(), &dir, &workspace, env)?;
    let entry = NewWorkspace { agent: agent.as_ref(), ..schedule.workspace(&workspace) };
    match register(&dir, &entry)? {
        Registered::New => writeln!(Shown(stdout()), "registered {}", workspace.display())?,
        Registered::Already => writeln!(Shown(stdout()), "{} is already registered", workspace.display())?,
    }
    agent.as_ref().map_or(Ok(()), lacks::say)?;
    let seen = seen(&dir, env, &workspace)?;
    let settings = Settings::read(&env.settings_dir()?.settings()).ok();
    for heartbeat in &seen {
        if let Some(problem) = heartbeat.problem(settings.as_ref()) {
            problem.all().map(Hinted::line).try_for_each(warn)?;
        }
    }
    let unapproved = seen.into_iter().filter(|heartbeat| !heartbeat.approved);
    for name in unapproved.filter_map(|heartbeat| heartbeat.name) {
        writeln!(Shown(stdout()), "not approved yet: {name}; {}", approve_hint(&workspace, &name))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// `murmur remove`.
pub(super) fn remove(args: &Remove, env: &UserEnv) -> anyhow::Result<ExitCode> {
    let path = &args.path;
    let dir = env.own_data_dir()?;
    // A deleted folder can still be removed.
    let path = match registered_as(path, &dir, env)? {
        Some(workspace) => workspace,
        None => path.canonicalize().or_else(|_| std::path::absolute(path))?,
    };
    let edited =
        edit::apply(&dir.config(), &dir.config_lock(), |source| edit::remove_workspace(source, &path));
    edited.map_err(|error| match &error {
        EditError::Unknown { .. } => error.failure().hint(nearest(&args.path, &dir, env)),
        _ => error.failure(),
    })?;
    writeln!(Shown(stdout()), "unregistered {}; its files were not changed", path.display())?;
    Ok(ExitCode::SUCCESS)
}

/// The hint for a workspace that isn't registered: the nearest one that is, if `typed` is not a folder.
fn nearest(typed: &Path, dir: &DataDir, env: &UserEnv) -> String {
    let known = Cache::new(env.time_zone()).load(&dir.config(), clock::now()).map(|found| found.heartbeats);
    let hint = unknown(&typed.to_string_lossy(), &known.unwrap_or_default()).to_do().map(str::to_owned);
    hint.filter(|_| !typed.exists()).unwrap_or_else(|| "see: murmur list".to_owned())
}

/// The workspace whose own heartbeat has this name, if there is no such folder.
fn registered_as(typed: &Path, dir: &DataDir, env: &UserEnv) -> anyhow::Result<Option<PathBuf>> {
    let Some(name) = typed.to_str().filter(|_| !typed.exists()) else { return Ok(None) };
    // An entry can also be removed from a configuration that is otherwise wrong.
    let Ok(loaded) = Cache::new(env.time_zone()).load(&dir.config(), clock::now()) else { return Ok(None) };
    match named(name, &loaded.heartbeats, dir)? {
        Some(Heartbeat { name: Some(name), workspace, file, .. }) => bail!(
            failure!("{name:?} is one heartbeat of {}, not a workspace", workspace.display(); "remove {}, or the whole workspace: murmur remove {}", shell::path(file), shell::path(workspace))
        ),
        found => Ok(found.map(|found| found.workspace.to_path_buf())),
    }
}

/// The heartbeats in `workspace`, and whether they are approved.
pub(super) fn seen(dir: &DataDir, env: &UserEnv, workspace: &Path) -> anyhow::Result<Vec<Heartbeat>> {
    let crons = Crons::new(env.time_zone());
    let file = File::read(&dir.config(), &crons)?;
    let mut found = heartbeat::resolve_registered(&file, workspace, &crons)
        .unwrap_or_else(|| heartbeat::resolve_folder(workspace, &crons));
    approved::mark(dir, &mut found, clock::now());
    Ok(found)
}

/// `murmur approve`: approves the named heartbeat, or all of them.
pub(super) fn approve(args: &Approve, env: &UserEnv) -> anyhow::Result<ExitCode> {
    only_people("approve")?;
    let dir = env.own_data_dir()?;
    let (workspace, named) = workspace_or_heartbeat(&args.path, &dir, env)?;
    let name = args.name.as_deref().or(named.as_deref());
    let found = seen(&dir, env, &workspace)?;
    let named = found.iter().filter(|heartbeat| heartbeat.name.is_some());
    let (chosen, rest): (Vec<&Heartbeat>, Vec<&Heartbeat>) =
        named.partition(|heartbeat| name.is_none() || heartbeat.name.as_deref() == name);
    if let (Some(name), true) = (name, chosen.is_empty()) {
        let known: Vec<&str> = rest.iter().filter_map(|heartbeat| heartbeat.name.as_deref()).collect();
        bail!(unknown_name(name, &known, &workspace));
    }
    let chosen: Vec<&Heartbeat> = chosen.into_iter().filter(|heartbeat| !heartbeat.approved).collect();
    let names: Vec<&str> = chosen.iter().filter_map(|heartbeat| heartbeat.name.as_deref()).collect();
    approved::approve(&dir, &workspace, &names)
        .with_context(|| format!("cannot write {}", dir.approved().display()))?;
    let mut out = Shown(stdout().lock());
    if chosen.is_empty() {
        writeln!(out, "nothing to approve in {}", shown_line(&workspace.to_string_lossy()))?;
    }
    for heartbeat in chosen {
        let schedule = heartbeat.timing();
        writeln!(out, "approved {}  {schedule}", shown_line(&heartbeat.file.to_string_lossy()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Adds `new` to config.json unless it is already registered.
pub(super) fn register(dir: &DataDir, new: &NewWorkspace<'_>) -> anyhow::Result<Registered> {
    match edit::apply(&dir.config(), &dir.config_lock(), |source| edit::add_workspace(source, new)) {
        Ok(()) => Ok(Registered::New),
        Err(EditError::Known { .. }) => Ok(Registered::Already),
        Err(error) => Err(error.into()),
    }
}

/// What to call heartbeats: their ids, or on a terminal their short names.
fn ids(heartbeats: &[Heartbeat], is_terminal: bool) -> Vec<String> {
    if !is_terminal {
        return heartbeats.iter().map(|heartbeat| heartbeat.id.to_string()).collect();
    }
    let workspaces: Vec<_> = heartbeats.iter().map(|one| one.workspace.to_string_lossy()).collect();
    let names = ShortNames::of(workspaces.iter().map(|path| &**path));
    let name = |(heartbeat, path): (&Heartbeat, &Cow<'_, str>)| {
        shown_line(&names.of_heartbeat(path, heartbeat.name.as_deref()))
    };
    heartbeats.iter().zip(&workspaces).map(name).collect()
}

/// `murmur list`.
pub(super) fn list(args: &List, env: &UserEnv) -> anyhow::Result<ExitCode> {
    let dir = env.read_data_dir()?;
    let now = clock::now();
    let mut loaded = Cache::new(env.time_zone()).load(&dir.config(), now)?;
    approved::mark(&dir, &mut loaded.heartbeats, now);
    let problems = loaded.problems.iter().chain(&loaded.warnings).chain(&loaded.ahead);
    let problems: Vec<String> = problems.map(Hinted::line).collect();
    let mut trust = Trust::of(&dir, &env.home());
    let pauses = pauses::read(&dir);
    let settings = Settings::read(&env.settings_dir()?.settings());
    let problem = |heartbeat: &Heartbeat| {
        let problem = heartbeat.problem(settings.as_ref().ok());
        problem.map(|problem| problem.line())
    };
    // `murmur doctor` reports broken settings.
    let by_default = Settings::default();
    let backend = |heartbeat| Heartbeat::backend(heartbeat, settings.as_ref().unwrap_or(&by_default));
    let mut out = Shown(Wrapped::new(stdout().lock(), output_width().filter(|_| !args.json)));
    if args.json {
        let heartbeats: Vec<_> = loaded
            .heartbeats
            .iter()
            .map(|heartbeat| {
                let untrusted = trust.untrusted(&heartbeat.workspace, backend(heartbeat)).is_some();
                let mut object = serde_json::json!({
                    "id": heartbeat.id.to_string(),
                    "workspace": heartbeat.workspace.display().to_string(),
                    "name": heartbeat.name,
                    "schedule": heartbeat.schedule.as_ref().map(ToString::to_string),
                    "unedited": heartbeat.unedited,
                    "approved": heartbeat.approved,
                    "problem": problem(heartbeat),
                });
                let backend = backend(heartbeat);
                if !backend.is_default() {
                    object["backend"] = backend.to_string().into();
                }
                if untrusted {
                    object["repositoryUntrusted"] = true.into();
                }
                object
            })
            .collect();
        print_json(
            &mut out,
            "heartbeats/1",
            &serde_json::json!({ "heartbeats": heartbeats, "problems": problems }),
        )?;
        return Ok(ExitCode::SUCCESS);
    }
    if loaded.heartbeats.is_empty() && problems.is_empty() {
        writeln!(out, "no workspaces; create one with: murmur init PATH")?;
    }
    let ids = ids(&loaded.heartbeats, io::stdout().is_terminal());
    for (heartbeat, id) in loaded.heartbeats.iter().zip(ids) {
        let schedule = heartbeat.timing();
        let name = shown_line(&heartbeat.title);
        let is_in_id = heartbeat.workspace.ends_with(&name) || id == name;
        let name = if is_in_id { String::new() } else { format!("  ({name})") };
        writeln!(out, "{id}{}  {schedule}{name}", in_parentheses(backend(heartbeat)))?;
        if !heartbeat.is_enabled() {
            writeln!(out, "  disabled: \"enabled\" is false")?;
        }
        if pauses.of(&heartbeat.id).is_some_and(|pause| pause.is_active(now)) {
            writeln!(out, "  paused; to resume, run: murmur resume {}", shell::word(heartbeat.id.as_str()))?;
        }
        if heartbeat.unedited {
            writeln!(out, "  not edited yet; edit {}", heartbeat.file.display())?;
        }
        if let (false, Some(name)) = (heartbeat.approved, &heartbeat.name) {
            writeln!(out, "  not approved yet; {}", approve_hint(&heartbeat.workspace, name))?;
        }
        if let Some(untrusted) = trust.untrusted(&heartbeat.workspace, backend(heartbeat)) {
            writeln!(out, "  {}", untrusted.line())?;
        }
        if let Some(problem) = problem(heartbeat) {
            writeln!(out, "  problem: {problem}")?;
        }
    }
    for problem in &problems {
        writeln!(out, "problem: {problem}")?;
    }
    Ok(ExitCode::SUCCESS)
}
