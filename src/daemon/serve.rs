//! The daemon's event loop: waits for events, hands them to [`State`], and carries out the effects that it decides on.
//!
//! It sleeps until a beat is due, a file changes, a beat ends, or a client sends a command.
//! docs/design/architecture.md lists the few things that it polls.
//!
//! `serve/sources.rs` is where events come from and `serve/effects.rs` carries out effects, with `serve/beats.rs`,
//! `serve/limits.rs`, `serve/failures.rs`, `serve/observe.rs` and `serve/requests.rs`. `serve/commands.rs` handles
//! commands of clients.

mod beats;
mod commands;
mod effects;
mod failures;
mod limits;
mod observe;
mod requests;
mod sources;

use super::broker::Broker;
use super::broker::model::Models;
use super::budgets::Budgets;
use super::client::{self, Ping};
use super::config_watcher::ConfigWatcher;
use super::data_folder::{DataFolder, Lost};
use super::events::Events;
use super::hosts::Hosts;
use super::notifier_process::{NotifierPid, NotifierProcess};
use super::pauses::PauseFile;
use super::processes::Processes;
use super::rpc_handlers::{Command, ReplyTo, RpcHandlers, StartedBeat};
use super::state::{Effect, Event, State};
use super::stuck_monitor::{MonitorPaths, StuckMonitor};
use super::triggers::Triggers;
use super::watch_paths;
use super::write_behind::{Task, WriteBehind};
use crate::beat;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use murmur_agent::find;
use murmur_core::config::settings::{Provider, Secret};
use murmur_core::id::BeatId;
use sources::{Input, Sources};
use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use sys::alarm::Alarm;
use sys::file::Stamp;
use sys::paths::{DataDir, User};
use sys::watch::Watch;
use sys::{clock, memory};
use tokio::net::UnixListener;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, timeout};

/// The daemon's start parameters.
#[derive(Debug)]
pub struct Setup {
    /// Its data folder, whose lock it holds.
    pub dir: DataDir,
    /// Watches whether that folder is moved or deleted.
    pub folder: DataFolder,
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
    /// The store of captures, if known.
    pub captures: Option<PathBuf>,
    /// API keys of model providers from the environment.
    pub keys: BTreeMap<Provider, Secret>,
}

/// How long the login shell may take to print its PATH.
const LOGIN: Duration = Duration::from_secs(5);
/// How many commands wait for the loop. When full, clients wait.
const COMMAND_QUEUE: usize = 1;
/// How long nothing must happen before memory is given back.
const QUIET: Duration = Duration::from_secs(2);
/// How long clients have to read their last answers at the end.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);

/// Why the daemon had to stop.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The system has no timer for it.
    #[error(transparent)]
    Timer(#[from] io::Error),
    /// Its data folder was moved or deleted.
    #[error("{0}")]
    Lost(Lost),
}

/// Runs until `stop` resolves and every beat has ended, or until a client stops it. `log` takes lines for people.
/// Errors other than [`ServeError`] are logged.
pub async fn serve(
    setup: Setup,
    listener: UnixListener,
    stop: impl Future<Output = ()>,
    log: impl FnMut(&str),
) -> Result<(), ServeError> {
    let (command_sender, mut commands) = mpsc::channel(COMMAND_QUEUE);
    let (over, is_over) = watch::channel(false);
    let is_stopping = Arc::new(AtomicBool::new(false));
    let (shell, own, started) = (setup.shell.clone(), setup.path.clone(), clock::now());
    let login_path = Arc::new(OnceLock::new());
    let models = Models::new(&setup.user.settings, setup.keys.clone());
    let (about, dir) = (Ping::new(started, setup.foreground, setup.tick), setup.dir.clone());
    let (known_path, stopping) = (Arc::clone(&login_path), Arc::clone(&is_stopping));
    let notifier = NotifierPid::default();
    let handlers =
        RpcHandlers::new(about, stopping, command_sender, dir, known_path, models, notifier.clone());
    let (_no_other, next) = mpsc::channel(1);
    let mut serving = tokio::spawn(murmur_rpc::serve::serve(listener, next, handlers, is_over));
    let mut runner = Runner::new(setup, started, is_stopping, notifier, log)?;
    let login = async {
        let path = find::login_path(find::CLAUDE, &shell, &own, LOGIN).await;
        login_path.get_or_init(|| path).clone()
    };
    runner.run(login, stop, &mut commands).await?;
    let lost = runner.state.lost().cloned();
    drop((commands, runner));
    over.send_replace(true);
    if timeout(DRAIN_TIMEOUT, &mut serving).await.is_err() {
        serving.abort();
    }
    lost.map_or(Ok(()), |lost| Err(ServeError::Lost(lost)))
}

/// Carries out what [`State`] decides.
struct Runner<L> {
    dir: DataDir,
    user: User,
    log: L,
    started: Timestamp,
    /// The PATH to find and run agents with, once the login shell has printed it.
    path: Option<PathBuf>,
    state: State,
    sources: Sources,
    write_behind: WriteBehind,
    broker: Broker,
    events: Events,
    pauses: PauseFile,
    /// The clients that requested beats, by the beat's id.
    requested: HashMap<BeatId, ReplyTo<StartedBeat>>,
    /// Whether clients are told that the daemon is stopping.
    is_stopping: Arc<AtomicBool>,
    /// limits.json when it was last read.
    limits_read: Option<Stamp>,
    /// failures.json when it was last read.
    failures_read: Option<Stamp>,
    budgets: Budgets,
    /// Whether nothing has happened for a while.
    is_quiet: bool,
}

impl<L: FnMut(&str)> Runner<L> {
    fn new(
        setup: Setup,
        started: Timestamp,
        is_stopping: Arc<AtomicBool>,
        notifier: NotifierPid,
        mut log: L,
    ) -> Result<Self, ServeError> {
        let Setup { dir, folder, time_zone, tick, user, claude, captures, .. } = setup;
        let hosts = match (Hosts::new(dir.hosts()), folder.check()) {
            (Ok(hosts), _) => hosts,
            (Err(error), None) => return Err(error.into()),
            (Err(_), Some(lost)) => {
                log(&lost.stop_message());
                return Err(ServeError::Lost(lost));
            }
        };
        let watched = MonitorPaths { dir: dir.clone(), claude, captures, settings: user.settings.settings() };
        // Before the broker reads the journal, so that no line in between is missed by both.
        let events = Events::new(&dir);
        let sources = Sources {
            folder,
            config: ConfigWatcher::new(dir.clone(), user.settings.settings(), time_zone, tick),
            notifier: NotifierProcess::new(dir.clone(), user.settings.settings(), events.journal(), notifier),
            beats: Watch::new(watch_paths::beats(&dir)).ok(),
            alarm: Alarm::new()?,
            release_at: None,
            timeout_at: None,
            processes: Processes::default(),
            hosts,
            triggers: Triggers::default(),
            stuck_monitor: StuckMonitor::new(watched),
        };
        Ok(Self {
            log,
            started,
            path: None,
            state: State::new(beat::new_id),
            sources,
            write_behind: WriteBehind::new(dir.clone()),
            broker: requests::load_broker(&dir, &user),
            events,
            pauses: PauseFile::default(),
            requested: HashMap::new(),
            is_stopping,
            limits_read: None,
            failures_read: None,
            budgets: Budgets::default(),
            is_quiet: false,
            user,
            dir,
        })
    }

    /// Handles events until the daemon is over. `login` is the PATH for agents, `stop` a signal to stop.
    async fn run(
        &mut self,
        login: impl Future<Output = OsString>,
        stop: impl Future<Output = ()>,
        commands: &mut mpsc::Receiver<Command>,
    ) -> io::Result<()> {
        let (mut login, mut stop) = (pin!(login), pin!(stop));
        let mut is_signaled = false;
        // Before the first request, so that its answer includes running beats and hosts.
        self.handle(Event::Started);
        while !self.state.is_over() {
            if self.state.is_running() {
                self.start_due().await?;
            }
            // Right before sleeping: what runs afterward would bring pages back.
            if std::mem::take(&mut self.is_quiet) {
                memory::release();
            }
            tokio::select! {
                path = &mut login, if self.state.is_starting() => self.path_found(path),
                () = &mut stop, if !is_signaled => {
                    is_signaled = true;
                    self.handle(Event::Stop(client::Beats::End));
                }
                Some(command) = commands.recv() => {
                    self.handle_command(command);
                    self.release_later();
                }
                input = self.sources.next(&self.state, &self.dir, &self.write_behind) => {
                    let input = input?;
                    if !matches!(input, Input::Quiet) {
                        self.release_later();
                    }
                    self.handle_input(input);
                }
            }
        }
        Ok(())
    }

    /// Gives back the memory of the last event or command once nothing has happened for a while.
    fn release_later(&mut self) {
        self.sources.release_at = Some(Instant::now() + QUIET);
    }

    pub(super) fn log_notifier(&mut self, started: io::Result<()>) {
        if let Err(error) = started {
            (self.log)(&format!("cannot start the notifier: {error}"));
        }
    }

    fn path_found(&mut self, path: OsString) {
        self.path = Some(path.into());
        match self.sources.folder.check() {
            Some(lost @ Lost::Folder(_)) => self.handle(Event::Lost(lost)),
            _ => self.handle(Event::PathFound),
        }
    }

    /// Starts due beats, and sets the alarm for the next ones.
    async fn start_due(&mut self) -> io::Result<()> {
        let is_lost = self.sources.folder.check().is_some();
        if !is_lost {
            // A pause counts from the moment it is written, before its file's watch is read.
            self.carry_out(vec![Effect::ReadPauses]);
        }
        let effects = if is_lost { Vec::new() } else { self.state.on(Event::Idle, clock::now()) };
        if !effects.is_empty() {
            self.carry_out(effects);
            // Let the tasks that serve clients run.
            tokio::task::yield_now().await;
        }
        let times = [
            self.state.wake_at(),
            self.broker.wake_at(),
            self.sources.stuck_monitor.wake_at(),
            self.pauses.wake_at(),
        ];
        // Unread lines come first: an alarm that is always ready could starve them.
        let may_sleep = !self.state.has_unread() && !is_lost;
        self.sources.alarm.set(times.into_iter().flatten().min().filter(|_| may_sleep))
    }

    fn handle_input(&mut self, input: Input) {
        match input {
            Input::Event(event) => self.handle(event),
            Input::Quiet => self.is_quiet = true,
            Input::ConfigChanged(result) => self.sources.config.schedule_reload(result),
            Input::Write(Task::Flush) => {
                if let Some(written) = self.write_runs() {
                    self.handle(written);
                }
            }
            Input::Write(Task::CheckReplaced) => {
                let checked = self.write_behind.check_replaced();
                self.log_error(checked);
            }
            Input::Write(Task::Retry) => {
                let retried = self.write_behind.retry();
                self.log_error(retried);
            }
            Input::NotifierEnded => {
                let started = self.sources.notifier.start();
                self.log_notifier(started);
            }
            Input::Hosts(event) => {
                let news = self.sources.hosts.handle(event);
                self.report_hosts(news);
            }
            Input::Agents(event) => self.handle_agents(event),
        }
    }
}
