//! `murmur agent task`: shows or sets the description of an agent's task.

use super::agents::sources;
use super::args::{Agent, AgentCommand};
use super::runtime;
use super::style::plain_line;
use super::user_env::UserEnv;
use crate::agents;
use anyhow::{Context, bail};
use derun::cli::stdout::stdout;
use murmur_store::pulse::task;
use std::io::{self, Write};
use std::process::ExitCode;
use sys::clock;
use sys::failure;

pub(super) fn run(args: &Agent, env: &UserEnv) -> anyhow::Result<ExitCode> {
    let AgentCommand::Task { agent, task } = &args.command;
    match (agent, task) {
        (None, _) => show(&own(env)?, env)?,
        // A single argument is the title: the agent is optional.
        (Some(title), None) => set(&own(env)?, title, env)?,
        (Some(agent), Some(title)) => {
            set(agent, title, env)?;
            note_unknown(agent, env)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The agent that runs this command.
fn own(env: &UserEnv) -> anyhow::Result<String> {
    Ok(env.agent().ok_or_else(|| failure!("cannot tell which agent runs this: MURMUR_AGENT_ID and CLAUDE_CODE_SESSION_ID are not set, and this is not a tmux session"; "name the agent: murmur agent task AGENT TASK; to list agents, run: murmur agents"))?)
}

fn show(agent: &str, env: &UserEnv) -> anyhow::Result<()> {
    let title = task::get(&env.read_data_dir()?, agent);
    if title.is_empty() {
        writeln!(io::stderr(), "no task set for {}", plain_line(agent))?;
    } else {
        writeln!(stdout(), "{}", plain_line(&title))?;
    }
    Ok(())
}

fn set(agent: &str, title: &str, env: &UserEnv) -> anyhow::Result<()> {
    if agent.is_empty() {
        bail!(failure!("the agent id is empty"; "see: murmur agents"));
    }
    let dir = env.own_data_dir()?;
    task::set(&dir, agent, title)
        .with_context(|| format!("cannot write the task of {agent} in {}", dir.agent(agent).display()))?;
    let (agent, title) = (plain_line(agent), plain_line(&task::get(&dir, agent)));
    if title.is_empty() {
        writeln!(stdout(), "{agent} has no task")?;
    } else {
        writeln!(stdout(), "{agent} is working on: {title}")?;
    }
    Ok(())
}

/// Warns that no agent with this id is known: it may start later, or the id may be misspelled.
fn note_unknown(agent: &str, env: &UserEnv) -> anyhow::Result<()> {
    let known = runtime()?.block_on(agents::all(&sources(env)?, clock::now()))?;
    if known.iter().all(|known| known.agent_id != agent) {
        writeln!(io::stderr(), "note: there is no agent {} now; see: murmur agents", plain_line(agent))?;
    }
    Ok(())
}
