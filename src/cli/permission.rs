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
use crate::agent::rule_files;
use crate::config::cron::Crons;
use crate::config::heartbeat::{self, Cache, Heartbeat};
use crate::daemon::broker::Kind;
use crate::sys::{clock, paths};
use std::cmp::Reverse;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

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
    fn project(&self, place: &Place) -> String {
        // The environment's is about here, and not about another folder.
        let own = || place.project().filter(|_| self.cwd.is_none());
        let of_folder = || paths::readable(&self.folder.file_name().unwrap_or_default().to_string_lossy());
        self.project.map(str::to_owned).or_else(own).unwrap_or_else(of_folder)
    }
}

/// The files of rules, in the order in which they are looked at.
fn files(project: &str, place: &Place) -> anyhow::Result<Vec<PathBuf>> {
    Ok(rule_files::files(&place.read_data_dir()?, &place.settings_dir()?, Some(project))?)
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
