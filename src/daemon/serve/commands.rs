//! Handles commands of clients, between two events and after due beats have been started.

use super::Runner;
use crate::beat;
use crate::daemon::client::Beats;
use crate::daemon::heartbeats::{HeartbeatRef, ScheduledHeartbeat};
use crate::daemon::rpc_handlers::{Command, ReplyTo, StartedBeat};
use crate::daemon::state::{Effect, Event, StartRequest};
use crate::daemon::status::{self, Status, StatusRequest};
use murmur_agent::{find, rule_files};
use murmur_core::config::backend::{Backend, Command as AgentCommand};
use murmur_core::config::settings::{Settings, WrongTables};
use murmur_store::journal::append;
use sys::clock;
use sys::error::{Failure, Hinted};
use sys::failure;

impl<L: FnMut(&str)> Runner<L> {
    pub(super) fn handle_command(&mut self, command: Command) {
        // If the client is gone, the answer is dropped.
        match command {
            Command::Status(wanted, to) => {
                // Other processes keep and write lines too.
                self.carry_out(vec![Effect::ReadPauses, Effect::Survey]);
                drop(to.send(self.status(wanted)));
            }
            Command::Attach(from, to) => drop(to.send(self.events.attach(from, self.started))),
            Command::Beat(which, to) => self.request_beat(which, to),
            Command::Stop(beats, to) => self.stop(beats, to),
            Command::Broker(mut command) => {
                self.prevent_unresumable_defer(&mut command);
                self.broker.handle(command, clock::now());
                let deferred = self.report_requests();
                self.handle(deferred);
            }
        }
    }

    fn status(&self, wanted: StatusRequest) -> Status {
        let now = clock::now();
        let denied = rule_files::problems(&self.dir, &self.user.settings);
        let denied: Vec<String> = denied.iter().map(Hinted::line).collect();
        let mut problems = denied.clone();
        let settings = Settings::read(&self.user.settings.settings());
        problems.extend(WrongTables::of(&settings).iter().map(Failure::line));
        let settings = settings.ok();
        problems.extend_from_slice(self.sources.config.problems());
        problems.extend(self.agent_problems(settings.as_ref()));
        let unwatched = self.sources.triggers.problem().map(Failure::line);
        problems.extend(unwatched.clone());
        problems.extend(self.budgets.problem().map(str::to_owned));
        problems.extend(self.budgets.unread().map(Hinted::line));
        problems.extend(self.write_behind.problem().map(Failure::line));
        problems.extend(self.write_behind.full().map(Failure::line));
        problems.extend(self.write_behind.unreadable().map(Failure::line));
        // Waiting lines have a reason of their own.
        if self.write_behind.waiting_lines() == 0 && self.write_behind.full().is_none() {
            problems.extend(append::problem(&self.dir.journal()).map(|problem| problem.line()));
        }
        let mut heartbeats = {
            let (heartbeats, ledger) = (self.state.heartbeats(), self.budgets.ledger());
            status::heartbeats(heartbeats, settings.as_ref(), ledger, wanted, now)
        };
        status::mark_waiting(&mut heartbeats, &self.broker.waiting_beats());
        Status {
            denied,
            daemon: Some(status::Daemon {
                pid: std::process::id(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
                started_at: clock::rfc3339(self.started),
                uptime_seconds: now.duration_since(self.started).as_secs(),
                edits: self.sources.config.method().to_owned(),
                stopping: self.state.is_stopping(),
                unwatched,
            }),
            problems,
            waiting_lines: self.write_behind.waiting_lines(),
            waiting_reason: self.write_behind.waiting_reason().map(str::to_owned),
            live_agents: self.sources.hosts.live(),
            requests: self.broker.waiting(),
            holds: status::holds(self.state.heartbeats().limits(), now),
            heartbeats,
            paused: self.state.heartbeats().pauses().active(now).cloned().collect(),
        }
    }

    /// Which programs of the heartbeats' backends can't be found. Checked every time, as they may have been installed
    /// meanwhile.
    pub(super) fn agent_problems(&self, settings: Option<&Settings>) -> Vec<String> {
        let Some(path) = &self.path else { return Vec::new() };
        let mut used: Vec<&Backend> = Vec::new();
        for backend in self.state.heartbeats().entries().iter().map(ScheduledHeartbeat::backend) {
            if !used.contains(&backend) {
                used.push(backend);
            }
        }
        if used.is_empty() {
            used.push(&Backend::Claude);
        }
        // Beats report settings that are not readable, and agents that nothing configures.
        let command = |backend: &Backend| match settings {
            Some(settings) => settings.command(backend).ok(),
            None => backend.built_in(),
        };
        let missing = |command: AgentCommand| find::find(&command.program, path.as_os_str()).err();
        used.into_iter().filter_map(command).filter_map(missing).map(|missing| missing.line()).collect()
    }

    /// Requests a beat; the answer comes as an effect.
    fn request_beat(&mut self, which: HeartbeatRef, to: ReplyTo<StartedBeat>) {
        let HeartbeatRef { workspace, name } = which;
        let refusal = match self.sources.folder.check() {
            _ if !workspace.is_absolute() => Some(failure!(
                "{} is not an absolute path", workspace.display(); "use the workspace's absolute path"
            )),
            Some(lost) => Some(lost.to_string().into()),
            None => None,
        };
        if let Some(refusal) = refusal {
            return drop(to.send(Err(refusal)));
        }
        let real = workspace.canonicalize().ok().filter(|real| *real != workspace);
        let request = StartRequest { id: beat::new_id(clock::now()), workspace, real, name };
        self.requested.insert(request.id.clone(), to);
        self.handle(Event::Requested(request));
    }

    /// Stops the daemon; the client has its answer before that.
    fn stop(&mut self, beats: Beats, to: ReplyTo<()>) {
        let checked = self.state.check_stop(beats);
        let may_stop = checked.is_ok();
        drop(to.send(checked));
        if may_stop {
            self.handle(Event::Stop(beats));
        }
    }
}
