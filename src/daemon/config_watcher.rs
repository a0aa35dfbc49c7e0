//! Watches the configuration and reloads it; an invalid one leaves the last good one in effect.

use super::heartbeats::Accounts;
use super::state::Configuration;
use super::write_behind::at;
use super::{approved, watch_paths};
use jiff::tz::TimeZone;
use murmur_core::config::heartbeat::{Cache, Heartbeat};
use murmur_core::config::problem::Problem;
use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::time::Duration;
use sys::clock;
use sys::error::Hinted;
use sys::paths::DataDir;
use sys::replace;
use sys::watch::Watch;
use tokio::time::{Instant, Interval, interval_at};

/// How often to check for edits where files cannot be watched.
const TICK: Duration = Duration::from_secs(10);
/// How long to wait after an edit: editors write in several steps.
const SETTLE: Duration = Duration::from_millis(50);
/// How many times in a row to reread an invalid file that is open for writing before reporting it.
const MAX_BUSY: u32 = 20;

/// The effect of an invalid configuration where none was read before.
pub const NOTHING_RUNS: &str = "nothing runs until then";

/// Watches and reloads the configuration.
#[derive(Debug)]
pub struct ConfigWatcher {
    dir: DataDir,
    /// config.toml, which the notifier reads.
    settings: PathBuf,
    cache: Cache,
    has_loaded: bool,
    problems: Vec<String>,
    watch: Option<Watch>,
    /// The tick that the user asked for.
    wanted_tick: Option<Duration>,
    tick: Option<Interval>,
    reload_at: Option<Instant>,
    /// How many times in a row config.json was being written.
    busy_count: u32,
}

/// A reason to act.
#[derive(Debug)]
pub enum ConfigEvent {
    /// Something changed; call [`ConfigWatcher::schedule_reload`].
    Changed(io::Result<()>),
    /// It is time to reload.
    Settled,
    /// It is time to check for edits and the clock.
    Tick,
}

/// The message about a last run in the future while a daemon runs.
#[must_use]
pub fn ahead_message(ahead: &Problem) -> String {
    format!("{ahead}; the daemon corrects it within a minute")
}

impl ConfigWatcher {
    /// Reads nothing yet. `tick` is how often the user wants to check for edits.
    #[must_use]
    pub fn new(dir: DataDir, settings: PathBuf, time_zone: TimeZone, tick: Option<Duration>) -> Self {
        let cache = Cache::new(time_zone);
        Self {
            dir,
            settings,
            cache,
            has_loaded: false,
            problems: Vec::new(),
            watch: None,
            wanted_tick: tick,
            tick: None,
            reload_at: None,
            busy_count: 0,
        }
    }

    /// Waits for an edit.
    pub async fn next_event(&mut self) -> ConfigEvent {
        tokio::select! {
            changed = changed(&mut self.watch) => ConfigEvent::Changed(changed),
            () = at(self.reload_at) => ConfigEvent::Settled,
            () = ticked(&mut self.tick) => ConfigEvent::Tick,
        }
    }

    /// Schedules a reload after an edit, or after the watch failed.
    pub fn schedule_reload(&mut self, changed: &io::Result<()>) {
        if changed.is_err() {
            self.watch = None;
        }
        self.reload_at.get_or_insert_with(|| Instant::now() + SETTLE);
    }

    /// Reads the configuration. Returns the new problems, and the configuration if it is valid.
    pub fn reload(&mut self) -> (Vec<String>, Option<Configuration>) {
        self.reload_at = None;
        let now = clock::now();
        let before = std::mem::take(&mut self.busy_count);
        // Reported once: later they are errors of the beats.
        let mut first = Vec::new();
        let (problems, configuration) = match self.cache.load(&self.dir.config(), now) {
            Ok(mut loaded) => {
                approved::mark(&self.dir, &mut loaded.heartbeats, now);
                if !std::mem::replace(&mut self.has_loaded, true) {
                    first = loaded.heartbeat_problem_lines();
                }
                self.watch(&loaded.heartbeats);
                let problems = loaded.problem_lines(ahead_message);
                let (heartbeats, max_concurrent) = (loaded.heartbeats, loaded.max_concurrent);
                (
                    problems,
                    Some(Configuration {
                        heartbeats,
                        max_concurrent,
                        accounts: Accounts::default(),
                        over_budget: HashMap::new(),
                    }),
                )
            }
            Err(_) if before < MAX_BUSY && replace::is_being_written(&self.dir.config()) => {
                self.busy_count = before + 1;
                self.schedule_reload(&Ok(()));
                return (Vec::new(), None);
            }
            Err(error) => {
                if self.watch.is_none() {
                    self.watch(&[]);
                }
                let meanwhile = match self.has_loaded {
                    true => "until then the last good configuration is used",
                    false => NOTHING_RUNS,
                };
                (vec![format!("{}; {meanwhile}", error.line())], None)
            }
        };
        let new = problems.iter().filter(|problem| !self.problems.contains(problem)).cloned();
        let new = new.chain(first).collect();
        self.problems = problems;
        (new, configuration)
    }

    /// Watches everything that defines `heartbeats`, or ticks where that is not possible. Paths are added again each time, as
    /// they may have been created or replaced; new ones cause a reload.
    fn watch(&mut self, heartbeats: &[Heartbeat]) {
        let places = watch_paths::edits(&self.dir, &self.settings, heartbeats);
        let added = match &mut self.watch {
            Some(watch) => watch.add(places),
            // The files may have changed between being read and being watched.
            None => Watch::new(places).map(|watch| {
                self.watch = Some(watch);
                true
            }),
        };
        match added {
            Ok(true) => self.schedule_reload(&Ok(())),
            Ok(false) => {}
            Err(_) => self.watch = None,
        }
        let every = self.wanted_tick.or_else(|| self.watch.is_none().then_some(TICK));
        if self.tick.as_ref().map(Interval::period) != every {
            self.tick = every.map(|every| interval_at(Instant::now() + every, every));
        }
    }

    /// The current problems.
    #[must_use]
    pub fn problems(&self) -> &[String] {
        &self.problems
    }

    /// How edits are noticed: `watch` or `tick`.
    #[must_use]
    pub fn method(&self) -> &'static str {
        if self.watch.is_some() { "watch" } else { "tick" }
    }
}

/// Waits until something watched has changed; forever if nothing is watched.
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
    async fn changes_before_the_watch_are_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let dir = DataDir::find(Some(folder.path()), None, None).unwrap();
        std::fs::write(dir.config(), "{}").unwrap();
        let mut watcher = ConfigWatcher::new(dir, PathBuf::new(), TimeZone::UTC, None);
        assert!(watcher.reload().0.is_empty());
        // Nothing was touched, but there is exactly one more reload.
        assert!(matches!(watcher.next_event().await, ConfigEvent::Settled));
        watcher.reload();
        assert!(watcher.reload_at.is_none());
    }
}
