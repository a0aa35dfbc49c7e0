//! The daemon's loop: waits for what happens, tells [`State`], and carries out what it says.
//!
//! Nothing polls: it sleeps until a beat is due, a file changes, a beat ends, or somebody asks. A tick is there
//! only where the system cannot tell of edits, or where the user wants one.

use super::follow::{Edit, Follow, changed};
use super::launch::{self, Said};
use super::places;
use super::recent;
use super::rpc::{self, Wish};
use super::state::{Running, Start, State};
use super::status::{self, Status};
use super::upkeep::{Chore, Upkeep};
use crate::agent::find;
use crate::beat::{self, Job};
use crate::journal::{append, unfinished};
use crate::sys::alarm::{Alarm, Woke};
use crate::sys::paths::DataDir;
use crate::sys::watch::Watch;
use crate::sys::{clock, memory, process};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use std::collections::HashMap;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::pin::{Pin, pin};
use std::time::Duration;
use tokio::net::UnixListener;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
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
    /// The user's login shell.
    pub shell: PathBuf,
    /// The PATH the daemon itself was started with.
    pub path: OsString,
}

/// How long beats may take to end when they are told to: their grace, and what it takes to end what is left of them.
const ENDING: Duration = Duration::from_secs(8);
/// How long the login shell may take to say its PATH.
const LOGIN: Duration = Duration::from_secs(5);

/// Runs until `stop` resolves and every beat has ended. `log` takes lines for people.
///
/// # Errors
/// What the system says when it denies a timer; everything else is logged and lived with.
pub async fn serve(
    setup: Setup,
    listener: UnixListener,
    stop: impl Future<Output = ()>,
    log: impl FnMut(&str),
) -> io::Result<()> {
    let (wishes, mut wished) = mpsc::channel::<Wish>(1);
    let talking = tokio::spawn(rpc::serve(listener, wishes));
    let mut stop = pin!(stop);
    let (shell, own) = (setup.shell.clone(), setup.path.clone());
    let mut daemon = Daemon::new(setup, log)?;
    daemon.reload();
    // Before the first question, so that an answer knows the beats that run already.
    daemon.survey();
    // Beats wait for the PATH; questions do not.
    let path = {
        let mut login = pin!(find::login_path(&shell, &own, LOGIN));
        loop {
            tokio::select! {
                path = &mut login => break Some(path),
                () = &mut stop => break None,
                Some(wish) = wished.recv() => daemon.grant(wish),
            }
        }
    };
    if let Some(path) = path {
        daemon.begin(path.into());
        daemon.work(stop, &mut wished).await?;
    }
    // Beats of an earlier daemon are to end even if this one has not begun.
    daemon.drain(&mut wished).await;
    talking.abort();
    Ok(())
}

struct Daemon<L> {
    dir: DataDir,
    log: L,
    started: Timestamp,
    /// The PATH that agents are found and run with, once the login shell has said it.
    path: Option<PathBuf>,
    state: State,
    follow: Follow,
    upkeep: Upkeep,
    /// Tells that some process began or ended a beat.
    beats: Option<Watch>,
    alarm: Alarm,
    ours: HashMap<String, Beat>,
    ending: JoinSet<(String, Result<Said, String>)>,
    /// Whether more ran since the last sleep than waiting needs.
    stirred: bool,
}

/// A beat of ours that runs.
struct Beat {
    job: Job,
    since: Timestamp,
    /// The heartbeat's last run before this.
    before: Option<Timestamp>,
    pid: Option<u32>,
}

/// What can happen.
enum Event {
    Alarm(Woke),
    Edit(Edit),
    Chore(Chore),
    BeatsChanged(io::Result<()>),
    Ended(String, Result<Said, String>),
}

impl<L: FnMut(&str)> Daemon<L> {
    fn new(setup: Setup, log: L) -> io::Result<Self> {
        let Setup { dir, time_zone, tick, .. } = setup;
        Ok(Self {
            log,
            started: clock::now(),
            path: None,
            state: State::default(),
            follow: Follow::new(dir.clone(), time_zone, tick),
            upkeep: Upkeep::new(dir.clone()),
            beats: Watch::new([&places::beats(&dir)]).ok(),
            alarm: Alarm::new()?,
            ours: HashMap::new(),
            ending: JoinSet::new(),
            stirred: false,
            dir,
        })
    }

    /// Makes up for whatever happened while no daemon ran. Agents are found and run with `path`.
    fn begin(&mut self, path: PathBuf) {
        self.path = Some(path);
        if let Some(missing) = self.agent_problem() {
            (self.log)(&format!("warning: {missing}"));
        }
        if let Err(error) = append::repair(&self.dir.journal()) {
            (self.log)(&format!("cannot repair the journal: {error}"));
        }
        let begun = self.upkeep.begin();
        self.say(begun);
        let recovered = self.upkeep.recover();
        self.say(recovered);
        let now = clock::now();
        let changed = std::fs::metadata(self.dir.config()).and_then(|found| found.modified());
        let changed = changed.ok().and_then(|at| Timestamp::try_from(at).ok()).unwrap_or(now);
        for entry in recent::missed_runs(&self.dir, changed).unwrap_or_default() {
            if let Some(at) = entry.started() {
                self.state.ran(entry.workspace.as_ref(), entry.heartbeat.as_deref(), at, now);
            }
        }
        self.survey();
        self.stirred = true;
    }

    /// Starts what is due, and takes what happens, until it is told to stop.
    async fn work(
        &mut self,
        mut stop: Pin<&mut impl Future<Output = ()>>,
        wished: &mut mpsc::Receiver<Wish>,
    ) -> io::Result<()> {
        loop {
            self.start_due();
            self.alarm.set(self.state.wake_at())?;
            if std::mem::take(&mut self.stirred) {
                memory::release_file_pages();
            }
            tokio::select! {
                () = &mut stop => return Ok(()),
                Some(wish) = wished.recv() => self.grant(wish),
                event = self.event() => self.take(event?),
            }
        }
    }

    async fn event(&mut self) -> io::Result<Event> {
        Ok(tokio::select! {
            Some(Ok((beat, said))) = self.ending.join_next() => Event::Ended(beat, said),
            woke = self.alarm.woke() => Event::Alarm(woke?),
            edit = self.follow.edit() => Event::Edit(edit),
            chore = self.upkeep.chore() => Event::Chore(chore),
            changed = changed(&mut self.beats) => Event::BeatsChanged(changed),
        })
    }

    fn take(&mut self, event: Event) {
        match event {
            // What is due is started after every event.
            Event::Alarm(Woke::Due) => {}
            Event::Alarm(Woke::ClockSet) => self.state.clock_set(clock::now()),
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
                self.survey();
            }
            Event::Chore(Chore::Flush) => self.flush(),
            Event::Chore(Chore::Retry) => {
                let retried = self.upkeep.retry();
                self.say(retried);
            }
            Event::BeatsChanged(Ok(())) => self.survey(),
            Event::BeatsChanged(Err(_)) => self.beats = None,
            Event::Ended(beat, said) => self.ended(&beat, said),
        }
    }

    fn reload(&mut self) {
        for problem in self.follow.reload(&mut self.state) {
            (self.log)(&problem);
        }
    }

    fn start_due(&mut self) {
        let now = clock::now();
        for start in self.state.start_due(now, || beat::new_id(now)) {
            self.start(start);
        }
    }

    fn start(&mut self, start: Start) {
        let Start { running, heartbeat, before } = start;
        self.upkeep.remember(running.workspace.clone(), running.name.clone(), running.since);
        let path = self.path.clone().unwrap_or_default();
        let job = Job { scheduled: true, ..Job::new(&heartbeat, running.beat.clone(), path) };
        match launch::start(self.dir.root()) {
            Ok(child) => {
                let beat = Beat { job: job.clone(), since: running.since, before, pid: child.id() };
                self.ours.insert(running.beat.clone(), beat);
                self.ending.spawn(async move { (running.beat, launch::attend(child, job).await) });
            }
            Err(error) => {
                // There is no process that could write this beat's line.
                self.state.ended(&running.beat);
                let error = format!("cannot start a process for the beat: {error}");
                if let Ok(line) = job.failed(running.since, error).line() {
                    let kept = self.upkeep.keep(line);
                    self.say(kept);
                }
            }
        }
    }

    /// A beat of ours is over, one way or another.
    fn ended(&mut self, beat: &str, said: Result<Said, String>) {
        let Some(Beat { job, since, before, .. }) = self.ours.remove(beat) else { return };
        let result = match said {
            Ok(Said::Busy) => {
                if let Some(running) = self.state.found_busy(beat, before, clock::now()) {
                    self.upkeep.forget(running.workspace, running.name);
                }
                self.survey();
                return;
            }
            Ok(Said::Journalled) => Ok(()),
            Ok(Said::Homeless { line }) => self.upkeep.keep(line),
            Ok(Said::Waiting) => self.upkeep.recover(),
            Err(error) => self.upkeep.recover_or_write(&job.failed(since, error)),
        };
        self.state.ended(beat);
        self.say(result);
    }

    /// Looks who else runs a beat, and whether somebody died over one.
    fn survey(&mut self) {
        let Ok(survey) = unfinished::survey(&self.dir.beats()) else { return };
        let now = clock::now();
        let others = survey.running.iter().filter(|begun| !self.ours.contains_key(&begun.entry.beat));
        let others: Vec<Running> = others.filter_map(Running::by_others).collect();
        for other in &others {
            self.state.ran(&other.workspace, other.name.as_deref(), other.since, now);
        }
        self.state.others(others);
        if survey.dead.iter().any(|(_, begun)| !begun.over) {
            let recovered = self.upkeep.recover();
            self.say(recovered);
        }
    }

    /// Writes the last runs to config.json.
    fn flush(&mut self) {
        match self.upkeep.flush() {
            Ok(runs) => {
                for ((workspace, name), at) in runs {
                    self.state.written(&workspace, name.as_deref(), at);
                }
            }
            Err(error) => (self.log)(&error),
        }
    }

    fn say(&mut self, result: Result<(), String>) {
        if let Err(error) = result {
            (self.log)(&error);
        }
    }

    /// Why no agent can be started. Looked at anew each time: it may have been installed meanwhile.
    fn agent_problem(&self) -> Option<String> {
        let path = self.path.as_ref()?;
        find::find(find::CLAUDE, path.as_os_str()).err().map(|missing| missing.to_string())
    }

    fn grant(&self, wish: Wish) {
        let now = clock::now();
        let mut problems = self.follow.problems().to_vec();
        problems.extend(self.agent_problem());
        problems.extend(self.upkeep.problem().map(str::to_owned));
        let _gone = wish.send(Status {
            daemon: Some(status::Daemon {
                pid: std::process::id(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
                started_at: clock::rfc3339(self.started),
                uptime_seconds: now.duration_since(self.started).as_secs(),
                edits: self.follow.means().to_owned(),
            }),
            problems,
            waiting_lines: self.upkeep.waiting_lines(),
            heartbeats: status::heartbeats(&self.state, now),
        });
    }

    /// No more beats; those that daemons have started are told to end, and have their grace.
    async fn drain(&mut self, wished: &mut mpsc::Receiver<Wish>) {
        self.state.stop();
        let survey = unfinished::survey(&self.dir.beats()).unwrap_or_default();
        let adopted = survey.running.iter().filter(|begun| begun.scheduled);
        for pid in self.ours.values().filter_map(|beat| beat.pid).chain(adopted.map(|begun| begun.pid)) {
            process::signal(pid, process::Signal::TERM);
        }
        if timeout(ENDING, self.until_ours_are_over(wished)).await.is_err() {
            // Those do not do what they were told, for example because they are stopped: their agents die with them.
            for pid in self.ours.values().filter_map(|beat| beat.pid) {
                process::signal(pid, process::Signal::KILL);
            }
            self.until_ours_are_over(wished).await;
        }
        let _some_go_on = timeout(ENDING, self.until_adopted_are_over()).await;
        self.flush();
        let retried = self.upkeep.retry();
        self.say(retried);
    }

    async fn until_ours_are_over(&mut self, wished: &mut mpsc::Receiver<Wish>) {
        while !self.ours.is_empty() {
            tokio::select! {
                Some(ended) = self.ending.join_next() => match ended {
                    Ok((beat, said)) => self.ended(&beat, said),
                    Err(_) => return,
                },
                Some(wish) = wished.recv() => self.grant(wish),
                else => return,
            }
        }
    }

    /// Waits for the beats of daemons before this one.
    async fn until_adopted_are_over(&mut self) {
        let adopted = |survey: unfinished::Survey| survey.running.iter().any(|begun| begun.scheduled);
        while unfinished::survey(&self.dir.beats()).is_ok_and(adopted) {
            if changed(&mut self.beats).await.is_err() {
                return;
            }
        }
    }
}
