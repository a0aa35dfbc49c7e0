//! Watches over agents: looks at them all when one may have turned stuck, and cleans up after those that are gone.
//!
//! Both are done in a thread of their own, whose result is an event of the loop: hosts that do not answer and folders
//! with a thousand pulses keep nobody waiting. What is decided on is in [`super::silence`] and [`super::gone`].
//!
//! The folder of pulses is watched all the same: a pulse that is old when it comes, as one that is brought from elsewhere, is
//! a reason to look sooner.

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

/// When a look is tried again that nobody could take.
const RETRY: SignedDuration = SignedDuration::from_mins(1);

/// Where to look.
#[derive(Debug, Clone)]
pub struct Watched {
    /// The data folder.
    pub dir: DataDir,
    /// Claude Code's own folder, where it is known.
    pub claude: Option<PathBuf>,
    /// config.toml, which says how long an agent may be quiet.
    pub settings: PathBuf,
}

/// Who looks, and when next.
#[derive(Debug)]
pub struct Lookout {
    watched: Watched,
    /// Silences that stand in the journal and last.
    told: Silences,
    look_at: Timestamp,
    clean_at: Timestamp,
    looking: Option<oneshot::Receiver<Seen>>,
    /// The agents whose requests are here.
    waiting: BTreeSet<String>,
    /// Tells of pulses that are written; `None` where the system cannot.
    pulses: Option<Watch>,
    /// How long one that is stuck has been quiet, as of the last look.
    stuck: SignedDuration,
    /// When one whose pulse came since the last look began may be stuck.
    sooner: Timestamp,
    /// The clock was set while somebody looked.
    is_stale: bool,
    /// What was wrong at the last look.
    troubles: Vec<String>,
    /// What was wrong at the last cleaning.
    uncleaned: Option<String>,
}

/// What happens to it.
#[derive(Debug)]
pub enum Happened {
    /// Somebody looked; `None` if it cannot be told what they saw.
    Seen(Option<Seen>),
    /// Pulses were written.
    Pulses(io::Result<Changes>),
}

/// What a look came to.
#[derive(Debug)]
pub struct Seen {
    stuck: SignedDuration,
    lines: Vec<Entry>,
    silences: Silences,
    next: Timestamp,
    cleaned: Option<Cleaned>,
    troubles: Vec<String>,
}

/// What is new.
#[derive(Debug, Default)]
pub struct News {
    /// The lines of agents that turned stuck and have none in the journal.
    pub lines: Vec<Entry>,
    /// What is wrong and was not before.
    pub troubles: Vec<String>,
}

impl Lookout {
    /// Nobody has looked yet: a look and a cleaning are due.
    #[must_use]
    pub fn new(watched: Watched) -> Self {
        let (told, due) = (Silences::new(), Timestamp::UNIX_EPOCH);
        let folder = watched.dir.pulses();
        // Only what is there can be watched.
        // The daemon says at its start that they deny every call.
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

    /// These agents wait for a person.
    pub fn wait(&mut self, agents: BTreeSet<String>) {
        self.waiting = agents;
    }

    /// When to call [`Self::look_if_due`]; `None` while somebody looks.
    #[must_use]
    pub fn wake_at(&self) -> Option<Timestamp> {
        self.looking.is_none().then_some(self.look_at.min(self.clean_at))
    }

    /// Looks, if that or a cleaning is due.
    pub fn look_if_due(&mut self, now: Timestamp) {
        if self.wake_at().is_some_and(|at| at <= now) {
            self.look(now);
        }
    }

    /// The clock was set: what was counted on may have come, or be far off.
    pub fn clock_set(&mut self, now: Timestamp) {
        self.is_stale = self.looking.is_some();
        if !self.is_stale {
            // What is left of agents is looked at as well: it may be as old as it has to be.
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
        // Until it is known better.
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

    /// Takes what happened and says what is new.
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

    /// Looks sooner, if one of the pulses that were written is older than those that nobody knew of could be.
    fn take_changes(&mut self, changes: &Changes, now: Timestamp) {
        let found = changes.paths.iter().filter_map(|path| folder::read(path));
        let untold = found.filter(|found| !self.told.contains(&silence::of_pulse(&found.pulse)));
        let turns = untold.filter_map(|found| found.pulse.at()?.checked_add(self.stuck).ok()).min();
        let turns = if changes.more { Some(now) } else { turns };
        let Some(turns) = turns else { return };
        // Others may be written at once.
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

/// From when on an agent is stuck, or why that is not known.
fn quiet(settings: &Path) -> Result<Quiet, String> {
    Settings::read(settings)
        .map(|settings| settings.quiet)
        .map_err(|error| format!("{}; until then the defaults hold", error.line()))
}

fn look(watched: Watched, known: &Silences, waiting: BTreeSet<String>, cleans: bool) -> Seen {
    let Watched { dir, claude, settings } = watched;
    let mut troubles = Vec::new();
    let quiet = quiet(&settings).unwrap_or_else(|trouble| {
        troubles.push(trouble);
        Quiet::default()
    });
    // First, so that nobody who is gone for good is taken for stuck.
    let cleaned = cleans.then(|| gone::clean(&dir, clock::now()));
    let now = clock::now();
    let sources = Sources { dir: dir.clone(), claude, quiet };
    troubles.extend(sources.sessions().err().map(|error| error.line()));
    let agents = agents(sources, waiting, now).unwrap_or_else(|error| {
        troubles.push(format!("cannot look after agents: {error}"));
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
            troubles.push(format!("what the journal has of stuck agents is not known: {error}"));
            // What the journal has of them is seen at the next look.
            let silences = silences.intersection(known).cloned().collect();
            Seen { lines: Vec::new(), silences, next, cleaned, troubles, stuck: stuck_after }
        }
    }
}

/// Every agent. Those of `waiting` wait for a person, and those of hosts that say so: their hooks may not have found this
/// daemon yet.
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

/// `lines` without those that the journal has, of a daemon before this one.
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
    async fn without_agents_nobody_looks_until_one_could_be_stuck() {
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
    async fn a_clock_that_is_set_is_a_reason_to_look_and_while_somebody_looks_to_look_again() {
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
    async fn what_is_wrong_is_said_once_and_the_defaults_hold() {
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
    async fn a_pulse_that_is_old_when_it_comes_is_a_reason_to_look() {
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
    async fn a_look_that_dies_is_taken_again_later_and_not_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let mut lookout = lookout(folder.path());
        let now = clock::now();
        lookout.look(now);
        lookout.take(Happened::Seen(None), now);
        assert_eq!(lookout.wake_at(), Some(now + RETRY));
    }
}
