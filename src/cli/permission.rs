//! `murmur permission`, `murmur question`: what agents may do, what they wait for, and a person's answers.

mod check;
mod denied;
mod rules;
mod spelled;

use super::args::{
    Permission, PermissionCommand, PermissionRespond, Question, QuestionCommand, QuestionRespond,
};
use super::place::Place;
use super::requests;
use crate::agent::rule_files::{self, Project};
use crate::config::cron::Crons;
use crate::config::file::File;
use crate::config::heartbeat::{self, Cache, Heartbeat};
use crate::daemon::broker::Kind;
use std::cmp::Reverse;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use sys::clock;

pub(super) fn run(args: &Permission, place: &Place) -> anyhow::Result<ExitCode> {
    match &args.command {
        PermissionCommand::List(args) => requests::list(Kind::Permission, args.json, args.watch, place),
        PermissionCommand::Respond(PermissionRespond {
            id: Some(id),
            verdict: Some(verdict),
            reason,
            always,
        }) => requests::respond(id, *verdict, reason.as_deref(), *always, place),
        PermissionCommand::Respond(_) => requests::one_by_one(Kind::Permission, place),
        PermissionCommand::Check(args) => check::run(args, place),
        PermissionCommand::Rules(args) => rules::run(args, place),
    }
}

/// `murmur question`.
pub(super) fn question(args: &Question, place: &Place) -> anyhow::Result<ExitCode> {
    match &args.command {
        QuestionCommand::List(args) => requests::list(Kind::Question, args.json, args.watch, place),
        QuestionCommand::Respond(QuestionRespond { id: Some(id), answers: Some(answers) }) => {
            requests::respond_question(id, answers, place)
        }
        QuestionCommand::Respond(_) => requests::one_by_one(Kind::Question, place),
    }
}

/// Whose rules are asked about.
struct Whose<'a> {
    /// The project that was named.
    project: Option<&'a str>,
    /// The folder that was named.
    cwd: Option<&'a Path>,
    /// The folder of the agent whose project it would be: a beat's workspace, a hosted agent's own folder.
    folder: &'a Path,
}

impl Whose<'_> {
    /// The project: the one that was named, in an agent its own, else that of a beat or an agent in the folder.
    fn project(&self, place: &Place) -> anyhow::Result<Project> {
        // The environment's is about here, and not about another folder.
        let own = || place.project().filter(|_| self.cwd.is_none());
        if let Some(name) = self.project {
            return named(name, place);
        }
        Ok(match own() {
            Some((name, folder)) => {
                Project::of(folder.as_deref().unwrap_or(self.folder)).with_name(Some(name.as_str()))
            }
            None => Project::of(self.folder),
        })
    }
}

/// The project that is called so: the only workspace of this name has its rules by its folder as well.
fn named(name: &str, place: &Place) -> anyhow::Result<Project> {
    let file = File::read(&place.read_data_dir()?.config(), &Crons::new(place.time_zone()))?;
    let known = file.workspaces.iter().flatten().map(|workspace| Project::of(&workspace.path));
    let mut known = known.filter(|project| project.name == name);
    let folder = known.next().filter(|_| known.next().is_none()).and_then(|project| project.folder);
    Ok(Project { name: name.to_owned(), folder })
}

/// The files of rules, in the order in which they are looked at.
fn files(project: &Project, place: &Place) -> anyhow::Result<Vec<PathBuf>> {
    Ok(rule_files::files(&place.read_data_dir()?, &place.settings_dir()?, project)?)
}

/// The heartbeat of the innermost workspace that `cwd` is in; without one, what `cwd` would be as a workspace.
pub(super) fn heartbeat_at(cwd: &Path, place: &Place) -> anyhow::Result<Option<Heartbeat>> {
    let loaded = Cache::new(place.time_zone()).load(&place.read_data_dir()?.config(), clock::now())?;
    let depth = |heartbeat: &Heartbeat| {
        let workspace = heartbeat.workspace.canonicalize().ok()?;
        cwd.starts_with(&workspace).then(|| workspace.components().count())
    };
    // Of equals the first counts, which is the workspace's own heartbeat.
    let around = loaded.heartbeats.into_iter().filter_map(|heartbeat| Some((depth(&heartbeat)?, heartbeat)));
    let innermost = around.min_by_key(|(depth, _)| Reverse(*depth)).map(|(_, heartbeat)| heartbeat);
    let alone = || heartbeat::resolve_folder(cwd, &Crons::new(place.time_zone())).into_iter().next();
    Ok(innermost.or_else(alone))
}
