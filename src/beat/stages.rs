//! The stages of a beat: begin, ask gates, host, conclude, verify, journal. Each takes the result of the one before.

use super::crash_record::CrashRecord;
use super::gates::GatesSeen;
use super::session::{self, Session};
use super::{
    BeatError, Job, Report, ResolvedPaths, cannot_start, deferred, forever, lock_workspace, prepare, until,
};
use super::{turns, usage_limit};
use derun::id::SessionId as CaptureId;
use derun::syncer::DURABLE_AFTER;
use murmur_agent::conversation::Conversation;
use murmur_agent::start::RunFolder;
use murmur_claude_files::trust::{self, OmittedServer};
use murmur_core::config::heartbeat::Content;
use murmur_gate::{GateOutput, stopped};
use murmur_host::capture::Destination;
use murmur_host::drain::Drain;
use murmur_host::event::Progress;
use murmur_host::pulses::Pulses;
use murmur_host::registration::Registration;
use murmur_host::run::{self as host, Spec};
use murmur_outcome::gate::Obstacle;
use murmur_outcome::retryable::is_worth_a_retry;
use murmur_outcome::run::Run;
use murmur_outcome::{OutcomeKind, StopReason};
use murmur_store::journal::entry::JournalEntry;
use murmur_store::journal::unfinished::{BeatRecord, LineKept, Phase, Record, Unwritten};
use murmur_store::journal::{append, decisions, last_beat, unknown};
use murmur_store::pulse::task;
use murmur_store::pulse::write::{put_over, remove};
use std::cell::Cell;
use std::io;
use std::rc::Rc;
use std::time::Duration;
use sys::anchor::{Anchor, FolderState};
use sys::error::{Failure, Hinted};
use sys::file::is_full;
use sys::paths::DataDir;
use sys::unreadable::unwritable;
use sys::{clock, lock};
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

/// A beat that has begun: its workspace is locked and its record is on disk.
pub(super) struct Beat<'a> {
    pub(super) job: &'a Job,
    pub(super) dir: &'a DataDir,
    pub(super) found: ResolvedPaths,
    /// Held while the beat runs in the workspace.
    workspace_lock: lock::Lock,
    /// The data folder, also after it was moved.
    folder: Option<Anchor>,
    pub(super) clock: Instant,
    started: jiff::Timestamp,
    pub(super) begun: BeatRecord,
    pub(super) record: io::Result<Record>,
    /// Its journal line, as far as it is known.
    pub(super) entry: JournalEntry,
    pub(super) gates: GatesSeen,
    /// Why it should end early, once that is known.
    stop_reason: Rc<Cell<Option<StopReason>>>,
}

/// How the agent's process ended, or why it never ran.
type Ended = Result<Run, Obstacle>;

/// A beat whose agent has ended.
pub(super) struct Hosted {
    ended: Ended,
    session: Session,
    conversation: Option<Conversation>,
    registration: Result<Registration, Failure>,
    clients: Option<Drain>,
    left_out: Vec<OmittedServer>,
    /// Whether the data folder was moved or deleted when the agent was asked to stop.
    lost_folder: bool,
    heartbeat_changed: bool,
}

/// A beat whose journal line is complete.
pub(super) struct Concluded {
    conversation: Option<Conversation>,
    /// `None` if no agent started.
    registration: Option<Result<Registration, Failure>>,
    clients: Option<Drain>,
    /// Why unknown output could not be counted.
    uncounted: Option<Failure>,
}

impl<'a> Beat<'a> {
    /// Locks the workspace and writes the beat's record.
    pub(super) fn begin(job: &'a Job, dir: &'a DataDir) -> Result<Self, BeatError> {
        let found = ResolvedPaths::of(job);
        let workspace_lock = lock_workspace(dir, &job.workspace, &found)?;
        let folder = Anchor::new(dir.root()).ok();
        let started = clock::now();
        let entry = job.entry(started);
        let phase = Phase::Running {
            pid: std::process::id(),
            scheduled: job.scheduled,
            data_dir: Some(dir.root().to_path_buf()),
        };
        let begun = BeatRecord { entry: entry.clone(), phase };
        let record = if job.announced {
            match Record::take_announced(dir, &begun) {
                Ok(None) => return Err(BeatError::Withdrawn),
                Ok(Some(record)) => Ok(record),
                Err(error) => Err(error),
            }
        } else {
            Record::create(dir, &begun)
        };
        // The journal line would be lost, whatever the outcome.
        if let Err(source) = &record
            && is_full(source)
        {
            let source = io::Error::new(source.kind(), source.to_string());
            return Err(BeatError::Full { path: dir.beats(), source });
        }
        Ok(Self {
            job,
            dir,
            found,
            workspace_lock,
            folder,
            clock: Instant::now(),
            started,
            begun,
            record,
            entry,
            gates: GatesSeen::default(),
            stop_reason: Rc::default(),
        })
    }

    /// Where to tell why the beat should end early.
    pub(super) fn stop_reason_cell(&self) -> Rc<Cell<Option<StopReason>>> {
        Rc::clone(&self.stop_reason)
    }

    /// Why the beat was stopped, if it was.
    pub(super) fn stop_reason(&self) -> StopReason {
        self.stop_reason.get().unwrap_or(StopReason::Asked)
    }

    /// Runs the agent until it ends, with the `outputs` of its gates, and serves its clients meanwhile.
    pub(super) async fn host(
        &mut self,
        outputs: &[GateOutput],
        captures: Destination,
        stop: watch::Receiver<bool>,
        mut sink: impl FnMut(&Progress<'_>),
    ) -> Hosted {
        let (job, dir) = (self.job, self.dir);
        let mut conversation = job.verbose.then(Conversation::default);
        let mut session = Session::default();
        let mut pulses = Pulses::of(dir, &job.info(self.started));
        let mut registration = Registration::begin(dir, job.info(self.started), task::title(&job.task()))
            .map_err(|error| error.failure());
        let listeners = registration.as_mut().ok().and_then(Registration::listeners);
        let crash_record = CrashRecord::new(&self.record, registration.as_ref().ok(), self.begun.clone());
        let mut observe = |progress: Progress<'_>, at: Duration| {
            pulses.note(&progress);
            if let Progress::Unrecorded(unrecorded) = progress {
                crash_record.note_unrecorded(unrecorded);
            }
            if let Progress::Agent(event) = progress {
                session.observe(event);
                if let Some(conversation) = &mut conversation {
                    conversation.add(event, at);
                }
            }
            sink(&progress);
        };
        // A beat started by hand survives a moved data folder: its record moved along.
        let folder_gone =
            registration.as_ref().ok().map(|registration| registration.folder_gone(job.scheduled));
        let lost_folder = Cell::new(false);
        let record = &self.record;
        let sync = async {
            sleep(DURABLE_AFTER).await;
            // Best effort: after a power failure, the beat has no line, like one that had just begun.
            let _best_effort = record.as_ref().map(Record::sync);
        };
        let stop = async {
            tokio::select! {
                () = stopped(&stop) => {}
                Some(()) = until(folder_gone) => {}
                () = forever(sync) => {}
            }
            lost_folder
                .set(self.folder.as_ref().is_some_and(|folder| folder.state() != FolderState::InPlace));
        };
        // Taken before the prompt is read, so that no change is missed.
        let content = Content::of(&job.workspace, &job.file);
        let mut clients = None;
        let (mut left_out, mut untrusted) = (Vec::new(), false);
        let ended = match self.prepare(captures, &content, outputs) {
            Err(problem) => Err(Obstacle::Failed(problem.line())),
            Ok(prepared) => {
                left_out = prepared.left_out;
                if let Some(failure) = &prepared.untrusted {
                    observe(Progress::Untrusted(failure), Duration::ZERO);
                }
                untrusted = prepared.untrusted.is_some();
                let note = |capture: Option<CaptureId>| crash_record.note_capture(capture);
                match host::run(&prepared.spec, listeners, stop, note, &mut observe).await {
                    Ok((run, drain)) => {
                        clients = Some(drain);
                        Ok(run)
                    }
                    Err(error) => {
                        Err(Obstacle::Failed(cannot_start(&prepared.spec.invocation.program, &error)))
                    }
                }
            }
        };
        self.begun = crash_record.into_begun();
        self.entry.repository_untrusted = untrusted;
        Hosted {
            ended,
            session,
            conversation,
            registration,
            clients,
            left_out,
            lost_folder: lost_folder.get(),
            heartbeat_changed: content.has_changed(&job.workspace),
        }
    }

    fn prepare(
        &self,
        captures: Destination,
        content: &Content,
        outputs: &[GateOutput],
    ) -> Result<Prepared, Failure> {
        let (agent, start) = prepare(self.job, self.dir, self.started, &self.found, content, outputs)?;
        let spec = Spec {
            info: self.job.info(self.started),
            invocation: agent.invocation,
            conversation: agent.conversation,
            beat_limits: Some(self.job.beat_limits()),
            captures,
            hook: agent.hook,
            decisions: self.dir.decisions(),
            is_audited: self.job.policy.guard,
            local_rules: self.job.local_rules(self.dir),
            watched: None,
        };
        let untrusted = start.trust_state.failure(&self.job.workspace, &self.job.backend);
        let file = start.file.map(|file| file.write()).transpose()?;
        let folder = agent.folder.map(|folder| folder.create()).transpose()?;
        Ok(Prepared { spec, untrusted, left_out: start.left_out, _file: file, _folder: folder })
    }

    /// Decides the outcome and completes the journal line.
    pub(super) fn conclude(&mut self, hosted: Hosted) -> Concluded {
        let (job, dir) = (self.job, self.dir);
        let stop = if hosted.lost_folder { StopReason::FolderGone } else { self.stop_reason() };
        let entry = &mut self.entry;
        let Hosted { ended, mut session, conversation, registration, clients, left_out, .. } = hosted;
        (self.gates.edited, self.gates.ran_others) = session.take_edited();
        let mut uncounted = None;
        let reached = usage_limit::reached(job, session.limits(), clock::now());
        match ended {
            Err(obstacle) => entry.set_outcome(obstacle.outcome()),
            Ok(run) => {
                // Best effort: the beat's own line names the request, too.
                let _best_effort = decisions::record_unanswered(dir, &run.unanswered);
                let backend = job.backend.to_string();
                uncounted = unknown::record(dir, &backend, &run.version, &run.unknown, clock::now())
                    .err()
                    .map(|error| unwritable(&dir.unknown(), &error));
                let why = |name: &str| {
                    let server = left_out.iter().find(|server| server.name == name);
                    server.map(|server| server.why.clone())
                };
                let required = session.required(&job.requires, &why);
                entry.set_outcome(murmur_outcome::conclude(
                    &run,
                    stop,
                    deferred(job, dir).as_ref(),
                    required.as_ref(),
                    reached.as_ref().map(|reached| &*reached.summary),
                ));
                entry.retryable =
                    entry.outcome == OutcomeKind::Error && is_worth_a_retry(&run, session.failed_call());
                entry.early_end = murmur_outcome::early_end(&run.ending, stop);
                session::fill_in_run(entry, run);
                entry.cost_unknown = job.counts_cost && entry.cost_usd.is_none();
                entry.heartbeat_changed = hosted.heartbeat_changed;
            }
        }
        usage_limit::record(dir, job, session.limits(), reached, entry, self.started);
        session.fill_in(entry);
        self.time();
        Concluded { conversation, registration: Some(registration), clients, uncounted }
    }

    /// Completes the journal line of a beat that starts no agent.
    pub(super) fn conclude_without_agent(&mut self, obstacle: &Obstacle) -> Concluded {
        self.set_outcome_of(obstacle);
        self.time();
        Concluded { conversation: None, registration: None, clients: None, uncounted: None }
    }

    /// Sets the outcome that `obstacle` causes.
    pub(super) fn set_outcome_of(&mut self, obstacle: &Obstacle) {
        self.entry.set_outcome(obstacle.outcome());
        self.entry.early_end = obstacle.early_end().or(self.entry.early_end);
    }

    /// Sets how long the beat has taken so far.
    pub(super) fn time(&mut self) {
        self.entry.duration_ms = u64::try_from(self.clock.elapsed().as_millis()).unwrap_or(u64::MAX);
    }

    /// Writes the journal line, unlocks the workspace and disconnects clients.
    pub(super) async fn journal(self, concluded: Concluded) -> Report {
        let Self { job, dir, workspace_lock, folder, started, record, mut entry, gates, .. } = self;
        let Concluded { conversation, registration, clients, uncounted } = concluded;
        let is_deleted = folder.is_some_and(|folder| folder.state() == FolderState::Deleted);
        if !is_deleted {
            // A killed agent's hook can't report its end. After an `ok` beat, the pulse isn't needed: the capture has
            // everything.
            if entry.outcome == OutcomeKind::Ok {
                remove(dir, job.agent.as_str());
            } else {
                let _best_effort = put_over(dir, job.agent.as_str());
            }
            // Frees disk space that the journal line may need.
            task::forget(dir, job.agent.as_str());
        }
        entry.turns = conversation.map(|conversation| turns::complete(conversation, job, dir, started));
        if job.verbose && !is_deleted {
            // The journal has the conversation too; this copy is a convenience and may fail on a full disk.
            let _best_effort = last_beat::save(&dir.last_beat(&job.workspace, job.name.as_deref()), &entry);
        }
        // Unlock first: whoever reads the line may start the next beat.
        drop(workspace_lock);
        let unwritten = match record {
            // A different folder may be at its path by now; don't write there.
            _ if is_deleted => {
                let deleted = format!("the data folder {} was deleted", dir.root().display());
                let error = io::Error::new(io::ErrorKind::NotFound, deleted);
                Some(Unwritten { error, kept: LineKept::Nowhere })
            }
            Ok(record) => record.finish(dir, &entry).err(),
            Err(_) => append::append(&dir.journal(), &entry)
                .err()
                .map(|error| Unwritten { error, kept: LineKept::Nowhere }),
        };
        // After the line is written, so that the beat is known as running until then.
        let unreachable = match registration {
            Some(Ok(registration)) => registration.remove().err().map(|error| error.line()),
            Some(Err(error)) => Some(error.line()),
            None => None,
        };
        if let Some(clients) = clients {
            clients.finish().await;
        }
        Report { entry, unwritten, unreachable, gates_unreadable: gates.unreadable, uncounted }
    }
}

/// An agent that is ready to start.
struct Prepared {
    spec: Spec,
    /// Why it runs without its repository's Claude files.
    untrusted: Option<Failure>,
    left_out: Vec<OmittedServer>,
    /// Keeps the file alive that the invocation names.
    _file: Option<trust::WrittenFile>,
    /// Keeps the folder alive that the invocation names.
    _folder: Option<RunFolder>,
}
