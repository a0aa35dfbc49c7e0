//! One beat: a job goes in; an agent runs; its outcome stands in the journal when this returns.
//!
//! Whatever is wrong, short of another beat in the same workspace, is an `error` outcome and journalled like any
//! other. Who starts beats, and when, is not known here.

mod job;
mod session;
pub mod sources;

use crate::agent::conversation::Conversation;
use crate::agent::event::Event;
use crate::config::heartbeat::Content;
use crate::error::Hinted;
use crate::host::hosting::Hosting;
use crate::host::process::{Ending, Run};
use crate::host::run::{self as host, Spec};
use crate::journal::append;
use crate::journal::entry::Entry;
use crate::journal::last_beat;
use crate::journal::put_off::{self, PutOff};
use crate::journal::unfinished::{Begun, Kept, Record};
use crate::outcome::{self, Outcome};
use crate::permit::request::RequestId;
use crate::pulse::task;
use crate::pulse::write::put_over;
use crate::secrets::mask;
use crate::sys::anchor::{Anchor, Whereabouts};
use crate::sys::file::{is_full, room_hint};
use crate::sys::paths::DataDir;
use crate::sys::{atomic, clock, lock};
use std::cell::Cell;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::time::Instant;

use session::Session;

pub use job::{Job, Resumes, invocation, new_id};

/// What came of a beat, and where it is written down.
#[derive(Debug)]
pub struct Report {
    /// Its journal line.
    pub entry: Entry,
    /// Why the line is not in the journal, if it is not.
    pub unwritten: Option<(io::Error, Kept)>,
    /// Why nobody could follow the agent while it ran.
    pub unreachable: Option<String>,
}

/// Why a beat did not begin.
#[derive(Debug, thiserror::Error)]
pub enum BeatError {
    /// Another beat of the workspace runs.
    #[error("a beat of {} is running already", .workspace.display())]
    Busy {
        /// The workspace.
        workspace: PathBuf,
    },
    /// It was announced, and is not any more: another daemon has begun since, and decides anew.
    #[error("the beat was withdrawn before it began")]
    Withdrawn,
    /// The disk is full, and its journal line would find no room.
    #[error("no room for a beat's journal line in {}: {source}", .path.display())]
    Full {
        /// The folder of records.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The lock on the workspace cannot be taken.
    #[error("cannot lock {}: {source}", .path.display())]
    Lock {
        /// The lock file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl Hinted for BeatError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Busy { .. } => "wait for its end, see: murmur status".to_owned(),
            Self::Full { source, .. } => room_hint(source).to_owned(),
            Self::Withdrawn | Self::Lock { .. } => return None,
        })
    }
}

/// Runs `job` and journals it. This process is the agent's host meanwhile; `captures` is the store that keeps what the
/// agent writes. `stop` resolves when it is to end early; `sink` is told what the agent does.
///
/// # Errors
/// Only that no beat began.
pub async fn run(
    job: &Job,
    dir: &DataDir,
    captures: Option<PathBuf>,
    stop: impl Future<Output = ()>,
    mut sink: impl FnMut(&Event<'_>),
) -> Result<Report, BeatError> {
    let alone = lock_workspace(dir, &job.workspace)?;
    let folder = Anchor::new(dir.root()).ok();
    let started = clock::now();
    let mut entry = job.entry(started);
    let (pid, scheduled) = (std::process::id(), job.scheduled);
    let entry_now = entry.clone();
    let data_dir = Some(dir.root().to_path_buf());
    let begun =
        Begun { pid, entry: entry_now, over: false, scheduled, announced: false, before: None, data_dir };
    let record = if job.announced {
        match Record::take_announced(dir, &begun) {
            Ok(None) => return Err(BeatError::Withdrawn),
            Ok(Some(record)) => Ok(record),
            Err(error) => Err(error),
        }
    } else {
        Record::create(dir, &begun)
    };
    // Whatever came of it, its line would be lost.
    if let Err(source) = &record
        && is_full(source)
    {
        let source = io::Error::new(source.kind(), source.to_string());
        return Err(BeatError::Full { path: dir.beats(), source });
    }

    let clock = Instant::now();
    let mut conversation = job.verbose.then(Conversation::default);
    let mut session = Session::default();
    let mut observe = |event: &Event<'_>, at: Duration| {
        session.see(event);
        if let Some(conversation) = &mut conversation {
            conversation.add(event, at);
        }
        sink(event);
    };
    let mut hosting = job
        .card(started)
        .map_err(|error| error.line())
        .and_then(|card| Hosting::begin(dir, card).map_err(|error| error.line()));
    // One by hand can do without a folder that was moved: its record was moved along.
    let folder_gone = hosting.as_ref().ok().map(|hosting| hosting.folder_gone(job.scheduled));
    let is_gone = Cell::new(false);
    let stop = async {
        tokio::select! {
            () = stop => {}
            Some(()) = until(folder_gone) => {}
        }
        is_gone.set(folder.as_ref().is_some_and(|folder| folder.look() != Whereabouts::There));
    };
    // Before its prompt is read, so that no change is missed.
    let content = Content::of(&job.file);
    let mut left_out = Vec::new();
    let prepared = invocation(job, dir, started).and_then(|(invocation, start)| {
        entry.repository_untrusted = start.standing.is_untrusted();
        let card = job.card(started).map_err(|error| error.failure())?;
        let kept = start.file.map(|file| file.keep()).transpose()?;
        left_out = start.left_out;
        let spec = Spec {
            card,
            invocation,
            limits: Some(job.limits()),
            captures,
            hook: None,
            decisions: job.policy.guard.then(|| dir.decisions()),
        };
        Ok((spec, kept))
    });
    let mut farewell = None;
    match prepared {
        Ok((spec, _kept)) => {
            // Who looks at agents does without it, if it must.
            let _untold = task::set(dir, &job.agent, &job.task());
            let listeners = hosting.as_mut().ok().and_then(Hosting::listeners);
            // Without it, only who asks after a crash does not find the session.
            let note = |capture: Option<String>| {
                let Some(capture) = capture else { return };
                if let Ok(record) = &record {
                    let mut begun = begun.clone();
                    begun.entry.capture = Some(capture.clone());
                    let _unnoted = record.note(&begun);
                }
                if let Ok(hosting) = &mut hosting {
                    let _unnoted = hosting.note_capture(capture);
                }
            };
            match host::run(&spec, listeners, stop, note, &mut observe).await {
                Ok((run, clients)) => {
                    fill_in(&mut entry, run, waiting(job, dir).as_ref());
                    // Nobody stopped what ended with its data folder, by itself or by its daemon's end.
                    entry.stopped &= !is_gone.get();
                    entry.heartbeat_changed = Content::of(&job.file) != content;
                    farewell = Some(clients);
                }
                Err(error) => {
                    entry.set_outcome(Outcome::Error(cannot_start(&spec.invocation.program, &error)));
                }
            }
        }
        Err(problem) => entry.set_outcome(Outcome::Error(problem.line())),
    }
    session.fill_in(&mut entry, &job.requires, &left_out);
    let is_deleted = folder.as_ref().is_some_and(|folder| folder.look() == Whereabouts::Deleted);
    if !is_deleted {
        // One that was ended had no hook left to say so.
        let _untold = put_over(dir, &job.agent);
        // Its room may be what the line in the journal needs.
        task::forget(dir, &job.agent);
    }
    entry.duration_ms = u64::try_from(clock.elapsed().as_millis()).unwrap_or(u64::MAX);
    entry.turns = conversation.map(Conversation::into_turns);
    if job.verbose && !is_deleted {
        // The journal has the conversation too; this copy is a convenience and may fail on a full disk.
        let _best_effort = last_beat::save(&dir.last_beat(&job.workspace, job.name.as_deref()), &entry);
    }
    // Whoever reads that it is over can begin the next.
    drop(alone);
    let unwritten = match record {
        // There may be another folder at its path, in which nobody expects it.
        _ if is_deleted => {
            let deleted = format!("the data folder {} was deleted", dir.root().display());
            Some((io::Error::new(io::ErrorKind::NotFound, deleted), Kept::Nowhere))
        }
        Ok(record) => record.finish(dir, &entry).err(),
        Err(_) => append::append(&dir.journal(), &entry).err().map(|error| (error, Kept::Nowhere)),
    };
    // After the line is written: until then it is known here that the beat ran.
    let unreachable = match hosting {
        Ok(hosting) => hosting.remove().err().map(|error| error.line()),
        Err(error) => Some(error),
    };
    if let Some(farewell) = farewell {
        farewell.say().await;
    }
    Ok(Report { entry, unwritten, unreachable })
}

/// Waits for `event`; `None` if there is nothing to wait for.
async fn until(event: Option<impl Future<Output = ()>>) -> Option<()> {
    event?.await;
    Some(())
}

/// The call of `job`'s agent that was put off.
fn waiting(job: &Job, dir: &DataDir) -> Option<(RequestId, PutOff)> {
    // A file that cannot be read is told of by the daemon.
    let all = put_off::Folder::new(dir.approvals()).all(|_| {});
    all.into_iter().find(|(id, call)| {
        let resumed = job.resumes.as_ref().is_some_and(|resumes| resumes.request == id.as_str());
        call.request.agent == job.agent && !resumed
    })
}

fn lock_workspace(dir: &DataDir, workspace: &Path) -> Result<lock::Lock, BeatError> {
    // One lock for one folder, by whatever path it was reached.
    let real = workspace.canonicalize();
    let path = dir.workspace_lock(real.as_deref().unwrap_or(workspace));
    let failed = |source| BeatError::Lock { path: path.clone(), source };
    if let Some(folder) = path.parent() {
        atomic::create_private_subfolder(folder).map_err(failed)?;
    }
    let held = lock::try_lock(&path).map_err(failed)?;
    held.ok_or_else(|| BeatError::Busy { workspace: workspace.to_path_buf() })
}

fn fill_in(entry: &mut Entry, run: Run, waiting: Option<&(RequestId, PutOff)>) {
    let words = waiting.map(|(id, call)| waits_for(id, call));
    let mut outcome = outcome::decide(&run.ending, &run.said, &run.stderr, words.as_deref());
    if words.is_some_and(|words| outcome == Outcome::Attention(words)) {
        entry.waiting = waiting.map(|(id, _)| id.to_string());
    }
    if entry.waiting.is_none() {
        outcome = outcome::refusals::judge(outcome, &run.refusals);
    }
    if run.survivors > 0 {
        let survivors = run.survivors;
        outcome = Outcome::Error(format!("{survivors} of the agent's processes could not be ended"));
    }
    entry.set_outcome(outcome);
    entry.exit = Some(run.exit);
    entry.timed_out = matches!(run.ending, Ending::TimedOut { .. });
    entry.out_of_turns = matches!(run.ending, Ending::OutOfTurns { .. });
    if let Ending::Settled { background, out_of_turns } = run.ending {
        entry.background_ended = Some(background);
        entry.out_of_turns = out_of_turns;
    }
    entry.stopped = matches!(run.ending, Ending::Stopped { .. });
    entry.session_id = run.session_id;
    entry.capture = run.capture;
    entry.capture_lost = run.lost;
    // A run's cost adds up from one of its summaries to the next; turns are counted anew in each.
    entry.num_turns =
        run.said.iter().map(|said| said.num_turns).reduce(|sum, turns| Some(sum? + turns?)).flatten();
    entry.cost_usd = run.said.last().and_then(|said| said.cost_usd);
    entry.denials = run.said.into_iter().map(|said| said.denials).max_by_key(Vec::len).unwrap_or_default();
}

/// What is said of a beat that waits for an answer.
fn waits_for(id: &RequestId, call: &PutOff) -> String {
    let request = &call.request;
    let words = if request.is_question() {
        format!("asks a question; answer it: murmur question respond {id}")
    } else {
        let what = request.input.get("command").and_then(serde_json::Value::as_str).unwrap_or_default();
        let what = if what.is_empty() { request.tool.clone() } else { format!("{}: {what}", request.tool) };
        format!("waits for an answer: murmur permission respond {id} allow (or deny); {what}")
    };
    outcome::first_characters(&mask(&words), outcome::SUMMARY)
}

fn cannot_start(program: &Path, error: &io::Error) -> String {
    let what = format!("cannot start {}: {error}", program.display());
    // The file is there, so it is its interpreter that is not.
    let hint = if error.kind() == io::ErrorKind::NotFound {
        "; the interpreter in its first line is missing"
    } else {
        ""
    };
    format!("{what}{hint}")
}
