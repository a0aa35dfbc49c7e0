//! Runs one beat: takes a job, runs its agent, and returns when the outcome is in the journal, or with the reason
//! why it isn't ([`Report`]).
//!
//! Every failure is an `error` outcome in the journal, unless the beat doesn't begin ([`BeatError`]).

mod capture;
mod crash_record;
mod gates;
mod job;
mod preflight;
mod prepare;
mod required;
mod session;
pub mod sources;
mod stages;
mod turns;
mod usage_limit;

use jiff::Timestamp;
use murmur_core::id::BeatId;
use murmur_core::permit::request::RequestId;
use murmur_host::event::Progress;
use murmur_outcome::{Deferred, StopReason};
use murmur_store::journal::deferred::{self, DeferredCall};
use murmur_store::journal::entry::JournalEntry;
use murmur_store::journal::unfinished::Unwritten;
use secrets::mask;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::pin;
use sys::error::{Failure, Hinted};
use sys::file::room_hint;
use sys::paths::DataDir;
use sys::process::Signal;
use sys::{atomic, lock};
use tokio::sync::watch;

use stages::Beat;

pub use job::{Job, Resumes};
pub use prepare::{ResolvedPaths, prepare};

/// The result of a beat and whether it was recorded.
#[derive(Debug)]
pub struct Report {
    /// Its journal line.
    pub entry: JournalEntry,
    /// Why the line is not in the journal, if it isn't.
    pub unwritten: Option<Unwritten>,
    /// Why clients could not follow the agent while it ran.
    pub unreachable: Option<String>,
    /// Why its gates saw everything as new.
    pub gates_unreadable: Option<Failure>,
    /// Why unknown output could not be counted.
    pub uncounted: Option<Failure>,
}

/// Why a beat did not begin.
#[derive(Debug, thiserror::Error)]
pub enum BeatError {
    /// Another beat runs in the workspace.
    #[error("a beat is already running in {}", .workspace.display())]
    Busy {
        /// The workspace.
        workspace: PathBuf,
    },
    /// The beat was announced and then withdrawn by another daemon, which decides again.
    #[error("the beat was withdrawn before it began")]
    Withdrawn,
    /// No space for the beat's journal line could be reserved: for example, the disk is full.
    #[error("cannot reserve space for a beat's journal line in {}", .path.display())]
    Full {
        /// The folder of beat records.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The workspace can't be locked.
    #[error("cannot lock {}", .path.display())]
    Lock {
        /// The lock file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

impl Hinted for BeatError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Busy { .. } => "wait until it ends; see: murmur status".to_owned(),
            Self::Full { source, .. } => room_hint(source).to_owned(),
            Self::Withdrawn | Self::Lock { .. } => return None,
        })
    }
}

/// Tells a beat's process that it is replaced. Processes ignore it by default, and nothing else sends it to one without
/// a terminal.
pub const REPLACE: Signal = Signal::WINCH;

/// Runs `job` and writes its journal line. This process hosts the agent meanwhile. `captures` is the store for the
/// agent's output, `stop` resolves to end the beat early, and `sink` receives the agent's progress.
///
/// # Errors
/// The beat did not begin.
pub async fn run(
    job: &Job,
    dir: &DataDir,
    captures: Option<PathBuf>,
    stop: impl Future<Output = StopReason>,
    sink: impl FnMut(&Progress<'_>),
) -> Result<Report, BeatError> {
    let mut beat = Beat::begin(job, dir)?;
    let (stop_sender, should_stop) = watch::channel(false);
    let stop_reason = beat.stop_reason_cell();
    let to = capture::destination(job, captures.clone());
    let gates = capture::of_gates(job, &to);
    let stages = async {
        let asked = match beat.ask_gates(captures.as_deref(), &gates, &should_stop).await {
            Ok(outputs) => required::start(job, dir, &beat.found, &should_stop).await.map(|()| outputs),
            Err(obstacle) => Err(obstacle),
        };
        let concluded = match asked {
            Ok(outputs) => {
                let hosted = beat.host(&outputs, to, should_stop.clone(), sink).await;
                let concluded = beat.conclude(hosted);
                beat.verify(&gates, &should_stop).await;
                concluded
            }
            Err(obstacle) => beat.conclude_without_agent(&obstacle),
        };
        required::forget_after(&beat.entry, job, dir);
        beat.keep_gate_capture(gates);
        if let Some(captures) = captures {
            capture::pack(&captures, job, &beat.entry);
        }
        beat.journal(concluded).await
    };
    let mut stages = pin!(stages);
    tokio::select! {
        report = &mut stages => Ok(report),
        reason = stop => {
            stop_reason.set(Some(reason));
            stop_sender.send_replace(true);
            Ok(stages.await)
        }
    }
}

/// Returns a new beat id, which sorts by `at`.
#[must_use]
pub fn new_id(at: Timestamp) -> BeatId {
    let seconds = u64::try_from(at.as_second()).unwrap_or_default();
    let nanoseconds = u32::try_from(at.subsec_nanosecond()).unwrap_or_default();
    let id = uuid::Uuid::new_v7(uuid::Timestamp::from_unix(uuid::NoContext, seconds, nanoseconds));
    BeatId::new(id.to_string())
}

/// Waits for `event`; `None` if there is nothing to wait for.
async fn until(event: Option<impl Future<Output = ()>>) -> Option<()> {
    event?.await;
    Some(())
}

/// Runs `work`, and never returns.
async fn forever(work: impl Future<Output = ()>) {
    work.await;
    std::future::pending().await
}

/// Returns the deferred call of `job`'s agent.
fn deferred(job: &Job, dir: &DataDir) -> Option<Deferred> {
    // The daemon reports a file that is not readable.
    let all = deferred::Folder::new(dir.approvals()).all(|_| {});
    let (request, call) = all.into_iter().find(|(id, call)| {
        let resumed = job.resumes.as_ref().is_some_and(|resumes| resumes.request == *id);
        call.request.agent == job.agent.as_str() && !resumed
    })?;
    let text = waits_for(&request, &call);
    Some(Deferred { request, text })
}

fn lock_workspace(dir: &DataDir, workspace: &Path, found: &ResolvedPaths) -> Result<lock::Lock, BeatError> {
    // Lock the folder itself, whatever path leads to it.
    let path = dir.workspace_lock(found.workspace.as_deref().unwrap_or(workspace));
    let failed = |source| BeatError::Lock { path: path.clone(), source };
    let held = lock::try_lock(&path).or_else(|error| match path.parent() {
        Some(folder) if error.kind() == io::ErrorKind::NotFound => {
            atomic::create_private_subfolder(folder)?;
            lock::try_lock(&path)
        }
        _ => Err(error),
    });
    let held = held.map_err(failed)?;
    held.ok_or_else(|| BeatError::Busy { workspace: workspace.to_path_buf() })
}

/// The summary of a beat that waits for an answer.
fn waits_for(id: &RequestId, call: &DeferredCall) -> String {
    let request = &call.request;
    let words = if request.is_question() {
        format!("asks a question; answer with `murmur answer {id}`")
    } else {
        let what = request.input.get("command").and_then(serde_json::Value::as_str).unwrap_or_default();
        let what = if what.is_empty() { request.tool.clone() } else { format!("{}: {what}", request.tool) };
        format!("waiting for approval; answer with `murmur allow {id}` (or deny); {what}")
    };
    murmur_outcome::first_characters(&mask(&words), murmur_outcome::SUMMARY)
}

fn cannot_start(program: &Path, error: &io::Error) -> String {
    let what = format!("cannot start {}: {error}", program.display());
    // `find` checked that the file exists, so its interpreter is missing.
    let hint = if error.kind() == io::ErrorKind::NotFound {
        "; the interpreter in its first line is missing"
    } else {
        ""
    };
    format!("{what}{hint}")
}
