//! The configuration as it is now: read when something in it has changed, the last good one kept where it is broken.

use super::state::{Correction, State};
use super::upkeep::at;
use super::{approved, places};
use crate::config::heartbeat::{Cache, Heartbeat};
use crate::config::problem::Problem;
use jiff::tz::TimeZone;
use std::io;
use std::time::Duration;
use sys::clock;
use sys::error::Hinted;
use sys::paths::DataDir;
use sys::replace;
use sys::watch::Watch;
use tokio::time::{Instant, Interval, interval_at};

/// How often edits are looked for where the system cannot tell of them.
const TICK: Duration = Duration::from_secs(10);
/// How long after an edit the configuration is read: editors write in several steps.
const SETTLE: Duration = Duration::from_millis(50);
/// How often in a row a file that is wrong and open for writing is read again before it is complained of.
const PATIENCE: u32 = 20;

/// What it means that a configuration is of no use where no other was read before.
pub const NOTHING_RUNS: &str = "nothing runs until then";

/// What is read and what is watched.
#[derive(Debug)]
pub struct Follow {
    dir: DataDir,
    cache: Cache,
    has_loaded: bool,
    problems: Vec<String>,
    watch: Option<Watch>,
    /// What the user wants.
    wanted_tick: Option<Duration>,
    tick: Option<Interval>,
    reload_at: Option<Instant>,
    /// How often in a row config.json was found half written.
    met: u32,
}

/// What there may be to do.
#[derive(Debug)]
pub enum Edit {
    /// Something changed; it is read soon.
    Noticed(io::Result<()>),
    /// It is time to read it.
    Settled,
    /// It is time to look for edits, and at the clock.
    Tick,
}

/// What is said of a last run in the future where a daemon runs.
#[must_use]
pub fn corrected(ahead: &Problem) -> String {
    format!("{ahead}; the daemon corrects it within a minute")
}

impl Follow {
    /// Nothing is read yet. `tick` is how often the user wants edits to be looked for.
    #[must_use]
    pub fn new(dir: DataDir, time_zone: TimeZone, tick: Option<Duration>) -> Self {
        let cache = Cache::new(time_zone);
        Self {
            dir,
            cache,
            has_loaded: false,
            problems: Vec::new(),
            watch: None,
            wanted_tick: tick,
            tick: None,
            reload_at: None,
            met: 0,
        }
    }

    /// Waits for an edit.
    pub async fn edit(&mut self) -> Edit {
        tokio::select! {
            changed = changed(&mut self.watch) => Edit::Noticed(changed),
            () = at(self.reload_at) => Edit::Settled,
            () = ticked(&mut self.tick) => Edit::Tick,
        }
    }

    /// An edit was noticed, or the watch broke: reads soon.
    pub fn soon(&mut self, noticed: &io::Result<()>) {
        if noticed.is_err() {
            self.watch = None;
        }
        self.reload_at.get_or_insert_with(|| Instant::now() + SETTLE);
    }

    /// Reads the configuration into `state`, and returns the problems that are new, and the last runs that are wrong in it.
    pub fn reload(&mut self, state: &mut State) -> (Vec<String>, Vec<Correction>) {
        self.reload_at = None;
        let mut corrections = Vec::new();
        let now = clock::now();
        let before = std::mem::take(&mut self.met);
        // Said once: later it is a beat's error.
        let mut first = Vec::new();
        let problems = match self.cache.load(&self.dir.config(), now) {
            Ok(mut loaded) => {
                approved::mark(&self.dir, &mut loaded.heartbeats, now);
                if !std::mem::replace(&mut self.has_loaded, true) {
                    first = loaded.heartbeat_problem_lines();
                }
                let problems = loaded.problem_lines(corrected);
                self.watch(&loaded.heartbeats);
                corrections = state.load(loaded.heartbeats, loaded.max_concurrent, now);
                problems
            }
            Err(_) if before < PATIENCE && replace::is_being_written(&self.dir.config()) => {
                self.met = before + 1;
                self.soon(&Ok(()));
                return (Vec::new(), corrections);
            }
            Err(error) => {
                if self.watch.is_none() {
                    self.watch(&[]);
                }
                let meanwhile = match self.has_loaded {
                    true => "until then the last good configuration counts",
                    false => NOTHING_RUNS,
                };
                vec![format!("{}; {meanwhile}", error.line())]
            }
        };
        let new = problems.iter().filter(|problem| !self.problems.contains(problem)).cloned();
        let new = new.chain(first).collect();
        self.problems = problems;
        (new, corrections)
    }

    /// Watches where edits of `heartbeats` show, or ticks where the system cannot. Each time anew: one that was not there may be there now, and
    /// a folder may be another of its name. What changed in a new place before it was watched is read soon.
    fn watch(&mut self, heartbeats: &[Heartbeat]) {
        let places = places::edits(&self.dir, heartbeats);
        let added = match &mut self.watch {
            Some(watch) => watch.add(places),
            // What was read before anything was watched may have changed since.
            None => Watch::new(places).map(|watch| {
                self.watch = Some(watch);
                true
            }),
        };
        match added {
            Ok(true) => self.soon(&Ok(())),
            Ok(false) => {}
            Err(_) => self.watch = None,
        }
        let every = self.wanted_tick.or_else(|| self.watch.is_none().then_some(TICK));
        if self.tick.as_ref().map(Interval::period) != every {
            self.tick = every.map(|every| interval_at(Instant::now() + every, every));
        }
    }

    /// What is wrong now, with more or less than a heartbeat.
    #[must_use]
    pub fn problems(&self) -> &[String] {
        &self.problems
    }

    /// How edits are noticed, for people.
    #[must_use]
    pub fn means(&self) -> &'static str {
        if self.watch.is_some() { "watch" } else { "tick" }
    }
}

/// Waits until something that is watched has changed; for ever, if nothing is.
pub async fn changed(watch: &mut Option<Watch>) -> io::Result<()> {
    match watch {
        Some(watch) => watch.changed().await,
        None => std::future::pending().await,
    }
}

async fn ticked(tick: &mut Option<Interval>) {
    match tick {
        Some(tick) => {
            tick.tick().await;
        }
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(flavor = "current_thread")]
    async fn what_changed_before_the_watch_was_there_is_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let dir = DataDir::find(Some(folder.path()), None, None).unwrap();
        std::fs::write(dir.config(), "{}").unwrap();
        let mut follow = Follow::new(dir, TimeZone::UTC, None);
        let mut state = State::default();
        assert_eq!(follow.reload(&mut state), (Vec::new(), Vec::new()));
        // Nobody has touched anything that is watched, and yet there is another look; and after it none.
        assert!(matches!(follow.edit().await, Edit::Settled));
        follow.reload(&mut state);
        assert!(follow.reload_at.is_none());
    }
}
