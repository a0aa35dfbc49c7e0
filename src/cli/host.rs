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

use super::args::{Host, HostCommand};
use super::user_env::UserEnv;
use anyhow::{Context, bail};
use jiff::Timestamp;
use murmur_core::id::AgentId;
use murmur_core::naming::{self, Candidate};
use murmur_host::discover::{self, Condition, HostInfo, PATIENCE};
use murmur_host::protocol::HOST_PROTOCOL_VERSION;
use murmur_rpc::client::Client;
use std::process::ExitCode;
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

/// The hosted agent that `typed` stands for: an id, the beginning of one, or `last`. An unknown id is returned as it is.
fn meant(dir: &DataDir, typed: &AgentId) -> anyhow::Result<AgentId> {
    let known = discover::started(&dir.hosts()).unwrap_or_default();
    let candidates: Vec<Candidate> = known.iter().map(|(agent, _)| Candidate::new(agent.as_str())).collect();
    let started = |(_, (_, at)): &(usize, &(AgentId, String))| at.parse::<Timestamp>().ok();
    let last = known.iter().enumerate().max_by_key(started).map(|(index, _)| index);
    let found = naming::find(naming::Noun::Agent, typed.as_str(), &candidates, last)?;
    let found = found.and_then(|index| known.into_iter().nth(index));
    Ok(found.map_or_else(|| typed.clone(), |(agent, _)| agent))
}

/// The host of `agent`, in any condition.
async fn find(dir: &DataDir, agent: &AgentId) -> anyhow::Result<HostInfo> {
    let seen = discover::find(&dir.hosts(), agent, PATIENCE).await;
    Ok(seen.ok_or_else(|| {
        let known = discover::known(&dir.hosts()).unwrap_or_default();
        let known: Vec<&str> = known.iter().map(AgentId::as_str).collect();
        match spelling::nearest(agent.as_str(), &known) {
            Some(meant) => {
                failure!("no hosted agent \"{agent}\""; "did you mean {meant}? See: murmur agent list --all")
            }
            None => failure!("no hosted agent \"{agent}\""; "see: murmur agent list --all"),
        }
    })?)
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
