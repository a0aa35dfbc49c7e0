//! Starts due and requested beats, and handles their end.

use super::{Beat, Effect, Event, Phase, Recorded, Stage, StartRequest, State};
use crate::daemon::heartbeats::{Start, StartRefusal};
use crate::daemon::launch::BeatReport;
use jiff::{SignedDuration, Timestamp};
use murmur_core::id::BeatId;
use std::path::Path;
use sys::error::{Failure, Hinted};

/// How long a beat waits if there is no room for its line.
const FULL_PAUSE: SignedDuration = SignedDuration::from_secs(10);

/// How many beats are started before clients and events get a turn.
const AT_ONCE: usize = 4;

impl State {
    /// Starts due beats.
    pub(super) fn start_due(&mut self, now: Timestamp) -> Vec<Effect> {
        if !self.is_running() {
            return Vec::new();
        }
        // An unread line may end a resumed beat, so nothing is resumed before that.
        let new_id = self.new_id;
        let replaced = self.heartbeats.replace(now).into_iter().map(Effect::ReplaceBeat);
        let replaced: Vec<Effect> = replaced.collect();
        let due = self.heartbeats.start_due(now, !self.unread, AT_ONCE, || new_id(now));
        let dropped = self.heartbeats.take_dropped().into_iter().map(Effect::Log);
        let started = due.into_iter().flat_map(|start| self.begin(start, false));
        dropped.chain(replaced).chain(started).collect()
    }

    fn begin(&mut self, start: Start, requested: bool) -> [Effect; 2] {
        let running = &start.running;
        let beat = Beat {
            phase: Phase::Announcing,
            before: start.before,
            requested,
            resumes: running.resumes.clone(),
        };
        self.beats.insert(running.beat.clone(), beat);
        let remember = Effect::RememberRun(running.heartbeat(), running.since);
        [remember, Effect::Announce(Box::new(start))]
    }

    pub(super) fn requested(&mut self, request: StartRequest) -> Vec<Effect> {
        if let Stage::Starting(requests) = &mut self.stage {
            requests.push(request);
            return Vec::new();
        }
        // A manual beat may have just started.
        let decide = Event::Decide { request, is_last: false };
        vec![Effect::Survey, Effect::ReadJournal, Effect::Then(Box::new(decide))]
    }

    pub(super) fn decide(&mut self, request: StartRequest, is_last: bool, now: Timestamp) -> Vec<Effect> {
        let mut start = |workspace: &Path| {
            self.heartbeats.start_now(workspace, request.name.as_deref(), now, request.id.clone())
        };
        let decided = match (start(&request.workspace), &request.real) {
            // config.json may list its real path.
            (Err(StartRefusal::Unknown { .. }), Some(real)) => start(real),
            (decided, _) => decided,
        };
        let first_look = match decided {
            Ok(start) => return self.begin(start, true).into(),
            // The workspace may have just been registered.
            Err(StartRefusal::Unknown { .. } | StartRefusal::Unnamed { .. }) if !is_last => Effect::Reload,
            // A client that saw the line of a beat can start the next one, even if the beat's process has not ended
            // yet.
            Err(StartRefusal::Busy { .. } | StartRefusal::Full { .. }) if !is_last => {
                Effect::FindWritten(self.recorded())
            }
            Err(refusal) => return vec![Effect::Answer(request.id, Err(refusal.failure()))],
        };
        vec![first_look, Effect::Then(Box::new(Event::Decide { request, is_last: true }))]
    }

    /// The running beats that had a record before they had a process.
    fn recorded(&self) -> Vec<BeatId> {
        let recorded = |beat: &Beat| beat.phase == Phase::Running { recorded: true };
        self.beats.iter().filter(|(_, beat)| recorded(beat)).map(|(id, _)| id.clone()).collect()
    }

    pub(super) fn announced(&mut self, id: BeatId, recorded: Recorded, now: Timestamp) -> Vec<Effect> {
        let Some(beat) = self.beats.get_mut(&id) else { return Vec::new() };
        let failure = match recorded {
            Recorded::Yes | Recorded::No => {
                beat.phase = Phase::Spawning { recorded: matches!(recorded, Recorded::Yes) };
                return vec![Effect::Spawn(id)];
            }
            Recorded::NoRoom(failure) => failure,
        };
        let Beat { before, requested, .. } = *beat;
        self.beats.remove(&id);
        let stopped = self.heartbeats.not_started(&id, before, now, FULL_PAUSE);
        let forget = stopped.map(|running| Effect::ForgetRun(running.heartbeat()));
        let answer = requested.then(|| Effect::Answer(id.clone(), Err(failure)));
        forget.into_iter().chain(answer).chain([Effect::Release(id)]).collect()
    }

    pub(super) fn spawned(&mut self, id: BeatId) -> Vec<Effect> {
        let Some(beat) = self.beats.get_mut(&id) else { return Vec::new() };
        if let Phase::Spawning { recorded } = beat.phase {
            beat.phase = Phase::Running { recorded };
        }
        if beat.requested { vec![Effect::Answer(id, Ok(()))] } else { Vec::new() }
    }

    /// No process will write this beat's line.
    pub(super) fn not_spawned(&mut self, id: BeatId, error: Failure, now: Timestamp) -> Vec<Effect> {
        let Some(beat) = self.beats.remove(&id) else { return Vec::new() };
        self.heartbeats.ended(&id, now);
        let mut effects = vec![Effect::Withdraw(id.clone()), Effect::KeepFailure(id.clone(), error.clone())];
        effects.extend(beat.requested.then(|| Effect::Answer(id.clone(), Err(error))));
        effects.push(Effect::Release(id));
        effects
    }

    pub(super) fn concluded(
        &mut self,
        id: BeatId,
        report: Result<BeatReport, Failure>,
        now: Timestamp,
    ) -> Vec<Effect> {
        let Some(beat) = self.beats.remove(&id) else { return Vec::new() };
        // An answer is used up by a beat that began.
        let used_up = beat.resumes.clone().filter(|_| !matches!(report, Ok(BeatReport::Busy)));
        let mut effects = match report {
            Ok(BeatReport::Busy) => self.found_busy(&id, &beat, now),
            Ok(BeatReport::Journaled) => Vec::new(),
            Ok(BeatReport::Unsaved { line }) => vec![Effect::Withdraw(id.clone()), Effect::KeepLine(line)],
            Ok(BeatReport::Waiting) => vec![Effect::RecoverLines],
            Err(error) => vec![Effect::Withdraw(id.clone()), Effect::RecoverOrFail(id.clone(), error)],
        };
        self.heartbeats.ended(&id, now);
        effects.extend(used_up.map(|request| Effect::ResumesEnded(vec![request])));
        effects.push(Effect::Release(id));
        effects.extend(self.after_conclusion());
        effects
    }

    /// Another beat holds the workspace: this one is due again.
    fn found_busy(&mut self, id: &BeatId, beat: &Beat, now: Timestamp) -> Vec<Effect> {
        let mut effects = vec![Effect::Withdraw(id.clone())];
        if let Some(running) = self.heartbeats.found_busy(id, beat.before, now) {
            effects.push(Effect::ForgetRun(running.heartbeat()));
            let before = beat.before;
            effects.extend(before.map(|at| Effect::RememberRun(running.heartbeat(), at)));
        }
        effects.extend(beat.requested.then(|| Effect::ReportRefused(id.clone())));
        effects.push(Effect::Survey);
        effects
    }
}
