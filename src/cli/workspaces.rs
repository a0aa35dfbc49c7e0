//! `murmur workspaces list|add|remove`: what config.json has. Only the entry in question changes in it.

use super::args::{Workspaces, WorkspacesCommand};
use super::init::{checked_schedule, refuse_broad, refuse_other};
use super::place::Place;
use crate::config::cron::Crons;
use crate::config::edit::{self, EditError, NewWorkspace};
use crate::config::heartbeat::{self, Cache};
use crate::error::Hinted;
use crate::failure;
use crate::sys::paths::DataDir;
use crate::sys::{clock, shell};
use anyhow::bail;
use std::io::{self, Write};
use std::process::ExitCode;

/// Whether a workspace is new to config.json.
pub(super) enum Registered {
    New,
    Already,
}

pub(super) fn run(args: &Workspaces, place: &Place) -> anyhow::Result<ExitCode> {
    match &args.command {
        WorkspacesCommand::List { json } => list(*json, place),
        WorkspacesCommand::Add { path, interval, cron, tz, force } => {
            let workspace = place.workspace(path)?;
            if !force {
                refuse_broad(&workspace, place)?;
            }
            if !workspace.join("HEARTBEAT.md").exists() && !workspace.join("heartbeats").is_dir() {
                bail!(
                    failure!("no HEARTBEAT.md in {}", workspace.display(); "run: murmur init {}", shell::path(&workspace))
                );
            }
            let dir = place.own_data_dir()?;
            let mut schedule = checked_schedule(interval.as_deref(), cron.as_deref(), tz.as_deref(), place)?;
            refuse_other(&schedule, &dir, &workspace, None, place)?;
            // A HEARTBEAT.md that says when it runs needs no word of ours.
            let own = heartbeat::resolve_folder(&workspace, &Crons::new(place.time_zone()));
            if interval.is_none()
                && cron.is_none()
                && own.iter().all(|heartbeat| heartbeat.schedule.is_some())
            {
                schedule.interval = None;
            }
            match register(&dir, &schedule.workspace(&workspace))? {
                Registered::New => writeln!(io::stdout(), "registered {}", workspace.display())?,
                Registered::Already => {
                    writeln!(io::stdout(), "{} is registered already", workspace.display())?
                }
            }
            Ok(ExitCode::SUCCESS)
        }
        WorkspacesCommand::Remove { path } => {
            let dir = place.own_data_dir()?;
            // A folder that is gone can still be forgotten.
            let path = path.canonicalize().or_else(|_| std::path::absolute(path))?;
            edit::apply(&dir.config(), &dir.config_lock(), |source| edit::remove_workspace(source, &path))?;
            writeln!(io::stdout(), "forgot {}; its files are as they were", path.display())?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// Adds `new` to config.json unless it is there.
pub(super) fn register(dir: &DataDir, new: &NewWorkspace<'_>) -> anyhow::Result<Registered> {
    match edit::apply(&dir.config(), &dir.config_lock(), |source| edit::add_workspace(source, new)) {
        Ok(()) => Ok(Registered::New),
        Err(EditError::Known { .. }) => Ok(Registered::Already),
        Err(error) => Err(error.into()),
    }
}

fn list(json: bool, place: &Place) -> anyhow::Result<ExitCode> {
    let dir = place.read_data_dir()?;
    let loaded = Cache::new(place.time_zone()).load(&dir.config(), clock::now())?;
    let problems: Vec<String> = loaded.problems.iter().chain(&loaded.warnings).map(Hinted::line).collect();
    let mut out = io::stdout().lock();
    if json {
        let heartbeats: Vec<_> = loaded
            .heartbeats
            .iter()
            .map(|heartbeat| {
                serde_json::json!({
                    "id": heartbeat.id.to_string(),
                    "workspace": heartbeat.workspace.display().to_string(),
                    "name": heartbeat.name,
                    "schedule": heartbeat.schedule.as_ref().map(ToString::to_string),
                    "unedited": heartbeat.unedited,
                    "problem": heartbeat.problem.as_ref().map(Hinted::line),
                })
            })
            .collect();
        writeln!(out, "{}", serde_json::json!({ "heartbeats": heartbeats, "problems": problems }))?;
        return Ok(ExitCode::SUCCESS);
    }
    if loaded.heartbeats.is_empty() && problems.is_empty() {
        writeln!(out, "no workspaces; make one with: murmur init PATH")?;
    }
    for heartbeat in &loaded.heartbeats {
        let schedule = heartbeat.schedule.as_ref().map_or_else(|| "never".to_owned(), ToString::to_string);
        writeln!(out, "{}  {schedule}", heartbeat.id)?;
        if heartbeat.unedited {
            writeln!(out, "  not edited yet; edit {}", heartbeat.file.display())?;
        }
        if let Some(problem) = &heartbeat.problem {
            writeln!(out, "  problem: {}", problem.line())?;
        }
    }
    for problem in &problems {
        writeln!(out, "problem: {problem}")?;
    }
    Ok(ExitCode::SUCCESS)
}
