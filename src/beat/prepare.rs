//! What a beat needs to start its agent: what is looked up once, whether the heartbeat is valid and its rules are
//! readable, and the prompt.

use super::job::{Job, Resumes, project};
use jiff::Timestamp;
use murmur_agent::prompt;
use murmur_agent::rule_files::{self, Project};
use murmur_agent::settings::HookProgram;
use murmur_agent::start::{Plan, Prepared, RunKind};
use murmur_agent::{backend, find};
use murmur_claude_files::trust::{self, Start};
use murmur_core::config::backend::Command;
use murmur_core::config::heartbeat::Content;
use murmur_core::id::SessionId;
use murmur_core::permit::request::BeatOf;
use murmur_gate::GateOutput;
use std::path::PathBuf;
use sys::error::{Failure, Hinted};
use sys::failure;
use sys::file::real_path;
use sys::paths::DataDir;

/// What a beat looks up once, when it begins.
#[derive(Debug)]
pub struct ResolvedPaths {
    /// The workspace's path without links.
    pub(super) workspace: Result<PathBuf, Failure>,
    /// The program that runs the agent.
    pub(super) program: Result<PathBuf, Failure>,
}

impl ResolvedPaths {
    /// Looks up what `job` needs.
    #[must_use]
    pub fn of(job: &Job) -> Self {
        let workspace = real_path(&job.workspace).map_err(|error| {
            failure!("cannot open workspace {}", job.workspace.display(); "check the path").because(&error)
        });
        let found = |command: Command| find::find(&command.program, job.path.as_os_str());
        let program = job.command().and_then(|command| found(command).map_err(|missing| missing.failure()));
        Self { workspace, program }
    }
}

/// Checks that the heartbeat has no problem and that its rules are readable; otherwise, every call would be denied.
pub(super) fn check(job: &Job, dir: &DataDir, found: &ResolvedPaths) -> Result<(), Failure> {
    if let Some(problem) = &job.problem {
        return Err(problem.clone());
    }
    let project = match &found.workspace {
        Ok(real) => Project::at(&job.workspace, real),
        Err(_) => Project::of(&job.workspace),
    };
    rule_files::check(dir, &job.user.settings, &project)
}

/// Returns how to start `job` at `at`, with its repository's files if they are trusted. `content` is its HEARTBEAT.md,
/// and `outputs` goes into the prompt, too.
pub fn prepare(
    job: &Job,
    dir: &DataDir,
    at: Timestamp,
    found: &ResolvedPaths,
    content: &Content,
    outputs: &[GateOutput],
) -> Result<(Prepared, Start), Failure> {
    // Check the rules first: without them the agent may do nothing.
    check(job, dir, found)?;
    let project = project(&job.workspace);
    let hook =
        HookProgram::find().map_err(|error| Failure::new("cannot find murmur's hook").because(&error))?;
    let beat = BeatOf { beat: job.beat.clone(), heartbeat: job.name.clone() };
    let gates = job.gate_files();
    let guarded = job.guarded(dir, &project, &beat, &gates);
    let start = trust::start(dir, &job.user.home, &job.agent, &found.workspace.clone()?, &job.mcp)?;
    let continues = job.continues.as_ref().filter(|session| session.is_argument());
    // A resumed session needs no prompt: it makes the deferred call again.
    let stdin = match &job.resumes {
        Some(Resumes { session, .. }) => {
            if !session.as_ref().is_some_and(SessionId::is_argument) {
                let session = session.as_ref().map_or("", SessionId::as_str);
                return Err(failure!("{session:?} is not a session id"; "deny the request"));
            }
            Vec::new()
        }
        None if continues.is_some() => prompt::after_limit(at).into_bytes(),
        None => {
            let instructions = content.body().map_err(|problem| problem.failure())?;
            let mut prompt = prompt::beat(&job.workspace, at, instructions);
            for GateOutput { gate, text } in outputs.iter().filter(|outputs| !outputs.text.is_empty()) {
                prompt::append_output(&mut prompt, gate, text);
            }
            prompt.into_bytes()
        }
    };
    let command = job.command()?;
    let plan = Plan {
        kind: RunKind::Beat { max_turns: job.max_turns, max_budget: job.max_budget.as_deref() },
        program: found.program.clone()?,
        args: command.args,
        env: command.env,
        offers: command.offers,
        path: job.path.clone().into(),
        guarded,
        hook: &hook,
        deny: job.deny.as_deref(),
        model: job.model.as_deref(),
        trust: &start.args,
        hides_claude_files: start.trust_state.hides_files(),
        resume: job
            .resumes
            .as_ref()
            .map_or(continues, |resumes| resumes.session.as_ref())
            .map(SessionId::as_str),
        stdin,
    };
    Ok((backend::prepare(&job.backend, plan)?, start))
}
