//! `hosts/<agent>.json`: the agent's host process, and its result (docs/reference/host-protocol.md).

use super::protocol::{AgentInfo, HOST_PROTOCOL_VERSION};
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

/// The content of the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Its version, 1.
    pub format: u32,
    /// [`HOST_PROTOCOL_VERSION`] of the host.
    pub protocol_version: String,
    /// The host's version of murmur.
    pub version: String,
    /// The host's process.
    pub host: Identity,
    /// The data folder, as the agent knows it.
    pub data_dir: PathBuf,
    /// The agent.
    #[serde(flatten)]
    pub info: AgentInfo,
    /// The capture session with its output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capture: Option<CaptureId>,
    /// Its result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Ended>,
}

/// How an agent ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    /// When, RFC 3339.
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
                format!("choose another id, or stop it with: murmur host stop {agent}")
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
            capture: None,
            result: None,
        }
    }

    /// Claims the record in `folder`. Calls `reap` with a dead host's record before it is removed.
    pub fn claim(&self, folder: &Path, reap: impl Fn(&Self)) -> Result<ProcessLock, ClaimError> {
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
                    if let Some(record) = record.filter(|record| record.result.is_none()) {
                        reap(&record);
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

    /// Records the agent's result.
    pub fn close(&mut self, held: &ProcessLock, result: Ended) -> io::Result<()> {
        self.result = Some(result);
        held.rewrite(&serde_json::to_vec(self)?)
    }
}
