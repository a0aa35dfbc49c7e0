//! Follows hosts: queries them again when their record changes, they send an event, or they finally answer.

use crate::host::discover::{self, Condition, PATIENCE, Seen};
use crate::host::id::AgentId;
use crate::rpc::client::{AskError, Client};
use crate::rpc::envelope::{GAP, LAGGED};
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::task::JoinSet;

/// The most hosts to follow, and the most unresponsive ones to wait for, as each takes a descriptor. Of others only the
/// records are watched.
const MOST: usize = 256;

/// How long to wait for an unresponsive host.
const FOREVER: Duration = Duration::MAX;

/// The events after which a host is queried again; others change nothing that is shown. A gap may hide any of them.
const TELLING: [&str; 6] = ["state", "session", "tool_use", "tool_result", "result", GAP];

/// The hosts being queried and followed.
#[derive(Debug)]
pub(super) struct Hosts {
    folder: PathBuf,
    looking: JoinSet<News>,
    /// Hosts being queried, and whether to query them again.
    asked: HashMap<AgentId, bool>,
    is_scanning: bool,
    /// Hosts queried since the scan started, whose results are newer.
    asked_meanwhile: HashSet<AgentId>,
    followed: HashSet<AgentId>,
    /// Hosts that refused to be followed.
    refused: HashSet<AgentId>,
    /// Hosts that could not be followed or waited for, to be retried.
    failed: HashSet<AgentId>,
    /// Unresponsive hosts that are waited for.
    awaited: HashSet<AgentId>,
    following: JoinSet<()>,
    tell: Sender<Told>,
    told: Receiver<Told>,
}

/// A change.
#[derive(Debug)]
pub(super) enum News {
    /// One host; `None` if it is gone.
    One(AgentId, Option<Box<Seen>>),
    /// All hosts.
    All {
        /// The hosts found.
        seen: Vec<Seen>,
        /// Hosts queried meanwhile, which are not in `seen`: their known state is newer.
        newer: HashSet<AgentId>,
    },
}

#[derive(Debug)]
enum Told {
    Changed(AgentId),
    /// The events ended, if there were any.
    Left(AgentId, Result<(), AskError>),
    /// An unresponsive host answered, or never will.
    Answered(AgentId, Result<(), AskError>),
}

impl Hosts {
    pub(super) fn new(folder: PathBuf) -> Self {
        // When full, followers wait and the hosts buffer their events.
        let (tell, told) = mpsc::channel(64);
        Self {
            folder,
            looking: JoinSet::new(),
            asked: HashMap::new(),
            is_scanning: false,
            asked_meanwhile: HashSet::new(),
            followed: HashSet::new(),
            refused: HashSet::new(),
            failed: HashSet::new(),
            awaited: HashSet::new(),
            following: JoinSet::new(),
            tell,
            told,
        }
    }

    /// Queries the host that the file at `path` belongs to.
    pub(super) fn look_at(&mut self, path: &Path) {
        let stem = path.file_stem().and_then(|stem| stem.to_str());
        if let Some(Ok(agent)) = stem.map(AgentId::parse) {
            self.look(agent);
        }
    }

    /// Queries every host.
    pub(super) fn look_at_all(&mut self) {
        if !std::mem::replace(&mut self.is_scanning, true) {
            let folder = self.folder.clone();
            self.asked_meanwhile = self.asked.keys().cloned().collect();
            self.looking.spawn(async move {
                // An unreadable folder was reported at the start.
                let seen = discover::scan(&folder, PATIENCE).await.unwrap_or_default();
                News::All { seen, newer: HashSet::new() }
            });
        }
    }

    /// Queries those of `closed` again that are not waited for, and those that could not be followed.
    pub(super) fn look_again(&mut self, closed: Vec<AgentId>) {
        let closed = closed.into_iter().filter(|agent| !self.awaited.contains(agent));
        let again: HashSet<AgentId> = closed.chain(self.failed.iter().cloned()).collect();
        self.failed.clear();
        again.into_iter().for_each(|agent| self.look(agent));
    }

    /// Whether there are hosts that only [`Self::look_again`] queries.
    pub(super) fn is_to_look_again(&self) -> bool {
        !self.failed.is_empty()
    }

    fn look(&mut self, agent: AgentId) {
        if self.is_scanning {
            self.asked_meanwhile.insert(agent.clone());
        }
        if let Some(again) = self.asked.get_mut(&agent) {
            *again = true;
            return;
        }
        self.asked.insert(agent.clone(), false);
        let folder = self.folder.clone();
        self.looking.spawn(async move {
            let seen = discover::find(&folder, &agent, PATIENCE).await;
            News::One(agent, seen.map(Box::new))
        });
    }

    /// Waits for a change.
    pub(super) async fn happened(&mut self) -> News {
        loop {
            tokio::select! {
                Some(told) = self.told.recv() => match told {
                    Told::Changed(agent) => self.look(agent),
                    Told::Left(agent, left) => {
                        self.followed.remove(&agent);
                        self.left(&agent, left);
                        self.look(agent);
                    }
                    Told::Answered(agent, answered) => {
                        self.awaited.remove(&agent);
                        self.left(&agent, answered);
                        self.look(agent);
                    }
                },
                Some(Ok(news)) = self.looking.join_next() => return self.take(news),
                Some(_) = self.following.join_next() => {}
            }
        }
    }

    /// Records why following ended: after a refusal it is not retried.
    fn left(&mut self, agent: &AgentId, left: Result<(), AskError>) {
        match left {
            Ok(()) => {}
            Err(AskError::Refused(_)) => _ = self.refused.insert(agent.clone()),
            Err(_) => _ = self.failed.insert(agent.clone()),
        }
    }

    fn take(&mut self, mut news: News) -> News {
        match &mut news {
            News::All { seen, newer } => {
                self.is_scanning = false;
                *newer = std::mem::take(&mut self.asked_meanwhile);
                seen.retain(|seen| !newer.contains(&seen.agent_id));
                seen.iter().for_each(|seen| self.follow(seen));
            }
            News::One(agent, seen) => {
                if self.asked.remove(agent) == Some(true) {
                    self.look(agent.clone());
                }
                match seen {
                    Some(seen) if seen.is_alive() => self.follow(seen),
                    _ => {
                        self.refused.remove(agent);
                        self.failed.remove(agent);
                    }
                }
            }
        }
        news
    }

    fn follow(&mut self, seen: &Seen) {
        let agent = &seen.agent_id;
        if self.refused.contains(agent) || self.failed.contains(agent) {
            return;
        }
        let (folder, agent, tell) = (self.folder.clone(), agent.clone(), self.tell.clone());
        match seen.condition {
            Condition::Up(_) if self.followed.len() < MOST && self.followed.insert(agent.clone()) => {
                self.following.spawn(async move {
                    let left = follow(&folder, &agent, &tell).await;
                    let _nobody_hears = tell.send(Told::Left(agent, left)).await;
                });
            }
            Condition::Silent if self.awaited.len() < MOST && self.awaited.insert(agent.clone()) => {
                self.following.spawn(async move {
                    let answered = answer(&folder, &agent).await;
                    let _nobody_hears = tell.send(Told::Answered(agent, answered)).await;
                });
            }
            _ => {}
        }
    }
}

/// Waits until the unresponsive host of `agent` answers.
async fn answer(folder: &Path, agent: &AgentId) -> Result<(), AskError> {
    let mut client = Client::connect(folder, &agent.socket(), FOREVER).await?;
    client.answer("ping", Value::Null, FOREVER).await.map(|_| ())
}

/// Forwards the events of `agent`'s host until they end.
async fn follow(folder: &Path, agent: &AgentId, tell: &Sender<Told>) -> Result<(), AskError> {
    let mut client = Client::connect(folder, &agent.socket(), PATIENCE).await?;
    client.attach(None, PATIENCE).await?;
    // Something may have happened since the query.
    let mut is_telling = true;
    loop {
        if is_telling && tell.send(Told::Changed(agent.clone())).await.is_err() {
            return Ok(());
        }
        // After lagging, this connection gets no more events.
        let Ok(event) = client.next_event().await else { return Ok(()) };
        if event.event_type == LAGGED {
            return Ok(());
        }
        is_telling = TELLING.contains(&event.event_type.as_str());
    }
}

#[cfg(test)]
mod tests;
