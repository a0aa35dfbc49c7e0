//! Follows hosts: queries them again when their record changes, they send an event, or they finally answer.

use murmur_core::id::AgentId;
use murmur_host::discover::{self, ANSWER_TIMEOUT, HostInfo, HostState};
use murmur_rpc::client::{AskError, Client};
use murmur_rpc::envelope::{Event, GAP, LAGGED};
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::task::JoinSet;

/// The most hosts to follow, and the most unresponsive ones to wait for, as each takes a descriptor. Of others only the
/// records are watched.
const MAX_HOSTS: usize = 256;

/// How long to wait for an unresponsive host, and for one to be followed.
const FOREVER: Duration = Duration::MAX;

/// The events after which a host is queried again; others change nothing that is shown. A gap may hide any of them.
const REQUERY_EVENTS: [&str; 8] =
    ["state", "session", "tool_use", "tool_result", "result", "hold", "hold_over", GAP];

/// The hosts being queried and followed.
#[derive(Debug)]
pub(super) struct Hosts {
    folder: PathBuf,
    querying: JoinSet<HostChange>,
    /// Hosts being queried, and whether to query them again.
    asked: HashMap<AgentId, bool>,
    is_scanning: bool,
    /// Hosts queried since the scan started, whose results are newer.
    asked_meanwhile: HashSet<AgentId>,
    followed: HashSet<AgentId>,
    /// Hosts that refused to be followed.
    refused: HashSet<AgentId>,
    /// Hosts that could not be followed, to be retried.
    failed: HashSet<AgentId>,
    /// Unresponsive hosts that could not be waited for, to be retried. A new one has no socket yet, and soon answers.
    unanswered: HashSet<AgentId>,
    /// Unresponsive hosts that are waited for.
    awaited: HashSet<AgentId>,
    following: JoinSet<()>,
    /// Who else gets the events.
    listener: Option<Sender<Event>>,
    sender: Sender<Message>,
    messages: Receiver<Message>,
}

/// A change.
#[derive(Debug)]
pub(super) enum HostChange {
    /// One host; `None` if it is gone.
    One(AgentId, Option<Box<HostInfo>>),
    /// All hosts.
    All {
        /// The hosts found.
        seen: Vec<HostInfo>,
        /// Hosts queried meanwhile, which are not in `seen`: their known state is newer.
        newer: HashSet<AgentId>,
    },
}

#[derive(Debug)]
enum Message {
    Changed(AgentId),
    /// The events ended, if there were any.
    Left(AgentId, Result<(), AskError>),
    /// An unresponsive host answered, or never will.
    Answered(AgentId, Result<(), AskError>),
}

impl Hosts {
    pub(super) fn new(folder: PathBuf) -> Self {
        // When full, followers wait and the hosts buffer their events.
        let (sender, messages) = mpsc::channel(64);
        Self {
            folder,
            querying: JoinSet::new(),
            asked: HashMap::new(),
            is_scanning: false,
            asked_meanwhile: HashSet::new(),
            followed: HashSet::new(),
            refused: HashSet::new(),
            failed: HashSet::new(),
            unanswered: HashSet::new(),
            awaited: HashSet::new(),
            following: JoinSet::new(),
            listener: None,
            sender,
            messages,
        }
    }

    /// Also passes events to `listener`, unless it is full.
    pub(super) fn listen(&mut self, listener: Sender<Event>) {
        self.listener = Some(listener);
    }

    /// Queries the host that the file at `path` belongs to.
    pub(super) fn query_file(&mut self, path: &Path) {
        let stem = path.file_stem().and_then(|stem| stem.to_str());
        if let Some(Ok(agent)) = stem.map(AgentId::parse) {
            self.unanswered.remove(&agent);
            self.query(agent);
        }
    }

    /// Queries every host.
    pub(super) fn query_all(&mut self) {
        if !std::mem::replace(&mut self.is_scanning, true) {
            let folder = self.folder.clone();
            self.asked_meanwhile = self.asked.keys().cloned().collect();
            self.querying.spawn(async move {
                // An unreadable folder was reported at the start.
                let seen = discover::scan(&folder, ANSWER_TIMEOUT).await.unwrap_or_default();
                HostChange::All { seen, newer: HashSet::new() }
            });
        }
    }

    /// Queries the hosts in `closed` again, except awaited ones, and those that could not be followed.
    pub(super) fn recheck(&mut self, closed: Vec<AgentId>) {
        let closed = closed.into_iter().filter(|agent| !self.awaited.contains(agent));
        let failed = self.failed.drain().chain(self.unanswered.drain());
        let again: HashSet<AgentId> = closed.chain(failed).collect();
        again.into_iter().for_each(|agent| self.query(agent));
    }

    /// Whether there are hosts that only [`Self::recheck`] queries.
    pub(super) fn needs_recheck(&self) -> bool {
        !self.failed.is_empty() || !self.unanswered.is_empty()
    }

    fn query(&mut self, agent: AgentId) {
        if self.is_scanning {
            self.asked_meanwhile.insert(agent.clone());
        }
        if let Some(again) = self.asked.get_mut(&agent) {
            *again = true;
            return;
        }
        self.asked.insert(agent.clone(), false);
        let folder = self.folder.clone();
        self.querying.spawn(async move {
            let seen = discover::find(&folder, &agent, ANSWER_TIMEOUT).await;
            HostChange::One(agent, seen.map(Box::new))
        });
    }

    /// Waits for a change.
    pub(super) async fn next_change(&mut self) -> HostChange {
        loop {
            tokio::select! {
                Some(message) = self.messages.recv() => match message {
                    Message::Changed(agent) => self.query(agent),
                    Message::Left(agent, left) => {
                        self.followed.remove(&agent);
                        self.record_end(&agent, left, |hosts| &mut hosts.failed);
                        self.query(agent);
                    }
                    Message::Answered(agent, answered) => {
                        self.awaited.remove(&agent);
                        self.record_end(&agent, answered, |hosts| &mut hosts.unanswered);
                        self.query(agent);
                    }
                },
                Some(Ok(news)) = self.querying.join_next() => return self.take(news),
                Some(_) = self.following.join_next() => {}
            }
        }
    }

    /// Records how following or waiting for a host ended. After a failure, it is retried with those in `retried`.
    fn record_end(
        &mut self,
        agent: &AgentId,
        ended: Result<(), AskError>,
        retried: fn(&mut Self) -> &mut HashSet<AgentId>,
    ) {
        match ended {
            Ok(()) => {}
            Err(AskError::Refused(_)) => _ = self.refused.insert(agent.clone()),
            Err(_) => _ = retried(self).insert(agent.clone()),
        }
    }

    fn take(&mut self, mut news: HostChange) -> HostChange {
        match &mut news {
            HostChange::All { seen, newer } => {
                self.is_scanning = false;
                *newer = std::mem::take(&mut self.asked_meanwhile);
                seen.retain(|seen| !newer.contains(&seen.agent_id));
                seen.iter().for_each(|seen| self.follow(seen));
            }
            HostChange::One(agent, seen) => {
                if self.asked.remove(agent) == Some(true) {
                    self.query(agent.clone());
                }
                match seen {
                    Some(seen) if seen.is_alive() => self.follow(seen),
                    _ => {
                        self.refused.remove(agent);
                        self.failed.remove(agent);
                        self.unanswered.remove(agent);
                    }
                }
            }
        }
        news
    }

    fn follow(&mut self, seen: &HostInfo) {
        let agent = &seen.agent_id;
        if self.refused.contains(agent) {
            return;
        }
        let (is_failed, is_unanswered) = (self.failed.contains(agent), self.unanswered.contains(agent));
        let (folder, agent, sender) = (self.folder.clone(), agent.clone(), self.sender.clone());
        let listener = self.listener.clone();
        match seen.condition {
            HostState::Up(_)
                if !is_failed && self.followed.len() < MAX_HOSTS && self.followed.insert(agent.clone()) =>
            {
                self.following.spawn(async move {
                    let left = follow(&folder, &agent, &sender, listener.as_ref()).await;
                    let _nobody_hears = sender.send(Message::Left(agent, left)).await;
                });
            }
            HostState::Silent
                if !is_unanswered && self.awaited.len() < MAX_HOSTS && self.awaited.insert(agent.clone()) =>
            {
                self.following.spawn(async move {
                    let answered = answer(&folder, &agent).await;
                    let _nobody_hears = sender.send(Message::Answered(agent, answered)).await;
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
async fn follow(
    folder: &Path,
    agent: &AgentId,
    sender: &Sender<Message>,
    listener: Option<&Sender<Event>>,
) -> Result<(), AskError> {
    // It just answered, so a busy machine may only be slow.
    let mut client = Client::connect(folder, &agent.socket(), FOREVER).await?;
    client.attach(None, FOREVER).await?;
    // Something may have happened since the query.
    let mut needs_query = true;
    loop {
        if needs_query && sender.send(Message::Changed(agent.clone())).await.is_err() {
            return Ok(());
        }
        // After lagging, this connection gets no more events.
        let Ok(event) = client.next_event().await else { return Ok(()) };
        if event.event_type == LAGGED {
            return Ok(());
        }
        needs_query = REQUERY_EVENTS.contains(&event.event_type.as_str());
        if let Some(listener) = listener {
            // Best effort: a listener can miss events.
            let _full = listener.try_send(event);
        }
    }
}

#[cfg(test)]
mod tests;
