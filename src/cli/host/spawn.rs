//! `murmur agent start`: starts an agent under its own host.

use super::super::args::{HostAttach, HostSpawn};
use super::super::style::local_time;
use super::super::user_env::UserEnv;
use super::super::{beat, lacks, runtime};
use super::serve;
use anyhow::Context;
use derun::cli::json::print as print_json;
use derun::cli::stdout::{stdout, warn};
use murmur_agent::backend;
use murmur_agent::invocation::own_env;
use murmur_core::config::backend::Backend;
use murmur_core::config::settings::Settings;
use murmur_core::usage_limit::spoken;
use murmur_host::launch::LaunchOptions;
use murmur_store::limits;
use serde_json::json;
use std::io::{self, Read, Write};
use std::process::ExitCode;
use sys::clock;
use sys::paths::DataDir;

pub(in super::super) fn run(args: &HostSpawn, env: &UserEnv) -> anyhow::Result<ExitCode> {
    let dir = env.agents_data_dir()?;
    let backend = serve::backend_or_default(args.backend.as_ref(), &env.user()?)?;
    let wanted = LaunchOptions {
        agent_id: args.agent_id.clone(),
        project: args.project.clone(),
        role: Some(args.role.clone()),
        worktree: std::path::absolute(&args.worktree)?,
        backend: Some(backend.clone()),
        resume: args.resume.clone(),
        issue: args.issue.clone(),
        model: args.model.clone(),
        message: args.message.as_deref().map(text).transpose()?,
        args: args.args.clone(),
    };
    let worktree = wanted.worktree.clone();
    let launch = wanted.launch()?;
    // The host reports settings that are not readable.
    let settings = Settings::read(&env.user()?.settings.settings()).unwrap_or_default();
    let command = settings.command(&backend).ok();
    let agent_id = launch.agent_id.clone();
    let has_message = launch.message.as_ref().is_some_and(|message| !message.is_empty());
    let pid = runtime()?.block_on(async {
        let path = beat::path(env, command.as_ref()).await;
        launch.start(dir.root(), &path).await
    })?;
    lacks::say(&backend)?;
    let policy = |user| serve::policy(serve::role(&args.role), &worktree, &user, env);
    if let Ok(policy) = env.user().map_err(Into::into).and_then(policy)
        && let Some(warning) = beat::nobody_answers(&dir, &policy, false)
    {
        let _closed = warn(warning);
    }
    if let Some(held) = held(&backend, &dir, env) {
        let _closed = warn(held);
    }
    if args.attach {
        let from = Some(0);
        return super::attach(&HostAttach { agent: agent_id.to_string(), from, json: args.json }, env);
    }
    runtime()?.block_on(super::early_end::check(&dir, &agent_id, has_message))?;
    let mut out = stdout().lock();
    if args.json {
        print_json(&mut out, "agent-start/1", &json!({ "agent_id": agent_id, "pid": pid }))?;
    } else {
        writeln!(out, "agent {agent_id} is running; talk with it: murmur agent chat {agent_id}")?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Says that the account of `backend` is on hold, if it is.
fn held(backend: &Backend, dir: &DataDir, env: &UserEnv) -> Option<String> {
    let account = backend::account(backend, &env.user().ok()?.home, &own_env);
    let limits = limits::read(dir).ok()?;
    let hold = limits.accounts.get(&account)?.held(clock::now())?;
    let (until, window) = (local_time(hold.until), spoken(&hold.window));
    Some(format!(
        "{account} is on hold until {until}: its {window} limit is reached; the agent can do little until then"
    ))
}

/// The message; `-` reads it from stdin.
pub(super) fn text(argument: &str) -> anyhow::Result<String> {
    if argument != "-" {
        return Ok(argument.to_owned());
    }
    let mut text = String::new();
    io::stdin().read_to_string(&mut text).context("cannot read the message on stdin")?;
    Ok(text)
}
