//! A beat's gates, before its agent starts, and its verifiers, after the agent reported success.

use super::job::Job;
use super::preflight;
use super::prepare::check;
use super::stages::Beat;
use derun::id::SessionId as CaptureId;
use murmur_gate::capture::{FinishedCapture, GateCapture};
use murmur_gate::seen::GateMemory;
use murmur_gate::{self as gate, GateAnswer, GateContext, GateOutput, Problem};
use murmur_outcome::OutcomeKind;
use murmur_outcome::gate::Obstacle;
use murmur_store::journal::unfinished::{BeatRecord, Record};
use secrets::mask;
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use sys::error::{Failure, one_line};
use sys::paths::DataDir;
use tokio::sync::watch;

/// What a beat's gates have seen.
#[derive(Debug, Default)]
pub(super) struct GatesSeen {
    /// What they had seen when it began.
    begun: GateMemory,
    /// The files that its agent's edit tools wrote.
    pub(super) edited: BTreeSet<PathBuf>,
    /// Whether its agent's other tools may have written some, too.
    pub(super) ran_others: bool,
    /// Whether something had changed before it began of which its resumed agent isn't told.
    is_behind: bool,
    /// Why nothing is known of what they saw before.
    pub(super) unreadable: Option<Failure>,
}

impl Beat<'_> {
    /// Asks the gates, in order, until one says that there is nothing to do. Returns what they tell the agent.
    ///
    /// # Errors
    /// Why no agent starts.
    pub(super) async fn ask_gates(
        &mut self,
        captures: Option<&Path>,
        capture: &GateCapture,
        stop: &watch::Receiver<bool>,
    ) -> Result<Vec<GateOutput>, Obstacle> {
        let (job, dir) = (self.job, self.dir);
        let failed = |failure: Failure| Obstacle::Failed(failure.line());
        preflight::check(job, dir, &self.found, captures).map_err(failed)?;
        if job.when.is_empty() {
            return Ok(Vec::new());
        }
        let memory = GateMemory::read(&dir.gates(&job.workspace, job.name.as_deref()));
        let memory = memory.unwrap_or_else(|failure| {
            self.gates.unreadable = Some(failure);
            GateMemory::default()
        });
        // The beat that it continues has passed them.
        if job.resumes.is_some() || job.continues.is_some() {
            self.go_on(&memory, capture, stop).await;
            return Ok(Vec::new());
        }
        check(job, dir, &self.found).map_err(failed)?;
        let (record, begun) = (&self.record, &self.begun);
        // Gates may take long. Best effort, as for the agent.
        let _best_effort = record.as_ref().map(Record::sync);
        let note = |gates: &CaptureId| note(record, begun, None, gates);
        let context = context(job, dir, (capture, &note), stop).map_err(failed)?;
        let before = memory.basis(false);
        let mut outputs = Vec::new();
        for gate in &job.when {
            match gate::ask(gate, &context, &before, &mut self.gates.begun).await {
                Ok(GateAnswer::Pass(text)) => {
                    let gate = mask(&one_line(&gate.condition.to_string()));
                    outputs.push(GateOutput { gate, text });
                }
                Ok(GateAnswer::Skip(why)) => return Err(Obstacle::NothingToDo(why)),
                Err(problem) => return Err(self.obstacle(problem, &gate.condition.to_string())),
            }
        }
        // Recorded with the agent's capture, for use after a crash.
        self.begun.entry.gate_capture = capture.session();
        Ok(outputs)
    }

    /// Records what the gates of a resumed beat have seen. Changes by others in between stay new.
    async fn go_on(&mut self, memory: &GateMemory, capture: &GateCapture, stop: &watch::Receiver<bool>) {
        let basis = memory.basis(self.job.continues.is_some());
        let now = self.see_again(&basis, capture, stop).await;
        self.gates.is_behind = now.is_none_or(|now| !basis.is_as_before(&now));
        self.gates.begun = basis;
    }

    /// What the gates see now, after they had seen `begun`; `None` if one of them fails.
    async fn see_again(
        &self,
        begun: &GateMemory,
        capture: &GateCapture,
        stop: &watch::Receiver<bool>,
    ) -> Option<GateMemory> {
        let context = context(self.job, self.dir, (capture, &|_| {}), stop).ok()?;
        let mut now = GateMemory::default();
        for gate in &self.job.when {
            gate::see_again(gate, &context, begun, &mut now).await.ok()?;
        }
        Some(now)
    }

    /// Runs the verifiers of a beat that reports success, in order, until one fails. Then remembers what the gates have
    /// seen, unless the beat failed and should see it again.
    pub(super) async fn verify(&mut self, capture: &GateCapture, stop: &watch::Receiver<bool>) {
        if self.entry.outcome == OutcomeKind::Ok
            && !self.job.verify.is_empty()
            && let Some(obstacle) = self.unverified(capture, stop).await
        {
            self.set_outcome_of(&obstacle);
            self.time();
        }
        if !self.job.when.is_empty() {
            self.remember(capture, stop).await;
        }
    }

    /// Remembers what the gates have seen.
    async fn remember(&mut self, capture: &GateCapture, stop: &watch::Receiver<bool>) {
        let path = self.dir.gates(&self.job.workspace, self.job.name.as_deref());
        let (memory, outcome) = (GateMemory::read(&path).unwrap_or_default(), self.entry.outcome);
        let begun = std::mem::take(&mut self.gates.begun);
        // Otherwise, what the beat saw doesn't matter.
        let counts = matches!(outcome, OutcomeKind::Ok | OutcomeKind::Attention | OutcomeKind::Limited);
        let mut now =
            if counts && !self.gates.is_behind { self.see_again(&begun, capture, stop).await } else { None };
        let basis = memory.basis(self.job.continues.is_some());
        if !self.gates.ran_others || !basis.was_started_by_previous_beat(&begun) {
            let edited = self.edited();
            now = now.map(|now| now.without_foreign_changes(&begun, &edited));
        }
        if let Some(seen) = memory.after(outcome, now.unwrap_or(begun)) {
            // On a full disk, the next beat sees the same again.
            let _best_effort = seen.write(&path);
        }
    }

    /// The files in the workspace that its agent's edit tools wrote.
    fn edited(&self) -> BTreeSet<String> {
        let real = self.found.workspace.as_deref().unwrap_or(&self.job.workspace);
        let relative = |path: &Path| {
            let inside = path.strip_prefix(&self.job.workspace).or_else(|_| path.strip_prefix(real));
            inside.unwrap_or(path).components().collect::<PathBuf>().to_string_lossy().into_owned()
        };
        self.gates.edited.iter().map(|path| relative(path)).collect()
    }

    /// Why the success doesn't count; `None` if it does.
    async fn unverified(&mut self, capture: &GateCapture, stop: &watch::Receiver<bool>) -> Option<Obstacle> {
        let (record, begun, agent) = (&self.record, &self.begun, &self.entry.capture);
        let note = |gates: &CaptureId| note(record, begun, agent.as_ref(), gates);
        let context = match context(self.job, self.dir, (capture, &note), stop) {
            Ok(context) => context,
            Err(failure) => return Some(Obstacle::Failed(failure.line())),
        };
        for verifier in &self.job.verify {
            match gate::verify(verifier, &context).await {
                Ok(None) => {}
                Ok(Some(why)) => return Some(Obstacle::Unverified(why)),
                Err(problem) => return Some(self.obstacle(problem, &verifier.to_string())),
            }
        }
        self.time();
        None
    }

    /// Ends the capture of the gates and verifiers, and names it in the journal line.
    pub(super) fn keep_gate_capture(&mut self, capture: GateCapture) {
        let FinishedCapture { session, lost } = capture.finish();
        self.entry.gate_capture = session;
        if let Some(lost) = lost {
            self.entry.capture_lost.get_or_insert_with(|| format!("gates: {lost}"));
        }
    }

    fn obstacle(&self, problem: Problem, gate: &str) -> Obstacle {
        match problem {
            Problem::Failed(what) => Obstacle::Failed(what),
            Problem::Stopped(after) => {
                Obstacle::Stopped { reason: self.stop_reason(), after, gate: gate.to_owned() }
            }
        }
    }
}

fn context<'a>(
    job: &'a Job,
    dir: &DataDir,
    (capture, note_capture): (&'a GateCapture, &'a dyn Fn(&CaptureId)),
    stop: &watch::Receiver<bool>,
) -> Result<GateContext<'a>, Failure> {
    let env = job.environment(dir)?;
    let (workspace, path, stop) = (&*job.workspace, &*job.path, stop.clone());
    Ok(GateContext { workspace, path, env, stop, capture, note_capture })
}

/// Records which sessions capture the output of the agent, if it has run, and of the gates, for use after a crash. Best
/// effort.
fn note(record: &io::Result<Record>, begun: &BeatRecord, agent: Option<&CaptureId>, gates: &CaptureId) {
    if let Ok(record) = record {
        let mut begun = begun.clone();
        (begun.entry.capture, begun.entry.gate_capture) = (agent.cloned(), Some(gates.clone()));
        let _best_effort = record.update(&begun);
    }
}
