//! Which hosts there are, and cleaning up after those that died.

use super::hosting::bury;
use super::id::AgentId;
use super::protocol::{HOST_PROTOCOL_VERSION, Pong, REQUESTS, Status, Wait, Waits};
use super::record::{Ended, Record};
use super::state::Kind;
use crate::rpc::client::{AskError, Client};
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::time::Duration;
use sys::held::{self, Found, Held};
use sys::unreadable::unreadable;
use sys::{clock, socket};
use tokio::task::JoinSet;

/// How long a host may take to answer. All are asked at once.
pub const PATIENCE: Duration = Duration::from_millis(300);

/// How long one may take to say for whom its agent waits: whoever counts on the answer has nobody else to ask.
pub const LONG_PATIENCE: Duration = Duration::from_secs(2);

/// How long the record of an agent that ended is kept.
const KEPT: SignedDuration = SignedDuration::from_hours(24);

/// A host, or what is left of one.
#[derive(Debug, Clone)]
pub struct Seen {
    /// The agent.
    pub agent_id: AgentId,
    /// Its record, if it has one.
    pub record: Option<Record>,
    /// How it is.
    pub condition: Condition,
}

/// How a host is.
#[derive(Debug, Clone)]
pub enum Condition {
    /// It answers.
    Up(Box<Status>),
    /// It answers, in another version of the protocol; it is left alone.
    Incompatible(Pong),
    /// It lives and does not answer.
    Silent,
    /// Its agent ended.
    Ended(Ended),
    /// It died, and nobody has cleaned up after it.
    Dead,
}

impl Condition {
    /// The word for it; of one that answers, its agent's.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Up(status) => status.state.word(),
            Self::Incompatible(_) => "incompatible",
            Self::Silent => "unresponsive",
            Self::Ended(_) => "exited",
            Self::Dead => "dead",
        }
    }

    /// How many tasks of its agent run in the background.
    #[must_use]
    pub fn background(&self) -> usize {
        if let Self::Up(status) = self { status.state.background() } else { 0 }
    }
}

impl Seen {
    /// What programs are told of it: its status, or as much as is known.
    #[must_use]
    pub fn object(&self) -> Value {
        let mut object = match &self.condition {
            Condition::Up(status) => return json!(status),
            Condition::Ended(ended) => json!({ "state": "exited", "result": ended }),
            Condition::Incompatible(Pong { protocol_version, version, .. }) => {
                json!({ "state": "incompatible", "protocol_version": protocol_version, "version": version })
            }
            other => json!({ "state": other.word() }),
        };
        let card = self.record.as_ref().map(|record| json!(record.card)).unwrap_or_default();
        if let (Value::Object(object), Value::Object(card)) = (&mut object, card) {
            object.extend(card);
        }
        object["agent_id"] = json!(self.agent_id);
        object["capture"] = json!(self.record.as_ref().and_then(|record| record.capture.as_ref()));
        object["pid"] = json!(self.record.as_ref().map(|record| record.host.pid));
        object
    }

    /// Whether its process lives.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        matches!(self.condition, Condition::Up(_) | Condition::Incompatible(_) | Condition::Silent)
    }
}

/// Looks at every host of `folder`, in the order of their ids.
///
/// # Errors
/// What the system says of reading the folder. One that does not exist has none.
pub async fn scan(folder: &Path, patience: Duration) -> io::Result<Vec<Seen>> {
    let mut looking = JoinSet::new();
    let mut known = BTreeSet::new();
    for found in held::all(folder)? {
        let Some(record) = Record::parse(&found.text) else { continue };
        known.insert(record.card.agent_id.clone());
        let folder = folder.to_path_buf();
        looking.spawn(async move { look(&folder, found, record, patience).await });
    }
    for agent_id in sockets(folder)?.into_iter().filter(|agent| !known.contains(agent)) {
        let folder = folder.to_path_buf();
        looking.spawn(async move {
            // It may have come after the records were looked at.
            if let Some(seen) = find(&folder, &agent_id, patience).await {
                return Some(seen);
            }
            let condition = match ask(&folder, &agent_id, patience).await {
                // It went with its record.
                Err(AskError::Gone(error)) if error.kind() == io::ErrorKind::NotFound => return None,
                Err(AskError::Gone(error)) if error.kind() == io::ErrorKind::ConnectionRefused => {
                    Condition::Dead
                }
                asked => of_answer(asked),
            };
            Some(Seen { agent_id, record: None, condition })
        });
    }
    let mut seen: Vec<Seen> = looking.join_all().await.into_iter().flatten().collect();
    seen.sort_by(|one, other| one.agent_id.cmp(&other.agent_id));
    Ok(seen)
}

/// Looks at the host of `agent_id`; `None` if there is no trace of one.
pub async fn find(folder: &Path, agent_id: &AgentId, patience: Duration) -> Option<Seen> {
    let found = held::look(&folder.join(agent_id.record()))?;
    let record = Record::parse(&found.text)?;
    look(folder, found, record, patience).await
}

async fn look(folder: &Path, found: Found, record: Record, patience: Duration) -> Option<Seen> {
    let agent_id = record.card.agent_id.clone();
    let condition = match of_record(&record, found.is_held) {
        Some(condition) => condition,
        None => match ask(folder, &agent_id, patience).await {
            // It may have ended since its record was read.
            Err(AskError::Gone(_)) => {
                let found = held::look(&folder.join(agent_id.record()))?;
                let record = Record::parse(&found.text)?;
                let condition = of_record(&record, found.is_held).unwrap_or(Condition::Silent);
                return Some(Seen { agent_id, record: Some(record), condition });
            }
            asked => of_answer(asked),
        },
    };
    Some(Seen { agent_id, record: Some(record), condition })
}

/// How it is by its record alone; `None` if it lives.
fn of_record(record: &Record, is_held: bool) -> Option<Condition> {
    match &record.result {
        Some(result) => Some(Condition::Ended(result.clone())),
        None => (!is_held).then_some(Condition::Dead),
    }
}

fn of_answer(asked: Result<Answered, AskError>) -> Condition {
    match asked {
        Ok(Answered::Status(status)) => Condition::Up(status),
        Ok(Answered::Other(pong)) => Condition::Incompatible(pong),
        Err(_) => Condition::Silent,
    }
}

enum Answered {
    Status(Box<Status>),
    Other(Pong),
}

async fn ask(folder: &Path, agent_id: &AgentId, patience: Duration) -> Result<Answered, AskError> {
    let mut client = Client::connect(folder, &agent_id.socket(), patience).await?;
    let garbled = |error: serde_json::Error| AskError::Garbled(error.to_string());
    let pong: Pong =
        serde_json::from_value(client.answer("ping", Value::Null, patience).await?).map_err(garbled)?;
    if pong.protocol_version != HOST_PROTOCOL_VERSION {
        return Ok(Answered::Other(pong));
    }
    let status = client.answer("status", Value::Null, patience).await?;
    serde_json::from_value(status).map(|status| Answered::Status(Box::new(status))).map_err(garbled)
}

fn sockets(folder: &Path) -> io::Result<Vec<AgentId>> {
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

/// Every agent that has a record, alive or ended.
///
/// # Errors
/// What the system says of reading the folder.
pub fn known(folder: &Path) -> io::Result<Vec<AgentId>> {
    let records = held::all(folder)?.into_iter().filter_map(|found| Record::parse(&found.text));
    Ok(records.map(|record| record.card.agent_id).collect())
}

/// The requests that agents of `folder` wait with for a person, as their hosts have them. Hosts that do not answer, or are
/// of before there was this, have none.
pub async fn requests(folder: &Path, patience: Duration) -> Vec<Wait> {
    let mut asking = JoinSet::new();
    let records = held::all(folder).unwrap_or_default().into_iter().filter(|found| found.is_held);
    for record in records.filter_map(|found| Record::parse(&found.text)) {
        let (folder, agent) = (folder.to_path_buf(), record.card.agent_id);
        asking.spawn(async move {
            let mut client = Client::connect(&folder, &agent.socket(), patience).await.ok()?;
            let Waits { mut requests } = client.answer_as(REQUESTS, Value::Null, patience).await.ok()?;
            // An agent asks in its own name alone.
            requests.retain(|wait| wait.call.as_ref().is_some_and(|call| call.agent == agent.as_str()));
            Some(requests)
        });
    }
    asking.join_all().await.into_iter().flatten().flatten().collect()
}

/// The live agents whose hosts live, whether they answer or not.
///
/// # Errors
/// What the system says of reading the folder.
pub fn live(folder: &Path) -> io::Result<Vec<AgentId>> {
    let records = held::all(folder)?.into_iter().filter(|found| found.is_held);
    let records = records.filter_map(|found| Record::parse(&found.text));
    let live = records.filter(|record| record.card.kind == Kind::Live && record.result.is_none());
    Ok(live.map(|record| record.card.agent_id).collect())
}

/// What [`clean`] did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Cleaned {
    /// Agents whose hosts were found dead, and what was left of which is ended.
    #[serde(rename = "dead")]
    pub buried: Vec<AgentId>,
    /// How many sockets that nobody listens on were removed.
    pub sockets: usize,
}

/// Cleans up after hosts that died, and forgets agents that ended long ago. Takes up to 2 s for each that left
/// processes behind that cannot be ended.
///
/// # Errors
/// What the system says.
pub fn clean(folder: &Path, now: Timestamp) -> io::Result<Cleaned> {
    let mut cleaned = Cleaned::default();
    for found in held::all(folder)?.into_iter().filter(|found| !found.is_held) {
        // Nobody who wants to begin anew finds it locked where there is nothing to do.
        let ended = Record::parse(&found.text).and_then(|record| record.result);
        if ended.is_some_and(|result| !is_old(&result, now)) {
            continue;
        }
        let Some(dead) = Held::take_over(&found.path)? else { continue };
        let Some(mut record) = dead.read().ok().and_then(|text| Record::parse(&text)) else { continue };
        let agent_id = record.card.agent_id.clone();
        match &record.result {
            Some(result) if is_old(result, now) => {
                let _none = std::fs::remove_file(folder.join(agent_id.log()));
                dead.remove()?;
            }
            Some(_) => {}
            None => {
                bury(&record);
                cleaned.sockets += usize::from(std::fs::remove_file(folder.join(agent_id.socket())).is_ok());
                if record.card.kind == Kind::Beat {
                    // What came of it stands in the journal.
                    dead.remove()?;
                } else {
                    let error = Some("its host was killed".to_owned());
                    record.close(&dead, Ended { ended_at: clock::rfc3339(now), exit: None, error })?;
                }
                cleaned.buried.push(agent_id);
            }
        }
    }
    for agent_id in sockets(folder)? {
        // Looked for after the socket was found: whoever makes one has a record first.
        let is_stale = held::look(&folder.join(agent_id.record())).is_none_or(|found| !found.is_held);
        if is_stale && socket::is_stale(folder, &agent_id.socket()) {
            cleaned.sockets += usize::from(std::fs::remove_file(folder.join(agent_id.socket())).is_ok());
        }
    }
    Ok(cleaned)
}

fn is_old(result: &Ended, now: Timestamp) -> bool {
    result.ended_at.parse::<Timestamp>().is_ok_and(|ended| now.duration_since(ended) > KEPT)
}
