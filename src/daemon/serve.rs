//! The daemon's loop: waits for what happens, tells [`State`], and carries out what it says.
//!
//! Nothing polls: it sleeps until a beat is due, a file changes, a beat ends, or somebody asks. A tick is there
//! only where the system cannot tell of edits, or where the user wants one.
//!
//! How beats begin and end is in `serve/beating.rs`, how config.json is read and written in `serve/configuring.rs`, what becomes of those that wait for an answer in
//! `serve/brokering.rs`, what is learned of beats, hosts and agents in `serve/learning.rs`, what is asked of it in
//! `serve/wishes.rs`, how it ends in `serve/stopping.rs`.

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

/// What the daemon is told when it starts.
#[derive(Debug)]
pub struct Setup {
    /// Its data folder, whose lock it holds.
    pub dir: DataDir,
    /// The time zone of cron expressions that name none.
    pub time_zone: TimeZone,
    /// Look for edits this often as well.
    pub tick: Option<Duration>,
    /// Whether somebody else looks after this process. Only told to those who ask.
    pub foreground: bool,
    /// The user's login shell.
    pub shell: PathBuf,
    /// The PATH the daemon itself was started with.
    pub path: OsString,
    /// Whose agents it runs.
    pub user: User,
    /// Claude Code's own folder, where it is known.
    pub claude: Option<PathBuf>,
    /// The keys of providers of models in its environment.
    pub keys: BTreeMap<Provider, Secret>,
}

/// How long the login shell may take to say its PATH.
const LOGIN: Duration = Duration::from_secs(5);
/// How many wishes wait for the loop. With more, clients wait.
const WISHES: usize = 1;
/// How long clients have, when all is over, to take what they are still to get.
const FAREWELL: Duration = Duration::from_secs(2);

/// Why the daemon could not go on.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The system denies a timer.
    #[error("{0}")]
    Timer(#[from] io::Error),
    /// Its data folder is not there any more.
    #[error("{0}")]
    Lost(Lost),
}

/// Runs until `stop` resolves and every beat has ended, or until a client wants it to stop. `log` takes lines for
/// people.
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
    // Before the first question, so that an answer knows the beats and the hosts that run already.
    daemon.survey();
    daemon.survey_hosts();
    // Beats wait for the PATH, those that are asked for too; other questions do not.
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
    // Beats of an earlier daemon are to end, or to be left, even if this one has not begun.
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
    /// What of it is not there any more.
    lost: Option<Lost>,
    user: User,
    log: L,
    started: Timestamp,
    /// The PATH that agents are found and run with, once the login shell has said it.
    path: Option<PathBuf>,
    state: State,
    follow: Follow,
    upkeep: Upkeep,
    /// Tells that some process began or ended a beat, or wrote into the journal.
    beats: Option<Watch>,
    alarm: Alarm,
    ours: Beats,
    broker: Broker,
    hosts: Hosts,
    lookout: Lookout,
    events: Events,
    /// Whether the journal may have lines that are no events yet.
    unread: bool,
    /// That it is to stop, and what becomes of the beats.
    stopping: Option<client::Beats>,
    /// Whether more ran since the last sleep than waiting needs.
    stirred: bool,
    /// Whether it was said that lastRun cannot be set back.
    has_said_set_back: bool,
}

/// What can happen.
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
        // Before the broker looks into the journal, so that no line comes in between and is seen by neither.
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

    /// Makes up for whatever happened while no daemon ran. Agents are found and run with `path`.
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
        // What lines need is not taken from them.
        let begun = self.upkeep.begin();
        self.say(begun);
        let now = clock::now();
        self.expire();
        self.survey_hosts();
        // A host that was killed may have left nothing but its socket, which no survey sees.
        self.hosts.clean();
        let saved = last_runs::read(&self.dir, now);
        self.state.recall(saved.runs, now);
        // After what was saved, which may count a beat that was announced and has not begun.
        self.withdraw_announced();
        self.survey();
        // A beat that went on with an answer may have ended just now: its line first, then what is due.
        self.unread = true;
        // After the look at what runs: what was over by then has its line.
        let missed = last_runs::since(&self.dir, saved.as_of, &self.state).unwrap_or_default();
        self.state.recall(missed, now);
        self.correct(self.state.unwritten());
        self.lookout.look_if_due(clock::now());
        self.stirred = true;
    }

    /// Starts what is due, and takes what happens, until it is to stop.
    async fn work(
        &mut self,
        mut stop: Pin<&mut impl Future<Output = ()>>,
        wished: &mut mpsc::Receiver<Wish>,
    ) -> io::Result<()> {
        while self.stopping.is_none() {
            let is_lost = self.folder.look().is_some();
            if !is_lost && self.start_due() {
                // Clients are served by other tasks, which have no turn while there is always something to do here.
                tokio::task::yield_now().await;
            }
            let times = [self.state.wake_at(), self.broker.wake_at(), self.lookout.wake_at()];
            // What is unread is read first: an alarm that is always ready could keep it from that.
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
            // Clients take what there is before there is more.
            () = tokio::task::yield_now(), if self.unread => Event::Unread,
        })
    }

    fn take(&mut self, event: Event) {
        match event {
            // What is due is started after every event.
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
                // It may be config.json's mending that was waited for.
                if self.upkeep.problem().is_some() {
                    self.flush();
                }
                self.stirred = true;
            }
            Event::Edit(Edit::Tick) => {
                self.state.clock_set(clock::now());
                self.reload();
                self.look();
                // Where the system does not tell of it.
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
                // The folder may be another of its name.
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
            // Once the folder is gone, everything fails, and that it is gone is said.
            && !matches!(self.folder.look(), Some(Lost::Folder(_)))
        {
            (self.log)(&error);
        }
    }

    /// Why no agent can be started. Looked at anew each time: it may have been installed meanwhile.
    fn agent_problem(&self) -> Option<String> {
        let path = self.path.as_ref()?;
        find::find(find::CLAUDE, path.as_os_str()).err().map(|missing| missing.line())
    }
}
