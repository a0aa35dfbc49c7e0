//! Keeps the list of agents up to date: watches the folders, follows the hosts' events, and waits for processes to end.
//! Only what changed is read again.
//!
//! Where files cannot be watched, everything is read every second.

mod hosts;

use super::hosted::{HostStatus, Hosted};
use super::known::{KnownAgents, Reread};
use super::{Agent, Sources, join, session};
use hosts::{HostChange, Hosts};
use jiff::Timestamp;
use murmur_core::id::AgentId;
use murmur_rpc::envelope::Event;
use murmur_store::pulse::health::Health;
use std::collections::{HashMap, HashSet};
use std::io;
use std::path::PathBuf;
use std::time::Duration;
use sys::identity;
use sys::watch::{Changes, Watch, WatchedFolder};
use tokio::sync::mpsc::Sender;
use tokio::task::JoinSet;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

/// How often everything is read where files cannot be watched.
const TICK: Duration = Duration::from_secs(1);

/// How often to call [`Follower::recheck`].
const MINUTE: Duration = Duration::from_secs(60);

/// The maximum number of processes to wait for: each takes a descriptor. [`Follower::recheck`] checks the others.
const MAX_AWAITED: usize = 256;

/// Follows all agents.
#[derive(Debug)]
pub struct Follower {
    sources: Sources,
    known: KnownAgents,
    watch: Option<Watch>,
    /// When everything is read next where files cannot be watched.
    tick: Interval,
    hosts: Hosts,
    /// When [`Self::recheck`] was last called.
    checked_at: Instant,
    ends: JoinSet<u32>,
    awaited: HashSet<u32>,
    /// The pulses that changed since [`Self::news`] was called; `None` if anything may have.
    touched: Option<HashSet<PathBuf>>,
    /// The pulses of agents that had no other source then, and those agents' health.
    lone: HashMap<PathBuf, Health>,
}

/// What changed.
#[derive(Debug, PartialEq, Eq)]
pub enum News {
    /// Anything: all agents, sorted by id.
    All(Vec<Agent>),
    /// Only these agents, but not their health.
    Some(Vec<Agent>),
}

impl Follower {
    /// Reads everything. Waits for missing folders to be created.
    pub async fn new(sources: Sources) -> io::Result<Self> {
        // Watch before reading, so that no change is missed.
        let watch = Watch::settled(|| places(&sources)).ok();
        let known = KnownAgents::read(&sources).await?;
        let hosts = Hosts::new(sources.dir.hosts());
        let (ends, awaited) = (JoinSet::new(), HashSet::new());
        let checked_at = Instant::now();
        let mut tick = interval_at(checked_at + TICK, TICK);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (touched, lone) = (None, HashMap::new());
        let mut follower =
            Self { sources, known, watch, tick, hosts, checked_at, ends, awaited, touched, lone };
        follower.read_all()?;
        Ok(follower)
    }

    /// Whether files are watched; otherwise the data may be a second old.
    #[must_use]
    pub fn is_watched(&self) -> bool {
        self.watch.is_some()
    }

    /// Returns every agent as of `now`, sorted by id.
    #[must_use]
    pub fn agents(&self, now: Timestamp) -> Vec<Agent> {
        join::agents(&self.known, &self.sources.quiet, now)
    }

    /// Returns what changed since the last call, as of `now`.
    pub fn news(&mut self, now: Timestamp) -> News {
        let (known, quiet) = (&self.known, &self.sources.quiet);
        if let Some(touched) = self.touched.replace(HashSet::new()) {
            let changed = |path: &PathBuf| {
                let health = self.lone.get(path)?;
                join::lone(known.pulses.get(path)?, quiet, now).filter(|agent| agent.health == *health)
            };
            if let Some(agents) = touched.iter().map(changed).collect() {
                return News::Some(agents);
            }
        }
        let agents = self.agents(now);
        let health: HashMap<&str, Health> =
            agents.iter().map(|agent| (&*agent.agent_id, agent.health)).collect();
        let health = |path: &PathBuf| health.get(&*known.pulses.get(path)?.pulse.agent_id).copied();
        let lone = join::lone_pulses(known).into_iter();
        self.lone =
            lone.filter_map(|path| Some((health(&path)?, path))).map(|(of, path)| (path, of)).collect();
        News::All(agents)
    }

    /// Has the next call of [`Self::news`] return all agents.
    pub fn renew(&mut self) {
        self.touched = None;
    }

    /// What the host of `agent` says, if it has one.
    #[must_use]
    pub fn host(&self, agent: &str) -> Option<&Hosted> {
        self.known.hosts.get(&AgentId::parse(agent).ok()?)
    }

    /// Also passes the events of hosts that are followed from now on to `listener`. Events are dropped while it is
    /// full.
    pub fn listen(&mut self, listener: Sender<Event>) {
        self.hosts.listen(listener);
    }

    /// Lets changes of files pile up until the next call of [`Self::changed`]: until then, they don't wake this
    /// process.
    pub fn rest(&mut self) {
        self.watch.iter_mut().for_each(Watch::rest);
    }

    /// Waits until something may have changed and applies it. Cancel safe.
    pub async fn changed(&mut self) -> io::Result<()> {
        let Self { watch, tick, hosts, ends, .. } = self;
        let event = tokio::select! {
            changes = changes(watch, tick) => Wakeup::Changed(changes),
            news = hosts.next_change() => Wakeup::Host(news),
            Some(Ok(pid)) = ends.join_next() => Wakeup::Ended(pid),
        };
        if !matches!(event, Wakeup::Changed(Ok(_))) {
            self.touched = None;
        }
        match event {
            Wakeup::Changed(Ok(changes)) => self.take(changes)?,
            Wakeup::Changed(Err(_)) => {
                self.watch = None;
                self.read_all()?;
            }
            Wakeup::Host(HostChange::One(_, Some(seen))) => self.known.host(&self.sources, &seen),
            Wakeup::Host(HostChange::One(agent, None)) => _ = self.known.hosts.remove(&agent),
            Wakeup::Host(HostChange::All { seen, newer }) => {
                self.known.hosts.retain(|id, _| newer.contains(id));
                seen.iter().for_each(|seen| self.known.host(&self.sources, seen));
            }
            Wakeup::Ended(pid) => {
                self.awaited.remove(&pid);
                self.known.recheck(&self.sources, |living| living == pid);
            }
        }
        self.await_ends();
        Ok(())
    }

    /// When to call [`Self::recheck`]; `None` if there is no need.
    #[must_use]
    pub fn recheck_in(&self) -> Option<Duration> {
        let is_left = !self.known.sessions.is_empty()
            || self.closed().next().is_some()
            || self.hosts.needs_recheck()
            || self.known.pids().any(|pid| !self.awaited.contains(&pid));
        is_left.then(|| MINUTE.saturating_sub(self.checked_at.elapsed()))
    }

    /// Live hosts that do not report their agents' state.
    fn closed(&self) -> impl Iterator<Item = AgentId> {
        let hosts = self.known.hosts.iter();
        let closed = hosts.filter(|(_, host)| matches!(host.status, HostStatus::Closed { .. }));
        closed.map(|(id, _)| id.clone())
    }

    /// Checks what cannot be watched: when conversations of sessions were written to, processes that are not waited
    /// for, and hosts that did not report their agents' state.
    pub fn recheck(&mut self) {
        (self.checked_at, self.touched) = (Instant::now(), None);
        let awaited = &self.awaited;
        self.known.recheck(&self.sources, |pid| !awaited.contains(&pid));
        self.known.refresh_sessions(&self.sources);
        self.hosts.recheck(self.closed().collect());
    }

    fn take(&mut self, changes: Changes) -> io::Result<()> {
        let Sources { dir, claude, .. } = &self.sources;
        let (pulses, hosts) = (dir.pulses(), dir.hosts());
        let sessions = claude.as_deref().map(session::folder);
        let mut more = changes.more;
        for path in &changes.paths {
            match path.parent() {
                Some(folder) if folder == pulses => match self.known.read_pulse(&self.sources, path) {
                    Reread::Same => {}
                    Reread::Continued => {
                        self.touched.iter_mut().for_each(|paths| _ = paths.insert(path.clone()))
                    }
                    Reread::Other => self.touched = None,
                },
                Some(folder) if folder == hosts => self.hosts.query_file(path),
                Some(folder) if Some(folder) == sessions.as_deref() => {
                    self.known.read_session(&self.sources, path);
                    self.touched = None;
                }
                // A parent of a missing folder.
                _ => more = true,
            }
        }
        if more { self.read_all() } else { Ok(()) }
    }

    fn read_all(&mut self) -> io::Result<()> {
        self.touched = None;
        if let Some(watch) = &mut self.watch {
            watch.settle(|| places(&self.sources))?;
        }
        self.known.read_pulses(&self.sources)?;
        self.known.read_sessions(&self.sources);
        self.hosts.query_all();
        self.await_ends();
        Ok(())
    }

    fn await_ends(&mut self) {
        let new: Vec<u32> = self.known.pids().filter(|pid| !self.awaited.contains(pid)).collect();
        for pid in new {
            if self.awaited.len() >= MAX_AWAITED {
                return;
            }
            if let Some(ending) = identity::watch(pid).filter(|_| self.awaited.insert(pid)) {
                self.ends.spawn(async move {
                    let _ended = ending.ended().await;
                    pid
                });
            }
        }
    }
}

enum Wakeup {
    Changed(io::Result<Changes>),
    Host(HostChange),
    Ended(u32),
}

async fn changes(watch: &mut Option<Watch>, tick: &mut Interval) -> io::Result<Changes> {
    match watch {
        Some(watch) => watch.changes().await,
        None => {
            tick.tick().await;
            Ok(Changes { more: true, ..Changes::default() })
        }
    }
}

/// The folders, or the parents of missing ones.
fn places(sources: &Sources) -> Vec<WatchedFolder> {
    let sessions = sources.claude.as_deref().map(session::folder);
    // A host rewrites its record in place.
    let folders: [(Option<PathBuf>, bool); 3] =
        [(Some(sources.dir.pulses()), false), (Some(sources.dir.hosts()), true), (sessions, false)];
    let place = |(folder, writes): (Option<PathBuf>, bool)| {
        let folder = folder?;
        let place = WatchedFolder::existing_or_coming(&folder, &[]);
        if writes { place.map(WatchedFolder::and_writes) } else { place }
    };
    folders.into_iter().filter_map(place).collect()
}

#[cfg(test)]
mod tests;
