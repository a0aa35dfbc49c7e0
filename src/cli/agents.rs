//! `murmur agent list`: what every agent is doing, from hosts, pulses and Claude Code's session files. Works with and
//! without a daemon.

mod lines;
mod object;
mod one;
pub(super) mod screen;
mod table;
mod waiting;
mod watch;

use super::agents_args::AgentShow;
use super::args::Agents;
use super::called::Called;
use super::requests;
use super::runtime;
use super::show::latest;
use super::style::Style;
use super::user_env::UserEnv;
use crate::agents::{self, Agent, Sources};
use anyhow::bail;
use derun::cli::json::print as print_json;
use derun::cli::stdout::{stdout, warn};
use murmur_core::config::problem::Problem;
use murmur_core::config::quiet::Quiet;
use murmur_core::config::settings::Settings;
use murmur_core::naming::{self, Candidate, LAST};
use murmur_store::journal::entry::JournalEntry;
use murmur_store::pulse::health::Health;
use serde_json::json;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use sys::error::Hinted;
use sys::failure;
use sys::{clock, shell, terminal};
use waiting::Waiting;

pub(super) fn run(args: &Agents, env: &UserEnv) -> anyhow::Result<ExitCode> {
    let sources = sources(env)?;
    if args.watch {
        let runtime = runtime()?;
        // An agent that is not there yet can be watched too.
        let agent = match &args.agent {
            Some(typed) => {
                let agents = runtime.block_on(agents::all(&sources, clock::now()))?;
                Some(
                    meant(typed, &agents, env)?.map_or_else(|| typed.clone(), |agent| agent.agent_id.clone()),
                )
            }
            None => None,
        };
        runtime.block_on(watch::watch(sources, agent, args))?;
        return Ok(ExitCode::SUCCESS);
    }
    let now = clock::now();
    let runtime = runtime()?;
    let mut agents = runtime.block_on(agents::all(&sources, now))?;
    runtime.block_on(Waiting::now(&sources.dir))?.mark(&mut agents);
    if let Some(wanted) = &args.agent {
        let wanted = &*chosen(wanted, &agents, env)?;
        return one::show(&sources.dir, &agents, wanted, (args.count, args.json), now);
    }
    let mut agents = by_urgency(agents);
    let ended = if args.all || args.json { 0 } else { hide_ended(&mut agents) };
    let mut out = stdout().lock();
    if args.json {
        let agents: Vec<_> = agents.iter().map(|agent| object::of(agent, now)).collect();
        print_json(&mut out, "agents/1", &json!({ "agents": agents }))?;
    } else if agents.is_empty() {
        writeln!(out, "{NO_AGENTS}")?;
        ended_too(&mut out, ended)?;
    } else {
        let width = columns().filter(|_| io::stdout().is_terminal());
        for line in table::lines(&agents, now, width, Style::of_stdout()) {
            writeln!(out, "{line}")?;
        }
        ended_too(&mut out, ended)?;
        if agents.iter().any(|agent| agent.health == Health::Waiting) {
            requests::note_no_daemon(&sources.dir)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Removes agents that have ended, and returns how many: a heartbeat leaves one with each beat.
fn hide_ended(agents: &mut Vec<Agent>) -> usize {
    let all = agents.len();
    agents.retain(|agent| agent.health != Health::Exited);
    all - agents.len()
}

/// Says how many agents are not listed.
fn ended_too(out: &mut impl Write, ended: usize) -> io::Result<()> {
    match ended {
        0 => Ok(()),
        1 => writeln!(out, "1 agent has ended; to list it, add --all"),
        ended => writeln!(out, "{ended} agents have ended; to list them, add --all"),
    }
}

/// `murmur agent show`.
pub(super) fn show(args: &AgentShow, env: &UserEnv) -> anyhow::Result<ExitCode> {
    let AgentShow { agent, json, watch, count } = args;
    run(&Agents { agent: Some(agent.clone()), all: true, json: *json, watch: *watch, count: *count }, env)
}

/// The id of the agent in `agents` that `typed` stands for.
fn chosen(typed: &str, agents: &[Agent], env: &UserEnv) -> anyhow::Result<String> {
    match meant(typed, agents, env)? {
        Some(agent) => Ok(agent.agent_id.clone()),
        None => {
            let is_of = |entry: &JournalEntry| entry.agent == typed;
            let needle = format!("\"agent\":{}", serde_json::to_string(typed)?);
            let ran = latest(&env.read_data_dir()?, Some(&needle), is_of).ok().flatten();
            let command =
                if ran.is_some() { format!("show {}", shell::word(typed)) } else { "agent list".to_owned() };
            bail!(failure!("no agent {typed:?}"; "see: murmur {command}"))
        }
    }
}

/// The agent in `agents` that `typed` stands for; `last` is the one that started last. Running agents come before
/// those that have ended.
pub(super) fn meant<'a>(
    typed: &str,
    agents: &'a [Agent],
    env: &UserEnv,
) -> anyhow::Result<Option<&'a Agent>> {
    let called = Called::of(typed, &env.read_data_dir()?, env);
    let find = |agents: &[&'a Agent]| {
        let candidate = |agent: &&Agent| {
            called.agent(
                &agent.agent_id,
                agent.project.as_deref(),
                &agent.workspace,
                agent.heartbeat.as_deref(),
            )
        };
        let candidates: Vec<Candidate> = agents.iter().map(candidate).collect();
        let last =
            agents.iter().enumerate().max_by_key(|(_, agent)| agent.started_at).map(|(index, _)| index);
        let found = naming::find(naming::Noun::Agent, typed, &candidates, last)?;
        anyhow::Ok(found.and_then(|index| agents.get(index).copied()))
    };
    let is_left = |agent: &&Agent| agent.health != Health::Exited || agent.agent_id == typed;
    let running: Vec<&Agent> = agents.iter().filter(is_left).collect();
    if typed != LAST
        && let Some(found) = find(&running)?
    {
        return Ok(Some(found));
    }
    find(&agents.iter().collect::<Vec<_>>())
}

/// Printed if there are no agents.
const NO_AGENTS: &str = "no agents; start one with: murmur agent start";

/// Where to look for agents. An invalid config.toml or unreadable sessions are reported and don't hide other agents.
pub(super) fn sources(env: &UserEnv) -> anyhow::Result<Sources> {
    let dir = env.read_data_dir()?;
    let quiet = match Settings::read(&env.settings_dir()?.settings()) {
        Ok(settings) => {
            let wrong = settings.wrong.quiet.iter().flat_map(Problem::all);
            wrong.map(Hinted::line).try_for_each(warn)?;
            settings.quiet
        }
        Err(error) => {
            warn(error.line())?;
            Quiet::default()
        }
    };
    let sources = Sources { dir, claude: env.claude_folder(), quiet };
    if let Err(error) = sources.sessions() {
        warn(error.line())?;
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
pub(super) fn columns() -> Option<usize> {
    terminal::size().ok().map(|size| size.ws_col.into()).filter(|columns| *columns > 0)
}

/// Sorts agents for display.
fn by_urgency(mut agents: Vec<Agent>) -> Vec<Agent> {
    agents.sort_by_key(urgency);
    agents
}
