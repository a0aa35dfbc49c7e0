//! Carries out the effects that [`State`](crate::daemon::state::State) decides on.

use super::Runner;
use crate::daemon::data_folder::Lost;
use crate::daemon::heartbeats::Accounts;
use crate::daemon::last_runs;
use crate::daemon::state::{Effect, Event};
use murmur_core::config::settings::Settings;
use murmur_store::journal::append;
use murmur_store::journal::tail::Position;
use notify::state::JournalPosition;
use sys::clock;
use sys::error::Failure;
use sys::unreadable::unwritable;
use tokio::time::Instant;

impl<L: FnMut(&str)> Runner<L> {
    /// Handles `event`, and with it every event that its effects result in.
    pub(super) fn handle(&mut self, event: Event) {
        let effects = self.state.on(event, clock::now());
        self.carry_out(effects);
    }

    /// Carries out `effects` in their order. If one results in an event, that is handled before the next effect.
    pub(super) fn carry_out(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            if let Some(event) = self.execute(effect) {
                self.handle(event);
            }
        }
    }

    fn execute(&mut self, effect: Effect) -> Option<Event> {
        match effect {
            Effect::Then(event) => return Some(*event),
            Effect::Log(line) => (self.log)(&line),

            Effect::ReadPauses => {
                return self.pauses.changed(&self.dir, clock::now()).map(Event::PausesRead);
            }
            Effect::Reload => return self.reload(),
            Effect::ReadEdits => return self.read_edits(),
            Effect::RememberRun(heartbeat, at) => self.write_behind.remember(heartbeat, at),
            Effect::ForgetRun(heartbeat) => self.write_behind.forget(&heartbeat),
            Effect::WriteRuns => return self.write_runs(),
            Effect::RetryRuns if self.write_behind.problem().is_some() => return self.write_runs(),
            Effect::RetryRuns => {}
            Effect::CheckReplaced => {
                let checked = self.write_behind.check_replaced();
                self.log_error(checked);
            }
            Effect::ReadSavedRuns => {
                let saved = last_runs::read(&self.dir, clock::now());
                return Some(Event::SavedRuns { runs: saved.runs, as_of: saved.as_of });
            }
            Effect::ReadMissedRuns(as_of) => {
                // Later lines are read as they come.
                let JournalPosition { inode, end, .. } = self.events.journal();
                let until = Some(Position { inode, end });
                let missed = last_runs::since(&self.dir, as_of, until, self.state.heartbeats());
                return Some(Event::MissedRuns(missed.unwrap_or_default()));
            }

            Effect::CheckAgent => {
                let settings = Settings::read(&self.user.settings.settings()).ok();
                for problem in self.agent_problems(settings.as_ref()) {
                    (self.log)(&format!("warning: {problem}"));
                }
            }
            Effect::RepairJournal => self.repair_journal(),
            Effect::RecoverLines => {
                let recovered = self.write_behind.recover();
                self.log_error(recovered);
            }
            Effect::RecountLines { in_records } => {
                let recounted = self.write_behind.recount(in_records);
                self.log_error(recounted);
            }
            Effect::KeepLine(line) => {
                let kept = self.write_behind.keep_of_dead(&line);
                self.log_error(kept);
            }
            Effect::KeepFailure(beat, error) => self.keep_failure(&beat, &error),
            Effect::RecoverOrFail(beat, error) => self.recover_or_fail(&beat, &error),
            Effect::WriteLastLines => {
                let written = self.write_behind.write();
                self.log_error(written);
                self.report_lost_lines();
            }
            Effect::ReportLostLines => self.report_lost_lines(),
            Effect::ReadJournal => return Some(self.read_journal()),

            Effect::ReadLimits => return self.read_limits(),
            Effect::ReportHold(change) => {
                (self.log)(&change.to_string());
                self.events.hold(&change);
            }
            Effect::ReadFailures => return self.read_failures(),
            Effect::KeepStreak(id, streak) => self.keep_streak(&id, streak),
            Effect::Report(entry) => {
                let kept = self.write_behind.keep(*entry);
                self.log_error(kept);
            }
            Effect::ReadBudgets => return self.read_budgets(),
            Effect::Survey => return self.survey(),
            Effect::WithdrawOrphans => return Some(Event::Orphaned(self.withdraw_orphans())),
            Effect::Announce(start) => return Some(self.announce(*start)),
            Effect::Withdraw(beat) => self.withdraw(&beat),
            Effect::Spawn(beat) => return Some(self.spawn(beat)),
            Effect::Release(beat) => self.sources.processes.release(&beat),
            Effect::FindWritten(beats) => return Some(Event::Written(self.find_written(beats))),
            Effect::Answer(beat, result) => self.answer(beat, result),
            Effect::ReportRefused(beat) => self.report_refused(&beat),

            Effect::ResumesEnded(requests) => return Some(self.resumes_ended(&requests)),
            Effect::ExpireRequests => {
                self.broker.expire(clock::now());
                return Some(self.report_requests());
            }
            Effect::ScanAgents => self.sources.stuck_monitor.scan_if_due(clock::now()),
            Effect::RescanAgents => self.sources.stuck_monitor.clock_set(clock::now()),
            Effect::SurveyHosts => {
                let surveyed = self.sources.hosts.survey();
                self.report_hosts(surveyed);
            }
            Effect::ReapHosts => self.sources.hosts.reap(),
            Effect::CheckHosts => self.sources.hosts.request_checks(),
            Effect::CheckFolder => return self.sources.folder.check().map(Event::Lost),
            Effect::StopWriting => self.write_behind.close(),

            Effect::ReportStopping => self.is_stopping.store(true, std::sync::atomic::Ordering::Relaxed),
            Effect::EndBeats => self.end_beats(),
            Effect::ReplaceBeat(beat) => self.replace_beat(&beat),
            Effect::KillBeats => self.sources.processes.signal(sys::process::Signal::KILL),
            Effect::FindLockedRecords => return Some(Event::RecordsLocked(self.beats_with_locked_records())),
            Effect::FindOthers => return Some(Event::OthersRunning(self.are_others_running())),
            Effect::SetTimeout(after) => self.sources.timeout_at = after.map(|after| Instant::now() + after),
            Effect::EndEvents => self.events.end(),
        }
        None
    }

    fn repair_journal(&mut self) {
        if let Err(error) = append::repair(&self.dir.journal()) {
            (self.log)(&unwritable(&self.dir.journal(), &error).line());
        }
        let recovered = self.write_behind.recover();
        self.log_error(recovered);
        // Only after waiting lines have been written: they need the space.
        let reserved = self.write_behind.allocate_journal_reserve();
        self.log_error(reserved);
    }

    /// Reports the journal lines that are lost when this process ends.
    fn report_lost_lines(&mut self) {
        let lost: Vec<String> = self.write_behind.unsaved_lines().collect();
        lost.iter().for_each(|line| (self.log)(&format!("a journal line is lost: {}", line.trim_end())));
    }

    /// Reads again what was edited.
    fn read_edits(&mut self) -> Option<Event> {
        match self.sources.config.edited() {
            Some(edited) => Some(Event::HeartbeatsEdited(edited)),
            None => self.reload(),
        }
    }

    fn reload(&mut self) -> Option<Event> {
        let started = self.sources.notifier.reload();
        self.log_notifier(started);
        let (problems, configuration) = self.sources.config.reload();
        problems.iter().for_each(|problem| (self.log)(problem));
        let mut configuration = configuration?;
        let unwatched = self.sources.triggers.watch(&configuration.heartbeats);
        unwatched.iter().for_each(|problem| (self.log)(&problem.line()));
        configuration.accounts = Accounts::find(&configuration.heartbeats, &self.user);
        configuration.over_budget = self.load_budgets(&configuration.heartbeats);
        Some(Event::Loaded(configuration))
    }

    /// Writes the last runs to config.json.
    pub(super) fn write_runs(&mut self) -> Option<Event> {
        if self.sources.folder.check().is_some() {
            // It may be in the middle of being deleted.
            self.write_behind.postpone_flush();
            return None;
        }
        let written = self.write_behind.flush(self.state.heartbeats());
        let runs = written.map_err(|error| (self.log)(&error.line())).ok()?;
        if let Some(replaced) = self.write_behind.replaced() {
            self.sources.config.runs_written(replaced, &runs);
        }
        Some(Event::RunsWritten(runs))
    }

    pub(super) fn log_error(&mut self, result: Result<(), Failure>) {
        if let Err(error) = result
            // Once the folder is gone, everything fails, and its loss is reported.
            && !matches!(self.sources.folder.check(), Some(Lost::Folder(_)))
        {
            (self.log)(&error.line());
        }
    }
}
