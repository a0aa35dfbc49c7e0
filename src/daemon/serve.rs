//! The daemon's event loop: waits for events, updates [`State`], and carries out its decisions.
//!
//! Nothing polls: it sleeps until a beat is due, a file changes, a beat ends, or a client sends a command. It ticks only
//! where files cannot be watched or the user asks for it.
//!
//! `serve/beating.rs` starts and ends beats, `serve/configuring.rs` reads and writes config.json, `serve/brokering.rs`
//! handles requests, `serve/learning.rs` follows the beats, hosts and agents of others, `serve/wishes.rs` handles commands
//! of clients, and `serve/stopping.rs` shuts down.

mod beating;
mod brokering;
mod configuring;
mod learning;
mod stopping;
mod wishes;

use super::beats::{Beats, End};
use super::broker::Broker;
use super::broker::model::Models;
use super::client::{self, Ping};
use super::data_folder::{DataFolder, Lost};
use super::events::Events;
use super::follow::{Edit, Follow, changed};
use super::hosts::{Happened, Hosts};
use super::last_runs;
use super::lookout::{self, Lookout, Watched};
use super::places;
use super::service::{Desk, Wish};
use super::state::State;
use super::upkeep::{Chore, Upkeep};
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
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use sys::alarm::{Alarm, Woke};
use sys::error::Hinted;
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
const WISHES: usize = 1;
/// How long clients have to read their last answers at the end.
const FAREWELL: Duration = Duration::from_secs(2);

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
    let (wishes, mut wished) = mpsc::channel(WISHES);
    let (over, is_over) = watch::channel(false);
    let mut stop = pin!(stop);
    let (shell, own, started) = (setup.shell.clone(), setup.path.clone(), clock::now());
    let login_path = Arc::new(OnceLock::new());
    let models = Models::new(&setup.user.settings, setup.keys.clone());
    let desk = Desk::new(about(&setup, started), wishes, setup.dir.clone(), Arc::clone(&login_path), models);
    let (_no_other, next) = mpsc::channel(1);
    let mut talking = tokio::spawn(rpc::serve::serve(listener, next, desk, is_over));
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
                Some(wish) = wished.recv() => match wish {
                    wish @ Wish::Beat(..) => waiting.push(wish),
                    wish => daemon.grant(wish),
                },
            }
            if daemon.stopping.is_some() {
                break None;
            }
        }
    };
    if let Some(path) = path {
        let path = login_path.get_or_init(|| path);
        daemon.begin(path.into());
        for wish in waiting.drain(..) {
            daemon.grant(wish);
        }
        daemon.work(stop.as_mut(), &mut wished).await?;
    }
    // Beats of an earlier daemon end or are left running, even if this one has not begun.
    daemon.finish(stop, &mut wished).await;
    drop((wished, waiting));
    over.send_replace(true);
    if timeout(FAREWELL, &mut talking).await.is_err() {
        talking.abort();
    }
    daemon.lost.map_or(Ok(()), |lost| Err(ServeError::Lost(lost)))
}

fn about(setup: &Setup, started: Timestamp) -> Ping {
    Ping {
        pid: std::process::id(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        started_at: clock::rfc3339(started),
        foreground: setup.foreground,
        tick: setup.tick.map(|tick| humantime::format_duration(tick).to_string()),
    }
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
    state: State,
    follow: Follow,
    upkeep: Upkeep,
    /// Notices that a process started or ended a beat, or wrote to the journal.
    beats: Option<Watch>,
    alarm: Alarm,
    ours: Beats,
    broker: Broker,
    hosts: Hosts,
    lookout: Lookout,
    events: Events,
    /// Whether the journal may have lines that have not been read.
    unread: bool,
    /// Set when it is to stop, and what happens to the beats.
    stopping: Option<client::Beats>,
    /// Whether work since the last sleep may have left memory to release.
    stirred: bool,
    /// Whether it was reported that setting lastRun back has no effect.
    has_said_set_back: bool,
}

/// An event for the loop.
enum Event {
    Alarm(Woke),
    Edit(Edit),
    Chore(Chore),
    BeatsChanged(io::Result<()>),
    Ended(End),
    Hosts(Happened),
    Agents(lookout::Happened),
    Unread,
    Lost(Lost),
}

impl<L: FnMut(&str)> Daemon<L> {
    fn new(setup: Setup, started: Timestamp, mut log: L) -> Result<Self, ServeError> {
        let Setup { dir, time_zone, tick, user, claude, .. } = setup;
        let folder = DataFolder::new(dir.clone());
        let hosts = Hosts::new(dir.hosts()).map_err(|error| stopping::why(error, &folder, &mut log))?;
        let watched = Watched { dir: dir.clone(), claude, settings: user.settings.settings() };
        // Before the broker reads the journal, so that no line in between is missed by both.
        let events = Events::new(&dir);
        Ok(Self {
            log,
            started,
            path: None,
            state: State::default(),
            follow: Follow::new(dir.clone(), time_zone, tick),
            upkeep: Upkeep::new(dir.clone()),
            beats: Watch::new(places::beats(&dir)).ok(),
            alarm: Alarm::new()?,
            ours: Beats::default(),
            broker: brokering::begin(&dir, &user),
            hosts,
            lookout: Lookout::new(watched),
            events,
            unread: false,
            stopping: None,
            stirred: false,
            has_said_set_back: false,
            user,
            folder,
            lost: None,
            dir,
        })
    }

    /// Catches up on whatever happened while no daemon ran. `path` is the PATH to find and run agents with.
    fn begin(&mut self, path: PathBuf) {
        self.path = Some(path);
        if let Some(lost @ Lost::Folder(_)) = self.folder.look() {
            return self.lose(lost);
        }
        if let Some(missing) = self.agent_problem() {
            (self.log)(&format!("warning: {missing}"));
        }
        if let Err(error) = append::repair(&self.dir.journal()) {
            (self.log)(&unwritable(&self.dir.journal(), &error).line());
        }
        let recovered = self.upkeep.recover();
        self.say(recovered);
        // Only after waiting lines have been written: they need the space.
        let begun = self.upkeep.begin();
        self.say(begun);
        let now = clock::now();
        self.expire();
        self.survey_hosts();
        // A killed host may have left only its socket, which a scan does not see.
        self.hosts.clean();
        let saved = last_runs::read(&self.dir, now);
        self.state.recall(saved.runs, now);
        // After the saved runs, which may include a beat that was announced and never started.
        self.withdraw_announced();
        self.survey();
        // A resumed beat may have just ended: read its line before starting anything.
        self.unread = true;
        // After the survey: what had ended by then has its line.
        let missed = last_runs::since(&self.dir, saved.as_of, &self.state).unwrap_or_default();
        self.state.recall(missed, now);
        self.correct(self.state.unwritten());
        self.lookout.look_if_due(clock::now());
        self.stirred = true;
    }

    /// Starts due beats and handles events until it is to stop.
    async fn work(
        &mut self,
        mut stop: Pin<&mut impl Future<Output = ()>>,
        wished: &mut mpsc::Receiver<Wish>,
    ) -> io::Result<()> {
        while self.stopping.is_none() {
            let is_lost = self.folder.look().is_some();
            if !is_lost && self.start_due() {
                // Let the tasks that serve clients run.
                tokio::task::yield_now().await;
            }
            let times = [self.state.wake_at(), self.broker.wake_at(), self.lookout.wake_at()];
            // Unread lines come first: an alarm that is always ready could starve them.
            self.alarm.set(times.into_iter().flatten().min().filter(|_| !self.unread && !is_lost))?;
            if std::mem::take(&mut self.stirred) {
                memory::release();
            }
            tokio::select! {
                () = &mut stop => return Ok(()),
                Some(wish) = wished.recv() => self.grant(wish),
                event = self.event() => self.take(event?),
            }
        }
        Ok(())
    }

    async fn event(&mut self) -> io::Result<Event> {
        Ok(tokio::select! {
            lost = self.folder.lost() => Event::Lost(lost),
            end = self.ours.ended() => Event::Ended(end),
            woke = self.alarm.woke() => Event::Alarm(woke?),
            edit = self.follow.edit() => Event::Edit(edit),
            chore = self.upkeep.chore() => Event::Chore(chore),
            changed = changed(&mut self.beats) => Event::BeatsChanged(changed),
            happened = self.hosts.happened() => Event::Hosts(happened),
            happened = self.lookout.happened() => Event::Agents(happened),
            // Let clients read what there is first.
            () = tokio::task::yield_now(), if self.unread => Event::Unread,
        })
    }

    fn take(&mut self, event: Event) {
        match event {
            // Due beats are started after every event.
            Event::Alarm(Woke::Due) => {
                self.expire();
                self.lookout.look_if_due(clock::now());
            }
            Event::Alarm(Woke::ClockSet) => {
                self.state.clock_set(clock::now());
                self.lookout.clock_set(clock::now());
            }
            Event::Edit(Edit::Noticed(noticed)) => self.follow.soon(&noticed),
            Event::Edit(Edit::Settled) => {
                self.reload();
                // config.json may have been fixed.
                if self.upkeep.problem().is_some() {
                    self.flush();
                }
                self.stirred = true;
            }
            Event::Edit(Edit::Tick) => {
                self.state.clock_set(clock::now());
                self.reload();
                self.look();
                // In case it cannot be watched.
                if let Some(lost) = self.folder.look() {
                    self.lose(lost);
                }
            }
            Event::Chore(Chore::Flush) => self.flush(),
            Event::Chore(Chore::LookBack) => {
                let looked = self.upkeep.look_back();
                self.say(looked);
            }
            Event::Chore(Chore::Retry) => {
                let retried = self.upkeep.retry();
                self.say(retried);
            }
            Event::BeatsChanged(Ok(())) => {
                // The folder may have been replaced.
                let watched = self.beats.as_mut().map(|watch| watch.add(places::beats(&self.dir)));
                if watched.is_some_and(|watched| watched.is_err()) {
                    self.beats = None;
                }
                self.look();
            }
            Event::BeatsChanged(Err(_)) => self.beats = None,
            Event::Ended(end) => self.ended(end),
            Event::Hosts(happened) => {
                let news = self.hosts.take(happened);
                self.tell_of_hosts(news);
            }
            Event::Agents(happened) => self.take_agents(happened),
            Event::Unread => self.tell(),
            Event::Lost(lost) => self.lose(lost),
        }
    }

    fn survey_hosts(&mut self) {
        let surveyed = self.hosts.survey();
        self.tell_of_hosts(surveyed);
    }

    fn say(&mut self, result: Result<(), String>) {
        if let Err(error) = result
            // Once the folder is gone, everything fails, and its loss is reported.
            && !matches!(self.folder.look(), Some(Lost::Folder(_)))
        {
            (self.log)(&error);
        }
    }

    /// Why no agent can be started. Checked every time, as Claude Code may have been installed meanwhile.
    fn agent_problem(&self) -> Option<String> {
        let path = self.path.as_ref()?;
        find::find(find::CLAUDE, path.as_os_str()).err().map(|missing| missing.line())
    }
}
