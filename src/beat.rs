//! One beat: a job goes in; an agent runs; its outcome stands in the journal when this returns.
//!
//! Whatever is wrong, short of another beat in the same workspace, is an `error` outcome and journalled like any
//! other. Who starts beats, and when, is not known here.

use crate::agent::conversation::Conversation;
use crate::agent::event::Event;
use crate::agent::find::{self, CLAUDE};
use crate::agent::invocation::{Invocation, Limits, beat_args};
use crate::agent::prompt;
use crate::agent::settings::{Guarded, HookProgram};
use crate::config::heartbeat::{self, Heartbeat};
use crate::config::permissions::Permissions;
use crate::host::hosting::Hosting;
use crate::host::id::{AgentId, IdError};
use crate::host::process::{Ending, Run};
use crate::host::protocol::Card;
use crate::host::run::{self as host, Spec};
use crate::host::state;
use crate::journal::append;
use crate::journal::entry::Entry;
use crate::journal::last_beat;
use crate::journal::put_off::{self, PutOff};
use crate::journal::unfinished::{Begun, Kept, Record};
use crate::outcome::{self, Kind, Outcome};
use crate::permit::policy::Policy;
use crate::permit::request::RequestId;
use crate::sys::paths::{DataDir, readable};
use crate::sys::{atomic, clock, lock};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::time::Instant;

/// What is to be run: a heartbeat with everything resolved, so that nobody has to read the configuration again.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Job {
    /// The beat's id, a UUIDv7.
    pub beat: String,
    /// The agent's id.
    pub agent: String,
    /// The workspace, absolute.
    pub workspace: PathBuf,
    /// The name of a named heartbeat.
    pub name: Option<String>,
    /// Its HEARTBEAT.md.
    pub file: PathBuf,
    /// The most agent loop iterations.
    pub max_turns: u32,
    /// How long it may run, in seconds.
    pub timeout: u32,
    /// The model, where it is not the user's default.
    pub model: Option<String>,
    /// The workspace's own deny patterns; `None` is `permissions: "skip"`.
    pub deny: Option<Vec<String>>,
    /// What holds where neither guard nor rules decide on its calls.
    pub policy: Policy,
    /// The PATH to find and run the agent with.
    pub path: PathBuf,
    /// What is known to be wrong with the heartbeat; nothing is started then.
    pub problem: Option<String>,
    /// Whether to keep the conversation.
    pub verbose: bool,
    /// Whether a daemon starts it.
    pub scheduled: bool,
    /// Whether it stands in `beats/` already, to be taken over from there.
    #[serde(default)]
    pub announced: bool,
    /// What it goes on with, where it is not a new conversation.
    #[serde(default)]
    pub resumes: Option<Resumes>,
}

/// A conversation that goes on with an answer.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Resumes {
    /// The request that was answered.
    pub request: String,
    /// The backend's id of the conversation.
    pub session: String,
}

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
    #[error("a beat of {} is running already; wait for its end, see: murmur status", .workspace.display())]
    Busy {
        /// The workspace.
        workspace: PathBuf,
    },
    /// It was announced, and is not any more: another daemon has begun since, and decides anew.
    #[error("the beat was withdrawn before it began")]
    Withdrawn,
    /// The lock on the workspace cannot be taken.
    #[error("cannot lock {}: {source}", .path.display())]
    Lock {
        /// The lock file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
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
    let _alone = lock_workspace(dir, &job.workspace)?;
    let started = clock::now();
    let mut entry = job.entry(started);
    let (pid, scheduled) = (std::process::id(), job.scheduled);
    let entry_now = entry.clone();
    let data_dir = Some(dir.root().to_path_buf());
    let begun =
        Begun { pid, entry: entry_now, over: false, scheduled, announced: false, before: None, data_dir };
    let record = if job.announced {
        match Record::take_announced(&dir.beats(), &begun) {
            Ok(None) => return Err(BeatError::Withdrawn),
            Ok(Some(record)) => Ok(record),
            Err(error) => Err(error),
        }
    } else {
        Record::create(&dir.beats(), &begun)
    };

    let clock = Instant::now();
    let mut conversation = job.verbose.then(Conversation::default);
    let mut observe = |event: &Event<'_>, at: Duration| {
        if let Some(conversation) = &mut conversation {
            conversation.add(event, at);
        }
        sink(event);
    };
    let mut hosting = job
        .card(started)
        .map_err(|error| error.to_string())
        .and_then(|card| Hosting::begin(dir, card).map_err(|error| error.to_string()));
    let prepared = invocation(job, dir, started).and_then(|invocation| {
        let card = job.card(started).map_err(|error| error.to_string())?;
        let limit = Some(Duration::from_secs(job.timeout.into()));
        Ok(Spec { card, invocation, limit, captures, hook: None })
    });
    let mut farewell = None;
    match prepared {
        Ok(spec) => {
            let listener = hosting.as_mut().ok().and_then(Hosting::listener);
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
            match host::run(&spec, listener, stop, note, &mut observe).await {
                Ok((run, clients)) => {
                    fill_in(&mut entry, run, waiting(job, dir).as_ref());
                    farewell = Some(clients);
                }
                Err(error) => {
                    entry.set_outcome(Outcome::Error(cannot_start(&spec.invocation.program, &error)));
                }
            }
        }
        Err(problem) => entry.set_outcome(Outcome::Error(problem)),
    }
    entry.duration_ms = u64::try_from(clock.elapsed().as_millis()).unwrap_or(u64::MAX);
    entry.turns = conversation.map(Conversation::into_turns);
    if job.verbose {
        // The journal has the conversation too; this copy is a convenience and may fail on a full disk.
        let _best_effort = last_beat::save(&dir.last_beat(&job.workspace, job.name.as_deref()), &entry);
    }
    let unwritten = match record {
        Ok(record) => record.finish(&dir.journal(), &entry).err(),
        Err(_) => append::append(&dir.journal(), &entry).err().map(|error| (error, Kept::Nowhere)),
    };
    // After the line is written: until then it is known here that the beat ran.
    let unreachable = match hosting {
        Ok(hosting) => hosting.remove().err().map(|error| error.to_string()),
        Err(error) => Some(error),
    };
    if let Some(farewell) = farewell {
        farewell.say().await;
    }
    Ok(Report { entry, unwritten, unreachable })
}

/// How `job` would be started at `at`, or what is wrong with it.
///
/// # Errors
/// One line that names the file and says what to do.
pub fn invocation(job: &Job, dir: &DataDir, at: Timestamp) -> Result<Invocation, String> {
    if let Some(problem) = &job.problem {
        return Err(problem.clone());
    }
    let instructions = heartbeat::load_body(&job.file).map_err(|problem| problem.to_string())?;
    let program = find::find(CLAUDE, job.path.as_os_str()).map_err(|missing| missing.to_string())?;
    let hook = HookProgram::find().map_err(|error| format!("cannot find murmur's hook: {error}"))?;
    let project = project(&job.workspace);
    let guarded = Guarded {
        agent: &job.agent,
        dir: dir.root(),
        socket_name: dir.socket_name(),
        project: &project,
        workspace: &job.workspace,
        policy: &job.policy,
        beat: Some((&job.beat, job.name.as_deref())),
    };
    let limits = Limits { max_turns: job.max_turns, deny: job.deny.as_deref(), model: job.model.as_deref() };
    let mut args = beat_args(limits);
    args.extend(guarded.args(&hook).map_err(|error| error.to_string())?);
    // What is resumed goes on by itself: the call that was put off is made again.
    let stdin = match &job.resumes {
        Some(Resumes { session, .. }) => {
            args.extend(["--resume".to_owned(), session.clone()]);
            Vec::new()
        }
        None => prompt::beat(&job.workspace, at, &instructions).into_bytes(),
    };
    let mut env = guarded.environment().map_err(|error| error.to_string())?;
    env.push(("PATH", job.path.clone().into()));
    Ok(Invocation { program, args, env, cwd: job.workspace.clone(), stdin })
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

/// A new beat's id, which sorts by `at`.
#[must_use]
pub fn new_id(at: Timestamp) -> String {
    let seconds = u64::try_from(at.as_second()).unwrap_or_default();
    let nanoseconds = u32::try_from(at.subsec_nanosecond()).unwrap_or_default();
    uuid::Uuid::new_v7(uuid::Timestamp::from_unix(uuid::NoContext, seconds, nanoseconds)).to_string()
}

/// The agent of a beat: the workspace's name, for people, and the random end of the beat's id.
fn agent(workspace: &Path, name: Option<&str>, beat: &str) -> String {
    let tail = beat.get(beat.len().saturating_sub(8)..).unwrap_or(beat);
    match name {
        Some(name) => format!("{}-{}-{tail}", project(workspace), readable(name)),
        None => format!("{}-{tail}", project(workspace)),
    }
}

/// The workspace's name in `MURMUR_PROJECT` and in agents' ids.
fn project(workspace: &Path) -> String {
    readable(&workspace.file_name().unwrap_or_default().to_string_lossy())
}

fn lock_workspace(dir: &DataDir, workspace: &Path) -> Result<lock::Lock, BeatError> {
    // One lock for one folder, by whatever path it was reached.
    let real = workspace.canonicalize();
    let path = dir.workspace_lock(real.as_deref().unwrap_or(workspace));
    let failed = |source| BeatError::Lock { path: path.clone(), source };
    if let Some(folder) = path.parent() {
        atomic::create_private_folder(folder).map_err(failed)?;
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
    if run.survivors > 0 {
        let survivors = run.survivors;
        outcome = Outcome::Error(format!("{survivors} of the agent's processes could not be ended"));
    }
    entry.set_outcome(outcome);
    entry.exit = Some(run.exit);
    entry.timed_out = matches!(run.ending, Ending::TimedOut { .. });
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
    outcome::first_characters(&words, outcome::SUMMARY)
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

impl Job {
    /// A beat of `heartbeat`, which finds its agent on `path`.
    #[must_use]
    pub fn new(heartbeat: &Heartbeat, beat: String, path: PathBuf) -> Self {
        Self {
            agent: agent(&heartbeat.workspace, heartbeat.name.as_deref(), &beat),
            beat,
            workspace: heartbeat.workspace.to_path_buf(),
            name: heartbeat.name.as_deref().map(str::to_owned),
            file: heartbeat.file.clone(),
            max_turns: heartbeat.max_turns.get(),
            timeout: heartbeat.timeout.as_secs(),
            model: heartbeat.model.as_deref().map(str::to_owned),
            deny: match &heartbeat.permissions {
                Permissions::Skip => None,
                Permissions::Deny(patterns) => Some(patterns.iter().map(ToString::to_string).collect()),
            },
            policy: Policy::of_beat(!matches!(heartbeat.permissions, Permissions::Skip)),
            path,
            problem: heartbeat.problem.as_ref().map(ToString::to_string),
            verbose: false,
            scheduled: false,
            announced: false,
            resumes: None,
        }
    }

    /// What is written down of this beat before there is a process for it. `before` is the heartbeat's last run.
    #[must_use]
    pub fn announcement(&self, at: Timestamp, before: Option<Timestamp>) -> Begun {
        let (pid, entry) = (std::process::id(), self.entry(at));
        Begun { pid, entry, over: false, scheduled: true, announced: true, before, data_dir: None }
    }

    /// The line of this beat if it could not even begin.
    #[must_use]
    pub fn failed(&self, started: Timestamp, error: String) -> Entry {
        Entry { error: Some(error), ..self.entry(started) }
    }

    /// The line of a beat whose process died before it could say more.
    fn entry(&self, started: Timestamp) -> Entry {
        Entry {
            ts: clock::rfc3339(started),
            workspace: self.workspace.display().to_string(),
            outcome: Kind::Error,
            duration_ms: 0,
            summary: None,
            error: Some("murmur was killed while this beat ran; what came of it is not known".to_owned()),
            turns: None,
            beat: self.beat.clone(),
            heartbeat: self.name.clone(),
            agent: self.agent.clone(),
            session_id: None,
            cost_usd: None,
            num_turns: None,
            exit: None,
            timed_out: false,
            denials: Vec::new(),
            capture: None,
            capture_lost: None,
            waiting: None,
            resumes: self.resumes.as_ref().map(|resumes| resumes.request.clone()),
        }
    }

    fn card(&self, started: Timestamp) -> Result<Card, IdError> {
        Ok(Card {
            agent_id: AgentId::parse(&self.agent)?,
            kind: state::Kind::Beat,
            project: project(&self.workspace),
            role: "beat".to_owned(),
            backend: CLAUDE.to_owned(),
            worktree: self.workspace.clone(),
            issue: None,
            beat: Some(self.beat.clone()),
            started_at: clock::rfc3339(started),
        })
    }
}
