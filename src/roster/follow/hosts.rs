//! Hosts, asked again when something happens to them: their record changes, they tell of an event, or they answer at last.

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

/// The most hosts whose events are followed: each takes a descriptor. Of the others only the records are. Of as many that do
/// not answer the answer is waited for.
const MOST: usize = 256;

/// How long a host that did not answer in time may take: as long as it lives.
const FOREVER: Duration = Duration::MAX;

/// The events after which a host is asked anew; the others change nothing that is shown. In a gap there may be any.
const TELLING: [&str; 6] = ["state", "session", "tool_use", "tool_result", "result", GAP];

/// Who is asked, and who is followed.
#[derive(Debug)]
pub(super) struct Hosts {
    folder: PathBuf,
    looking: JoinSet<News>,
    /// Who is being asked, and whether something has happened since.
    asked: HashMap<AgentId, bool>,
    is_scanning: bool,
    /// Who was asked since the scan began: of them it knows nothing newer.
    asked_meanwhile: HashSet<AgentId>,
    followed: HashSet<AgentId>,
    /// Who does not let us follow.
    refused: HashSet<AgentId>,
    /// Who could not be followed, or waited for, and may be the next time.
    failed: HashSet<AgentId>,
    /// Whose answer is waited for.
    awaited: HashSet<AgentId>,
    following: JoinSet<()>,
    tell: Sender<Told>,
    told: Receiver<Told>,
}

/// What is new.
#[derive(Debug)]
pub(super) enum News {
    /// Of one host; `None` if there is no trace of it any more.
    One(AgentId, Option<Box<Seen>>),
    /// Of all of them.
    All {
        /// What was seen.
        seen: Vec<Seen>,
        /// Those that were asked meanwhile, of which nothing is seen: what is known of them is newer.
        newer: HashSet<AgentId>,
    },
}

#[derive(Debug)]
enum Told {
    Changed(AgentId),
    /// The events have ended, if there were any.
    Left(AgentId, Result<(), AskError>),
    /// One that did not answer in time does now; or never will.
    Answered(AgentId, Result<(), AskError>),
}

impl Hosts {
    pub(super) fn new(folder: PathBuf) -> Self {
        // Whoever follows a host waits when many have something to tell, and the host keeps its events meanwhile.
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

    /// Asks the host that the file at `path` belongs to.
    pub(super) fn look_at(&mut self, path: &Path) {
        let stem = path.file_stem().and_then(|stem| stem.to_str());
        if let Some(Ok(agent)) = stem.map(AgentId::parse) {
            self.look(agent);
        }
    }

    /// Asks every host.
    pub(super) fn look_at_all(&mut self) {
        if !std::mem::replace(&mut self.is_scanning, true) {
            let folder = self.folder.clone();
            self.asked_meanwhile = self.asked.keys().cloned().collect();
            self.looking.spawn(async move {
                // A folder that cannot be read has told so when all began.
                let seen = discover::scan(&folder, PATIENCE).await.unwrap_or_default();
                News::All { seen, newer: HashSet::new() }
            });
        }
    }

    /// Asks those of `closed` again whose answer is not waited for, and those that could not be followed.
    pub(super) fn look_again(&mut self, closed: Vec<AgentId>) {
        let closed = closed.into_iter().filter(|agent| !self.awaited.contains(agent));
        let again: HashSet<AgentId> = closed.chain(self.failed.iter().cloned()).collect();
        self.failed.clear();
        again.into_iter().for_each(|agent| self.look(agent));
    }

    /// Whether there are hosts that only [`Self::look_again`] asks.
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

    /// Waits for something new.
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

    /// Whoever says no is not asked to follow again; another time it may work with the others.
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

/// Waits until `agent`'s host, which did not answer in time, does.
async fn answer(folder: &Path, agent: &AgentId) -> Result<(), AskError> {
    let mut client = Client::connect(folder, &agent.socket(), FOREVER).await?;
    client.answer("ping", Value::Null, FOREVER).await.map(|_| ())
}

/// Tells of the events of `agent`'s host until they end, or until it tells no more.
async fn follow(folder: &Path, agent: &AgentId, tell: &Sender<Told>) -> Result<(), AskError> {
    let mut client = Client::connect(folder, &agent.socket(), PATIENCE).await?;
    client.attach(None, PATIENCE).await?;
    // What happened since it was asked.
    let mut is_telling = true;
    loop {
        if is_telling && tell.send(Told::Changed(agent.clone())).await.is_err() {
            return Ok(());
        }
        // One that has lagged gets no more on this connection.
        let Ok(event) = client.next_event().await else { return Ok(()) };
        if event.event_type == LAGGED {
            return Ok(());
        }
        is_telling = TELLING.contains(&event.event_type.as_str());
    }
}

#[cfg(test)]
mod tests;
