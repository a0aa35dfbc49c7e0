//! Cleans up after hosts that died: kills leftover processes, records what they no longer could, closes records, and
//! removes stale sockets.

use super::discover::sockets;
use super::record::{AgentEnd, Record};
use super::state::AgentKind;
use jiff::{SignedDuration, Timestamp};
use murmur_agent::invocation::marks;
use murmur_core::id::AgentId;
use serde::Serialize;
use std::io;
use std::path::Path;
use sys::error::Hinted;
use sys::paths::DataDir;
use sys::process_lock::{self, ProcessLock};
use sys::{clock, process, socket};

/// How long the record of an ended agent is kept.
const KEPT: SignedDuration = SignedDuration::from_hours(24);

/// Result of [`reap_dead`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Reaped {
    /// Agents whose hosts were dead and whose remaining processes were killed.
    #[serde(rename = "dead")]
    pub reaped: Vec<AgentId>,
    /// The number of stale sockets that were removed.
    pub sockets: usize,
}

/// Cleans up after hosts that died, and removes the records of agents that ended long ago. Takes up to 2 s for each
/// agent with processes that can't be killed.
///
/// # Errors
/// If the hosts' files, or what a dead host could not record, are not writable. The next call retries.
pub fn reap_dead(folder: &Path, now: Timestamp) -> io::Result<Reaped> {
    let (mut done, mut failed) = (Reaped::default(), None);
    for found in process_lock::all(folder)?.into_iter().filter(|found| !found.is_held) {
        // Don't lock a record needlessly: a new host of that agent may want it.
        let ended = Record::parse(&found.text).and_then(|record| record.result);
        if ended.is_some_and(|result| !is_old(&result, now)) {
            continue;
        }
        let Some(dead) = ProcessLock::take_over(&found.path)? else { continue };
        let Some(mut record) = dead.read().ok().and_then(|text| Record::parse(&text)) else { continue };
        let agent_id = record.info.agent_id.clone();
        match &record.result {
            Some(result) if is_old(result, now) => {
                let _none = std::fs::remove_file(folder.join(agent_id.log()));
                dead.remove()?;
            }
            Some(_) => {}
            None => {
                let unrecorded = record.unrecorded.clone();
                if let Err(error) = reap_agent(&mut record) {
                    failed.get_or_insert(error);
                    // So that nothing is recorded twice.
                    if record.unrecorded != unrecorded {
                        dead.rewrite(&serde_json::to_vec(&record)?)?;
                    }
                    continue;
                }
                done.sockets += usize::from(std::fs::remove_file(folder.join(agent_id.socket())).is_ok());
                if record.info.kind == AgentKind::Beat {
                    // The journal has the outcome of a beat.
                    dead.remove()?;
                } else {
                    let error = Some("its host was killed".to_owned());
                    record.close(&dead, AgentEnd { ended_at: clock::rfc3339(now), exit: None, error })?;
                }
                done.reaped.push(agent_id);
            }
        }
    }
    for agent_id in sockets(folder)? {
        // Checked after the socket was found: a host creates its record first.
        let is_stale = process_lock::look(&folder.join(agent_id.record())).is_none_or(|found| !found.is_held);
        if is_stale && socket::is_stale(folder, &agent_id.socket()) {
            done.sockets += usize::from(std::fs::remove_file(folder.join(agent_id.socket())).is_ok());
        }
    }
    failed.map_or(Ok(done), Err)
}

fn is_old(result: &AgentEnd, now: Timestamp) -> bool {
    result.ended_at.parse::<Timestamp>().is_ok_and(|ended| now.duration_since(ended) > KEPT)
}

/// Kills what is left of the agent of `record`, whose host is dead, and records what the host no longer could.
pub(super) fn reap_agent(record: &mut Record) -> io::Result<()> {
    process::kill_marked(&marks(record.info.agent_id.as_str(), Some(&record.data_dir)));
    if record.unrecorded.is_empty() {
        return Ok(());
    }
    let dir =
        DataDir::find(Some(&record.data_dir), None, None).map_err(|error| io::Error::other(error.line()))?;
    let recorded = record.unrecorded.record(&dir, &record.info, clock::now());
    recorded.map_err(|failure| io::Error::other(failure.line()))
}
