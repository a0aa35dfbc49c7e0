//! `hosts/<agent>.json`: the agent's host process, and its result (docs/reference/host-protocol.md).

use super::protocol::{AgentInfo, HOST_PROTOCOL_VERSION};
use super::unrecorded::Unrecorded;
use derun::id::SessionId as CaptureId;
use murmur_core::id::AgentId;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Path, PathBuf};
use sys::error::Hinted;
use sys::identity::Identity;
use sys::process::Exit;
use sys::process_lock::{Durability, ProcessLock, look};

/// The version of the file.
const FORMAT: u32 = 1;

/// The content of the file. The aliases are the keys of earlier versions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Record {
    /// Its version, 1.
    pub format: u32,
    /// [`HOST_PROTOCOL_VERSION`] of the host.
    #[serde(alias = "protocol_version")]
    pub protocol_version: String,
    /// The host's version of murmur.
    pub version: String,
    /// The host's process.
    pub host: Identity,
    /// The data folder, as the agent knows it.
    #[serde(alias = "data_dir")]
    pub data_dir: PathBuf,
    /// The agent.
    #[serde(flatten)]
    pub info: AgentInfo,
    /// The beat's task. Empty if unknown, and for hosted agents, whose task is set elsewhere.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub task: String,
    /// The capture session with its output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capture: Option<CaptureId>,
    /// What to record when the agent ends.
    #[serde(default, skip_serializing_if = "Unrecorded::is_empty")]
    pub unrecorded: Unrecorded,
    /// Its result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<AgentEnd>,
}

/// How an agent ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentEnd {
    /// When, RFC 3339.
    #[serde(alias = "ended_at")]
    pub ended_at: String,
    /// How its process ended; `null` if its host died first or it never started.
    pub exit: Option<Exit>,
    /// Why there is no exit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Why a record cannot be claimed.
#[derive(Debug, thiserror::Error)]
pub enum ClaimError {
    /// The agent already has a host.
    #[error("agent {agent} already has a host{}", .pid.map(|pid| format!(" (PID {pid})")).unwrap_or_default())]
    Taken {
        /// The agent.
        agent: AgentId,
        /// The other host.
        pid: Option<u32>,
    },
    /// The record cannot be written.
    #[error("cannot write the record of agent {agent}")]
    Failed {
        /// The agent.
        agent: AgentId,
        /// The underlying error.
        source: io::Error,
    },
}

impl Hinted for ClaimError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Taken { agent, .. } => {
                format!("choose another id, or stop it with: murmur agent stop {agent}")
            }
            Self::Failed { .. } => return None,
        })
    }
}

impl Record {
    /// A record of this process as the host of `info`.
    #[must_use]
    pub fn ours(info: AgentInfo, data_dir: PathBuf) -> Self {
        Self {
            format: FORMAT,
            protocol_version: HOST_PROTOCOL_VERSION.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            host: Identity::ours(),
            data_dir,
            info,
            task: String::new(),
            capture: None,
            unrecorded: Unrecorded::default(),
            result: None,
        }
    }

    /// Claims the record in `folder`. Calls `reap` with a dead host's record before it is removed; if that fails, the
    /// record stays.
    pub fn claim(
        &self,
        folder: &Path,
        reap: impl Fn(&mut Self) -> io::Result<()>,
    ) -> Result<ProcessLock, ClaimError> {
        let agent = &self.info.agent_id;
        let failed = |source| ClaimError::Failed { agent: agent.clone(), source };
        let text = serde_json::to_vec(self).map_err(|error| failed(error.into()))?;
        let path = folder.join(agent.record());
        loop {
            // After a power failure no host is running either.
            if let Some(held) =
                ProcessLock::create(folder, &agent.record(), &text, Durability::Unsynced).map_err(failed)?
            {
                return Ok(held);
            }
            match ProcessLock::take_over(&path).map_err(failed)? {
                Some(dead) => {
                    let record = dead.read().ok().and_then(|text| Self::parse(&text));
                    if let Some(mut record) = record.filter(|record| record.result.is_none()) {
                        reap(&mut record).map_err(failed)?;
                    }
                    dead.remove().map_err(failed)?;
                }
                None => match look(&path) {
                    Some(found) if found.is_held => {
                        let pid = Self::parse(&found.text).map(|record| record.host.pid);
                        return Err(ClaimError::Taken { agent: agent.clone(), pid });
                    }
                    // The record was just removed, or its holder just died.
                    _ => {}
                },
            }
        }
    }

    /// Parses a record; `None` if it is invalid.
    #[must_use]
    pub fn parse(text: &[u8]) -> Option<Self> {
        serde_json::from_slice(text).ok()
    }

    /// Records the capture session with the agent's output.
    pub fn note_capture(&mut self, held: &ProcessLock, capture: CaptureId) -> io::Result<()> {
        self.capture = Some(capture);
        held.rewrite(&serde_json::to_vec(self)?)
    }

    /// Keeps `unrecorded`, if it has more than is kept.
    pub fn note_unrecorded(&mut self, held: &ProcessLock, unrecorded: &Unrecorded) -> io::Result<()> {
        if self.unrecorded.is_like(unrecorded) {
            return Ok(());
        }
        self.unrecorded = unrecorded.clone();
        held.rewrite(&serde_json::to_vec(self)?)
    }

    /// Records the agent's result; everything else is recorded by then.
    pub fn close(&mut self, held: &ProcessLock, result: AgentEnd) -> io::Result<()> {
        self.unrecorded = Unrecorded::default();
        self.result = Some(result);
        held.rewrite(&serde_json::to_vec(self)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::LedgerEntry;
    use crate::protocol::Status;
    use serde_json::{Value, json};

    /// Reads `earlier`, and writes it again.
    fn again<T: Serialize + for<'de> Deserialize<'de>>(earlier: Value) -> Value {
        json!(serde_json::from_value::<T>(earlier).unwrap())
    }

    #[test]
    fn records_statuses_and_ledgers_of_earlier_versions_are_read() {
        let info = json!({ "agent_id": "site-1", "kind": "live", "project": "site", "role": "agent",
            "backend": "claude", "worktree": "/site" });
        let with = |more: Value| {
            let mut object = info.clone();
            object.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            object
        };
        let host = json!({ "pid": 1, "started": 2, "boot": "b" });
        let record =
            with(json!({ "format": 1, "protocol_version": "0.1.0", "version": "0.1.0", "host": host,
            "data_dir": "/data", "started_at": "t", "result": { "ended_at": "u", "exit": null } }));
        let expected =
            with(json!({ "format": 1, "protocolVersion": "0.1.0", "version": "0.1.0", "host": host,
            "dataDir": "/data", "startedAt": "t", "result": { "endedAt": "u", "exit": null } }));
        assert_eq!(again::<Record>(record), expected);
        let stopping = json!({ "state": "stopping", "force": false, "grace_ms": 5000 });
        let status = with(json!({ "started_at": "t", "state": "stopping", "force": false, "grace_ms": 5000,
            "pid": 1, "agent_pid": 2, "session_id": "s", "capture": null, "stream_offset": 3,
            "attached_clients": 4, "last_event_at": "u" }));
        let expected = with(json!({ "startedAt": "t", "state": "stopping", "force": false, "graceMs": 5000,
            "pid": 1, "agentPid": 2, "sessionId": "s", "capture": null, "streamOffset": 3,
            "attachedClients": 4, "lastEventAt": "u" }));
        assert_eq!(again::<Status>(status), expected);
        let line = |event_type: &str, payload: Value| {
            json!({ "offset": 1, "at": 0, "begins": { "stdout": 0, "stderr": 0 },
                "own": { "event_type": event_type, "payload": payload } })
        };
        let expected = json!({ "state": "stopping", "force": false, "graceMs": 5000 });
        assert_eq!(again::<LedgerEntry>(line("state", stopping)), line("state", expected));
        let result = json!({ "id": "1", "output": "no", "is_error": true });
        let expected = json!({ "id": "1", "output": "no", "isError": true });
        assert_eq!(again::<LedgerEntry>(line("tool_result", result)), line("tool_result", expected));
    }
}
