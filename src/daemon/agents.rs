//! `host.*` on the daemon's socket, for clients that know only the daemon (docs/reference/daemon-protocol.md).

use murmur_core::id::AgentId;
use murmur_host::discover::{self, ANSWER_TIMEOUT};
use murmur_host::launch::LaunchOptions;
use murmur_host::protocol::{Attach, Send, Stop};
use murmur_host::reap;
use murmur_rpc::client::{AskError, Client};
use murmur_rpc::envelope::{Request, unknown};
use murmur_rpc::serve::Answer;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::time::Duration;
use sys::clock;
use sys::error::{Failure, Hinted};
use sys::failure;
use sys::paths::DataDir;

/// The prefix of these message types.
pub const PREFIX: &str = "host.";

/// The supported message types.
pub const REQUEST_TYPES: [&str; 8] = [
    "host.list",
    "host.status",
    "host.discover",
    "host.spawn",
    "host.attach",
    "host.send",
    "host.interrupt",
    "host.stop",
];

/// How long a host may take to accept a message.
const ACCEPT_TIMEOUT: Duration = Duration::from_secs(5);

/// How much longer than its grace period an agent may take to end.
const ENDING: Duration = Duration::from_secs(15);

/// A request about one agent, and the rest of the payload for its host.
#[derive(Debug, Deserialize)]
struct About<T> {
    agent_id: AgentId,
    #[serde(flatten)]
    rest: T,
}

/// Answers `request`. `path` is the PATH to find and run agents with.
pub async fn answer(dir: &DataDir, path: Option<&OsStr>, request: &Request) -> Result<Answer, Failure> {
    let payload = &request.payload;
    let folder = dir.hosts();
    Ok(Answer::payload(&match &*request.msg_type {
        "host.list" => {
            let seen = discover::scan(&folder, ANSWER_TIMEOUT).await.map_err(|error| Failure::of(&error))?;
            json!({ "agents": seen.iter().filter(|seen| seen.is_alive()).map(discover::HostInfo::object).collect::<Vec<_>>() })
        }
        "host.status" => {
            let About { agent_id, rest: Value::Object(_) } = read(payload)? else {
                return Err(NO_AGENT_ID.into());
            };
            let seen = discover::find(&folder, &agent_id, ANSWER_TIMEOUT).await;
            seen.ok_or_else(|| no_host(&agent_id))?.object()
        }
        "host.discover" => {
            let (sender, receiver) = tokio::sync::oneshot::channel();
            let reaping = folder.clone();
            // Stopping the leftovers of a dead host may take 2 s.
            std::thread::spawn(move || sender.send(reap::reap_dead(&reaping, clock::now())).is_ok());
            let reaped =
                receiver.await.map_err(|error| Failure::of(&error))?.map_err(|error| Failure::of(&error))?;
            let seen = discover::scan(&folder, ANSWER_TIMEOUT).await.map_err(|error| Failure::of(&error))?;
            let agents: Vec<Value> =
                seen.iter().filter(|seen| seen.is_alive()).map(discover::HostInfo::object).collect();
            json!({ "agents": agents, "cleaned": reaped })
        }
        "host.spawn" => {
            let wanted: LaunchOptions = read(payload)?;
            let path = path.ok_or_else(|| failure!("the daemon is still starting"; "try again"))?;
            let launch = wanted.launch().map_err(|error| error.failure())?;
            let pid = launch.start(dir.root(), path).await.map_err(|error| error.failure())?;
            json!({ "agent_id": launch.agent_id, "pid": pid })
        }
        "host.attach" => {
            let About { agent_id, rest } = read::<About<Attach>>(payload)?;
            let client = Client::connect(&folder, &agent_id.socket(), ANSWER_TIMEOUT).await;
            let client = client.map_err(|error| {
                error.failure().after(format_args!("cannot reach the host of {agent_id}: "))
            })?;
            // The host answers the client directly.
            let asked = client.hand_over("attach", &request.id, json!(rest)).await;
            return asked.map(Answer::HandOver).map_err(|error| Failure::of(&error));
        }
        "host.send" => {
            let About { agent_id, rest } = read::<About<Send>>(payload)?;
            ask(dir, &agent_id, "send", json!(rest), ACCEPT_TIMEOUT).await?
        }
        "host.interrupt" => {
            let About { agent_id, rest: Value::Object(_) } = read(payload)? else {
                return Err(NO_AGENT_ID.into());
            };
            ask(dir, &agent_id, "interrupt", json!({}), ACCEPT_TIMEOUT).await?
        }
        "host.stop" => {
            let About { agent_id, rest } = read::<About<Stop>>(payload)?;
            let timeout = rest.grace_period()? + ENDING;
            ask(dir, &agent_id, "stop", json!(rest), timeout).await?
        }
        other => return Err(unknown(other, &REQUEST_TYPES)),
    }))
}

const NO_AGENT_ID: &str = "invalid payload: an agent_id is missing";

async fn ask(
    dir: &DataDir,
    agent: &AgentId,
    msg_type: &str,
    payload: Value,
    timeout: Duration,
) -> Result<Value, Failure> {
    let asked = async {
        let mut client = Client::connect(&dir.hosts(), &agent.socket(), ANSWER_TIMEOUT).await?;
        client.answer(msg_type, payload, timeout).await
    };
    asked.await.map_err(|error: AskError| match error {
        AskError::Gone(_) => no_host(agent),
        other => other.failure(),
    })
}

fn no_host(agent: &AgentId) -> Failure {
    failure!("no hosted agent \"{agent}\""; "see: murmur agent list --all")
}

fn read<T: DeserializeOwned>(payload: &Value) -> Result<T, Failure> {
    T::deserialize(payload).map_err(|error| not_a_payload(payload, &error))
}

/// An invalid request payload. serde reports only text, so the hint for an invalid agent id is added here.
fn not_a_payload(payload: &Value, error: &serde_json::Error) -> Failure {
    let id = payload.get("agent_id").and_then(Value::as_str);
    let hint = id.and_then(|id| AgentId::parse(id).err()).and_then(|error| error.hint());
    Failure::new("invalid payload").because(error).or_hint(hint)
}
