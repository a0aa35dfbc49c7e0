//! `murmur agents`: what every agent is doing, from hosts, pulses and Claude Code's session files. Works without a
//! daemon; a running daemon adds which agents wait for a person.

mod lines;
mod object;
mod one;
mod screen;
mod table;
mod waiting;
mod watch;

use super::args::Agents;
use super::requests;
use super::runtime;
use super::style::Style;
use super::user_env::UserEnv;
use crate::agents::{self, Agent, Sources};
use derun::cli::stdout::stdout;
use murmur_core::config::quiet::Quiet;
use murmur_core::config::settings::Settings;
use murmur_store::pulse::health::Health;
use serde_json::json;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use sys::error::Hinted;
use sys::{clock, terminal};
use waiting::Waiting;

pub(super) fn run(args: &Agents, env: &UserEnv) -> anyhow::Result<ExitCode> {
    let sources = sources(env)?;
    if args.watch {
        runtime()?.block_on(watch::watch(sources, args.agent.clone(), args.json))?;
        return Ok(ExitCode::SUCCESS);
    }
    let now = clock::now();
    let runtime = runtime()?;
    let mut agents = runtime.block_on(agents::all(&sources, now))?;
    runtime.block_on(Waiting::now(&sources.dir))?.mark(&mut agents);
    if let Some(wanted) = &args.agent {
        return one::show(&sources.dir, &agents, wanted, args, now);
    }
    let agents = by_urgency(agents);
    let mut out = stdout().lock();
    if args.json {
        let agents: Vec<_> = agents.iter().map(|agent| object::of(agent, now)).collect();
        writeln!(out, "{}", json!({ "agents": agents }))?;
    } else if agents.is_empty() {
        writeln!(out, "{NOBODY}")?;
    } else {
        let width = columns().filter(|_| io::stdout().is_terminal());
        for line in table::lines(&agents, now, width, Style::of_stdout()) {
            writeln!(out, "{line}")?;
        }
        if agents.iter().any(|agent| agent.health == Health::Waiting) {
            requests::note_no_daemon(&sources.dir)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Printed if there are no agents.
const NOBODY: &str = "No agents. Start one with: murmur host spawn";

/// Where to look for agents. An invalid config.toml or unreadable sessions are reported and don't hide other agents.
pub(super) fn sources(env: &UserEnv) -> anyhow::Result<Sources> {
    let dir = env.read_data_dir()?;
    let quiet = match Settings::read(&env.settings_dir()?.settings()) {
        Ok(settings) => settings.quiet,
        Err(error) => {
            writeln!(io::stderr(), "warning: {}", error.line())?;
            Quiet::default()
        }
    };
    let sources = Sources { dir, claude: env.claude_folder(), quiet };
    if let Err(error) = sources.sessions() {
        writeln!(io::stderr(), "warning: {}", error.line())?;
    }
    Ok(sources)
}

/// The sort key for lists: agents that need a person come first.
fn urgency(agent: &Agent) -> u8 {
    match agent.health {
        Health::Waiting => 0,
        Health::Stuck => 1,
        Health::Warning => 2,
        Health::Dead => 3,
        // The turn ended with an error.
        Health::Active | Health::Idle if agent.state == "idle" && agent.error.is_some() => 4,
        Health::Stale => 5,
        Health::Active => 6,
        Health::Idle => 7,
        Health::Exited => 8,
    }
}

/// The width of the terminal; `None` if unknown.
fn columns() -> Option<usize> {
    terminal::size().ok().map(|size| size.ws_col.into()).filter(|columns| *columns > 0)
}

/// Sorts agents for display.
fn by_urgency(mut agents: Vec<Agent>) -> Vec<Agent> {
    agents.sort_by_key(urgency);
    agents
}
