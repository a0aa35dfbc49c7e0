//! Finds hosts and their state.

use super::protocol::{
    AgentInfo, EARLIER_PROTOCOL_VERSION, HOST_PROTOCOL_VERSION, Pong, REQUESTS, Status, Wait, Waits,
};
use super::record::{AgentEnd, Record};
use super::state::AgentKind;
use murmur_core::id::AgentId;
use murmur_rpc::client::{AskError, Client};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::time::Duration;
use sys::process_lock::{self, LockFile};
use sys::unreadable::unreadable;
use tokio::task::JoinSet;

/// How long a host may take to answer. All hosts are asked concurrently.
pub const ANSWER_TIMEOUT: Duration = Duration::from_millis(300);

/// How long a host may take to list waiting requests: no one else has them.
pub const REQUESTS_TIMEOUT: Duration = Duration::from_secs(2);

/// A host, or the remains of one.
#[derive(Debug, Clone)]
pub struct HostInfo {
    /// The agent.
    pub agent_id: AgentId,
    /// Its record, if it has one.
    pub record: Option<Record>,
    /// Its state.
    pub condition: HostState,
}

/// The state of a host.
#[derive(Debug, Clone)]
pub enum HostState {
    /// It answers.
    Up(Box<Status>),
    /// It answers with an unsupported protocol version and is left alone.
    Incompatible(Pong),
    /// It is alive but doesn't answer.
    Silent,
    /// Its agent has ended.
    Ended(AgentEnd),
    /// It died and has not been cleaned up.
    Dead,
}

/// The state of a host that is alive but does not answer.
pub const UNRESPONSIVE: &str = "unresponsive";

impl HostState {
    /// The name of the state; for a host that answers, that of its agent's state.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Up(status) => status.state.as_str(),
            Self::Incompatible(_) => "incompatible",
            Self::Silent => UNRESPONSIVE,
            Self::Ended(_) => "exited",
            Self::Dead => "dead",
        }
    }

    /// The number of the agent's background tasks.
    #[must_use]
    pub fn background(&self) -> usize {
        if let Self::Up(status) = self { status.state.background() } else { 0 }
    }
}

impl HostInfo {
    /// JSON for programs: the status, or as much as is known.
    #[must_use]
    pub fn object(&self) -> Value {
        let mut object = match &self.condition {
            HostState::Up(status) => return json!(status),
            HostState::Ended(ended) => json!({ "state": "exited", "result": ended }),
            HostState::Incompatible(Pong { protocol_version, version, .. }) => {
                json!({ "state": "incompatible", "protocolVersion": protocol_version, "version": version })
            }
            other => json!({ "state": other.as_str() }),
        };
        let info = self.record.as_ref().map(|record| json!(record.info)).unwrap_or_default();
        if let (Value::Object(object), Value::Object(info)) = (&mut object, info) {
            object.extend(info);
        }
        object["agent_id"] = json!(self.agent_id);
        object["capture"] = json!(self.record.as_ref().and_then(|record| record.capture.as_ref()));
        object["pid"] = json!(self.record.as_ref().map(|record| record.host.pid));
        object
    }

    /// Whether the host's process is alive.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        matches!(self.condition, HostState::Up(_) | HostState::Incompatible(_) | HostState::Silent)
    }
}

/// Inspects every host in `folder`, ordered by id. A missing folder has no hosts.
pub async fn scan(folder: &Path, timeout: Duration) -> io::Result<Vec<HostInfo>> {
    let mut looking = JoinSet::new();
    let mut known = BTreeSet::new();
    for found in process_lock::all(folder)? {
        let Some(record) = Record::parse(&found.text) else { continue };
        known.insert(record.info.agent_id.clone());
        let folder = folder.to_path_buf();
        looking.spawn(async move { look(&folder, found, record, timeout).await });
    }
    for agent_id in sockets(folder)?.into_iter().filter(|agent| !known.contains(agent)) {
        let folder = folder.to_path_buf();
        looking.spawn(async move {
            // It may have appeared after the records were read.
            if let Some(seen) = find(&folder, &agent_id, timeout).await {
                return Some(seen);
            }
            let condition = match ask(&folder, &agent_id, timeout).await {
                // It was removed together with its record.
                Err(AskError::Gone(error)) if error.kind() == io::ErrorKind::NotFound => return None,
                Err(AskError::Gone(error)) if error.kind() == io::ErrorKind::ConnectionRefused => {
                    HostState::Dead
                }
                asked => of_answer(asked),
            };
            Some(HostInfo { agent_id, record: None, condition })
        });
    }
    let mut seen: Vec<HostInfo> = looking.join_all().await.into_iter().flatten().collect();
    seen.sort_by(|one, other| one.agent_id.cmp(&other.agent_id));
    Ok(seen)
}

/// Inspects the host of `agent_id`; `None` if there is no trace of it.
pub async fn find(folder: &Path, agent_id: &AgentId, timeout: Duration) -> Option<HostInfo> {
    let found = process_lock::look(&folder.join(agent_id.record()))?;
    let record = Record::parse(&found.text)?;
    look(folder, found, record, timeout).await
}

async fn look(folder: &Path, found: LockFile, record: Record, timeout: Duration) -> Option<HostInfo> {
    let agent_id = record.info.agent_id.clone();
    let condition = match of_record(&record, found.is_held) {
        Some(condition) => condition,
        None => match ask(folder, &agent_id, timeout).await {
            // It may have ended after its record was read.
            Err(AskError::Gone(_)) => {
                let found = process_lock::look(&folder.join(agent_id.record()))?;
                let record = Record::parse(&found.text)?;
                let condition = of_record(&record, found.is_held).unwrap_or(HostState::Silent);
                return Some(HostInfo { agent_id, record: Some(record), condition });
            }
            asked => of_answer(asked),
        },
    };
    Some(HostInfo { agent_id, record: Some(record), condition })
}

/// The state according to the record alone; `None` if the host is alive.
fn of_record(record: &Record, is_held: bool) -> Option<HostState> {
    match &record.result {
        Some(result) => Some(HostState::Ended(result.clone())),
        None => (!is_held).then_some(HostState::Dead),
    }
}

fn of_answer(asked: Result<Answered, AskError>) -> HostState {
    match asked {
        Ok(Answered::Status(status)) => HostState::Up(status),
        Ok(Answered::Other(pong)) => HostState::Incompatible(pong),
        Err(_) => HostState::Silent,
    }
}

enum Answered {
    Status(Box<Status>),
    Other(Pong),
}

async fn ask(folder: &Path, agent_id: &AgentId, timeout: Duration) -> Result<Answered, AskError> {
    let mut client = Client::connect(folder, &agent_id.socket(), timeout).await?;
    let garbled = |error: serde_json::Error| AskError::Garbled(error.to_string());
    let pong: Pong =
        serde_json::from_value(client.answer("ping", Value::Null, timeout).await?).map_err(garbled)?;
    if ![HOST_PROTOCOL_VERSION, EARLIER_PROTOCOL_VERSION].contains(&&*pong.protocol_version) {
        return Ok(Answered::Other(pong));
    }
    let status = client.answer("status", Value::Null, timeout).await?;
    serde_json::from_value(status).map(|status| Answered::Status(Box::new(status))).map_err(garbled)
}

/// The agents that have a socket in `folder`.
pub(super) fn sockets(folder: &Path) -> io::Result<Vec<AgentId>> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(unreadable(folder, error)),
    };
    let mut found = Vec::new();
    for entry in entries {
        let name = entry?.file_name();
        let agent = name.to_str().and_then(|name| name.strip_suffix(".sock"));
        found.extend(agent.and_then(|agent| AgentId::parse(agent).ok()));
    }
    Ok(found)
}

/// All agents with a record, running or ended.
pub fn known(folder: &Path) -> io::Result<Vec<AgentId>> {
    let records = process_lock::all(folder)?.into_iter().filter_map(|found| Record::parse(&found.text));
    Ok(records.map(|record| record.info.agent_id).collect())
}

/// All agents with a record, and whether each is running.
pub fn started(folder: &Path) -> io::Result<Vec<(AgentInfo, bool)>> {
    let records = process_lock::all(folder)?.into_iter();
    let records = records.filter_map(|found| Some((Record::parse(&found.text)?, found.is_held)));
    let started = |(record, is_held): (Record, bool)| (record.info, is_held && record.result.is_none());
    Ok(records.map(started).collect())
}

/// Requests of agents in `folder` that wait for a person, according to their hosts. Hosts that don't answer, or that
/// are too old to know the request, have none.
pub async fn requests(folder: &Path, timeout: Duration) -> Vec<Wait> {
    let mut asking = JoinSet::new();
    let records = process_lock::all(folder).unwrap_or_default().into_iter().filter(|found| found.is_held);
    for record in records.filter_map(|found| Record::parse(&found.text)) {
        let (folder, agent) = (folder.to_path_buf(), record.info.agent_id);
        asking.spawn(async move {
            let mut client = Client::connect(&folder, &agent.socket(), timeout).await.ok()?;
            let Waits { mut requests } = client.answer_as(REQUESTS, Value::Null, timeout).await.ok()?;
            // An agent may only ask in its own name.
            requests.retain(|wait| wait.call.as_ref().is_some_and(|call| call.agent == agent.as_str()));
            Some(requests)
        });
    }
    asking.join_all().await.into_iter().flatten().flatten().collect()
}

/// Hosted agents whose hosts are alive, whether they answer or not.
pub fn live(folder: &Path) -> io::Result<Vec<AgentId>> {
    let is_live = |(info, is_running): &(AgentInfo, bool)| *is_running && info.kind == AgentKind::Live;
    let live = started(folder)?.into_iter().filter(is_live);
    Ok(live.map(|(info, _)| info.agent_id).collect())
}
