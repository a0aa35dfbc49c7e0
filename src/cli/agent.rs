//! `murmur agent`: starts, lists, follows, messages and stops agents. Shows or sets the description of an agent's task.

use super::agents::sources;
use super::args::{Agent, AgentCommand};
use super::runtime;
use super::style::plain_line;
use super::user_env::UserEnv;
use super::{agents, host};
use crate::agents as known_agents;
use anyhow::{Context, bail};
use derun::cli::json::print as print_json;
use derun::cli::stdout::{note, stdout};
use murmur_core::naming::LAST;
use murmur_store::pulse::health::Health;
use murmur_store::pulse::task;
use serde_json::json;
use std::io::{self, Write};
use std::process::ExitCode;
use sys::clock;
use sys::failure;
use sys::text::shown_line;

pub(super) fn run(args: &Agent, env: &UserEnv) -> anyhow::Result<ExitCode> {
    match &args.command {
        AgentCommand::Start(args) => host::spawn(args, env),
        AgentCommand::List(args) => agents::run(args, env),
        AgentCommand::Show(args) => agents::show(args, env),
        AgentCommand::Chat(args) => host::chat(args, env),
        AgentCommand::Attach(args) => host::attach(args, env),
        AgentCommand::Send(args) => host::send(args, env),
        AgentCommand::Interrupt(args) => host::interrupt(args, env),
        AgentCommand::Stop(args) => host::stop(args, env),
        AgentCommand::Task { agent, task, json } => {
            set_or_show(agent.as_deref(), task.as_deref(), *json, env)
        }
    }
}

/// `murmur agent task`.
fn set_or_show(
    agent: Option<&str>,
    task: Option<&str>,
    json: bool,
    env: &UserEnv,
) -> anyhow::Result<ExitCode> {
    match (agent, task) {
        (None, _) => show(&own(env)?, json, env)?,
        // A single argument is the caller's own task, unless it names an agent; few tasks have the name of one.
        (Some(typed), None) => match running(typed, env)? {
            Some(agent) => show(&agent, json, env)?,
            None => set(&own(env)?, typed, json, env)?,
        },
        (Some(agent), Some(title)) => {
            env.own_data_dir()?;
            let known = runtime()?.block_on(known_agents::all(&sources(env)?, clock::now()))?;
            let meant = agents::meant(agent, &known, env)?;
            set(meant.map_or(agent, |meant| &meant.agent_id), title, json, env)?;
            // It may start later, or the id may be misspelled.
            if meant.is_none() {
                let agent = shown_line(agent);
                note(format_args!("there is no agent {agent} now; see: murmur agent list"))?;
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The running agent with the id `typed`. Other words, such as a prefix of an id, may be a task.
fn running(typed: &str, env: &UserEnv) -> anyhow::Result<Option<String>> {
    if typed.is_empty() || typed.contains(char::is_whitespace) {
        return Ok(None);
    }
    let mut known = runtime()?.block_on(known_agents::all(&sources(env)?, clock::now()))?;
    known.retain(|agent| agent.health != Health::Exited && [LAST, &agent.agent_id].contains(&typed));
    Ok(if known.is_empty() {
        None
    } else {
        agents::meant(typed, &known, env)?.map(|agent| agent.agent_id.clone())
    })
}

/// The agent that runs this command.
fn own(env: &UserEnv) -> anyhow::Result<String> {
    Ok(env.agent().ok_or_else(|| failure!("cannot determine which agent runs this: MURMUR_AGENT_ID and CLAUDE_CODE_SESSION_ID are not set, and this is not a tmux session"; "name the agent: murmur agent task AGENT TASK; to list agents, run: murmur agent list"))?)
}

/// Prints the task as JSON.
fn print(agent: &str, title: &str) -> io::Result<()> {
    let task = Some(title).filter(|title| !title.is_empty());
    print_json(&mut stdout(), "agent-task/1", &json!({ "agent_id": agent, "task": task }))
}

fn show(agent: &str, json: bool, env: &UserEnv) -> anyhow::Result<()> {
    let title = task::get(&env.read_data_dir()?, agent);
    if json {
        print(agent, &title)?;
    } else if title.is_empty() {
        writeln!(io::stderr(), "no task set for {}", shown_line(agent))?;
    } else {
        writeln!(stdout(), "{}", plain_line(&title))?;
    }
    Ok(())
}

fn set(agent: &str, title: &str, json: bool, env: &UserEnv) -> anyhow::Result<()> {
    if agent.is_empty() {
        bail!(failure!("the agent id is empty"; "see: murmur agent list"));
    }
    let dir = env.own_data_dir()?;
    task::set(&dir, agent, title)
        .with_context(|| format!("cannot write the task of {agent} in {}", dir.agent(agent).display()))?;
    if json {
        return Ok(print(agent, &task::get(&dir, agent))?);
    }
    let (agent, title) = (shown_line(agent), plain_line(&task::get(&dir, agent)));
    if title.is_empty() {
        writeln!(stdout(), "{agent} has no task")?;
    } else {
        writeln!(stdout(), "{agent} is working on: {title}")?;
    }
    Ok(())
}
