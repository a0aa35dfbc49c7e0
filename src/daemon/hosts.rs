//! Finds live hosts, whoever started them, watches them, and reaps what dead ones leave behind.
//!
//! A host needs no daemon. The daemon only notices that one started, ended, or was killed and left something behind.

use super::config_watcher::changes;
use murmur_core::id::AgentId;
use murmur_host::reap::{self, Reaped};
use murmur_host::record::Record;
use murmur_host::registration;
use murmur_host::state::AgentKind;
use std::collections::{BTreeSet, HashMap};
use std::io;
use std::path::{Path, PathBuf};
use sys::identity::Identity;
use sys::process_lock::{self, LockFile, look};
use sys::watch::{Changes, Watch, WatchedFolder};
use sys::{atomic, clock};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

/// The known hosts.
#[derive(Debug)]
pub struct Hosts {
    folder: PathBuf,
    watch: Option<Watch>,
    known: HashMap<AgentId, WatchedHost>,
    ends: JoinSet<(AgentId, Identity)>,
    reaping: Option<oneshot::Receiver<io::Result<Reaped>>>,
    /// Another host died while reaping.
    is_dirty: bool,
}

/// A live host.
#[derive(Debug)]
struct WatchedHost {
    record: Record,
    /// Whether the system reports its end; otherwise its record has to be checked again.
    is_watched: bool,
}

impl WatchedHost {
    /// Tells the host to check that its record and socket exist. A host that is ending ignores it.
    fn request_check(&self) {
        self.record.host.signal(registration::CHECK_FILES);
    }
}

/// A reason to act.
#[derive(Debug)]
pub enum HostEvent {
    /// Something in the folder changed.
    Changed(io::Result<Changes>),
    /// A host ended or died.
    Ended(AgentId, Identity),
    /// Reaping finished.
    Reaped(io::Result<Reaped>),
}

/// A change among the hosts.
#[derive(Debug)]
pub enum HostChange {
    /// A new host.
    Started(Box<Record>),
    /// A host ended.
    Ended(Box<Record>),
}

impl HostChange {
    /// The host's record, as of its start.
    #[must_use]
    pub fn record(&self) -> &Record {
        match self {
            Self::Started(record) | Self::Ended(record) => record,
        }
    }
}

impl Hosts {
    /// Watches `folder`, creating it if needed. No host is known yet.
    pub fn new(folder: PathBuf) -> io::Result<Self> {
        atomic::create_private_subfolder(&folder)?;
        let watch = Watch::new(places(&folder)).ok();
        let (known, ends) = (HashMap::new(), JoinSet::new());
        Ok(Self { folder, watch, known, ends, reaping: None, is_dirty: false })
    }

    /// Waits until something happens.
    pub async fn next_event(&mut self) -> HostEvent {
        tokio::select! {
            changed = changes(&mut self.watch) => HostEvent::Changed(changed),
            Some(Ok((agent, host))) = self.ends.join_next() => HostEvent::Ended(agent, host),
            reaped = reaped(&mut self.reaping) => HostEvent::Reaped(reaped),
        }
    }

    /// Handles an event and returns the changes.
    pub fn handle(&mut self, event: HostEvent) -> io::Result<Vec<HostChange>> {
        match event {
            HostEvent::Changed(Ok(changes)) => {
                self.keep_folder();
                self.look_at(&changes)
            }
            HostEvent::Changed(Err(error)) => {
                self.watch = None;
                Err(error)
            }
            HostEvent::Ended(agent, host) => {
                let ended =
                    self.known.remove(&agent).map(|known| known.record).filter(|ended| ended.host == host);
                if self.has_leftovers(&agent) {
                    self.reap();
                }
                // Another host may have replaced it.
                let found = look(&self.folder.join(agent.record()));
                let mut changes = self.take(found.into_iter().collect());
                changes.splice(0..0, ended.map(Box::new).map(HostChange::Ended));
                Ok(changes)
            }
            HostEvent::Reaped(reaped) => {
                self.reaping = None;
                if std::mem::take(&mut self.is_dirty) {
                    self.reap();
                }
                reaped.map(|_| Vec::new())
            }
        }
    }

    /// Looks only at the files that changed, if that is known.
    fn look_at(&mut self, changes: &Changes) -> io::Result<Vec<HostChange>> {
        if changes.more || changes.paths.contains(&self.folder) {
            return self.survey();
        }
        let agents = changes.paths.iter().filter_map(|path| {
            let name = path.file_name()?.to_str()?;
            name.strip_suffix(".json")
                .or_else(|| name.strip_suffix(".sock"))
                .filter(|name| !name.starts_with('.'))
        });
        let agents: BTreeSet<&str> = agents.collect();
        let unknown = agents.iter().filter(|agent| !self.is_watched(agent));
        let found: Vec<LockFile> =
            unknown.filter_map(|agent| look(&self.folder.join(format!("{agent}.json")))).collect();
        let news = self.take(found);
        agents.into_iter().filter_map(|agent| self.known.get_key_value(agent)).for_each(|(agent, known)| {
            self.check_files(agent, known);
        });
        Ok(news)
    }

    /// Scans the folder.
    pub fn survey(&mut self) -> io::Result<Vec<HostChange>> {
        let found = process_lock::all_but(&self.folder, |agent| self.is_watched(agent))?;
        let news = self.take(found);
        self.known.iter().for_each(|(agent, known)| self.check_files(agent, known));
        Ok(news)
    }

    /// Whether the system reports the end of the agent's host.
    fn is_watched(&self, agent: &str) -> bool {
        self.known.get(agent).is_some_and(|known| known.is_watched)
    }

    /// Tells a host that lacks its record or socket to check them.
    fn check_files(&self, agent: &AgentId, known: &WatchedHost) {
        let is_there = |name: String| self.folder.join(name).symlink_metadata().is_ok();
        if !is_there(agent.record()) || !is_there(agent.socket()) {
            known.request_check();
        }
    }

    /// Adds the hosts with these records; returns the changes.
    fn take(&mut self, found: Vec<LockFile>) -> Vec<HostChange> {
        let mut changes = Vec::new();
        let mut any_dead = false;
        for found in found {
            let Some(record) = Record::parse(&found.text) else { continue };
            let agent = record.info.agent_id.clone();
            if record.result.is_some() {
                continue;
            }
            if !found.is_held {
                any_dead = true;
                continue;
            }
            if self.known.get(&agent).is_some_and(|known| known.record.host == record.host) {
                continue;
            }
            let end = record.host.watch();
            let is_watched = end.is_some();
            if let Some(end) = end {
                let host = record.host.clone();
                let id = agent.clone();
                self.ends.spawn(async move {
                    let _ended = end.ended().await;
                    (id, host)
                });
            }
            self.known.insert(agent, WatchedHost { record: record.clone(), is_watched });
            changes.push(HostChange::Started(Box::new(record)));
        }
        if any_dead {
            self.reap();
        }
        changes
    }

    /// Tells every host to check that its record and socket exist.
    pub fn request_checks(&self) {
        self.known.values().for_each(WatchedHost::request_check);
    }

    /// Watches the folder again in case a host recreated it. It is not created here: the data folder may be in the
    /// middle of being deleted.
    fn keep_folder(&mut self) {
        if let Some(watch) = &mut self.watch
            && watch.add(places(&self.folder)).is_err()
        {
            self.watch = None;
        }
    }

    /// Whether the ended host of `agent` left its record unfinished or its socket behind.
    fn has_leftovers(&self, agent: &AgentId) -> bool {
        let record = look(&self.folder.join(agent.record()));
        let has_ended = |found: LockFile| Record::parse(&found.text).is_some_and(|it| it.result.is_some());
        record.is_some_and(|found| !has_ended(found)) || self.folder.join(agent.socket()).exists()
    }

    /// Cleans up after dead hosts in a thread, as stopping leftovers may take 2 s.
    pub fn reap(&mut self) {
        if self.reaping.is_some() {
            self.is_dirty = true;
            return;
        }
        let (sender, receiver) = oneshot::channel();
        let folder = self.folder.clone();
        let reap = move || {
            let _daemon_gone = sender.send(reap::reap_dead(&folder, clock::now()));
        };
        let started = std::thread::Builder::new().name("reap".to_owned()).spawn(reap);
        self.reaping = started.is_ok().then_some(receiver);
    }

    /// The ids of hosted agents, sorted.
    #[must_use]
    pub fn live(&self) -> Vec<AgentId> {
        let live = self
            .known
            .values()
            .map(|known| &known.record)
            .filter(|record| record.info.kind == AgentKind::Live);
        let mut live: Vec<AgentId> = live.map(|record| record.info.agent_id.clone()).collect();
        live.sort_unstable();
        live
    }
}

/// The folders to watch: that of hosts, and its parent, in case it is created or replaced.
fn places(folder: &Path) -> Vec<WatchedFolder> {
    let inside = WatchedFolder::new(folder, &[]);
    std::iter::once(inside).chain(WatchedFolder::of(folder)).collect()
}

async fn reaped(reaping: &mut Option<oneshot::Receiver<io::Result<Reaped>>>) -> io::Result<Reaped> {
    match reaping {
        Some(receiver) => receiver.await.unwrap_or_else(|_| Err(io::ErrorKind::Interrupted.into())),
        None => std::future::pending().await,
    }
}
