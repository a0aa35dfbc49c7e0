//! Watches the configuration and reloads it; an invalid one leaves the last good one in effect.

use super::heartbeats::{Accounts, HeartbeatRef};
use super::pending_runs::Runs;
use super::state::Configuration;
use super::{approved, watch_paths};
use jiff::tz::TimeZone;
use murmur_core::config::heartbeat::{Cache, FILE, FOLDER, Heartbeat};
use murmur_core::config::problem::Problem;
use murmur_core::config::settings::Settings;
use std::collections::{BTreeSet, HashMap};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use sys::clock;
use sys::paths::DataDir;
use sys::pause::wait_until;
use sys::replace::{self, Replaced};
use sys::watch::{Changes, Watch};
use tokio::time::{Instant, Interval, interval_at};

/// How often to check for edits where files cannot be watched.
const TICK: Duration = Duration::from_secs(10);
/// How long to wait after an edit: editors write in several steps.
const SETTLE: Duration = Duration::from_millis(50);
/// How many times in a row to reread an invalid file that is open for writing before reporting it.
const MAX_BUSY: u32 = 20;

/// The effect of an invalid configuration if no valid one was read before.
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
    edits: Edits,
    /// How many times in a row config.json was being written.
    busy_count: u32,
}

/// What may have changed since it was last read.
#[derive(Debug, Default)]
enum Edits {
    /// Only these files.
    Paths(BTreeSet<PathBuf>),
    /// Anything.
    #[default]
    Any,
}

/// A reason to act.
#[derive(Debug)]
pub enum ConfigEvent {
    /// Something changed; call [`ConfigWatcher::schedule_reload`].
    Changed(io::Result<Changes>),
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
            edits: Edits::Any,
            busy_count: 0,
        }
    }

    /// Waits for an edit.
    pub async fn next_event(&mut self) -> ConfigEvent {
        tokio::select! {
            changed = changes(&mut self.watch) => ConfigEvent::Changed(changed),
            () = wait_until(self.reload_at) => ConfigEvent::Settled,
            () = ticked(&mut self.tick) => ConfigEvent::Tick,
        }
    }

    /// Schedules a reload after an edit, or after the watch failed.
    pub fn schedule_reload(&mut self, changed: io::Result<Changes>) {
        match (changed, &mut self.edits) {
            (Ok(Changes { paths, more: false, .. }), Edits::Paths(known)) => known.extend(paths),
            (changed, edits) => {
                *edits = Edits::Any;
                self.watch.take_if(|_| changed.is_err());
            }
        }
        self.settle();
    }

    fn settle(&mut self) {
        self.reload_at.get_or_insert_with(|| Instant::now() + SETTLE);
    }

    /// Rereads only the edited files and returns the heartbeats of their workspaces. Returns `None` if more may have
    /// changed: call [`Self::reload`] then.
    pub fn edited(&mut self) -> Option<Vec<Heartbeat>> {
        let Edits::Paths(paths) = &mut self.edits else { return None };
        let paths = std::mem::take(paths);
        self.reload_at = None;
        let mut folders = BTreeSet::new();
        for path in &paths {
            if *path == self.dir.config() {
                // The daemon itself may have written it.
                self.cache.is_current(path).then_some(())?;
            } else if *path != self.dir.paused() {
                folders.insert(self.workspace_of(path)?);
            }
        }
        self.cache.load_again(folders.into_iter(), clock::now())
    }

    /// The workspace that has `path` as a HEARTBEAT.md; `None` if no workspace has, or several may.
    fn workspace_of<'a>(&self, path: &'a Path) -> Option<&'a Path> {
        let folder = path.parent().filter(|_| path.file_name().is_some_and(|name| name == FILE))?;
        let around = folder.parent().filter(|around| around.file_name().is_some_and(|name| name == FOLDER));
        let outer = around.and_then(Path::parent).filter(|outer| self.cache.knows(outer));
        match (self.cache.knows(folder), outer) {
            (true, None) => Some(folder),
            (false, outer) => outer,
            (true, Some(_)) => None,
        }
    }

    /// Records that murmur itself wrote `runs` to config.json, so that it isn't reread.
    pub fn runs_written(&mut self, replaced: &Replaced, runs: &Runs) {
        let runs =
            runs.iter().map(|(HeartbeatRef { workspace, name }, at)| (&**workspace, name.as_deref(), *at));
        self.cache.runs_written((replaced.before(), replaced.next()), runs, clock::now());
    }

    /// Reads the configuration. Returns the new problems, and the configuration if it is valid.
    pub fn reload(&mut self) -> (Vec<String>, Option<Configuration>) {
        self.reload_at = None;
        self.edits = Edits::Paths(BTreeSet::new());
        let now = clock::now();
        let before = std::mem::take(&mut self.busy_count);
        // Reported once: later they are errors of the beats.
        let mut first = Vec::new();
        let (problems, configuration) = match self.cache.load(&self.dir.config(), now) {
            Ok(mut loaded) => {
                approved::mark(&self.dir, &mut loaded.heartbeats, now);
                if !std::mem::replace(&mut self.has_loaded, true) {
                    let settings = Settings::read(&self.settings).ok();
                    first = loaded.heartbeat_problem_lines(settings.as_ref());
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
                self.edits = Edits::Any;
                self.settle();
                return (Vec::new(), None);
            }
            Err(error) => {
                self.edits = Edits::Any;
                if self.watch.is_none() {
                    self.watch(&[]);
                }
                let meanwhile = match self.has_loaded {
                    true => "until then the last good configuration is used",
                    false => NOTHING_RUNS,
                };
                let all = error.all();
                (all.iter().map(|one| format!("{}; {meanwhile}", one.line())).collect(), None)
            }
        };
        let new = problems.iter().filter(|problem| !self.problems.contains(problem)).cloned();
        let new = new.chain(first).collect();
        self.problems = problems;
        (new, configuration)
    }

    /// Watches everything that defines `heartbeats`, or ticks where that is not possible. Paths are added again each
    /// time, as they may have been created or replaced; new ones cause a reload.
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
            Ok(true) => {
                self.edits = Edits::Any;
                self.settle();
            }
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

/// Waits until something watched has changed, and returns what; forever if nothing is watched.
pub async fn changes(watch: &mut Option<Watch>) -> io::Result<Changes> {
    match watch {
        Some(watch) => watch.changes().await,
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
