//! Carries out what the user asks for. Each action ends with one message.

use super::super::heartbeat_name::ShortNames;
use super::super::requests;
use super::super::style::with_local_times;
use crate::daemon::pauses::{self, Pause};
use crate::daemon::{client, instance};
use jiff::Timestamp;
use murmur_core::config::heartbeat::{FILE, FOLDER, HeartbeatId};
use murmur_core::id::AgentId;
use murmur_core::permit::question::QuestionSet;
use murmur_host::protocol::{GRACE, Stop};
use murmur_rpc::client::{AskError, Client};
use murmur_store::failures;
use serde_json::json;
use std::path::PathBuf;
use std::time::Duration;
use sys::clock;
use sys::error::Hinted;
use sys::failure;
use sys::paths::DataDir;
use sys::unreadable::unwritable;
use watch::Action;

/// How long a host may take to answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

/// How much longer than its grace period an agent may take to end.
const ENDING: Duration = Duration::from_secs(15);

/// The workspace and the name of a heartbeat.
pub(super) fn place(id: &str) -> (PathBuf, Option<String>) {
    let named = id.rsplit_once(&format!("::{FOLDER}/"));
    match named.and_then(|(folder, rest)| Some((folder, rest.strip_suffix(FILE)?.strip_suffix('/')?))) {
        Some((folder, name)) => (folder.into(), Some(name.to_owned())),
        None => (id.into(), None),
    }
}

/// A heartbeat's name in the view.
fn called(id: &str, dir: &DataDir) -> String {
    let (workspace, name) = place(id);
    let workspace = workspace.to_string_lossy();
    ShortNames::beside_registered(dir, std::iter::once(&*workspace)).of_heartbeat(&workspace, name.as_deref())
}

/// Carries out `action`, and returns a message about the result.
pub(super) async fn carry_out(action: &Action, dir: &DataDir) -> String {
    match done(action, dir).await {
        Ok(message) => message,
        Err(error) => with_local_times(&super::super::describe(&error).line()),
    }
}

async fn done(action: &Action, dir: &DataDir) -> anyhow::Result<String> {
    match action {
        Action::Run(id) => run(id, dir).await,
        Action::Pause(id) => {
            dir.prepare()?;
            dir.require_ours()?;
            let since = Timestamp::from_second(clock::now().as_second()).ok();
            let pause = Pause { heartbeat: Some(id.to_string()), since, until: None, reason: None };
            pauses::change(dir, clock::now(), |pauses| pauses.add(pause))?;
            Ok(format!("paused {}", called(id, dir)))
        }
        Action::Resume(id) => resume(id, dir),
        Action::Stop(agent) => stop(agent, dir).await,
        Action::Allow(id) => {
            let response = json!({ "id": id, "decision": "allow", "always": false });
            let row = requests::answer(dir, response).await?;
            Ok(format!("allowed {} for {}", row.tool, row.agent))
        }
        Action::Deny(id, reason) => {
            let response = json!({ "id": id, "decision": "deny", "reason": reason, "always": false });
            let row = requests::answer(dir, response).await?;
            Ok(format!("denied {} for {}", row.tool, row.agent))
        }
        Action::Answer(id, given) => {
            let rows = requests::all(dir).await?;
            let row = rows.iter().find(|row| row.id.as_str() == id);
            let row = row.ok_or_else(|| failure!("the request is no longer open"))?;
            let asked = QuestionSet::parse(&row.input).map_err(|error| error.failure())?;
            let answers = asked.typed(given).map_err(|error| error.failure())?;
            let row = requests::answer(dir, json!({ "id": id, "answers": answers })).await?;
            Ok(format!("answered {}", row.agent))
        }
        _ => Ok(String::new()),
    }
}

async fn run(id: &str, dir: &DataDir) -> anyhow::Result<String> {
    let (workspace, name) = place(id);
    let payload = json!({ "workspace": workspace, "name": name });
    let asked = async { client::connect(dir).await?.answer("beat", payload, client::ANSWER_TIMEOUT).await };
    match asked.await {
        Ok(_) => Ok(format!("started {}", called(id, dir))),
        Err(AskError::Gone(_)) if !instance::is_running(dir)? => {
            Err(failure!("murmur is not running"; "run: murmur start").into())
        }
        Err(error) => Err(error.failure().into()),
    }
}

fn resume(id: &str, dir: &DataDir) -> anyhow::Result<String> {
    dir.prepare()?;
    dir.require_ours()?;
    let all = pauses::change(dir, clock::now(), |pauses| {
        pauses.remove(Some(id));
        pauses.active(clock::now()).any(|pause| pause.heartbeat.is_none())
    })?;
    let reset = failures::reset(dir, &[HeartbeatId::parse(id)], false, clock::now());
    reset.map_err(|error| unwritable(&dir.failures(), &error))?;
    if all {
        return Ok("all heartbeats are paused; to resume them, run: murmur resume --all".to_owned());
    }
    Ok(format!("resumed {}", called(id, dir)))
}

async fn stop(agent: &str, dir: &DataDir) -> anyhow::Result<String> {
    let id = AgentId::parse(agent)?;
    let mut client = Client::connect(&dir.hosts(), &id.socket(), ANSWER_TIMEOUT).await?;
    let payload = Stop { force: false, grace: Some(humantime::format_duration(GRACE).to_string()) };
    match client.answer("stop", json!(payload), GRACE + ENDING).await {
        Ok(_) => Ok(format!("agent {agent} has ended")),
        Err(AskError::Silent(_)) => {
            Err(failure!("agent {agent} did not end"; "kill it with: murmur agent stop {agent} --force")
                .into())
        }
        Err(error) => Err(error.failure().into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_heartbeat_is_found_by_its_id() {
        for name in [None, Some("nightly")] {
            let id = HeartbeatId::new(std::path::Path::new("/home/you/site"), name);
            assert_eq!(place(id.as_str()), ("/home/you/site".into(), name.map(str::to_owned)));
        }
    }
}
