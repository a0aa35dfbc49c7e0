//! The stuck monitor: scans all agents when one may be stuck, and runs garbage collection.
//!
//! Both run in a thread whose result is an event for the loop, so that hosts that do not answer and folders with a
//! thousand pulses do not block it. The decisions are in [`super::stuck`] and [`super::gc`].
//!
//! The folder of pulses is watched too: a new pulse that is already old is a reason to scan sooner.

use super::gc::{self, Collected, Scope};
use super::stuck::{self, SilentHosts, StuckAgents};
use crate::agents::{self, Agent, Sources};
use jiff::{SignedDuration, Timestamp};
use murmur_core::config::quiet::Quiet;
use murmur_core::config::settings::{Settings, SettingsError, WrongTables};
use murmur_host::discover;
use murmur_store::journal::entry::JournalEntry;
use murmur_store::journal::read::{Backward, Entries};
use murmur_store::pulse::folder;
use murmur_store::pulse::health::Health;
use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;
use sys::error::{Failure, Hinted};
use sys::paths::DataDir;
use sys::watch::{Changes, Watch, WatchedFolder};
use sys::{atomic, clock};
use tokio::sync::oneshot;

/// When to retry a failed scan.
const RETRY: SignedDuration = SignedDuration::from_mins(1);

/// What to scan.
#[derive(Debug, Clone)]
pub struct MonitorPaths {
    /// The data folder.
    pub dir: DataDir,
    /// Claude Code's folder, if known.
    pub claude: Option<PathBuf>,
    /// config.toml, which sets how long an agent may be quiet.
    pub settings: PathBuf,
    /// The store of captures.
    pub captures: Option<PathBuf>,
}

/// The stuck monitor.
#[derive(Debug)]
pub struct StuckMonitor {
    paths: MonitorPaths,
    /// Stuck agents that the journal already reports.
    reported: StuckAgents,
    /// The agents whose hosts didn't answer at the last scan.
    silent: SilentHosts,
    scan_at: Timestamp,
    gc_at: Timestamp,
    scanning: Option<oneshot::Receiver<Scan>>,
    /// The agents with open requests.
    waiting: BTreeSet<String>,
    /// Watches for written pulses; `None` where that is not possible.
    pulses: Option<Watch>,
    /// How long an agent must be quiet to be stuck, as of the last scan.
    stuck: SignedDuration,
    /// When an agent whose pulse was written since the last scan started may be stuck.
    early_scan_at: Timestamp,
    /// The clock was set during a scan.
    is_stale: bool,
    /// The problems of the last scan.
    problems: Vec<String>,
    /// The problem of the last garbage collection.
    gc_problem: Option<String>,
}

/// A reason to act.
#[derive(Debug)]
pub enum Event {
    /// A scan finished; `None` if it died.
    Scanned(Option<Scan>),
    /// Pulses were written.
    Pulses(io::Result<Changes>),
}

/// The result of a scan.
#[derive(Debug)]
pub struct Scan {
    stuck: SignedDuration,
    lines: Vec<JournalEntry>,
    stuck_agents: StuckAgents,
    silent: SilentHosts,
    next: Timestamp,
    collected: Option<Collected>,
    problems: Vec<String>,
}

/// What to log and write to the journal.
#[derive(Debug, Default)]
pub struct Findings {
    /// The lines of stuck agents that have none in the journal.
    pub lines: Vec<JournalEntry>,
    /// New problems.
    pub problems: Vec<String>,
}

impl StuckMonitor {
    /// A scan and a garbage collection are due.
    #[must_use]
    pub fn new(paths: MonitorPaths) -> Self {
        let (reported, due) = (StuckAgents::new(), Timestamp::UNIX_EPOCH);
        let folder = paths.dir.pulses();
        // An invalid config.toml is reported at the daemon's start.
        let problems = unreadable(&Settings::read(&paths.settings));
        let is_there = atomic::create_private_subfolder(&folder).is_ok();
        let pulses = is_there.then(|| Watch::new([WatchedFolder::new(&folder, &[])]).ok()).flatten();
        Self {
            paths,
            pulses,
            stuck: Quiet::default().stuck.signed(),
            early_scan_at: Timestamp::MAX,
            reported,
            silent: SilentHosts::new(),
            scan_at: due,
            gc_at: due,
            scanning: None,
            waiting: BTreeSet::new(),
            is_stale: false,
            problems,
            gc_problem: None,
        }
    }

    /// Sets the agents that wait for a person.
    pub fn set_waiting(&mut self, agents: BTreeSet<String>) {
        self.waiting = agents;
    }

    /// When to call [`Self::scan_if_due`]; `None` during a scan.
    #[must_use]
    pub fn wake_at(&self) -> Option<Timestamp> {
        self.scanning.is_none().then_some(self.scan_at.min(self.gc_at))
    }

    /// Starts a scan if it or a garbage collection is due.
    pub fn scan_if_due(&mut self, now: Timestamp) {
        if self.wake_at().is_some_and(|at| at <= now) {
            self.scan(now);
        }
    }

    /// The clock was set: scans now, since any planned time may be wrong.
    pub fn clock_set(&mut self, now: Timestamp) {
        self.is_stale = self.scanning.is_some();
        if !self.is_stale {
            // Leftovers may be old enough now.
            self.gc_at = now;
            self.scan(now);
        }
    }

    fn scan(&mut self, now: Timestamp) {
        let (sender, receiver) = oneshot::channel();
        let (paths, known, collects) = (self.paths.clone(), self.reported.clone(), self.gc_at <= now);
        let (silent, waiting) = (self.silent.clone(), self.waiting.clone());
        let scan = move || {
            let _daemon_gone = sender.send(scan(paths, &known, &silent, waiting, collects));
        };
        let started = std::thread::Builder::new().name("scan".to_owned()).spawn(scan);
        self.scanning = started.is_ok().then_some(receiver);
        self.early_scan_at = Timestamp::MAX;
        // In case the scan fails.
        self.scan_at = now.checked_add(RETRY).unwrap_or(Timestamp::MAX);
        self.gc_at = self.gc_at.max(self.scan_at);
    }

    /// Waits until something happens.
    pub async fn next_event(&mut self) -> Event {
        let scan = async {
            match &mut self.scanning {
                Some(scanning) => scanning.await.ok(),
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
            scan = scan => Event::Scanned(scan),
            changes = changes => Event::Pulses(changes),
        }
    }

    /// Handles an event and returns what is new.
    pub fn handle(&mut self, event: Event, now: Timestamp) -> Findings {
        match event {
            Event::Scanned(scan) => self.finish_scan(scan, now),
            Event::Pulses(Ok(changes)) => {
                self.check_pulses(&changes, now);
                Findings::default()
            }
            Event::Pulses(Err(_)) => {
                self.pulses = None;
                Findings::default()
            }
        }
    }

    /// Scans sooner if a written pulse is older than the next scan assumes.
    fn check_pulses(&mut self, changes: &Changes, now: Timestamp) {
        let found = changes.paths.iter().filter_map(|path| folder::read(path));
        let unreported = found.filter(|found| !self.reported.contains(&stuck::from_pulse(&found.pulse)));
        let turns = unreported.filter_map(|found| found.pulse.at()?.checked_add(self.stuck).ok()).min();
        let turns = if changes.more { Some(now) } else { turns };
        let Some(turns) = turns else { return };
        // More may be written right after.
        self.early_scan_at =
            self.early_scan_at.min(turns.max(now.checked_add(stuck::MIN_INTERVAL).unwrap_or(now)));
        self.scan_at = self.scan_at.min(self.early_scan_at);
    }

    fn finish_scan(&mut self, scan: Option<Scan>, now: Timestamp) -> Findings {
        self.scanning = None;
        let mut findings = Findings::default();
        if let Some(Scan { lines, stuck_agents, silent, next, collected, problems, stuck }) = scan {
            (self.reported, self.scan_at, self.stuck) = (stuck_agents, next.min(self.early_scan_at), stuck);
            self.silent = silent;
            findings.lines = lines;
            let new = problems.iter().filter(|problem| !self.problems.contains(problem));
            findings.problems.extend(new.cloned());
            self.problems = problems;
            if let Some(Collected { next, error, .. }) = collected {
                self.gc_at = next;
                let problem = error.map(|error| error.line());
                findings.problems.extend(problem.clone().filter(|_| problem != self.gc_problem));
                self.gc_problem = problem;
            }
        }
        if std::mem::take(&mut self.is_stale) {
            self.clock_set(now);
        }
        findings
    }
}

/// Why the user's settings are unknown.
fn unreadable(settings: &Result<Settings, SettingsError>) -> Vec<String> {
    let mistakes = settings.as_ref().err().map(SettingsError::all).unwrap_or_default();
    mistakes.iter().map(|mistake| format!("{}; until then the defaults apply", mistake.line())).collect()
}

fn scan(
    paths: MonitorPaths,
    known: &StuckAgents,
    silent: &SilentHosts,
    waiting: BTreeSet<String>,
    collects: bool,
) -> Scan {
    let MonitorPaths { dir, claude, captures, settings: path } = paths;
    let read = Settings::read(&path);
    let mut problems = unreadable(&read);
    problems.extend(WrongTables::of(&read).iter().map(Failure::line));
    let quiet = read.as_ref().map_or_else(|_| Quiet::default(), |settings| settings.quiet);
    // First, so that ended agents are not reported as stuck.
    let collected = collects.then(|| {
        // With invalid settings, no capture is removed: it could be one to keep.
        let valid = read.as_ref().ok().filter(|settings| settings.wrong.captures.is_none());
        let captures = captures.as_deref().zip(valid.map(|settings| settings.captures));
        gc::collect(&Scope { dir: &dir, captures, is_dry_run: false }, clock::now())
    });
    let now = clock::now();
    let sources = Sources { dir: dir.clone(), claude, quiet };
    problems.extend(sources.sessions().err().map(|error| error.line()));
    let agents = agents(sources, waiting, now).unwrap_or_else(|error| {
        problems.push(format!("cannot check for stuck agents: {error}"));
        Vec::new()
    });
    let stuck_after = quiet.stuck.signed();
    let next = stuck::next_scan(&agents, silent, stuck_after, now);
    let stuck = stuck::lines(&agents, silent, now);
    let silent = stuck::silent_hosts(&agents);
    let stuck_agents: StuckAgents = stuck.iter().filter_map(stuck::from_entry).collect();
    let is_new = |line: &JournalEntry| stuck::from_entry(line).is_some_and(|stuck| !known.contains(&stuck));
    let lines: Vec<JournalEntry> = stuck.into_iter().filter(is_new).collect();
    match without_reported(lines, &dir) {
        Ok(lines) => Scan { lines, stuck_agents, silent, next, collected, problems, stuck: stuck_after },
        Err(error) => {
            problems.push(format!("cannot read the journal's lines about stuck agents: {error}"));
            // The next scan checks the journal again.
            let stuck_agents = stuck_agents.intersection(known).cloned().collect();
            let lines = Vec::new();
            Scan { lines, stuck_agents, silent, next, collected, problems, stuck: stuck_after }
        }
    }
}

/// Returns every agent. Those in `waiting` wait for a person, as do those whose hosts say so: their hooks may not have
/// reached this daemon yet.
fn agents(sources: Sources, mut waiting: BTreeSet<String>, now: Timestamp) -> io::Result<Vec<Agent>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut agents = runtime.block_on(agents::all(&sources, now))?;
    let hosts = sources.dir.hosts();
    let requests = discover::requests(&hosts, discover::REQUESTS_TIMEOUT);
    let calls = runtime.block_on(requests).into_iter().filter_map(|wait| wait.call);
    waiting.extend(calls.map(|call| call.agent));
    for agent in agents.iter_mut().filter(|agent| waiting.contains(&agent.agent_id)) {
        agent.health = Health::Waiting;
    }
    Ok(agents)
}

/// Returns `lines` without those that an earlier daemon wrote to the journal.
fn without_reported(mut lines: Vec<JournalEntry>, dir: &DataDir) -> io::Result<Vec<JournalEntry>> {
    let Some(since) = lines.iter().filter_map(JournalEntry::started).min() else { return Ok(lines) };
    let mut entries = Entries::new(Backward::open(&dir.journal())?, Some(since));
    while !lines.is_empty()
        && let Some(found) = entries.next_entry(|_| true)?
    {
        lines.retain(|line| !line.is_same(&found.entry));
    }
    Ok(lines)
}

#[cfg(test)]
mod tests;
