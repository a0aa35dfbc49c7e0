//! The daemon's event loop: waits for events, updates [`Heartbeats`], and carries out its decisions.
//!
//! Nothing polls: it sleeps until a beat is due, a file changes, a beat ends, or a client sends a command. It ticks only
//! where files cannot be watched or the user asks for it.
//!
//! `serve/beats.rs` starts and ends beats, `serve/config.rs` reads and writes config.json, `serve/requests.rs`
//! handles requests, `serve/observe.rs` follows the beats, hosts and agents of others, `serve/commands.rs` handles commands
//! of clients, and `serve/shutdown.rs` shuts down.

mod beats;
mod commands;
mod config;
mod observe;
mod requests;
mod shutdown;

use super::beats::{Beats, End};
use super::broker::Broker;
use super::broker::model::Models;
use super::client::{self, Ping};
use super::config_watcher::{ConfigEvent, ConfigWatcher, changed};
use super::data_folder::{DataFolder, Lost};
use super::events::Events;
use super::heartbeats::Heartbeats;
use super::hosts::{HostEvent, Hosts};
use super::last_runs;
use super::rpc_handlers::{Command, RpcHandlers};
use super::stuck_monitor::{self, MonitorPaths, StuckMonitor};
use super::watch_paths;
use super::write_behind::{Task, WriteBehind};
use crate::agent::find;
use crate::config::settings::{Provider, Secret};
use crate::journal::append;
use crate::rpc;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use sys::alarm::{Alarm, Woke};
use sys::error::{Failure, Hinted};
use sys::paths::{DataDir, User};
use sys::unreadable::unwritable;
use sys::watch::Watch;
use sys::{clock, memory};
use tokio::net::UnixListener;
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

/// The daemon's start parameters.
#[derive(Debug)]
pub struct Setup {
    /// Its data folder, whose lock it holds.
    pub dir: DataDir,
    /// The time zone of cron expressions that name none.
    pub time_zone: TimeZone,
    /// Also check for edits this often.
    pub tick: Option<Duration>,
    /// Whether another program supervises this process. Only reported to clients.
    pub foreground: bool,
    /// The user's login shell.
    pub shell: PathBuf,
    /// The PATH that the daemon was started with.
    pub path: OsString,
    /// The user to run agents for.
    pub user: User,
    /// Claude Code's folder, if known.
    pub claude: Option<PathBuf>,
    /// API keys of model providers from the environment.
    pub keys: BTreeMap<Provider, Secret>,
}

/// How long the login shell may take to print its PATH.
const LOGIN: Duration = Duration::from_secs(5);
/// How many commands wait for the loop. When full, clients wait.
const COMMAND_QUEUE: usize = 1;
/// How long clients have to read their last answers at the end.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);

/// Why the daemon had to stop.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The system has no timer for it.
    #[error("{0}")]
    Timer(#[from] io::Error),
    /// Its data folder was moved or deleted.
    #[error("{0}")]
    Lost(Lost),
}

/// Runs until `stop` resolves and every beat has ended, or until a client stops it. `log` takes lines for people. Errors
/// other than [`ServeError`] are logged.
pub async fn serve(
    setup: Setup,
    listener: UnixListener,
    stop: impl Future<Output = ()>,
    log: impl FnMut(&str),
) -> Result<(), ServeError> {
    let (command_sender, mut commands) = mpsc::channel(COMMAND_QUEUE);
    let (over, is_over) = watch::channel(false);
    let stopping = Arc::new(AtomicBool::new(false));
    let mut stop = pin!(stop);
    let (shell, own, started) = (setup.shell.clone(), setup.path.clone(), clock::now());
    let login_path = Arc::new(OnceLock::new());
    let models = Models::new(&setup.user.settings, setup.keys.clone());
    let (about, dir) = (Ping::new(started, setup.foreground, setup.tick), setup.dir.clone());
    let (known_path, is_stopping) = (Arc::clone(&login_path), Arc::clone(&stopping));
    let handlers = RpcHandlers::new(about, is_stopping, command_sender, dir, known_path, models);
    let (_no_other, next) = mpsc::channel(1);
    let mut talking = tokio::spawn(rpc::serve::serve(listener, next, handlers, is_over));
    let mut daemon = Daemon::new(setup, started, log)?;
    daemon.reload();
    // Before the first request, so that its answer includes running beats and hosts.
    daemon.survey();
    daemon.survey_hosts();
    // Beats wait for the PATH; other commands do not.
    let mut waiting = Vec::new();
    let path = {
        let mut login = pin!(find::login_path(&shell, &own, LOGIN));
        loop {
            tokio::select! {
                path = &mut login => break Some(path),
                () = &mut stop => break None,
                Some(command) = commands.recv() => match command {
                    command @ Command::Beat(..) => waiting.push(command),
                    command => daemon.handle_command(command),
                },
            }
            if daemon.stopping.is_some() {
                break None;
            }
        }
    };
    if let Some(path) = path {
        let path = login_path.get_or_init(|| path);
        daemon.catch_up(path.into());
        for command in waiting.drain(..) {
            daemon.handle_command(command);
        }
        daemon.run(stop.as_mut(), &mut commands).await?;
    }
    // Beats of an earlier daemon end or are left running, even if this one has not begun.
    stopping.store(true, Ordering::Relaxed);
    daemon.shut_down(stop, &mut commands).await;
    drop((commands, waiting));
    over.send_replace(true);
    if timeout(DRAIN_TIMEOUT, &mut talking).await.is_err() {
        talking.abort();
    }
    daemon.lost.map_or(Ok(()), |lost| Err(ServeError::Lost(lost)))
}

struct Daemon<L> {
    dir: DataDir,
    folder: DataFolder,
    /// What of it was moved or deleted.
    lost: Option<Lost>,
    user: User,
    log: L,
    started: Timestamp,
    /// The PATH to find and run agents with, once the login shell has printed it.
    path: Option<PathBuf>,
    state: Heartbeats,
    config_watcher: ConfigWatcher,
    write_behind: WriteBehind,
    /// Notices that a process started or ended a beat, or wrote to the journal.
    beats: Option<Watch>,
    alarm: Alarm,
    ours: Beats,
    broker: Broker,
    hosts: Hosts,
    stuck_monitor: StuckMonitor,
    events: Events,
    /// Whether the journal may have lines that have not been read.
    unread: bool,
    /// Set when it is to stop, and what happens to the beats.
    stopping: Option<client::Beats>,
    /// Whether work since the last sleep may have left memory to release.
    dirty: bool,
    /// Whether it was reported that setting lastRun back has no effect.
    warned_of_set_back: bool,
}

/// An event for the loop.
enum Event {
    Alarm(Woke),
    Config(ConfigEvent),
    Write(Task),
    BeatsChanged(io::Result<()>),
    Ended(End),
    Hosts(HostEvent),
    Agents(stuck_monitor::Event),
    Unread,
    Lost(Lost),
}

impl<L: FnMut(&str)> Daemon<L> {
    fn new(setup: Setup, started: Timestamp, mut log: L) -> Result<Self, ServeError> {
        let Setup { dir, time_zone, tick, user, claude, .. } = setup;
        let folder = DataFolder::new(dir.clone());
        let hosts =
            Hosts::new(dir.hosts()).map_err(|error| shutdown::serve_error(error, &folder, &mut log))?;
        let watched = MonitorPaths { dir: dir.clone(), claude, settings: user.settings.settings() };
        // Before the broker reads the journal, so that no line in between is missed by both.
        let events = Events::new(&dir);
        Ok(Self {
            log,
            started,
            path: None,
            state: Heartbeats::default(),
            config_watcher: ConfigWatcher::new(dir.clone(), time_zone, tick),
            write_behind: WriteBehind::new(dir.clone()),
            beats: Watch::new(watch_paths::beats(&dir)).ok(),
            alarm: Alarm::new()?,
            ours: Beats::default(),
            broker: requests::load_broker(&dir, &user),
            hosts,
            stuck_monitor: StuckMonitor::new(watched),
            events,
            unread: false,
            stopping: None,
            dirty: false,
            warned_of_set_back: false,
            user,
            folder,
            lost: None,
            dir,
        })
    }

    /// Catches up on whatever happened while no daemon ran. `path` is the PATH to find and run agents with.
    fn catch_up(&mut self, path: PathBuf) {
        self.path = Some(path);
        if let Some(lost @ Lost::Folder(_)) = self.folder.check() {
            return self.stop_without_folder(lost);
        }
        if let Some(missing) = self.agent_problem() {
            (self.log)(&format!("warning: {missing}"));
        }
        if let Err(error) = append::repair(&self.dir.journal()) {
            (self.log)(&unwritable(&self.dir.journal(), &error).line());
        }
        let recovered = self.write_behind.recover();
        self.log_error(recovered);
        // Only after waiting lines have been written: they need the space.
        let begun = self.write_behind.allocate_reserve();
        self.log_error(begun);
        let now = clock::now();
        self.expire();
        self.survey_hosts();
        // A killed host may have left only its socket, which a scan does not see.
        self.hosts.clean();
        let saved = last_runs::read(&self.dir, now);
        self.state.merge_last_runs(saved.runs, now);
        // After the saved runs, which may include a beat that was announced and never started.
        self.withdraw_announced();
        self.survey();
        // A resumed beat may have just ended: read its line before starting anything.
        self.unread = true;
        // After the survey: what had ended by then has its line.
        let missed = last_runs::since(&self.dir, saved.as_of, &self.state).unwrap_or_default();
        self.state.merge_last_runs(missed, now);
        self.correct(self.state.unwritten());
        self.stuck_monitor.scan_if_due(clock::now());
        self.dirty = true;
    }

    /// Starts due beats and handles events until it is to stop.
    async fn run(
        &mut self,
        mut stop: Pin<&mut impl Future<Output = ()>>,
        commands: &mut mpsc::Receiver<Command>,
    ) -> io::Result<()> {
        while self.stopping.is_none() {
            let is_lost = self.folder.check().is_some();
            if !is_lost && self.start_due() {
                // Let the tasks that serve clients run.
                tokio::task::yield_now().await;
            }
            let times = [self.state.wake_at(), self.broker.wake_at(), self.stuck_monitor.wake_at()];
            // Unread lines come first: an alarm that is always ready could starve them.
            self.alarm.set(times.into_iter().flatten().min().filter(|_| !self.unread && !is_lost))?;
            if std::mem::take(&mut self.dirty) {
                memory::release();
            }
            tokio::select! {
                () = &mut stop => return Ok(()),
                Some(command) = commands.recv() => self.handle_command(command),
                event = self.event() => self.handle(event?),
            }
        }
        Ok(())
    }

    async fn event(&mut self) -> io::Result<Event> {
        Ok(tokio::select! {
            lost = self.folder.lost() => Event::Lost(lost),
            end = self.ours.ended() => Event::Ended(end),
            woke = self.alarm.woke() => Event::Alarm(woke?),
            event = self.config_watcher.next_event() => Event::Config(event),
            task = self.write_behind.next_task() => Event::Write(task),
            changed = changed(&mut self.beats) => Event::BeatsChanged(changed),
            event = self.hosts.next_event() => Event::Hosts(event),
            event = self.stuck_monitor.next_event() => Event::Agents(event),
            // Let clients read what there is first.
            () = tokio::task::yield_now(), if self.unread => Event::Unread,
        })
    }

    fn handle(&mut self, event: Event) {
        match event {
            // Due beats are started after every event.
            Event::Alarm(Woke::Due) => {
                self.expire();
                self.stuck_monitor.scan_if_due(clock::now());
            }
            Event::Alarm(Woke::ClockSet) => {
                self.state.clock_set(clock::now());
                self.stuck_monitor.clock_set(clock::now());
            }
            Event::Config(ConfigEvent::Changed(result)) => self.config_watcher.schedule_reload(&result),
            Event::Config(ConfigEvent::Settled) => {
                self.reload();
                // config.json may have been fixed.
                if self.write_behind.problem().is_some() {
                    self.flush();
                }
                self.dirty = true;
            }
            Event::Config(ConfigEvent::Tick) => {
                self.state.clock_set(clock::now());
                self.reload();
                self.check_beats();
                // In case it cannot be watched.
                if let Some(lost) = self.folder.check() {
                    self.stop_without_folder(lost);
                }
            }
            Event::Write(Task::Flush) => self.flush(),
            Event::Write(Task::CheckReplaced) => {
                let looked = self.write_behind.check_replaced();
                self.log_error(looked);
            }
            Event::Write(Task::Retry) => {
                let retried = self.write_behind.retry();
                self.log_error(retried);
            }
            Event::BeatsChanged(Ok(())) => {
                // The folder may have been replaced.
                let watched = self.beats.as_mut().map(|watch| watch.add(watch_paths::beats(&self.dir)));
                if watched.is_some_and(|watched| watched.is_err()) {
                    self.beats = None;
                }
                self.check_beats();
            }
            Event::BeatsChanged(Err(_)) => self.beats = None,
            Event::Ended(end) => self.ended(end),
            Event::Hosts(event) => {
                let news = self.hosts.handle(event);
                self.report_hosts(news);
            }
            Event::Agents(event) => self.handle_agents(event),
            Event::Unread => self.read_journal(),
            Event::Lost(lost) => self.stop_without_folder(lost),
        }
    }

    fn survey_hosts(&mut self) {
        let surveyed = self.hosts.survey();
        self.report_hosts(surveyed);
    }

    fn log_error(&mut self, result: Result<(), Failure>) {
        if let Err(error) = result
            // Once the folder is gone, everything fails, and its loss is reported.
            && !matches!(self.folder.check(), Some(Lost::Folder(_)))
        {
            (self.log)(&error.line());
        }
    }

    /// Why no agent can be started. Checked every time, as Claude Code may have been installed meanwhile.
    fn agent_problem(&self) -> Option<String> {
        let path = self.path.as_ref()?;
        find::find(find::CLAUDE, path.as_os_str()).err().map(|missing| missing.line())
    }
}
