//! The stuck monitor: scans all agents when one may be stuck, and runs garbage collection.
//!
//! Both run in a thread whose result is an event for the loop, so that hosts that do not answer and folders with a
//! thousand pulses do not block it. The decisions are in [`super::silence`] and [`super::gone`].
//!
//! The folder of pulses is watched too: a new pulse that is already old is a reason to scan sooner.

use super::gone::{self, Cleaned};
use super::silence::{self, Silences};
use crate::config::quiet::Quiet;
use crate::config::settings::Settings;
use crate::host::discover;
use crate::journal::entry::Entry;
use crate::journal::read::{Backward, Entries};
use crate::pulse::folder;
use crate::pulse::health::Health;
use crate::roster::{self, Agent, Sources};
use jiff::{SignedDuration, Timestamp};
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use sys::error::Hinted;
use sys::paths::DataDir;
use sys::watch::{Changes, Place, Watch};
use sys::{atomic, clock};
use tokio::sync::oneshot;

/// When to retry a failed scan.
const RETRY: SignedDuration = SignedDuration::from_mins(1);

/// What to scan.
#[derive(Debug, Clone)]
pub struct Watched {
    /// The data folder.
    pub dir: DataDir,
    /// Claude Code's folder, if known.
    pub claude: Option<PathBuf>,
    /// config.toml, which sets how long an agent may be quiet.
    pub settings: PathBuf,
}

/// The stuck monitor.
#[derive(Debug)]
pub struct Lookout {
    watched: Watched,
    /// Stuck agents that the journal already reports.
    told: Silences,
    look_at: Timestamp,
    clean_at: Timestamp,
    looking: Option<oneshot::Receiver<Seen>>,
    /// The agents with open requests.
    waiting: BTreeSet<String>,
    /// Watches for written pulses; `None` where that is not possible.
    pulses: Option<Watch>,
    /// How long an agent must be quiet to be stuck, as of the last scan.
    stuck: SignedDuration,
    /// When an agent may be stuck whose pulse was written since the last scan started.
    sooner: Timestamp,
    /// The clock was set during a scan.
    is_stale: bool,
    /// The problems of the last scan.
    troubles: Vec<String>,
    /// The problem of the last garbage collection.
    uncleaned: Option<String>,
}

/// A reason to act.
#[derive(Debug)]
pub enum Happened {
    /// A scan finished; `None` if it died.
    Seen(Option<Seen>),
    /// Pulses were written.
    Pulses(io::Result<Changes>),
}

/// The result of a scan.
#[derive(Debug)]
pub struct Seen {
    stuck: SignedDuration,
    lines: Vec<Entry>,
    silences: Silences,
    next: Timestamp,
    cleaned: Option<Cleaned>,
    troubles: Vec<String>,
}

/// What to log and write to the journal.
#[derive(Debug, Default)]
pub struct News {
    /// The lines of stuck agents that have none in the journal.
    pub lines: Vec<Entry>,
    /// New problems.
    pub troubles: Vec<String>,
}

impl Lookout {
    /// A scan and a garbage collection are due.
    #[must_use]
    pub fn new(watched: Watched) -> Self {
        let (told, due) = (Silences::new(), Timestamp::UNIX_EPOCH);
        let folder = watched.dir.pulses();
        // An invalid config.toml is reported at the daemon's start.
        let troubles = quiet(&watched.settings).err().into_iter().collect();
        let is_there = atomic::create_private_subfolder(&folder).is_ok();
        let pulses = is_there.then(|| Watch::new([Place::new(&folder, &[])]).ok()).flatten();
        Self {
            watched,
            pulses,
            stuck: Quiet::default().stuck.signed(),
            sooner: Timestamp::MAX,
            told,
            look_at: due,
            clean_at: due,
            looking: None,
            waiting: BTreeSet::new(),
            is_stale: false,
            troubles,
            uncleaned: None,
        }
    }

    /// Sets the agents that wait for a person.
    pub fn wait(&mut self, agents: BTreeSet<String>) {
        self.waiting = agents;
    }

    /// When to call [`Self::look_if_due`]; `None` during a scan.
    #[must_use]
    pub fn wake_at(&self) -> Option<Timestamp> {
        self.looking.is_none().then_some(self.look_at.min(self.clean_at))
    }

    /// Starts a scan if it or a garbage collection is due.
    pub fn look_if_due(&mut self, now: Timestamp) {
        if self.wake_at().is_some_and(|at| at <= now) {
            self.look(now);
        }
    }

    /// The clock was set: scans now, since any planned time may be wrong.
    pub fn clock_set(&mut self, now: Timestamp) {
        self.is_stale = self.looking.is_some();
        if !self.is_stale {
            // Leftovers may be old enough now.
            self.clean_at = now;
            self.look(now);
        }
    }

    fn look(&mut self, now: Timestamp) {
        let (tell, told) = oneshot::channel();
        let (watched, known, cleans) = (self.watched.clone(), self.told.clone(), self.clean_at <= now);
        let waiting = self.waiting.clone();
        let look = move || {
            let _daemon_gone = tell.send(look(watched, &known, waiting, cleans));
        };
        let started = std::thread::Builder::new().name("look".to_owned()).spawn(look);
        self.looking = started.is_ok().then_some(told);
        self.sooner = Timestamp::MAX;
        // In case the scan fails.
        self.look_at = now.checked_add(RETRY).unwrap_or(Timestamp::MAX);
        self.clean_at = self.clean_at.max(self.look_at);
    }

    /// Waits until something happens.
    pub async fn happened(&mut self) -> Happened {
        let seen = async {
            match &mut self.looking {
                Some(looking) => looking.await.ok(),
                None => std::future::pending().await,
            }
        };
        let changes = async {
            match &mut self.pulses {
                Some(pulses) => pulses.changes().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            seen = seen => Happened::Seen(seen),
            changes = changes => Happened::Pulses(changes),
        }
    }

    /// Handles an event and returns what is new.
    pub fn take(&mut self, happened: Happened, now: Timestamp) -> News {
        match happened {
            Happened::Seen(seen) => self.take_seen(seen, now),
            Happened::Pulses(Ok(changes)) => {
                self.take_changes(&changes, now);
                News::default()
            }
            Happened::Pulses(Err(_)) => {
                self.pulses = None;
                News::default()
            }
        }
    }

    /// Scans sooner if a written pulse is older than the next scan assumes.
    fn take_changes(&mut self, changes: &Changes, now: Timestamp) {
        let found = changes.paths.iter().filter_map(|path| folder::read(path));
        let untold = found.filter(|found| !self.told.contains(&silence::of_pulse(&found.pulse)));
        let turns = untold.filter_map(|found| found.pulse.at()?.checked_add(self.stuck).ok()).min();
        let turns = if changes.more { Some(now) } else { turns };
        let Some(turns) = turns else { return };
        // More may be written right after.
        self.sooner = self.sooner.min(turns.max(now.checked_add(silence::PAUSE).unwrap_or(now)));
        self.look_at = self.look_at.min(self.sooner);
    }

    fn take_seen(&mut self, seen: Option<Seen>, now: Timestamp) -> News {
        self.looking = None;
        let mut news = News::default();
        if let Some(Seen { lines, silences, next, cleaned, troubles, stuck }) = seen {
            (self.told, self.look_at, self.stuck) = (silences, next.min(self.sooner), stuck);
            news.lines = lines;
            let new = troubles.iter().filter(|trouble| !self.troubles.contains(trouble));
            news.troubles.extend(new.cloned());
            self.troubles = troubles;
            if let Some(Cleaned { next, trouble }) = cleaned {
                self.clean_at = next;
                let trouble = trouble.map(|error| error.line());
                news.troubles.extend(trouble.clone().filter(|_| trouble != self.uncleaned));
                self.uncleaned = trouble;
            }
        }
        if std::mem::take(&mut self.is_stale) {
            self.clock_set(now);
        }
        news
    }
}

/// How long an agent may be quiet, or why that is unknown.
fn quiet(settings: &Path) -> Result<Quiet, String> {
    Settings::read(settings)
        .map(|settings| settings.quiet)
        .map_err(|error| format!("{}; until then the defaults apply", error.line()))
}

fn look(watched: Watched, known: &Silences, waiting: BTreeSet<String>, cleans: bool) -> Seen {
    let Watched { dir, claude, settings } = watched;
    let mut troubles = Vec::new();
    let quiet = quiet(&settings).unwrap_or_else(|trouble| {
        troubles.push(trouble);
        Quiet::default()
    });
    // First, so that ended agents are not reported as stuck.
    let cleaned = cleans.then(|| gone::clean(&dir, clock::now()));
    let now = clock::now();
    let sources = Sources { dir: dir.clone(), claude, quiet };
    troubles.extend(sources.sessions().err().map(|error| error.line()));
    let agents = agents(sources, waiting, now).unwrap_or_else(|error| {
        troubles.push(format!("cannot check for stuck agents: {error}"));
        Vec::new()
    });
    let stuck_after = quiet.stuck.signed();
    let next = silence::next_look(&agents, stuck_after, now);
    let stuck = silence::lines(&agents, now);
    let silences: Silences = stuck.iter().filter_map(silence::of_line).collect();
    let is_new = |line: &Entry| silence::of_line(line).is_some_and(|silence| !known.contains(&silence));
    let lines: Vec<Entry> = stuck.into_iter().filter(is_new).collect();
    match without_told(lines, &dir) {
        Ok(lines) => Seen { lines, silences, next, cleaned, troubles, stuck: stuck_after },
        Err(error) => {
            troubles.push(format!("cannot read the journal's lines about stuck agents: {error}"));
            // The next scan checks the journal again.
            let silences = silences.intersection(known).cloned().collect();
            Seen { lines: Vec::new(), silences, next, cleaned, troubles, stuck: stuck_after }
        }
    }
}

/// Returns every agent. Those in `waiting` wait for a person, as do those whose hosts say so: their hooks may not have
/// reached this daemon yet.
fn agents(sources: Sources, mut waiting: BTreeSet<String>, now: Timestamp) -> io::Result<Vec<Agent>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut agents = runtime.block_on(roster::all(&sources, now))?;
    let hosts = sources.dir.hosts();
    let requests = discover::requests(&hosts, discover::LONG_PATIENCE);
    let calls = runtime.block_on(requests).into_iter().filter_map(|wait| wait.call);
    waiting.extend(calls.map(|call| call.agent));
    for agent in agents.iter_mut().filter(|agent| waiting.contains(&agent.agent_id)) {
        agent.health = Health::Waiting;
    }
    Ok(agents)
}

/// Returns `lines` without those that an earlier daemon wrote to the journal.
fn without_told(mut lines: Vec<Entry>, dir: &DataDir) -> io::Result<Vec<Entry>> {
    let Some(since) = lines.iter().filter_map(Entry::started).min() else { return Ok(lines) };
    let mut entries = Entries::new(Backward::open(&dir.journal())?, Some(since));
    while !lines.is_empty()
        && let Some((found, _)) = entries.next_entry(|_| true)?
    {
        lines.retain(|line| !line.is_same(&found));
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lookout(folder: &Path) -> Lookout {
        let dir = DataDir::find(Some(folder), None, None).unwrap();
        Lookout::new(Watched { settings: dir.root().join("config/config.toml"), dir, claude: None })
    }

    #[tokio::test(flavor = "current_thread")]
    async fn without_agents_the_next_scan_is_when_one_could_be_stuck() {
        let folder = tempfile::tempdir().unwrap();
        let mut lookout = lookout(folder.path());
        let begun = clock::now();
        assert!(lookout.wake_at().unwrap() <= begun);
        lookout.look_if_due(begun);
        assert_eq!(lookout.wake_at(), None);
        let seen = lookout.happened().await;
        let news = lookout.take(seen, clock::now());
        assert!(news.lines.is_empty() && news.troubles.is_empty(), "{news:?}");
        let next = lookout.wake_at().unwrap().duration_since(begun);
        assert!(next >= SignedDuration::from_mins(30), "{next}");
        lookout.look_if_due(clock::now());
        assert!(lookout.looking.is_none());
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_changed_clock_starts_a_scan_and_another_after_a_running_one() {
        let folder = tempfile::tempdir().unwrap();
        let mut lookout = lookout(folder.path());
        lookout.clock_set(clock::now());
        lookout.clock_set(clock::now());
        let seen = lookout.happened().await;
        lookout.take(seen, clock::now());
        assert!(lookout.looking.is_some());
        let seen = lookout.happened().await;
        lookout.take(seen, clock::now());
        assert!(lookout.looking.is_none());
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_problem_is_reported_once_and_the_defaults_apply() {
        let folder = tempfile::tempdir().unwrap();
        let mut lookout = lookout(folder.path());
        std::fs::create_dir(folder.path().join("config")).unwrap();
        std::fs::write(folder.path().join("config/config.toml"), "[quiet]\nstuck = \"soon\"\n").unwrap();
        let mut said = Vec::new();
        for _ in 0..3 {
            lookout.clock_set(clock::now());
            let seen = lookout.happened().await;
            said.push(lookout.take(seen, clock::now()).troubles.len());
            assert!(lookout.look_at.duration_since(clock::now()) > SignedDuration::from_mins(29));
        }
        assert_eq!(said, [1, 0, 0]);
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_new_pulse_that_is_already_old_is_a_reason_to_scan() {
        let folder = tempfile::tempdir().unwrap();
        let mut lookout = lookout(folder.path());
        lookout.look_if_due(clock::now());
        let seen = lookout.happened().await;
        lookout.take(seen, clock::now());
        let now = clock::now();
        let dir = lookout.watched.dir.clone();
        let pulse = |name: &str, at: Timestamp| {
            let text = format!(r#"{{"timestamp":"{at}","agent_id":"{name}"}}"#);
            atomic::write(&dir.pulse(name), text.as_bytes()).unwrap();
        };
        pulse("new", now);
        pulse("old", now - SignedDuration::from_mins(29));
        while lookout.look_at > now + SignedDuration::from_mins(2) {
            let happened = lookout.happened().await;
            lookout.take(happened, now);
        }
        assert_eq!(lookout.look_at, now + SignedDuration::from_mins(1));
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_failed_scan_is_retried_later_and_not_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let mut lookout = lookout(folder.path());
        let now = clock::now();
        lookout.look(now);
        lookout.take(Happened::Seen(None), now);
        assert_eq!(lookout.wake_at(), Some(now + RETRY));
    }
}
