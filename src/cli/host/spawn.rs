//! `murmur host spawn`: a live agent under a host of its own.

use super::super::args::{HostAttach, HostSpawn};
use super::super::place::Place;
use super::super::{beat, runtime};
use crate::agent::find;
use crate::host::id::AgentId;
use crate::host::launch::Launch;
use crate::sys::{paths, random};
use anyhow::Context;
use serde_json::json;
use std::io::{self, Read, Write};
use std::process::ExitCode;

pub(super) fn run(args: &HostSpawn, place: &Place) -> anyhow::Result<ExitCode> {
    let dir = place.prepared_data_dir()?;
    dir.require_private()?;
    let worktree = place.workspace(&args.worktree)?;
    let folder = worktree.file_name().unwrap_or_default().to_string_lossy();
    let project = args.project.clone().unwrap_or_else(|| paths::readable(&folder));
    let agent_id = match &args.agent_id {
        Some(agent_id) => agent_id.clone(),
        None => new_id(&project)?,
    };
    let launch = Launch {
        agent_id: agent_id.clone(),
        project,
        role: args.role.clone(),
        backend: find::CLAUDE.to_owned(),
        worktree,
        issue: args.issue.as_deref().map(|issue| issue.trim_start_matches('#').to_owned()),
        model: args.model.clone(),
        message: args.message.as_deref().map(text).transpose()?,
        args: args.args.clone(),
    };
    let pid = runtime()?.block_on(async {
        let path = beat::path(place).await;
        launch.start(dir.root(), &path).await
    })?;
    if args.attach {
        let from = Some(0);
        return super::attach(&HostAttach { agent: agent_id, from, json: args.json }, place);
    }
    let mut out = io::stdout().lock();
    if args.json {
        writeln!(out, "{}", json!({ "agent_id": agent_id, "pid": pid }))?;
    } else {
        writeln!(out, "agent {agent_id} is running; follow it with: murmur attach {agent_id}")?;
    }
    Ok(ExitCode::SUCCESS)
}

/// A new agent's id: what it belongs to, for people, and something that no other has.
fn new_id(project: &str) -> anyhow::Result<AgentId> {
    let tail = u32::from_le_bytes(random::bytes().context("cannot make an id")?);
    let project = paths::readable(project);
    Ok(AgentId::parse(&format!("{project}-{tail:08x}"))?)
}

/// What is to be said; `-` is what stands on stdin.
pub(super) fn text(argument: &str) -> anyhow::Result<String> {
    if argument != "-" {
        return Ok(argument.to_owned());
    }
    let mut text = String::new();
    io::stdin().read_to_string(&mut text).context("cannot read the message on stdin")?;
    Ok(text)
}
