//! `hosts/<agent>.json`: which process is the agent's host, and what came of it (docs/reference/host-protocol.md).

use super::id::AgentId;
use super::protocol::{Card, HOST_PROTOCOL_VERSION};
use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Path, PathBuf};
use sys::error::Hinted;
use sys::held::{Held, Lasting, look};
use sys::identity::Identity;
use sys::process::Exit;

/// The version of the file.
const FORMAT: u32 = 1;

/// What is in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Its version, 1.
    pub format: u32,
    /// [`HOST_PROTOCOL_VERSION`] of the host.
    pub protocol_version: String,
    /// The host's version of murmur.
    pub version: String,
    /// The host.
    pub host: Identity,
    /// The data folder, as the agent knows it.
    pub data_dir: PathBuf,
    /// What the agent is.
    #[serde(flatten)]
    pub card: Card,
    /// The session of the captures that has its output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capture: Option<String>,
    /// What came of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Ended>,
}

/// How an agent ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    /// When, RFC 3339.
    pub ended_at: String,
    /// How its process ended; `null` if its host died first, or it was never started.
    pub exit: Option<Exit>,
    /// Why there is no exit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Why there is no record.
#[derive(Debug, thiserror::Error)]
pub enum ClaimError {
    /// Another host has the agent.
    #[error("agent {agent} has a host already{}", .pid.map(|pid| format!(" (PID {pid})")).unwrap_or_default())]
    Taken {
        /// The agent.
        agent: AgentId,
        /// The other host.
        pid: Option<u32>,
    },
    /// The system does not let us.
    #[error("cannot write the record of agent {agent}: {source}")]
    Failed {
        /// The agent.
        agent: AgentId,
        /// What it said.
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
    /// Of this process, as the host of `card`.
    #[must_use]
    pub fn ours(card: Card, data_dir: PathBuf) -> Self {
        Self {
            format: FORMAT,
            protocol_version: HOST_PROTOCOL_VERSION.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            host: Identity::ours(),
            data_dir,
            card,
            capture: None,
            result: None,
        }
    }

    /// Becomes the host of the agent, in `folder`. `bury` is given what a dead host left there, before it is removed.
    ///
    /// # Errors
    /// [`ClaimError`].
    pub fn claim(&self, folder: &Path, bury: impl Fn(&Self)) -> Result<Held, ClaimError> {
        let agent = &self.card.agent_id;
        let failed = |source| ClaimError::Failed { agent: agent.clone(), source };
        let text = serde_json::to_vec(self).map_err(|error| failed(error.into()))?;
        let path = folder.join(agent.record());
        loop {
            // After a power failure there is no host either.
            if let Some(held) = Held::create(folder, &agent.record(), &text, Lasting::No).map_err(failed)? {
                return Ok(held);
            }
            match Held::take_over(&path).map_err(failed)? {
                Some(dead) => {
                    let record = dead.read().ok().and_then(|text| Self::parse(&text));
                    if let Some(record) = record.filter(|record| record.result.is_none()) {
                        bury(&record);
                    }
                    dead.remove().map_err(failed)?;
                }
                None => match look(&path) {
                    Some(found) if found.is_held => {
                        let pid = Self::parse(&found.text).map(|record| record.host.pid);
                        return Err(ClaimError::Taken { agent: agent.clone(), pid });
                    }
                    // It has just gone, or its holder has just died.
                    _ => {}
                },
            }
        }
    }

    /// Reads one. `None` if it is none.
    #[must_use]
    pub fn parse(text: &[u8]) -> Option<Self> {
        serde_json::from_slice(text).ok()
    }

    /// Writes down where the agent's output is kept.
    ///
    /// # Errors
    /// What the system says.
    pub fn note_capture(&mut self, held: &Held, capture: String) -> io::Result<()> {
        self.capture = Some(capture);
        held.rewrite(&serde_json::to_vec(self)?)
    }

    /// Writes down what came of the agent.
    ///
    /// # Errors
    /// What the system says.
    pub fn close(&mut self, held: &Held, result: Ended) -> io::Result<()> {
        self.result = Some(result);
        held.rewrite(&serde_json::to_vec(self)?)
    }
}
