//! `murmur host send`, `murmur host stop`: a word to an agent, the last one included.

use super::super::args::{HostSend, HostStop};
use super::super::place::Place;
use super::super::runtime;
use super::spawn::text;
use crate::host::discover::{self, Condition, PATIENCE};
use crate::host::id::AgentId;
use crate::host::protocol::{GRACE, Send, Stop};
use crate::host::state::{Kind, State};
use crate::rpc::client::AskError;
use crate::sys::clock;
use crate::sys::paths::DataDir;
use anyhow::{Context, bail};
use serde_json::json;
use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Duration;

/// How long a host may take to take a message.
const TAKING: Duration = Duration::from_secs(5);

/// How much longer than its grace an agent's end may take: what is left of it is ended, and clients get the rest.
const ENDING: Duration = Duration::from_secs(15);

pub(super) fn send(args: &HostSend, place: &Place) -> anyhow::Result<ExitCode> {
    let dir = place.data_dir()?;
    let payload = Send { text: text(&args.message)? };
    let state = runtime()?.block_on(async {
        let mut client = super::connect(&dir, &args.agent).await?;
        let state = client.answer("send", json!(payload), TAKING).await;
        let state = state.with_context(|| format!("cannot send to {}", args.agent))?;
        anyhow::Ok(serde_json::from_value::<State>(state)?)
    })?;
    let mut out = io::stdout().lock();
    if args.json {
        writeln!(
            out,
            "{}",
            json!({ "agent_id": args.agent, "state": state.word(), "queued": queued(&state) })
        )?;
    } else {
        match queued(&state) {
            0 => writeln!(out, "sent to {}", args.agent)?,
            1 => writeln!(out, "sent to {}; it waits for the end of the turn that runs", args.agent)?,
            2 => writeln!(out, "sent to {}; another waits before it", args.agent)?,
            many => writeln!(out, "sent to {}; {} others wait before it", args.agent, many - 1)?,
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn queued(state: &State) -> usize {
    match state {
        State::Running { queued, .. } => *queued,
        _ => 0,
    }
}

pub(super) fn stop(args: &HostStop, place: &Place) -> anyhow::Result<ExitCode> {
    let dir = place.data_dir()?;
    runtime()?.block_on(async {
        let agents = match (&args.agent, args.all) {
            (Some(agent), _) => vec![agent.clone()],
            (None, _) => live(&dir).await?,
        };
        // All at once: each may take its grace.
        let mut stopping = tokio::task::JoinSet::new();
        for agent in agents {
            let (dir, force, grace) = (dir.clone(), args.force, args.grace.unwrap_or(GRACE));
            stopping.spawn(async move {
                let stopped = stop_one(&dir, &agent, force, grace).await;
                (agent, stopped)
            });
        }
        let mut out = io::stdout().lock();
        let mut failed = None;
        while let Some(ended) = stopping.join_next().await {
            let (agent, stopped) = ended?;
            match stopped {
                Ok(exit) if args.json => writeln!(out, "{}", json!({ "agent_id": agent, "exit": exit }))?,
                Ok(_) => writeln!(out, "agent {agent} has ended")?,
                Err(error) if failed.is_none() => failed = Some(error),
                Err(error) => super::super::complain(&error),
            }
        }
        failed.map_or(Ok(ExitCode::SUCCESS), Err)
    })
}

/// Every live agent; beats end by themselves.
async fn live(dir: &DataDir) -> anyhow::Result<Vec<AgentId>> {
    let seen = discover::scan(&dir.hosts(), PATIENCE).await?;
    let is_live = |seen: &discover::Seen| {
        seen.is_alive() && seen.record.as_ref().is_none_or(|record| record.card.kind == Kind::Live)
    };
    Ok(seen.into_iter().filter(is_live).map(|seen| seen.agent_id).collect())
}

async fn stop_one(
    dir: &DataDir,
    agent: &AgentId,
    force: bool,
    grace: Duration,
) -> anyhow::Result<serde_json::Value> {
    if let Condition::Dead = super::find(dir, agent).await?.condition {
        discover::clean(&dir.hosts(), clock::now())?;
        bail!("the host of {agent} was killed before; what was left of the agent is ended now");
    }
    let mut client = super::connect(dir, agent).await?;
    let payload = Stop { force, grace: Some(humantime::format_duration(grace).to_string()) };
    match client.answer("stop", json!(payload), grace + ENDING).await {
        Ok(state) => Ok(state.get("exit").cloned().unwrap_or_default()),
        Err(AskError::Silent(_)) => bail!(
            "agent {agent} did not end within {}; kill it with: murmur host stop {agent} --force",
            humantime::format_duration(grace + ENDING)
        ),
        Err(error) => Err(error).with_context(|| format!("cannot stop {agent}")),
    }
}
