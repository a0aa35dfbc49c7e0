//! `murmur host` and the commands of `murmur agent` for hosted agents: starts, lists, follows, messages and stops them.
//!
//! Talks to the hosts directly, so it works with and without a daemon.

mod attach;
mod chat;
mod context;
mod early_end;
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
use super::called::{Called, is_folder};
use super::style::plain_line;
use super::user_env::UserEnv;
use anyhow::{Context, bail};
use jiff::Timestamp;
use murmur_core::id::AgentId;
use murmur_core::naming::{self, Candidate, LAST};
use murmur_host::discover::{self, ANSWER_TIMEOUT, HostInfo, HostState};
use murmur_host::protocol::{AgentInfo, HOST_PROTOCOL_VERSION};
use murmur_host::state::AgentKind;
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

/// The agent that `typed` stands for: an id, a prefix of one, a project, a heartbeat, a folder, or `last`. An
/// unknown id is returned as it is.
fn meant(dir: &DataDir, typed: &str, env: &UserEnv) -> anyhow::Result<AgentId> {
    let is_running = |(_, is_running): &StartedAgent| typed != LAST && *is_running;
    choose(dir, typed, env, &[&is_running, &|_| true])
}

/// The same for commands that need a running agent: prefers running hosted agents to beats.
fn meant_live(dir: &DataDir, typed: &str, env: &UserEnv) -> anyhow::Result<AgentId> {
    let is_live = |(info, is_running): &StartedAgent| *is_running && info.kind == AgentKind::Live;
    choose(dir, typed, env, &[&is_live, &|(_, is_running)| *is_running, &|_| true])
}

/// An agent, and whether it is running.
type StartedAgent = (AgentInfo, bool);

/// The agent that `typed` names. Tries each filter in `groups` in order, and stops at the first with a match.
fn choose(
    dir: &DataDir,
    typed: &str,
    env: &UserEnv,
    groups: &[&dyn Fn(&StartedAgent) -> bool],
) -> anyhow::Result<AgentId> {
    let known = discover::started(&dir.hosts()).unwrap_or_default();
    let called = Called::of(typed, dir, env);
    let is_id = known.iter().any(|(info, _)| info.agent_id.as_str() == typed);
    for is_wanted in groups {
        let group: Vec<&AgentInfo> =
            known.iter().filter(|started| is_id || is_wanted(started)).map(|(info, _)| info).collect();
        let candidate = |info: &&AgentInfo| {
            called.agent(
                info.agent_id.as_str(),
                Some(&info.project),
                &info.worktree,
                info.heartbeat.as_deref(),
            )
        };
        let candidates: Vec<Candidate> = group.iter().map(candidate).collect();
        let started = |(_, info): &(usize, &&AgentInfo)| info.started_at.parse::<Timestamp>().ok();
        let last = group.iter().enumerate().max_by_key(started).map(|(index, _)| index);
        if typed == LAST && group.is_empty() && !known.is_empty() {
            continue;
        }
        if let Some(index) = naming::find(naming::Noun::Agent, typed, &candidates, last)? {
            return Ok(group[index].agent_id.clone());
        }
    }
    // No agent works in this folder.
    if is_folder(typed) { Err(unknown(dir, typed).into()) } else { Ok(AgentId::parse(typed)?) }
}

/// The host of `agent`, in any condition.
async fn find(dir: &DataDir, agent: &AgentId) -> anyhow::Result<HostInfo> {
    let seen = discover::find(&dir.hosts(), agent, ANSWER_TIMEOUT).await;
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
        HostState::Up(_) => {}
        HostState::Incompatible(pong) => bail!(
            failure!("the host of {agent} uses protocol version {}, but this murmur uses {HOST_PROTOCOL_VERSION}", pong.protocol_version; "use the murmur that started it, version {}", pong.version)
        ),
        HostState::Silent => bail!(
            failure!("the host of {agent} does not answer"; "if it stays unresponsive, run: murmur agent stop --force {agent}")
        ),
        HostState::Ended(_) => bail!(failure!("agent {agent} has ended"; "see: murmur show {agent}")),
        HostState::Dead => {
            bail!(failure!("the host of {agent} was killed"; "clean up with: murmur agent stop {agent}"))
        }
    }
    Client::connect(&dir.hosts(), &agent.socket(), ANSWER_TIMEOUT)
        .await
        .with_context(|| format!("cannot reach the host of {agent}"))
}
