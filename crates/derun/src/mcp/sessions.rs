//! `derun_list_sessions` and `derun_get_session`: lists and describes sessions.

use super::answer::{Detail, OneSession, Output, Sessions, Summary};
use super::fail::ToolError;
use super::input::{GetInput, ListInput};
use super::state_root::StateRoot;
use crate::record::SCHEMA_VERSION;
use crate::session::{Session, Status};
use crate::store::Store;
use crate::text;
use jiff::Timestamp;
use sys::clock::{self, rfc3339};

/// The maximum size of a command in a list and in the description of a session, in bytes.
const MAX_LISTED_COMMAND: usize = 4096;
const MAX_COMMAND: usize = 64 * 1024;
/// The maximum size of a list, in bytes.
const MAX_LIST: usize = 1024 * 1024;

/// Lists sessions, newest first, up to the limit and the maximum size. Sessions that disappear meanwhile are left
/// out.
pub(super) fn list(root: &StateRoot, input: &ListInput) -> Result<Sessions, ToolError> {
    let now = clock::now();
    let (mut total_count, mut wanted) = (0, Vec::new());
    let mut left = usize::try_from(input.limit).unwrap_or(usize::MAX);
    let mut room = MAX_LIST;
    let store = root.open()?;
    let ids = store.as_ref().map(Store::list).transpose()?.unwrap_or_default();
    for (store, id) in store.iter().flat_map(|store| ids.iter().map(move |id| (store, id))) {
        let looked = store.session(id.as_str()).and_then(|session| Ok((session.status(now)?, session)));
        let Ok((status, session)) = looked else { continue };
        if input.state.is_none_or(|state| status.state == state) {
            total_count += 1;
            if left == 0 {
                continue;
            }
            let summary = summary(&session, &status, MAX_LISTED_COMMAND);
            match room.checked_sub(serde_json::to_string(&summary).map_or(0, |json| json.len())) {
                Some(rest) => {
                    (room, left) = (rest, left - 1);
                    wanted.push(summary);
                }
                None => left = 0,
            }
        }
    }
    Ok(Sessions {
        schema_version: SCHEMA_VERSION,
        generated_at: rfc3339(now),
        total_count,
        truncated: total_count > wanted.len(),
        sessions: wanted,
    })
}

/// Describes one session.
pub(super) fn get(root: &StateRoot, input: &GetInput) -> Result<OneSession, ToolError> {
    let session = root.session(&input.session_id)?;
    let output = output(&session, clock::now())?;
    // Read last: the output of a session that has ended by then is complete.
    let status = session.status(clock::now())?;
    let last = status.last.clone();
    let (exit_code, signal, error, lost) =
        last.map_or((None, None, None, None), |last| (last.exit_code, last.signal, last.error, last.lost));
    let session = Detail {
        summary: summary(&session, &status, MAX_COMMAND),
        working_directory: session.meta().working_directory.clone(),
        exit_code,
        signal,
        error,
        lost,
        expires_at: status.expires_at.map(rfc3339),
        output: output.clone(),
    };
    Ok(OneSession { schema_version: SCHEMA_VERSION, session, output })
}

fn summary(session: &Session, status: &Status, most: usize) -> Summary {
    let meta = session.meta();
    let (command, command_truncated) = cut(&meta.command, most);
    Summary {
        session_id: session.id().to_string(),
        state: status.state,
        started_at: rfc3339(meta.started_at),
        ended_at: status.last.as_ref().map(|last| rfc3339(last.ended_at)),
        transport_mode: meta.transport_mode,
        tty_attached: meta.tty_attached,
        retention_seconds: meta.retention_seconds,
        pid: meta.pid.unwrap_or(0),
        command: Some(command),
        command_truncated,
    }
}

/// The first arguments of a command, at most `most` bytes in total, and whether there are more.
fn cut(command: &[String], most: usize) -> (Vec<String>, bool) {
    let mut room = most;
    let mut words = Vec::new();
    for word in command {
        let part = text::cut(word, room);
        words.push(part.to_owned());
        // Empty arguments count too.
        room = room.saturating_sub(part.len() + 1);
        if part.len() < word.len() || room == 0 {
            break;
        }
    }
    let is_whole =
        words.len() == command.len() && words.last().map(String::len) == command.last().map(String::len);
    (words, !is_whole)
}

fn output(session: &Session, now: Timestamp) -> Result<Output, ToolError> {
    // A new session has no output files yet, which an empty page accounts for.
    if session.read(0, 1, now)?.bytes.is_empty() {
        return Ok(Output { output_bytes: 0, chunk_count: 0, last_chunk_at: None, gap: None });
    }
    let (chunk_count, last) = session.stretches()?;
    Ok(Output {
        output_bytes: session.end()?,
        chunk_count,
        last_chunk_at: last.map(|stretch| rfc3339(stretch.timestamp)),
        gap: session.gap()?,
    })
}
