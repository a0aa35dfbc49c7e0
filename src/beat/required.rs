//! Starts the MCP servers that a heartbeat requires before its agent, so that a server that can't start costs no
//! tokens.
//!
//! A server that started is not started again for a day, unless a beat that requires it ends as an error.

use super::job::Job;
use super::prepare::ResolvedPaths;
use jiff::{SignedDuration, Timestamp};
use murmur_agent::find;
use murmur_agent::invocation::own_env;
use murmur_claude_files::trust;
use murmur_core::config::backend::Capability;
use murmur_gate::{mcp_server, stopped};
use murmur_outcome::OutcomeKind;
use murmur_outcome::gate::Obstacle;
use murmur_store::journal::entry::JournalEntry;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::time::Duration;
use sys::error::Failure;
use sys::paths::DataDir;
use sys::{clock, failure, lock, process, versioned};
use tokio::process::Command;
use tokio::sync::watch;

/// A server that started is not started again for this long.
const DAY: SignedDuration = SignedDuration::from_hours(24);

/// How long Claude Code waits for a server by default, and the variable with another limit, in milliseconds.
const LIMIT: (Duration, &str) = (Duration::from_secs(30), "MCP_TIMEOUT");

/// The servers that started, and when.
#[derive(Debug, Default, Serialize, Deserialize)]
struct StartedServers {
    #[serde(default)]
    started: BTreeMap<String, Timestamp>,
}

/// A server that is a program.
struct Server<'a> {
    name: &'a str,
    /// A hash of everything that decides how it starts.
    key: String,
    program: PathBuf,
    args: Vec<&'a str>,
    env: Vec<(&'a str, &'a str)>,
}

/// Starts the servers that `job` requires, except those that have started within a day. Only the agent can start
/// servers that aren't programs, or whose definitions have variables; servers that the agent doesn't get are not
/// started either.
pub(super) async fn start(
    job: &Job,
    dir: &DataDir,
    found: &ResolvedPaths,
    stop: &watch::Receiver<bool>,
) -> Result<(), Obstacle> {
    let failed = |failure: Failure| Obstacle::Failed(failure.line());
    let definitions = definitions(job);
    let mut servers = programs(job, &definitions);
    if servers.is_empty() {
        return Ok(());
    }
    let (known, now) = (read(dir), clock::now());
    servers.retain(|server| !known.started.get(&server.key).is_some_and(|at| is_recent(*at, now)));
    if servers.is_empty() {
        return Ok(());
    }
    let real = found.workspace.clone().map_err(failed)?;
    let start = trust::start(dir, &job.user.home, &job.agent, &real, &job.mcp).map_err(failed)?;
    servers.retain(|server| start.left_out.iter().all(|omitted| omitted.name != server.name));
    for server in servers {
        let command = server.command(job, dir).map_err(failed)?;
        tokio::select! {
            started = mcp_server::start(command, limit()) => started.map_err(|why| failed(server.problem(&why)))?,
            // The agent is stopped as soon as it starts.
            () = stopped(stop) => return Ok(()),
        }
        update(dir, |started| {
            started.retain(|_, at| is_recent(*at, now));
            started.insert(server.key, now);
        });
    }
    Ok(())
}

/// If this beat, with the line `entry`, is an error, makes the next one start the servers that `job` requires again.
pub(super) fn forget_after(entry: &JournalEntry, job: &Job, dir: &DataDir) {
    if entry.outcome != OutcomeKind::Error || job.requires.is_empty() {
        return;
    }
    let definitions = definitions(job);
    let servers = programs(job, &definitions);
    let known = read(dir);
    if servers.iter().any(|server| known.started.contains_key(&server.key)) {
        update(dir, |started| started.retain(|key, _| servers.iter().all(|server| server.key != *key)));
    }
}

/// The definitions of all servers, if the agent has any.
fn definitions(job: &Job) -> Map<String, Value> {
    if job.requires.is_empty() || job.problem.is_some() || !job.backend.has(Capability::McpServers) {
        return Map::new();
    }
    trust::servers(&job.user.home, &job.workspace)
}

/// The required servers that are programs and that murmur can start as the agent would.
fn programs<'a>(job: &'a Job, definitions: &'a Map<String, Value>) -> Vec<Server<'a>> {
    let named = job.requires.iter().filter_map(|name| Some((name, definitions.get(name)?)));
    named.filter_map(|(name, definition)| Server::of(name, definition, job)).collect()
}

impl<'a> Server<'a> {
    fn of(name: &'a str, definition: &'a Value, job: &Job) -> Option<Self> {
        let program = definition.get("command")?.as_str().filter(|program| !program.is_empty())?;
        let text = definition.to_string();
        // The agent expands variables, and might find another program on a PATH in the definition.
        let is_plain = !text.contains("${") && definition.pointer("/env/PATH").is_none();
        let is_stdio = definition.get("type").is_none_or(|kind| kind == "stdio");
        if !is_plain || !is_stdio {
            return None;
        }
        let program = match program.contains('/') {
            true => job.workspace.join(program),
            false => find::find(program, job.path.as_os_str()).ok()?,
        };
        let args = definition.get("args").and_then(Value::as_array).into_iter().flatten();
        let env = definition.get("env").and_then(Value::as_object).into_iter().flatten();
        let mut hash = Sha256::new();
        for part in [
            text.as_bytes(),
            job.workspace.as_os_str().as_encoded_bytes(),
            job.path.as_os_str().as_encoded_bytes(),
        ] {
            hash.update(part.len().to_le_bytes());
            hash.update(part);
        }
        Some(Self {
            name,
            key: hash.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect(),
            program,
            args: args.filter_map(Value::as_str).collect(),
            env: env.filter_map(|(name, value)| Some((name.as_str(), value.as_str()?))).collect(),
        })
    }

    /// How it starts, as the agent would start it.
    fn command(&self, job: &Job, dir: &DataDir) -> Result<Command, Failure> {
        let mut command = Command::new(&self.program);
        command.args(&self.args).current_dir(&job.workspace);
        process::without_git_place(&mut command);
        command.envs(job.environment(dir)?).envs(self.env.iter().copied());
        Ok(command)
    }

    fn problem(&self, why: &Failure) -> Failure {
        failure!(
            "the required MCP server {:?} cannot start: {}", self.name, why.line();
            "check it with claude mcp list, or remove it from \"requires\""
        )
    }
}

/// How long a server may take to answer.
fn limit() -> Duration {
    let (limit, name) = LIMIT;
    let own = own_env(name).and_then(|value| value.to_str()?.parse().ok());
    own.map_or(limit, Duration::from_millis)
}

fn is_recent(at: Timestamp, now: Timestamp) -> bool {
    // A clock that was set back must not make it last.
    now.duration_since(at).abs() < DAY
}

/// The servers that started; none if the file isn't readable.
fn read(dir: &DataDir) -> StartedServers {
    versioned::read(&dir.mcp_servers()).ok().flatten().unwrap_or_default()
}

/// Changes the file. Best effort: otherwise the servers are started again.
fn update(dir: &DataDir, change: impl FnOnce(&mut BTreeMap<String, Timestamp>)) {
    let updated = || -> io::Result<()> {
        let _lock = lock::lock(&dir.mcp_servers_lock())?;
        let mut all: StartedServers = versioned::read_known(&dir.mcp_servers())?;
        change(&mut all.started);
        versioned::write(&dir.mcp_servers(), &all)
    };
    let _again_otherwise = updated();
}
