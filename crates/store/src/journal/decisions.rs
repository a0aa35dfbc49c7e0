//! decisions.jsonl: one line per decision, appended in one write, with secrets masked
//! (docs/reference/hook.md).

pub mod read;

use murmur_core::id::{BeatId, SessionId};
use murmur_core::permit::decision::{DecidedBy, DecisionKind};
use murmur_core::permit::request::{Answerer, Request, RequestId};
use secrets::mask;
use serde::Serialize;
use serde_json::Value;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use sys::paths::DataDir;
use sys::{clock, socket};

/// Maximum length of a call's input in a line, in characters.
const INPUT: usize = 4000;

/// The reason for a denial when nobody decided before the agent ended or was interrupted, which its hook can't tell
/// apart.
pub const WITHDRAWN: &str = "the agent ended or was interrupted before anybody answered";

/// A request that waited for a person when its agent ended.
#[derive(Debug)]
pub struct Unanswered {
    /// Its id.
    pub id: RequestId,
    /// The request.
    pub request: Box<Request>,
    /// How long it had waited.
    pub time: Duration,
}

/// A line of decisions.jsonl.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DecisionLine<'a> {
    /// When it was decided, RFC 3339 in UTC.
    pub ts: String,
    /// The agent that made the call.
    pub agent: &'a str,
    /// The project whose rules applied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<&'a str>,
    /// The beat that the call belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beat: Option<&'a BeatId>,
    /// The tool.
    pub tool: &'a str,
    /// The tool's input, as JSON text; no longer valid JSON where masking broke it.
    pub input: String,
    /// A person's answers to the agent's questions, in the same form.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answers: Option<String>,
    /// The folder the call runs in.
    pub cwd: &'a Path,
    /// The session; empty if the backend doesn't say.
    pub session: &'a str,
    /// The backend's id of the call.
    pub tool_use_id: &'a str,
    /// What was decided.
    pub decision: DecisionKind,
    /// Who decided.
    pub by: &'a DecidedBy,
    /// Why.
    pub reason: String,
    /// The request, if somebody was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<&'a str>,
    /// The process that sent a person's answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answered_by: Option<&'a Answerer>,
    /// Whether the call had already run when this was detected.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub breach: bool,
    /// How long the decision took, in milliseconds.
    pub duration_ms: u64,
}

/// A decision could not be recorded.
#[derive(Debug, thiserror::Error)]
#[error("cannot write the decision to {}", .path.display())]
pub struct DecisionError {
    /// The file.
    pub path: PathBuf,
    /// The cause.
    pub source: io::Error,
}

/// Records a call that was denied because nobody decided on request `id`. `time` is how long the request was open.
pub fn record_undecided(
    dir: &DataDir,
    id: &RequestId,
    request: &Request,
    reason: &str,
    time: Duration,
) -> Result<(), DecisionError> {
    let input = match &request.input {
        Value::String(shortened) => shortened.clone(),
        input => input.to_string(),
    };
    let line = DecisionLine {
        ts: clock::rfc3339(clock::now()),
        agent: &request.agent,
        project: Some(&*request.project).filter(|project| !project.is_empty()),
        beat: request.beat.as_ref().map(|beat| &beat.beat),
        tool: &request.tool,
        input: shown(&input),
        answers: None,
        cwd: &request.cwd,
        session: request.session.as_ref().map_or("", SessionId::as_str),
        tool_use_id: &request.tool_use_id,
        decision: DecisionKind::Deny,
        by: &DecidedBy::Nobody,
        reason: reason.to_owned(),
        request: Some(id.as_str()),
        answered_by: None,
        breach: false,
        duration_ms: u64::try_from(time.as_millis()).unwrap_or(u64::MAX),
    };
    append(dir, &line)
}

/// Appends `line` to the file, whole or not at all.
pub fn append(dir: &DataDir, line: &DecisionLine<'_>) -> Result<(), DecisionError> {
    let path = dir.decisions();
    let written = serde_json::to_vec(line).map_err(io::Error::from).and_then(|mut line| {
        line.push(b'\n');
        rotate::append_line(&path, &line)
    });
    written.map_err(|source| DecisionError { path, source })
}

/// Records the requests that were still open when an agent ended, unless a daemon is there to record them.
pub fn record_unanswered(dir: &DataDir, unanswered: &[Unanswered]) -> Result<(), DecisionError> {
    if unanswered.is_empty() || socket::connect_blocking(dir.root(), dir.socket_name()).is_ok() {
        return Ok(());
    }
    for Unanswered { id, request, time } in unanswered {
        record_undecided(dir, id, request, WITHDRAWN, *time)?;
    }
    Ok(())
}

/// The first `most` characters of `text`.
fn first(text: &str, most: usize) -> &str {
    text.char_indices().nth(most).map_or(text, |(end, _)| &text[..end])
}

/// `text` as a line shows it: with secrets masked, and cut after 4,000 characters.
#[must_use]
pub fn shown(text: &str) -> String {
    // Mask more than is kept, so that a secret at the cut is recognized.
    shortened(&mask(first(text, 2 * INPUT)))
}

fn shortened(text: &str) -> String {
    let kept = first(text, INPUT);
    if kept.len() < text.len() { format!("{kept}…") } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_torn_line_stays_a_line_of_its_own_and_links_and_pipes_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("decisions.jsonl");
        rotate::append_line(&path, b"one\n").unwrap();
        std::fs::write(&path, "one\ntor").unwrap();
        rotate::append_line(&path, b"two\n").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "one\ntor\ntwo\n");
        std::os::unix::fs::symlink(&path, folder.path().join("link")).unwrap();
        sys::fifo::make(&folder.path().join("pipe")).unwrap();
        for name in ["link", "pipe"] {
            assert!(rotate::append_line(&folder.path().join(name), b"x\n").is_err(), "{name}");
        }
    }
}
