//! The daemon's real state machine, with a simulated clock and beats that take 8.2 seconds.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::path::Path;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use murmur::beat::new_id;
use murmur::daemon::launch::BeatReport;
use murmur::daemon::state::{BeatSummary, Configuration, Effect, Event, Recorded, State};
use murmur_core::config::heartbeat::Cache;
use murmur_core::failures::BeatEnd;
use murmur_core::id::BeatId;
use murmur_store::journal::append;
use sys::paths::DataDir;

/// How long a beat takes.
const BEAT: SignedDuration = SignedDuration::from_millis(8200);

/// What ends.
pub(super) struct Ended<'a> {
    pub(super) workspace: &'a Path,
    pub(super) started: Timestamp,
}

/// A daemon whose clock jumps from one event to the next.
pub(super) struct Daemon<'a, B> {
    dir: &'a DataDir,
    state: State,
    now: Timestamp,
    /// Leaves behind what a beat leaves behind, and says how it ended.
    beat: B,
    /// The running beats, by the time of their end.
    running: BinaryHeap<Reverse<(Timestamp, String)>>,
    /// Where they run, and since when.
    started: HashMap<BeatId, (Box<Path>, Timestamp)>,
    /// Journal lines that the state has not seen.
    unread: Vec<BeatSummary>,
    pub(super) reports: usize,
}

impl<'a, B: FnMut(Ended<'_>) -> BeatEnd> Daemon<'a, B> {
    /// Starts a daemon at `now`, with the configuration in `dir`.
    pub(super) fn start(dir: &'a DataDir, now: Timestamp, beat: B) -> Self {
        let found = Cache::new(TimeZone::UTC).load(&dir.config(), now).unwrap();
        assert!(found.heartbeats.iter().all(|heartbeat| heartbeat.problem.is_none()));
        let configuration = Configuration {
            heartbeats: found.heartbeats,
            max_concurrent: found.max_concurrent,
            accounts: Default::default(),
            over_budget: Default::default(),
        };
        let mut daemon = Self {
            dir,
            state: State::new(new_id),
            now,
            beat,
            running: BinaryHeap::new(),
            started: HashMap::new(),
            unread: Vec::new(),
            reports: 0,
        };
        for event in [Event::Loaded(configuration), Event::PathFound, Event::Unread] {
            daemon.on(event);
        }
        daemon
    }

    /// Lets time pass until `end`.
    pub(super) fn run_until(&mut self, end: Timestamp) {
        loop {
            self.on(Event::Idle);
            let ends = self.running.peek().map(|Reverse((at, _))| *at);
            let wakes = self.state.wake_at().map(|at| at.max(self.now));
            let Some(next) = ends.into_iter().chain(wakes).min().filter(|next| *next < end) else { break };
            self.now = next;
            if ends == Some(next)
                && let Some(Reverse((_, id))) = self.running.pop()
            {
                self.end(BeatId::new(id));
            }
        }
        self.now = end;
    }

    /// Ends a beat.
    fn end(&mut self, beat: BeatId) {
        let (workspace, started) = self.started.remove(&beat).unwrap();
        let end = (self.beat)(Ended { workspace: &workspace, started });
        self.unread.push(BeatSummary {
            beat: Some(beat.clone()),
            workspace: workspace.to_path_buf(),
            name: None,
            started: Some(started),
            ended: Some(self.now),
            end,
            agent: "agent".to_owned(),
            resumes: None,
        });
        self.on(Event::Exited { beat, report: Ok(BeatReport::Journaled) });
    }

    fn on(&mut self, event: Event) {
        for effect in self.state.on(event, self.now) {
            self.carry_out(effect);
        }
    }

    fn carry_out(&mut self, effect: Effect) {
        match effect {
            Effect::Then(event) => self.on(*event),
            Effect::Announce(start) => {
                let running = start.running;
                self.started.insert(running.beat.clone(), (running.workspace.into(), self.now));
                self.on(Event::Announced { beat: running.beat, recorded: Recorded::Yes });
            }
            Effect::Spawn(beat) => {
                self.running.push(Reverse((self.now + BEAT, beat.to_string())));
                self.on(Event::Spawned(beat));
            }
            Effect::ReadJournal => {
                let lines = std::mem::take(&mut self.unread);
                self.on(Event::JournalRead { lines, more: false });
            }
            Effect::Report(line) => {
                self.reports += 1;
                append::append(&self.dir.journal(), &line).unwrap();
            }
            Effect::Log(said) => panic!("{said}"),
            // Files and clients, which don't exist here.
            _ => {}
        }
    }
}
