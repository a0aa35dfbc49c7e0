//! `murmur agent send` and `murmur agent stop`.

use super::super::args::{HostInterrupt, HostSend, HostStop};
use super::super::runtime;
use super::super::user_env::UserEnv;
use super::spawn::text;
use anyhow::{Context, bail};
use derun::cli::json::print as print_json;
use derun::cli::stdout::stdout;
use murmur_core::id::AgentId;
use murmur_host::discover::{self, ANSWER_TIMEOUT, HostInfo, HostState};
use murmur_host::protocol::{GRACE, Send, Stop};
use murmur_host::reap;
use murmur_host::state::{AgentKind, State};
use murmur_rpc::client::AskError;
use serde_json::json;
use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;
use sys::clock;
use sys::failure;
use sys::paths::DataDir;
use sys::process::Signal;
use tokio::time::timeout;

/// How long a host may take to accept a message.
const ACCEPT_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a host may take to answer a forced stop before it is killed itself.
const FORCED_STOP_TIMEOUT: Duration = Duration::from_secs(2);

/// How much longer than its grace period an agent may take to end: its processes are killed, and clients read the
/// remaining events.
const ENDING: Duration = Duration::from_secs(15);

pub(in super::super) fn send(args: &HostSend, env: &UserEnv) -> anyhow::Result<ExitCode> {
    let dir = env.read_data_dir()?;
    let agent = &super::meant_live(&dir, &args.agent, env)?;
    let payload = Send { text: text(&args.message)? };
    let state = runtime()?.block_on(async {
        let mut client = super::connect(&dir, agent).await?;
        let state = client.answer("send", json!(payload), ACCEPT_TIMEOUT).await;
        let state = state.with_context(|| format!("cannot send to {agent}"))?;
        anyhow::Ok(serde_json::from_value::<State>(state)?)
    })?;
    let mut out = stdout().lock();
    if args.json {
        print_json(
            &mut out,
            "agent-send/1",
            &json!({ "agent_id": agent, "state": state.as_str(), "queued": queued(&state) }),
        )?;
    } else {
        match queued(&state) {
            0 => writeln!(out, "sent to {agent}")?,
            1 => writeln!(out, "sent to {agent}; it is queued until the current turn ends")?,
            2 => writeln!(out, "sent to {agent}; another message is queued before it")?,
            many => writeln!(out, "sent to {agent}; {} other messages are queued before it", many - 1)?,
        }
    }
    Ok(ExitCode::SUCCESS)
}

pub(in super::super) fn interrupt(args: &HostInterrupt, env: &UserEnv) -> anyhow::Result<ExitCode> {
    let dir = env.read_data_dir()?;
    let agent = &super::meant_live(&dir, &args.agent, env)?;
    let state = runtime()?.block_on(async {
        let mut client = super::connect(&dir, agent).await?;
        let state = client.answer("interrupt", json!({}), ACCEPT_TIMEOUT).await;
        let state = state.with_context(|| format!("cannot interrupt {agent}"))?;
        anyhow::Ok(serde_json::from_value::<State>(state)?)
    })?;
    let mut out = stdout().lock();
    if args.json {
        print_json(&mut out, "agent-interrupt/1", &json!({ "agent_id": agent, "state": state.as_str() }))?;
    } else {
        writeln!(out, "interrupted {agent}")?;
    }
    Ok(ExitCode::SUCCESS)
}

fn queued(state: &State) -> usize {
    match state {
        State::Running { queued, .. } => *queued,
        _ => 0,
    }
}

pub(in super::super) fn stop(args: &HostStop, env: &UserEnv) -> anyhow::Result<ExitCode> {
    let dir = env.read_data_dir()?;
    runtime()?.block_on(async {
        let agents = match (&args.agent, args.all) {
            (Some(agent), _) => vec![super::meant_live(&dir, agent, env)?],
            (None, _) => live(&dir).await?,
        };
        // Stop all of them concurrently: each may use its grace period.
        let mut stopping = tokio::task::JoinSet::new();
        for agent in agents {
            let (dir, force, grace) = (dir.clone(), args.force, args.grace.unwrap_or(GRACE));
            stopping.spawn(async move {
                let stopped = stop_one(&dir, &agent, force, grace).await;
                (agent, stopped)
            });
        }
        let mut out = stdout().lock();
        let mut failed = None;
        while let Some(ended) = stopping.join_next().await {
            let (agent, stopped) = ended?;
            match stopped {
                Ok(exit) if args.json => {
                    print_json(&mut out, "agent-stop/1", &json!({ "agent_id": agent, "exit": exit }))?
                }
                Ok(_) => writeln!(out, "agent {agent} has ended")?,
                Err(error) if failed.is_none() => failed = Some(error),
                Err(error) => super::super::complain(&error),
            }
        }
        failed.map_or(Ok(ExitCode::SUCCESS), Err)
    })
}

/// All hosted agents; beats end by themselves.
async fn live(dir: &DataDir) -> anyhow::Result<Vec<AgentId>> {
    let seen = discover::scan(&dir.hosts(), ANSWER_TIMEOUT).await?;
    let is_live = |seen: &HostInfo| {
        seen.is_alive() && seen.record.as_ref().is_none_or(|record| record.info.kind == AgentKind::Live)
    };
    Ok(seen.into_iter().filter(is_live).map(|seen| seen.agent_id).collect())
}

async fn stop_one(
    dir: &DataDir,
    agent: &AgentId,
    force: bool,
    grace: Duration,
) -> anyhow::Result<serde_json::Value> {
    match super::find(dir, agent).await?.condition {
        HostState::Dead => {
            reap::reap_dead(&dir.hosts(), clock::now())?;
            let note =
                format!("the host of {agent} was already dead; remaining processes of the agent were killed");
            writeln!(std::io::stderr(), "note: {note}")?;
            return Ok(serde_json::Value::Null);
        }
        HostState::Silent if force => {
            // It may just have been slow.
            let seen = discover::find(&dir.hosts(), agent, FORCED_STOP_TIMEOUT).await;
            if let Some(seen @ HostInfo { condition: HostState::Silent, .. }) = seen {
                return kill(dir, &seen).await;
            }
        }
        _ => {}
    }
    let mut client = super::connect(dir, agent).await?;
    let payload = Stop { force, grace: Some(humantime::format_duration(grace).to_string()) };
    match client.answer("stop", json!(payload), grace + ENDING).await {
        Ok(state) => Ok(state.get("exit").cloned().unwrap_or_default()),
        Err(AskError::Silent(_)) if force => kill(dir, &super::find(dir, agent).await?).await,
        Err(AskError::Silent(_)) => bail!(
            failure!("agent {agent} did not end within {}", humantime::format_duration(grace + ENDING); "kill it with: murmur agent stop {agent} --force")
        ),
        Err(error) => Err(error).with_context(|| format!("cannot stop {agent}")),
    }
}

/// Kills a host that does not answer, exactly the process in its record, and cleans up after it as after any killed
/// host. The agent's own exit remains unknown.
async fn kill(dir: &DataDir, seen: &HostInfo) -> anyhow::Result<serde_json::Value> {
    let agent = &seen.agent_id;
    let Some(record) = &seen.record else {
        bail!(
            failure!("the host of {agent} does not answer, and its process is unknown because its record is missing"; "find and kill its process yourself")
        );
    };
    let ending = record.host.watch();
    record.host.signal(Signal::KILL);
    if let Some(ending) = ending {
        let ended = timeout(ENDING, ending.ended()).await;
        ended
            .with_context(|| format!("the host of {agent} (PID {}) cannot be killed", record.host.pid))??;
    }
    reap::reap_dead(&dir.hosts(), clock::now())?;
    match discover::find(&dir.hosts(), agent, ANSWER_TIMEOUT).await {
        Some(seen) if seen.is_alive() => {
            bail!(
                failure!("the host of {agent} (PID {}) is still running", record.host.pid; "see: murmur agent list")
            )
        }
        _ => Ok(serde_json::Value::Null),
    }
}
