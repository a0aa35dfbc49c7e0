//! Handles commands of clients, between two events and after due beats have been started.

use super::Daemon;
use crate::agent::rule_files;
use crate::beat;
use crate::config::settings::Settings;
use crate::daemon::client::Beats;
use crate::daemon::heartbeats::{Start, StartRefusal};
use crate::daemon::rpc_handlers::{Command, HeartbeatRef, StartedBeat};
use crate::daemon::status::{self, Status};
use crate::journal::{append, unfinished};
use std::path::Path;
use sys::clock;
use sys::error::{Failure, Hinted};
use sys::failure;

impl<L: FnMut(&str)> Daemon<L> {
    pub(super) fn handle_command(&mut self, command: Command) {
        // If the client is gone, the answer is dropped.
        match command {
            Command::Status(to) => {
                // Other processes keep and write lines too.
                self.survey();
                drop(to.send(self.status()));
            }
            Command::Attach(from, to) => drop(to.send(self.events.attach(from, self.started))),
            Command::Beat(which, to) => drop(to.send(self.beat_now(&which))),
            Command::Stop(beats, to) => drop(to.send(self.stop(beats))),
            Command::Broker(mut command) => {
                self.prevent_unresumable_defer(&mut command);
                self.broker.handle(command, clock::now());
                self.report_requests();
            }
        }
    }

    fn status(&self) -> Status {
        let now = clock::now();
        let denied = rule_files::problems(&self.dir, &self.user.settings);
        let denied: Vec<String> = denied.iter().map(Hinted::line).collect();
        let mut problems = denied.clone();
        let settings = Settings::read(&self.user.settings.settings()).unwrap_or_default().asking;
        problems.extend_from_slice(self.config_watcher.problems());
        problems.extend(self.agent_problem());
        problems.extend(self.write_behind.problem().map(Failure::line));
        problems.extend(self.write_behind.full().map(Failure::line));
        problems.extend(self.write_behind.unreadable().map(Failure::line));
        // Waiting lines have a reason of their own.
        if self.write_behind.waiting_lines() == 0 && self.write_behind.full().is_none() {
            problems.extend(append::problem(&self.dir.journal()).map(|problem| problem.line()));
        }
        Status {
            denied,
            daemon: Some(status::Daemon {
                pid: std::process::id(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
                started_at: clock::rfc3339(self.started),
                uptime_seconds: now.duration_since(self.started).as_secs(),
                edits: self.config_watcher.method().to_owned(),
                stopping: self.stopping.is_some(),
            }),
            problems,
            waiting_lines: self.write_behind.waiting_lines(),
            waiting_reason: self.write_behind.waiting_reason().map(str::to_owned),
            live_agents: self.hosts.live(),
            requests: self.broker.waiting(),
            heartbeats: status::heartbeats(&self.state, &settings, now),
        }
    }

    /// Starts a requested beat.
    fn beat_now(&mut self, which: &HeartbeatRef) -> Result<StartedBeat, Failure> {
        if !which.workspace.is_absolute() {
            let workspace = which.workspace.display();
            return Err(failure!("{workspace} is not an absolute path"; "use the workspace's absolute path"));
        }
        if let Some(lost) = self.folder.check() {
            return Err(lost.to_string().into());
        }
        // A manual beat may have just started, or the workspace may have just been registered.
        self.check_beats();
        let start = match self.start_now(which) {
            Err(StartRefusal::Unknown { .. } | StartRefusal::Unnamed { .. }) => {
                self.reload();
                self.start_now(which)
            }
            Err(StartRefusal::Busy { .. } | StartRefusal::Full { .. }) if self.end_written_beats() => {
                self.start_now(which)
            }
            decided => decided,
        };
        self.start(start.map_err(|not_now| not_now.failure())?, true)
    }

    /// Ends beats of ours whose line is written but whose process has not reported yet, so that a client that saw the line can
    /// start the next one. Returns whether there were any.
    fn end_written_beats(&mut self) -> bool {
        let before = self.state.running().len();
        for beat in self.ours.announced().filter(|beat| unfinished::is_over(&self.dir, beat)) {
            self.state.ended(beat);
        }
        self.state.running().len() < before
    }

    fn start_now(&mut self, which: &HeartbeatRef) -> Result<Start, StartRefusal> {
        let now = clock::now();
        let mut start =
            |workspace: &Path| self.state.start_now(workspace, which.name.as_deref(), now, beat::new_id(now));
        match (start(&which.workspace), which.workspace.canonicalize()) {
            // config.json may list its real path.
            (Err(StartRefusal::Unknown { .. }), Ok(real)) if real != which.workspace => start(&real),
            (decided, _) => decided,
        }
    }

    /// Stops the daemon. Once told to end, beats cannot be left running.
    fn stop(&mut self, beats: Beats) -> Result<(), Failure> {
        if (self.stopping, beats) == (Some(Beats::End), Beats::Leave) {
            return Err("the daemon is already stopping, and its beats were told to end".into());
        }
        self.stopping = Some(beats);
        Ok(())
    }
}
