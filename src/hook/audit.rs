//! The record of what was decided: one line a decision, in one write, with the secrets in it masked
//! (docs/permissions.md, The record).

use super::surroundings::Surroundings;
use crate::permit::call::Call;
use crate::permit::decision::{By, Decision, Verdict};
use crate::permit::request::{Answerer, Request, RequestId};
use crate::secrets::mask;
use crate::sys::paths::DataDir;
use crate::sys::{atomic, clock};
use serde::Serialize;
use serde_json::Value;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The most characters of a call's input in a line.
const INPUT: usize = 4000;

/// One line.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Line<'a> {
    ts: String,
    agent: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    project: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    beat: Option<&'a str>,
    tool: &'a str,
    /// JSON as text: masked, it may not be JSON any more.
    input: String,
    /// A person's answers to the agent's questions, likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    answers: Option<String>,
    cwd: &'a Path,
    session: &'a str,
    tool_use_id: &'a str,
    verdict: Verdict,
    by: &'a By,
    reason: String,
    /// The request, where somebody was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    request: Option<&'a str>,
    /// The process that brought a person's answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    answered_by: Option<&'a Answerer>,
    /// Whether the call had run when this was found out.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    breach: bool,
    /// How long the decision took, in milliseconds.
    duration_ms: u64,
}

/// The call that was decided on, as Claude Code names it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Names<'a> {
    /// The conversation.
    pub(super) session: &'a str,
    /// The call.
    pub(super) tool_use_id: &'a str,
    /// The request, where somebody was asked.
    pub(super) request: Option<&'a str>,
    /// The process that brought a person's answer.
    pub(super) answered_by: Option<&'a Answerer>,
}

/// Why a decision could not be written down.
#[derive(Debug, thiserror::Error)]
#[error("cannot write the decision to {}: {source}", .path.display())]
pub struct AuditError {
    path: PathBuf,
    source: io::Error,
}

/// Writes `decision` on `call` down.
///
/// # Errors
/// What the system says, as that the disk is full.
pub(super) fn write(
    surroundings: &Surroundings,
    call: &Call,
    names: Names<'_>,
    decision: &Decision,
    answers: Option<&Value>,
) -> Result<(), AuditError> {
    record(surroundings, call, names, decision, answers, false)
}

/// Writes down that `call` has run, and would be refused by `decision` as things are now.
///
/// # Errors
/// What the system says, as that the disk is full.
pub(super) fn breach(
    surroundings: &Surroundings,
    call: &Call,
    names: Names<'_>,
    decision: &Decision,
) -> Result<(), AuditError> {
    record(surroundings, call, names, decision, None, true)
}

fn record(
    surroundings: &Surroundings,
    call: &Call,
    names: Names<'_>,
    decision: &Decision,
    answers: Option<&Value>,
    breach: bool,
) -> Result<(), AuditError> {
    // Somewhat more than is written, so that a secret at its end is seen to be one.
    let input = call.input.to_string();
    let input = mask(first(&input, 2 * INPUT));
    let line = Line {
        ts: clock::rfc3339(clock::now()),
        agent: &surroundings.agent,
        project: surroundings.project.as_deref(),
        beat: surroundings.beat.as_ref().map(|beat| beat.beat.as_str()),
        tool: &call.tool,
        input: shortened(&input),
        answers: answers.map(|answers| shortened(&mask(first(&answers.to_string(), 2 * INPUT)))),
        cwd: &call.place.cwd,
        session: names.session,
        tool_use_id: names.tool_use_id,
        verdict: decision.verdict,
        by: &decision.by,
        reason: mask(&decision.reason),
        request: names.request,
        answered_by: names.answered_by,
        breach,
        duration_ms: u64::try_from(surroundings.begun.elapsed().as_millis()).unwrap_or(u64::MAX),
    };
    if !surroundings.is_hosted {
        // murmur made it before it started an agent of its own; if it is gone, somebody deleted it on purpose.
        let path = surroundings.dir.root().to_path_buf();
        atomic::create_private_folder(&path).map_err(|source| AuditError { path, source })?;
    }
    put(&surroundings.dir, &line)
}

/// Writes down that nobody decided on the call that is asked about as `id`, which is so denied. `time` is how long that
/// took.
///
/// # Errors
/// What the system says, as that the disk is full.
pub fn nobody_decided(
    dir: &DataDir,
    id: &RequestId,
    request: &Request,
    reason: &str,
    time: Duration,
) -> Result<(), AuditError> {
    let input = request.input.to_string();
    let line = Line {
        ts: clock::rfc3339(clock::now()),
        agent: &request.agent,
        project: Some(&*request.project).filter(|project| !project.is_empty()),
        beat: request.beat.as_ref().map(|beat| beat.beat.as_str()),
        tool: &request.tool,
        input: shortened(&mask(first(&input, 2 * INPUT))),
        answers: None,
        cwd: &request.cwd,
        session: &request.session,
        tool_use_id: &request.tool_use_id,
        verdict: Verdict::Deny,
        by: &By::Nobody,
        reason: reason.to_owned(),
        request: Some(id.as_str()),
        answered_by: None,
        breach: false,
        duration_ms: u64::try_from(time.as_millis()).unwrap_or(u64::MAX),
    };
    put(dir, &line)
}

fn put(dir: &DataDir, line: &Line<'_>) -> Result<(), AuditError> {
    let path = dir.decisions();
    let written = serde_json::to_vec(line).map_err(io::Error::from).and_then(|mut line| {
        line.push(b'\n');
        append(&path, line)
    });
    written.map_err(|source| AuditError { path, source })
}

/// The first `most` characters of `text`.
fn first(text: &str, most: usize) -> &str {
    text.char_indices().nth(most).map_or(text, |(end, _)| &text[..end])
}

fn shortened(text: &str) -> String {
    let kept = first(text, INPUT);
    if kept.len() < text.len() { format!("{kept}…") } else { text.to_owned() }
}

/// Appends `line`, whole or not at all. A last line that a crash left torn stays, as a line of its own.
fn append(path: &Path, mut line: Vec<u8>) -> io::Result<()> {
    let mut file = OpenOptions::new()
        .read(true)
        .append(true)
        .create(true)
        .mode(0o600)
        // What is no file of ours keeps nothing: a link leads elsewhere, a pipe is read by others.
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no file"));
    }
    file.lock()?;
    let before = file.metadata()?.len();
    let mut last = [b'\n'];
    if before > 0 {
        file.read_exact_at(&mut last, before - 1)?;
    }
    if last != *b"\n" {
        line.insert(0, b'\n');
    }
    match file.write(&line) {
        Ok(written) if written == line.len() => Ok(()),
        Ok(_) => {
            file.set_len(before)?;
            Err(io::ErrorKind::StorageFull.into())
        }
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_torn_line_stays_a_line_of_its_own_and_what_is_no_file_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("decisions.jsonl");
        append(&path, b"one\n".to_vec()).unwrap();
        std::fs::write(&path, "one\ntor").unwrap();
        append(&path, b"two\n".to_vec()).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "one\ntor\ntwo\n");
        // A link keeps nothing here, and a pipe nothing at all.
        std::os::unix::fs::symlink(&path, folder.path().join("link")).unwrap();
        crate::sys::fifo::make(&folder.path().join("pipe")).unwrap();
        for name in ["link", "pipe"] {
            assert!(append(&folder.path().join(name), b"x\n".to_vec()).is_err(), "{name}");
        }
    }
}
