//! `murmur permission`, `murmur question` and `murmur rules`: rules for agents, their requests, and a person's answers.

mod call_syntax;
mod check;
mod denied;
mod log;
mod rules;

use super::args::{
    Permission, PermissionCommand, PermissionRespond, Question, QuestionCommand, QuestionRespond, Rules,
    RulesCommand,
};
use super::requests::{self, NewRule};
use super::user_env::UserEnv;
use crate::daemon::broker::RequestKind;
use murmur_agent::rule_files::{self, Project};
use murmur_core::config::cron::Crons;
use murmur_core::config::file::File;
use murmur_core::config::heartbeat::{self, Cache, Heartbeat};
use std::cmp::Reverse;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use sys::clock;

pub(super) fn run(args: &Permission, env: &UserEnv) -> anyhow::Result<ExitCode> {
    match &args.command {
        PermissionCommand::List(args) => requests::list(RequestKind::Permission, args.json, args.watch, env),
        PermissionCommand::Respond(PermissionRespond {
            id: Some(id),
            decision: Some(decision),
            reason,
            always,
        }) => {
            let rule = if *always { NewRule::OnlyThis } else { NewRule::None };
            requests::respond(id, *decision, reason.as_deref(), rule, env)
        }
        PermissionCommand::Respond(_) => requests::one_by_one(RequestKind::Permission, env),
        PermissionCommand::Check(args) => check::run(args, env),
        PermissionCommand::Rules(args) => rules::run(args, env),
    }
}

/// `murmur rules`.
pub(super) fn rules(args: &Rules, env: &UserEnv) -> anyhow::Result<ExitCode> {
    match &args.command {
        RulesCommand::List(args) => rules::run(args, env),
        RulesCommand::Check(args) => check::run(args, env),
        RulesCommand::Log(args) => log::run(args, env),
    }
}

/// `murmur question`.
pub(super) fn question(args: &Question, env: &UserEnv) -> anyhow::Result<ExitCode> {
    match &args.command {
        QuestionCommand::List(args) => requests::list(RequestKind::Question, args.json, args.watch, env),
        QuestionCommand::Respond(QuestionRespond { id: Some(id), answers: Some(answers) }) => {
            requests::respond_question(id, answers, env)
        }
        QuestionCommand::Respond(_) => requests::one_by_one(RequestKind::Question, env),
    }
}

/// Selects a project.
struct ProjectSelection<'a> {
    /// The project from the command line.
    project: Option<&'a str>,
    /// The folder from the command line.
    cwd: Option<&'a Path>,
    /// The agent's folder, which determines its project: a beat's workspace, or a hosted agent's own folder.
    folder: &'a Path,
}

impl ProjectSelection<'_> {
    /// The project: from the command line, of the agent that runs this, or else of an agent in the folder.
    fn project(&self, env: &UserEnv) -> anyhow::Result<Project> {
        // The environment describes this folder, not another one.
        let own = || env.project().filter(|_| self.cwd.is_none());
        if let Some(name) = self.project {
            return named(name, env);
        }
        Ok(match own() {
            Some((name, folder)) => {
                Project::of(folder.as_deref().unwrap_or(self.folder)).with_name(Some(name.as_str()))
            }
            None => Project::of(self.folder),
        })
    }
}

/// The project with this name. If only one workspace has the name, its rules by folder apply too.
fn named(name: &str, env: &UserEnv) -> anyhow::Result<Project> {
    let file = File::read(&env.read_data_dir()?.config(), &Crons::new(env.time_zone()))?;
    let known = file.workspaces.iter().flatten().map(|workspace| Project::of(&workspace.path));
    let mut known = known.filter(|project| project.name == name);
    let folder = known.next().filter(|_| known.next().is_none()).and_then(|project| project.folder);
    Ok(Project { name: name.to_owned(), folder })
}

/// The rule files in the order they are checked.
fn files(project: &Project, env: &UserEnv) -> anyhow::Result<Vec<PathBuf>> {
    Ok(rule_files::files(&env.read_data_dir()?, &env.settings_dir()?, project)?)
}

/// The heartbeat of the innermost workspace that contains `cwd`; without one, `cwd` counts as a workspace.
pub(super) fn heartbeat_at(cwd: &Path, env: &UserEnv) -> anyhow::Result<Option<Heartbeat>> {
    let loaded = Cache::new(env.time_zone()).load(&env.read_data_dir()?.config(), clock::now())?;
    let depth = |heartbeat: &Heartbeat| {
        let workspace = heartbeat.workspace.canonicalize().ok()?;
        cwd.starts_with(&workspace).then(|| workspace.components().count())
    };
    // The first of equals is the workspace's main heartbeat.
    let around = loaded.heartbeats.into_iter().filter_map(|heartbeat| Some((depth(&heartbeat)?, heartbeat)));
    let innermost = around.min_by_key(|(depth, _)| Reverse(*depth)).map(|(_, heartbeat)| heartbeat);
    let alone = || heartbeat::resolve_folder(cwd, &Crons::new(env.time_zone())).into_iter().next();
    Ok(innermost.or_else(alone))
}
