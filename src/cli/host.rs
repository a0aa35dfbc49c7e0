//! `murmur host` and the commands of `murmur agent` for hosted agents: starts, lists, follows, messages and stops them.
//!
//! Talks to the hosts directly, so it works with and without a daemon.

mod attach;
mod chat;
mod context;
mod list;
mod send;
mod serve;
mod show;
mod spawn;

pub(super) use attach::run as attach;
pub(super) use chat::run as chat;
pub(super) use send::{interrupt, send, stop};
pub(super) use spawn::run as spawn;

use super::agents::{self, Called};
use super::args::{Host, HostCommand};
use super::style::plain_line;
use super::user_env::UserEnv;
use anyhow::{Context, bail};
use jiff::Timestamp;
use murmur_core::id::AgentId;
use murmur_core::naming::{self, Candidate};
use murmur_host::discover::{self, Condition, HostInfo, PATIENCE};
use murmur_host::protocol::{AgentInfo, HOST_PROTOCOL_VERSION};
use murmur_rpc::client::Client;
use std::process::ExitCode;
use sys::error::Failure;
use sys::paths::DataDir;
use sys::{failure, spelling};

pub(super) fn run(args: &Host, env: &UserEnv) -> anyhow::Result<ExitCode> {
    match &args.command {
        HostCommand::List { all, json } => list::list(*all, *json, env),
        HostCommand::Status { agent, json } => list::status(agent, *json, env),
        HostCommand::Discover { json } => list::discover(*json, env),
        HostCommand::Spawn(args) => spawn::run(args, env),
        HostCommand::Attach(args) => attach::run(args, env),
        HostCommand::Send(args) => send(args, env),
        HostCommand::Interrupt(args) => interrupt(args, env),
        HostCommand::Stop(args) => stop(args, env),
        HostCommand::Serve(args) => serve::run(args, env),
    }
}

/// The agent that `typed` stands for: an id, the beginning of one, a project, a folder, or `last`. An unknown id is
/// returned as it is.
fn meant(dir: &DataDir, typed: &str) -> anyhow::Result<AgentId> {
    let known = discover::started(&dir.hosts()).unwrap_or_default();
    let mut known: Vec<AgentInfo> = known.into_iter().map(|(info, _)| info).collect();
    match index_of(typed, &known)? {
        Some(index) => Ok(known.swap_remove(index).agent_id),
        // No agent works in this folder.
        None if agents::is_folder(typed) => Err(unknown(dir, typed).into()),
        None => Ok(AgentId::parse(typed)?),
    }
}

/// The same for commands that need a running agent: prefers running hosted agents to beats and ended agents.
fn meant_live(dir: &DataDir, typed: &str) -> anyhow::Result<AgentId> {
    let known = discover::started(&dir.hosts()).unwrap_or_default();
    let is_id = known.iter().any(|(info, _)| info.agent_id.as_str() == typed);
    let live = known.into_iter().filter(|(_, is_live)| *is_live).map(|(info, _)| info);
    let mut live: Vec<AgentInfo> = live.collect();
    if is_id || live.is_empty() {
        return meant(dir, typed);
    }
    match index_of(typed, &live)? {
        Some(index) => Ok(live.swap_remove(index).agent_id),
        None => meant(dir, typed),
    }
}

/// The index of the agent in `known` that `typed` stands for.
fn index_of(typed: &str, known: &[AgentInfo]) -> Result<Option<usize>, Failure> {
    let called = Called::of(typed);
    let candidate =
        |info: &AgentInfo| called.candidate(info.agent_id.as_str(), Some(&info.project), &info.worktree);
    let candidates: Vec<Candidate> = known.iter().map(candidate).collect();
    let started = |(_, info): &(usize, &AgentInfo)| info.started_at.parse::<Timestamp>().ok();
    let last = known.iter().enumerate().max_by_key(started).map(|(index, _)| index);
    naming::find(naming::Noun::Agent, typed, &candidates, last)
}

/// The host of `agent`, in any condition.
async fn find(dir: &DataDir, agent: &AgentId) -> anyhow::Result<HostInfo> {
    let seen = discover::find(&dir.hosts(), agent, PATIENCE).await;
    Ok(seen.ok_or_else(|| unknown(dir, agent.as_str()))?)
}

/// The error for an agent that has no host.
fn unknown(dir: &DataDir, typed: &str) -> Failure {
    let known = discover::known(&dir.hosts()).unwrap_or_default();
    let known: Vec<&str> = known.iter().map(AgentId::as_str).collect();
    let failure = failure!("no hosted agent \"{}\"", plain_line(typed));
    failure.hint(match spelling::nearest(typed, &known) {
        Some(meant) => format!("did you mean {meant}? See: murmur agent list --all"),
        None => "see: murmur agent list --all".to_owned(),
    })
}

/// Connects to the host of `agent`, which must be up.
async fn connect(dir: &DataDir, agent: &AgentId) -> anyhow::Result<Client> {
    match find(dir, agent).await?.condition {
        Condition::Up(_) => {}
        Condition::Incompatible(pong) => bail!(
            failure!("the host of {agent} uses protocol version {}, but this murmur uses {HOST_PROTOCOL_VERSION}", pong.protocol_version; "use the murmur that started it, version {}", pong.version)
        ),
        Condition::Silent => bail!(
            failure!("the host of {agent} does not answer"; "if it stays unresponsive, run: murmur agent stop --force {agent}")
        ),
        Condition::Ended(_) => bail!(failure!("agent {agent} has ended"; "see: murmur show {agent}")),
        Condition::Dead => {
            bail!(failure!("the host of {agent} was killed"; "clean up with: murmur agent stop {agent}"))
        }
    }
    Client::connect(&dir.hosts(), &agent.socket(), PATIENCE)
        .await
        .with_context(|| format!("cannot reach the host of {agent}"))
}
